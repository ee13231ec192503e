package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/api"
)

// fill begins n conversations of n customers, each with an answer, a customer's message and a note.
func fill(t testing.TB, w *world, n int) {
	t.Helper()
	w.must(t, "POST", "/accounts/1/mailboxes", "email=support@acme.example")
	for i := range n {
		w.clock.advance(time.Second)
		w.must(t, "POST", "/accounts/1/conversations", fmt.Sprintf("channel=email&to=c%d@example.com&user_id=1&subject=%d"+
			"&interactions[0][type]=user&interactions[0][body]=A&interactions[1][type]=customer&interactions[1][body]=B"+
			"&interactions[2][type]=note&interactions[2][body]=C", i, i))
	}
}

// subjects are those of a page, and the addresses of its neighbours.
func (w *world) subjects(t testing.TB, path string) (page, next, prev string) {
	t.Helper()
	rec := w.must(t, "GET", path, "")
	var list struct{ Data []struct{ Subject string } }
	if err := json.Unmarshal(rec.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range list.Data {
		all = append(all, c.Subject)
	}
	links := neighbours(t, rec)
	return strings.Join(all, " "), links["next"], links["prev"]
}

// neighbours are the paths in the Link header of a page.
func neighbours(t testing.TB, rec *httptest.ResponseRecorder) map[string]string {
	t.Helper()
	links := map[string]string{}
	for _, m := range regexp.MustCompile(`<([^>]+)>; rel="(\w+)"`).FindAllStringSubmatch(rec.Header().Get("Link"), -1) {
		u, err := url.Parse(m[1])
		if err != nil {
			t.Fatal(err)
		}
		links[m[2]] = strings.TrimPrefix(u.RequestURI(), "/api/v1")
	}
	return links
}

// Three pages forth and back, by the Link header alone, in every order, whose sort keys are partly equal.
func TestConversationPages(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			fill(t, w, 7)
			down, up := []string{"6 5 4", "3 2 1", "0"}, []string{"0 1 2", "3 4 5", "6"}
			for query, want := range map[string][]string{
				"":                    down,
				"&sort_type=asc":      up,
				"&sort_by=number":     down,
				"&sort_by=updated_at": down,
				"&sort_by=updated_at&status=posted&sort_type=asc":                up,
				"&sort_by=customer_awaiting_reply_since&user_id=me&mailbox_id=1": down,
			} {
				var forth, back []string
				page, next, last := w.subjects(t, "/accounts/1/conversations?limit=3"+query)
				if last != "" {
					t.Errorf("%s: the first page has a page before it", query)
				}
				forth = append(forth, page)
				for next != "" && len(forth) < 5 {
					page, next, last = w.subjects(t, next)
					forth = append(forth, page)
				}
				back = append(back, page)
				for last != "" && len(back) < 5 {
					page, _, last = w.subjects(t, last)
					back = append([]string{page}, back...)
				}
				if diff := cmp.Diff(want, forth); diff != "" {
					t.Errorf("%s forth: %s", query, diff)
				}
				if diff := cmp.Diff(want, back); diff != "" {
					t.Errorf("%s back: %s", query, diff)
				}
			}
			if rec := w.do(t, "owner", "GET", "/accounts/1/conversations?cursor=x", ""); rec.Code != 422 {
				t.Errorf("cursor=x: %d", rec.Code)
			}
		})
	}
}

