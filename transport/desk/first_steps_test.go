package desk_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport/desk"
)

// noServer is where no mail server answers.
type noServer struct{}

func (noServer) Test(context.Context, ledger.FetchSource) error {
	return errors.New("imap: connect: connection refused")
}

func (noServer) List(context.Context, ledger.FetchSource, time.Time, func(context.Context, ledger.ServerMails) error) error {
	return nil
}

// An inbox without mail lists what the team still needs, to those who can set it up, and no longer than needed.
func TestFirstSteps(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(cfg *desk.Config) { cfg.NoRelay = true })
	page := b.get("/inbox/all").body
	for _, text := range []string{
		"Finish setting up", "Support: Waiting for its first email", "Set up outgoing mail", "/settings/domains", "/setup/colleagues",
	} {
		if !strings.Contains(page, text) {
			t.Errorf("%q is missing in %s", text, page)
		}
	}
	for _, path := range []string{"/inbox/spam", "/inbox/all?q=nothing"} {
		if strings.Contains(b.get(path).body, "Finish setting up") {
			t.Errorf("%s has it too", path)
		}
	}
	b.asks("kim@example.com", "The kettle leaks", "Help.")
	if strings.Contains(b.get("/inbox/all").body, "Finish setting up") {
		t.Error("it is shown with mail")
	}
}

// A mailbox to which mail is forwarded waits for its first mail, with the address to forward to and a test mail to send.
func TestForwardingWaits(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	page := b.get("/settings/mailboxes/1").body
	for _, text := range []string{"Waiting for its first email", b.desk.Mailboxes().InternalAddress(b.box), `href="mailto:support@example.org"`, "It receives the mail that is forwarded to it."} {
		if !strings.Contains(page, text) {
			t.Errorf("%q is missing in %s", text, page)
		}
	}
	if page := b.get("/health").body; strings.Contains(page, "Support gets no mail") {
		t.Error("Health calls it a problem")
	}
}

// A mailbox that could not be connected in set-up, and was skipped, receives forwarded mail and does not fail.
func TestSkippedMailbox(t *testing.T) {
	t.Parallel()
	b := newBundleWith(t, nil, nil, func(cfg *helpdesk.Config) { cfg.MailServers = noServer{} })
	form := url.Values{
		"email": {"support@example.org"}, "password": {"wrong"}, "type": {"IMAP"}, "host": {"imap.example.org"}, "port": {"993"}, "encryption": {"SSL"},
	}
	if a := b.post("/setup/mailbox", form); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if page := b.get("/setup/mailbox").body; !strings.Contains(page, `name="act" value="skip" formnovalidate`) {
		t.Errorf("it cannot be skipped: %s", page)
	}
	form.Set("act", "skip")
	if a := b.post("/setup/mailbox", form); a.status != http.StatusSeeOther || a.location != "/desk/a/1/setup/colleagues" {
		t.Fatalf("%d %s", a.status, a.location)
	}
	m, err := b.desk.Mailboxes().Get(t.Context(), b.box.ID)
	if err != nil || m.Inbound.Type != ledger.InboundForward {
		t.Errorf("%+v, %v", m, err)
	}
}

// The first visitor of a server whose owner has no password yet is led to the set-up, and can still sign in otherwise.
func TestFirstVisit(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	sealer, err := storage.NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	service, err := helpdesk.New(helpdesk.Config{Store: store, Blobs: memblob.New(), Sealer: sealer, SigningKey: []byte(strings.Repeat("k", 32))})
	if err != nil {
		t.Fatal(err)
	}
	h, err := desk.New(desk.Config{Service: service, Once: store})
	if err != nil {
		t.Fatal(err)
	}
	visit := func(path string) (int, string) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w.Code, w.Header().Get("Location")
	}
	operator := service.Operator()
	owner, err := operator.CreateUser(t.Context(), identity.UserInput{Email: "owner@localhost"})
	if err != nil {
		t.Fatal(err)
	}
	if status, to := visit("/"); status != http.StatusSeeOther || to != "/setup" {
		t.Errorf("%d %s", status, to)
	}
	if status, _ := visit("/sign-in"); status != http.StatusOK {
		t.Errorf("%d", status)
	}
	token, err := operator.CreatePasswordToken(t.Context(), owner.ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.SignIn().ChoosePassword(t.Context(), token, identity.PasswordChoice{Password: "correct horse"}); err != nil {
		t.Fatal(err)
	}
	if status, to := visit("/"); status != http.StatusSeeOther || to != "/sign-in" {
		t.Errorf("%d %s", status, to)
	}
}
