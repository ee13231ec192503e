package desk_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport/desk"
)

type deskConfig = desk.Config

// bundle is a desk of one account whose owner is signed in.
type bundle struct {
	*testing.T
	service *helpdesk.Service
	store   *memstore.Store
	web     *httptest.Server
	desk    *helpdesk.Desk
	owner   identity.User
	box     helpdesk.Mailbox
}

func newBundle(t *testing.T, change func(*desk.Config)) *bundle {
	t.Helper()
	return newBundleWith(t, nil, change)
}

// newBundleWith is newBundle with servers to sign in with.
func newBundleWith(t *testing.T, providers []identity.Provider, change func(*desk.Config), more ...func(*helpdesk.Config)) *bundle {
	t.Helper()
	b := &bundle{T: t, store: memstore.New()}
	sealer, err := storage.NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	service := helpdesk.Config{
		Store: b.store, Blobs: memblob.New(), Sealer: sealer, SigningKey: []byte(strings.Repeat("k", 32)), Providers: providers,
		DNS: func(_ context.Context, records []sending.DNSRecord) ([]sending.DNSResult, error) {
			return make([]sending.DNSResult, len(records)), nil // none is published
		},
	}
	for _, fn := range more {
		fn(&service)
	}
	service.Domains = []storage.Domain{kb.Domain()}
	if b.service, err = helpdesk.New(service); err != nil {
		t.Fatal(err)
	}
	operator := b.service.Operator()
	if b.owner, err = operator.CreateUser(t.Context(), identity.UserInput{Name: "Maja Lindqvist", Email: "maja@example.org", Password: "correct horse"}); err != nil {
		t.Fatal(err)
	}
	account, err := operator.CreateAccount(t.Context(), identity.AccountInput{Name: "Halden"}, b.owner.ID)
	if err != nil {
		t.Fatal(err)
	}
	if b.desk, err = b.service.Desk(t.Context(), b.service.As(b.owner.ID), account.ID); err != nil {
		t.Fatal(err)
	}
	if b.box, err = b.desk.Mailboxes().Create(t.Context(), helpdesk.MailboxInput{Name: storage.Some("Support"), Email: storage.Some("support@example.org")}); err != nil {
		t.Fatal(err)
	}
	cfg := desk.Config{
		Service: b.service, Once: b.store, Prefix: "/desk",
		Authenticate: func(*http.Request) (helpdesk.Caller, error) { return b.service.As(b.owner.ID), nil },
	}
	if change != nil {
		change(&cfg)
	}
	h, err := desk.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.web = httptest.NewServer(h)
	t.Cleanup(b.web.Close)
	return b
}

// answer is an answer of the desk.
type answer struct {
	status   int
	location string
	body     string
	header   http.Header
}

// do requests a page, or sends a form if there is one. Redirects are not followed.
func (b *bundle) do(method, path string, form url.Values, header ...string) answer {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.web.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.web.URL)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return b.answered(r)
}

// answered sends a request.
func (b *bundle) answered(r *http.Request) answer {
	b.Helper()
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	return answer{res.StatusCode, res.Header.Get("Location"), string(text), res.Header}
}

func (b *bundle) get(path string, header ...string) answer {
	b.Helper()
	return b.do(http.MethodGet, "/desk/a/1"+path, nil, header...)
}

func (b *bundle) post(path string, form url.Values, header ...string) answer {
	b.Helper()
	return b.do(http.MethodPost, "/desk/a/1"+path, form, header...)
}

// asks begins a conversation by a customer.
func (b *bundle) asks(from, subject, text string) helpdesk.Conversation {
	b.Helper()
	c, err := b.desk.Conversations().Create(b.Context(), helpdesk.ConversationInput{
		Channel: "email", To: from, Subject: subject, Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: text}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func TestNewListsMissingFields(t *testing.T) {
	t.Parallel()
	_, err := desk.New(desk.Config{Prefix: "desk/"})
	want := fault.Fields{"Service": {"is required"}, "Once": {"is required"}, "Prefix": {"must begin with a slash and end without one"}}
	f, ok := err.(*fault.Error) //nolint:errorlint // it is not wrapped
	if !ok || f.Kind != fault.Invalid {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, f.Fields); diff != "" {
		t.Error(diff)
	}
}