// The ETag in the answer to a GET or a change is the condition of the next change.
func TestConditionalRequests(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			fill(t, w, 1)
			w.must(t, "POST", "/accounts/1/conversation-tags", "tag=X")
			w.must(t, "POST", "/accounts/1/conversation-views", "name=X&filter[agent]=me")
			for path, body := range map[string]string{
				"/accounts/1":                                              "name=Acme %d",
				"/accounts/1?expand=languages":                             "name=Acme and more %d",
				"/accounts/1/mailboxes/1":                                  "name=Support %d",
				"/accounts/1/customers/1":                                  "first_name=Ada %d",
				"/accounts/1/conversations/1":                              "subject=Engine %d",
				"/accounts/1/conversations/1/interactions/3":               "body=Note %d",
				"/accounts/1/conversation-tags/1":                          "tag=Tag %d",
				"/accounts/1/conversation-views/1":                         "name=View %d&filter[agent]=me",
				"/accounts/1/conversations/1?expand=user,mailbox,customer": "subject=Steam engine %d",
			} {
				w.clock.advance(time.Second)
				w.conditions(t, path, body)
			}
			tag := w.must(t, "GET", "/accounts/1/customers/1", "").Header().Get("ETag")
			w.must(t, "PUT", "/accounts/1/customers/1", "first_name=Other")
			if rec := w.do(t, "owner", "DELETE", "/accounts/1/customers/1?force=1", "", "If-Match", tag); rec.Code != 412 {
				t.Errorf("DELETE of what somebody changed: %d", rec.Code)
			}
		})
	}
}

func (w *world) conditions(t *testing.T, path, body string) {
	t.Helper()
	rec := w.must(t, "GET", path, "")
	tag := rec.Header().Get("ETag")
	again := w.do(t, "owner", "GET", path, "", "If-None-Match", tag)
	if tag == "" || again.Code != 304 || again.Body.Len() != 0 {
		t.Errorf("GET %s If-None-Match %s: %d", path, tag, again.Code)
	}
	for i := range 3 { // each with the tag of the answer before
		rec = w.do(t, "owner", "PUT", path, fmt.Sprintf(body, i), "If-Match", tag)
		if rec.Code != 200 || rec.Header().Get("ETag") == tag || rec.Header().Get("ETag") == "" {
			t.Fatalf("PUT %s If-Match %s: %d %s", path, tag, rec.Code, rec.Body)
		}
		tag = rec.Header().Get("ETag")
	}
	if got := w.must(t, "GET", path, "").Header().Get("ETag"); got != tag {
		t.Errorf("%s: GET has %s, PUT had %s", path, got, tag)
	}
	w.clock.advance(time.Second)
	w.must(t, "PUT", path, fmt.Sprintf(body, 9))
	if rec := w.do(t, "owner", "PUT", path, fmt.Sprintf(body, 10), "If-Match", tag); rec.Code != 412 {
		t.Errorf("PUT %s of what somebody changed: %d", path, rec.Code)
	}
}

// counting is a store that counts reads and transactions.
type counting struct {
	*memstore.Store
	mu    sync.Mutex
	calls map[string]int
}

func (c *counting) count(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[name]++
}

// take returns the counts since it was last called.
func (c *counting) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = map[string]int{}
	return calls
}

func (c *counting) Within(s helpdesk.Scope) helpdesk.Reader {
	return countingReader{Reader: c.Store.Within(s), c: c}
}

func (c *counting) InTx(ctx context.Context, s helpdesk.Scope, fn func(context.Context, helpdesk.Tx) error) error {
	c.count("InTx")
	return c.Store.InTx(ctx, s, fn)
}

func (c *counting) InSystemTx(ctx context.Context, fn func(context.Context, helpdesk.SystemTx) error) error {
	c.count("InSystemTx")
	return c.Store.InSystemTx(ctx, fn)
}

// countingReader counts lists, look-ups of many and look-ups of one.
type countingReader struct {
	helpdesk.Reader
	c *counting
}

func (r countingReader) UsersByID(ctx context.Context, ids []int64) ([]identity.User, error) {
	r.c.count("UsersByID")
	return r.Reader.UsersByID(ctx, ids)
}

func (r countingReader) Mailboxes() storage.RowReader[helpdesk.Mailbox, storage.NoFilter] {
	return countingRows[helpdesk.Mailbox, storage.NoFilter]{r.Reader.Mailboxes(), r.c.count, "Mailboxes"}
}

func (r countingReader) Customer(ctx context.Context, id int64) (helpdesk.Customer, error) {
	r.c.count("Customer")
	return r.Reader.Customer(ctx, id)
}

func (r countingReader) CustomersByID(ctx context.Context, ids []int64) ([]helpdesk.Customer, error) {
	r.c.count("CustomersByID")
	return r.Reader.CustomersByID(ctx, ids)
}

func (r countingReader) Marks(ctx context.Context, q helpdesk.MarksQuery) ([]helpdesk.Marks, error) {
	r.c.count("Marks")
	return r.Reader.Marks(ctx, q)
}

func (r countingReader) Conversations() storage.RowReader[helpdesk.Conversation, helpdesk.ConversationOrder] {
	return countingRows[helpdesk.Conversation, helpdesk.ConversationOrder]{r.Reader.Conversations(), r.c.count, "Conversations"}
}

func (r countingReader) Interactions() storage.RowReader[helpdesk.Interaction, helpdesk.InteractionFilter] {
	return countingRows[helpdesk.Interaction, helpdesk.InteractionFilter]{r.Reader.Interactions(), r.c.count, "Interactions"}
}

func (r countingReader) Attachments() storage.RowReader[helpdesk.Attachment, helpdesk.AttachmentFilter] {
	return countingRows[helpdesk.Attachment, helpdesk.AttachmentFilter]{r.Reader.Attachments(), r.c.count, "Attachments"}
}

func (r countingReader) Deliveries() storage.RowReader[sending.Delivery, sending.DeliveryFilter] {
	return countingRows[sending.Delivery, sending.DeliveryFilter]{r.Reader.Deliveries(), r.c.count, "Deliveries"}
}

// countingRows counts the reads of one noun.
type countingRows[T, F any] struct {
	rows  storage.RowReader[T, F]
	count func(call string)
	noun  string
}

func (r countingRows[T, F]) Get(ctx context.Context, id int64) (T, error) {
	r.count(r.noun + ".Get")
	return r.rows.Get(ctx, id)
}

func (r countingRows[T, F]) List(ctx context.Context, f F, seek storage.Seek) ([]T, error) {
	r.count(r.noun + ".List")
	return r.rows.List(ctx, f, seek)
}

func (r countingRows[T, F]) ByIDs(ctx context.Context, ids []int64) ([]T, error) {
	r.count(r.noun + ".ByIDs")
	return r.rows.ByIDs(ctx, ids)
}

// A list costs one query for the page and one for each relation, however long it is, and no transaction.
func TestExpansionQueries(t *testing.T) {
	t.Parallel()
	store := &counting{Store: memstore.New(), calls: map[string]int{}}
	w := newWorld(t, store)
	fill(t, w, 20)
	for range 10 {
		w.must(t, "POST", "/accounts/1/conversations/1/interactions", "type=user&body=Again")
	}
	store.take()
	for path, want := range map[string]map[string]int{
		"/accounts/1/conversations": {"Conversations.List": 1, "Marks": 1},
		"/accounts/1/conversations?expand=user,mailbox,customer": {
			"Conversations.List": 1, "Marks": 1, "UsersByID": 1, "Mailboxes.ByIDs": 1, "Mailboxes.List": 1, "CustomersByID": 1},
		"/accounts/1/conversations/1?expand=user,mailbox,customer": {
			"Conversations.Get": 1, "Marks": 1, "UsersByID": 1, "Mailboxes.ByIDs": 1, "Mailboxes.List": 1, "CustomersByID": 1},
		"/accounts/1/conversations/1/interactions": {"Conversations.Get": 1, "Interactions.List": 1, "Deliveries.List": 1},
		"/accounts/1/conversations/1/interactions?expand=user,posted_by,customer,attachments&quotes=fold": {
			"Conversations.Get": 1, "Interactions.List": 1, "Deliveries.List": 1, "UsersByID": 1, "CustomersByID": 1, "Attachments.List": 1},
		"/accounts/1/conversations/1/interactions/3": {"Interactions.Get": 1},
	} {
		rec := w.must(t, "GET", path, "")
		if !strings.Contains(rec.Body.String(), `"id"`) {
			t.Errorf("%s: %s", path, rec.Body)
		}
		if diff := cmp.Diff(want, store.take()); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

// The activity of a member is recorded once a minute, for any request.
func TestActivity(t *testing.T) {
	t.Parallel()
	store := &counting{Store: memstore.New(), calls: map[string]int{}}
	w := newWorld(t, store)
	seen := func() string {
		var m struct {
			Data struct {
				Last string `json:"last_activity"`
			}
		}
		w.must(t, "GET", "/accounts/1/membership", "") // reads do not wait until it is written
		if err := w.svc.FlushMarks(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(w.must(t, "GET", "/accounts/1/membership", "").Body.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		return m.Data.Last
	}
	if got := seen(); got != "2026-01-02T11:00:00+00:00" {
		t.Error(got)
	}
	store.take()
	for range 5 {
		w.clock.advance(10 * time.Second)
		w.must(t, "GET", "/accounts/1/mailboxes", "")
	}
	if got := store.take(); got["InTx"] != 0 || got["InSystemTx"] != 0 {
		t.Errorf("transactions of requests that only read: %v", got)
	}
	w.clock.advance(10 * time.Second)
	w.must(t, "GET", "/accounts/1/mailboxes", "")
	if got := seen(); got != "2026-01-02T11:01:00+00:00" {
		t.Error(got)
	}
	if got := store.take()["InTx"]; got != 1 {
		t.Errorf("%d transactions", got)
	}
}

// broken fails in the way that a test wants.
type broken struct {
	*memstore.Store
	err    error // of every read within an account
	writes error // of every transaction within an account
}

func (b *broken) Within(s helpdesk.Scope) helpdesk.Reader {
	if b.err == nil {
		return b.Store.Within(s)
	}
	return brokenReader{Reader: b.Store.Within(s), err: b.err}
}

func (b *broken) InTx(ctx context.Context, s helpdesk.Scope, fn func(context.Context, helpdesk.Tx) error) error {
	if b.writes != nil {
		return b.writes
	}
	return b.Store.InTx(ctx, s, fn)
}

type brokenReader struct {
	helpdesk.Reader
	err error
}

func (r brokenReader) Account(context.Context) (identity.Account, error) {
	return identity.Account{}, r.err
}

// Every kind of fault of the service becomes its status and code; no answer reveals details that belong in the log.
func TestFaultsOfTheService(t *testing.T) {
	t.Parallel()
	store := &broken{Store: memstore.New()}
	w := newWorld(t, store)
	log := &testenv.Output{}
	w.serve(t, api.Config{Config: transport.Config{Logger: slog.New(slog.NewTextHandler(log, nil))}})
	secret := errors.New("dial tcp: secret")
	for kind, want := range map[fault.Kind]struct {
		status int
		code   string
	}{
		fault.Internal: {500, "internal"}, fault.Invalid: {422, "invalid"}, fault.Malformed: {400, "malformed"},
		fault.Unauthenticated: {401, "unauthenticated"}, fault.Forbidden: {403, "forbidden"}, fault.NotFound: {404, "not_found"},
		fault.Conflict: {409, "conflict"}, fault.Precondition: {412, "precondition_failed"}, fault.TooLarge: {413, "too_large"},
		fault.Unsupported: {415, "unsupported"}, fault.RateLimited: {429, "rate_limited"},
		fault.Unavailable: {503, "unavailable"}, fault.Disabled: {404, "feature_disabled"},
	} {
		store.err = fault.Wrap(kind, "Store.Account", secret)
		rec := w.do(t, "owner", "GET", "/accounts/1", "", "X-Request-Id", "request-"+kind.String())
		if p := problem(t, rec); rec.Code != want.status || p.Code != want.code {
			t.Errorf("%v: %d %s", kind, rec.Code, p.Code)
		}
		if strings.Contains(rec.Body.String(), "secret") {
			t.Errorf("%v tells: %s", kind, rec.Body)
		}
		logged := regexp.MustCompile(`level=ERROR.*request_id=request-` + kind.String() + ` .*secret`).MatchString(log.String())
		if logged != (want.status >= 500) {
			t.Errorf("%v: logged is %v", kind, logged)
		}
	}
	if strings.Contains(log.String(), "example.org") || strings.Contains(log.String(), w.tokens["owner"]) {
		t.Errorf("the log tells too much: %s", log)
	}
}

// A request is answered though the activity of the member cannot be recorded.
func TestActivityCannotBeRecorded(t *testing.T) {
	t.Parallel()
	store := &broken{Store: memstore.New()}
	w := newWorld(t, store)
	store.writes = fault.Wrap(fault.Unavailable, "Store.InTx", errors.New("read only"))
	w.must(t, "GET", "/accounts/1/mailboxes", "")
}

// Limits of the transport and of the service, in the words of HTTP.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	ids := settled(t, w)
	attachments := "/accounts/1/conversations/" + ids["conversation_id"] + "/interactions/" + ids["interaction_id"] + "/attachments"
	file := func(size int) string {
		return "--cut\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.txt\"\r\n\r\n" + strings.Repeat("x", size) + "\r\n--cut--\r\n"
	}
	many := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const form, jsonType, multi = "application/x-www-form-urlencoded", "application/json", "multipart/form-data; boundary=cut"
	for name, tt := range map[string]struct {
		method, path, body, kind string
		status                   int
		field                    string
	}{
		"attachment over the service's limit":   {"POST", attachments, file(1<<20 + 1), multi, 413, ""},
		"attachment over the transport's limit": {"POST", attachments, file(27 << 20), multi, 413, ""},
		"a form over 2 MiB":                     {"POST", "/accounts/1/customers", "first_name=" + strings.Repeat("x", 2<<20), form, 413, ""},
		"too many emails":                       {"POST", "/accounts/1/customers", "first_name=A" + many("&emails[][email]=e%d@example.com", 16), form, 422, "emails"},
		"too many phones":                       {"POST", "/accounts/1/customers", "first_name=A" + many("&phones[][phone]=%d", 26), form, 422, "phones"},
		"too many websites":                     {"POST", "/accounts/1/customers", "first_name=A" + many("&websites[][website]=a%d.example", 151), form, 422, "websites"},
		"too many ids":                          {"DELETE", "/accounts/1/conversations/bulk", "a=b" + many("&conversations[]=%d", 101), form, 422, "conversations"},
		"a body over 1 MiB": {"POST", "/accounts/1/conversations/1/interactions", "type=note&body=" + strings.Repeat("x", 1<<20+1), form,
			422, "body"},
		"broken JSON":        {"POST", "/accounts/1/customers", `{"first_name": `, jsonType, 400, ""},
		"another media type": {"POST", "/accounts/1/customers", "<a/>", "text/xml", 415, ""},
		"an id of zero":      {"DELETE", "/accounts/1/conversations/bulk", `{"conversations": [0, "x"]}`, jsonType, 422, "conversations[1]"},
		"a NUL":              {"POST", "/accounts/1/customers", "first_name=a%00b", form, 422, "first_name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := w.do(t, "owner", tt.method, tt.path, tt.body, "Content-Type", tt.kind)
			p := problem(t, rec)
			if rec.Code != tt.status || (tt.field != "" && p.Errors[tt.field] == nil) {
				t.Errorf("%d %v", rec.Code, p)
			}
		})
	}
}

// An embedding application may sign in users itself.
func TestAuthenticateHook(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.serve(t, api.Config{Authenticate: func(_ context.Context, r *http.Request) (helpdesk.Caller, error) {
		cookie, err := r.Cookie("session")
		if err != nil {
			return helpdesk.Caller{}, nil //nolint:nilerr // the test reports it
		}
		if cookie.Value != "olga" {
			return helpdesk.Caller{}, fault.New(fault.Unauthenticated, "The session has ended.")
		}
		return w.svc.As(1), nil
	}})
	for cookie, status := range map[string]int{"session=olga": 200, "session=old": 401, "": 401} {
		for _, path := range []string{"/user", "/accounts", "/accounts/1"} {
			if rec := w.do(t, "owner", "GET", path, "", "Cookie", cookie); rec.Code != status {
				t.Errorf("%s with %q: %d %s", path, cookie, rec.Code, rec.Body)
			}
		}
	}
}

// Pages of other sites cannot use the cookies that an embedding application signs users and customers in with.
func TestOtherSitesCannotUseCookies(t *testing.T) {
	t.Parallel()
	const cross, same = "https://evil.example", "http://example.com"
	for _, allowed := range []bool{false, true} {
		w := newWorld(t, memstore.New())
		ids := settled(t, w)
		w.serve(t, api.Config{
			AllowOtherSites: allowed,
			Authenticate:    func(context.Context, *http.Request) (helpdesk.Caller, error) { return w.svc.As(1), nil },
			Portal: func(ctx context.Context, r *http.Request, account int64) (*helpdesk.Portal, error) {
				if r.Header.Get("X-Customer") == "" {
					return nil, nil //nolint:nilnil // not a customer
				}
				return w.svc.Portal(ctx, account, "ada@example.com")
			},
		})
		refused := http.StatusForbidden
		if allowed {
			refused = http.StatusCreated
		}
		for name, tt := range map[string]struct {
			header []string
			want   int
		}{
			"a page of another site":           {[]string{"Cookie", "s=1", "Sec-Fetch-Site", "cross-site"}, refused},
			"a page of a sibling":              {[]string{"Cookie", "s=1", "Sec-Fetch-Site", "same-site"}, refused},
			"an older browser at another site": {[]string{"Cookie", "s=1", "Origin", cross}, refused},
			"a sandboxed page":                 {[]string{"Cookie", "s=1", "Origin", "null"}, refused},
			"our own page":                     {[]string{"Cookie", "s=1", "Sec-Fetch-Site", "same-origin"}, http.StatusCreated},
			"our own page in an older browser": {[]string{"Cookie", "s=1", "Origin", same}, http.StatusCreated},
			"a program":                        {[]string{"Cookie", "s=1"}, http.StatusCreated},
			"another site, with a token":       {[]string{"Cookie", "s=1", "Authorization", "Bearer x", "Origin", cross}, http.StatusCreated},
			"another site, without the cookie": {[]string{"Origin", cross}, http.StatusCreated},
		} {
			t.Run(fmt.Sprintf("%s, allowed %v", name, allowed), func(t *testing.T) {
				for path, body := range map[string]string{
					"/accounts/1/conversation-tags":                                         "name=" + url.QueryEscape(fmt.Sprint(name, allowed)),
					"/accounts/1/conversations/" + ids["conversation_id"] + "/interactions": "type=customer&body=Hello",
				} {
					header := tt.header
					if strings.HasSuffix(path, "interactions") {
						header = append([]string{"X-Customer", "1"}, header...)
					}
					if rec := w.do(t, "", "POST", path, body, header...); (rec.Code == http.StatusForbidden) != (tt.want == http.StatusForbidden) {
						t.Errorf("%s: %d %s, want %d", path, rec.Code, rec.Body, tt.want)
					}
				}
			})
		}
	}
}

// With an address of its own, links in answers are absolute.
func TestBaseURL(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	ids := settled(t, w)
	w.serve(t, api.Config{Config: transport.Config{BaseURL: "https://desk.example/", Base: "/api/v1"}, Version: "1.2.3"})
	path := "/accounts/1/conversations/" + ids["conversation_id"] + "/interactions/" + ids["interaction_id"] + "/attachments"
	if rec := w.must(t, "GET", path, ""); !strings.Contains(rec.Body.String(), `"url":"https://desk.example/api/v1`+path+`/1/content"`) {
		t.Error(rec.Body)
	}
	var doc struct {
		OpenAPI string
		Info    struct{ Title, Version string }
	}
	if err := json.Unmarshal(w.do(t, "", "GET", "/openapi.json", "").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Info.Version != "1.2.3" || doc.Info.Title == "" {
		t.Error(doc)
	}
}

// A change is not made if its result cannot be shown as requested.
func TestExpansionIsRefusedBeforeTheChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	fill(t, w, 1)
	w.token(t, 1, "writer", identity.ConversationsView, identity.ConversationsUpdate, identity.ConversationsCreate,
		identity.InteractionsCreate, identity.InteractionsUpdate)
	for path, body := range map[string]string{
		"PUT /accounts/1/conversations/1?expand=customer":                  "subject=Changed",
		"PUT /accounts/1/conversations/1?expand=mailbox":                   "subject=Changed",
		"POST /accounts/1/conversations?expand=mailbox":                    "channel=email&to=x@example.com",
		"POST /accounts/1/conversations/1/interactions?expand=attachments": "type=note&body=X",
		"PUT /accounts/1/conversations/1/interactions/3?expand=customer":   "body=Changed",
	} {
		method, target, _ := strings.Cut(path, " ")
		if rec := w.do(t, "writer", method, target, body); rec.Code != 403 {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	for _, path := range []string{"/accounts/1/conversations", "/accounts/1/conversations/1/interactions"} {
		body := w.must(t, "GET", path, "").Body.String()
		if strings.Contains(body, "Changed") || strings.Contains(body, `"X"`) || strings.Contains(body, "x@example.com") {
			t.Errorf("%s: %s", path, body)
		}
	}
	if rec := w.do(t, "writer", "POST", "/accounts/1/conversations/1/interactions", "type=user&body=Y"); rec.Code != 201 {
		t.Errorf("who may write but not read: %d %s", rec.Code, rec.Body)
	}
}

// Reads begin no transaction, for any caller: it would wait for writers.
func TestReadsBeginNoTransaction(t *testing.T) {
	t.Parallel()
	store := &counting{Store: memstore.New(), calls: map[string]int{}}
	w := newWorld(t, store)
	ids := settled(t, w)
	for _, r := range w.table.Routes() {
		if r.Method != http.MethodGet || r.Shape == transport.Events || r.ID == "exportCustomer" || r.ID == "exportCustomers" { // which is audited before it is given
			continue
		}
		for _, who := range []string{"owner", "stranger", ""} {
			w.clock.advance(2 * time.Minute)
			if err := w.svc.FlushMarks(t.Context()); err != nil {
				t.Fatal(err)
			}
			store.take()
			w.ask(t, who, r, ids)
			if got := store.take(); got["InTx"] != 0 || got["InSystemTx"] != 0 {
				t.Errorf("%s of %q: %v", r.ID, who, got)
			}
		}
	}
}

// If the database does not answer, every operation returns 503 in time, and the next request is served again.
func TestPatience(t *testing.T) {
	t.Parallel()
	store := &frozen{Store: memstore.New()}
	w := newWorld(t, store)
	handler := must(api.New(api.Config{Service: w.svc, KB: w.kb, Config: transport.Config{Patience: 50 * time.Millisecond}}))(t).Handler()
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "/api/v1"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+w.tokens["owner"])
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, r)
		return rec
	}
	store.ice.Store(true)
	for _, tt := range []struct{ method, path, body string }{
		{"GET", "/accounts/1", ""}, {"GET", "/accounts/1/mailboxes", ""}, {"POST", "/accounts/1/mailboxes", "name=Support"},
	} {
		rec := ask(tt.method, tt.path, tt.body)
		if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, rec.Code, rec.Body)
		}
	}
	store.ice.Store(false)
	w.must(t, "GET", "/accounts/1/mailboxes", "")
}

// frozen is a store that gives no answer while there is ice.
type frozen struct {
	*memstore.Store
	ice atomic.Bool
}

func (f *frozen) wait(ctx context.Context) error {
	if f.ice.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (f *frozen) TokenByHash(ctx context.Context, hash []byte) (identity.AccessToken, error) {
	if err := f.wait(ctx); err != nil {
		return identity.AccessToken{}, err
	}
	return f.Store.TokenByHash(ctx, hash)
}
