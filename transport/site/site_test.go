package site_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport/site"
)

// store is a backend of both domains.
type store interface {
	helpdesk.Store
	storage.EventLog
	KB() kb.Store
}

// eachStore runs a test over the backends.
func eachStore(t *testing.T, fn func(t *testing.T, s store)) {
	t.Helper()
	t.Run("Memory", func(t *testing.T) { t.Parallel(); fn(t, memstore.New()) })
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		fn(t, openSQLite(t, "sqlite:"+filepath.Join(t.TempDir(), "site.db")))
	})
}

func openSQLite(t testing.TB, url string) *bunstore.DB {
	t.Helper()
	db, err := both.Open(context.Background(), url, bunstore.Config{SyncNormal: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return db
}

// person is a caller by its user id: 1 is a member of the account, 2 is not.
type person int64

func (p person) UserID() int64 { return int64(p) }
func (person) TokenID() int64  { return 0 }

// world is a handler over a knowledge base with one account.
type world struct {
	t     testing.TB
	base  string
	store store
	kb    *kb.Service
	*site.Handler
	editor  *kb.Editor
	site    kb.Site
	mailbox int64

	mu       sync.Mutex
	now      time.Time
	messages []site.Message
	over     map[string]bool // actions over their limit
	refuse   error           // of the next message
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// newWorld makes the world with a public site at help.example.org.
func newWorld(t testing.TB, s store) *world {
	t.Helper()
	return newWorldAt(t, s, "https://desk.example.net")
}

// newWorldAt makes the world of a service at an address.
func newWorldAt(t testing.TB, s store, base string) *world {
	t.Helper()
	w := &world{t: t, store: s, base: base, now: time.Date(2026, 11, 14, 12, 0, 0, 0, time.UTC), over: map[string]bool{}}
	ctx := context.Background()
	account := identity.Account{Name: "Acme", NextNumber: 1, DefaultLocale: "en", Languages: []string{"en", "fr", "ar"}}
	if err := s.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &account) }); err != nil {
		t.Fatal(err)
	}
	mailbox := helpdesk.Mailbox{Name: "Support", Email: "support@example.org"}
	err := s.InTx(ctx, helpdesk.Scope{AccountID: account.ID}, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Mailboxes().Insert(ctx, &mailbox) })
	if err != nil {
		t.Fatal(err)
	}
	w.mailbox = mailbox.ID
	w.kb = w.service()
	w.Handler = w.handler(nil)
	sites, err := w.kb.Sites(person(1))
	if err != nil {
		t.Fatal(err)
	}
	w.site, err = sites.Create(ctx, kb.SiteInput{
		AccountID: account.ID, Name: "Acme", CustomDomain: storage.Some("help.example.org"), Path: storage.Some(""), MailboxID: storage.Some(mailbox.ID),
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.editor, err = w.kb.Editor(ctx, person(1), w.site.ID); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) service() *kb.Service {
	w.t.Helper()
	svc, err := kb.New(kb.Config{
		Store: w.store.KB(), Blobs: memblob.New(), BaseURL: w.base, Now: w.clock, VisitorKey: make([]byte, 32), Rand: &counter{},
		Membership: func(_ context.Context, c kb.Caller, accountID int64) (kb.Membership, error) {
			if c.UserID() != 1 {
				return kb.Membership{}, fault.Missing("account", accountID)
			}
			var all []kb.Permission
			for _, p := range kb.Domain().Permissions {
				all = append(all, kb.Permission(p))
			}
			return kb.Membership{Permissions: all}, nil
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return svc
}

// counter is a source of random bytes that gives the same in every run.
type counter struct {
	mu sync.Mutex
	n  byte
}

func (c *counter) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	for i := range p {
		p[i] = c.n + byte(i)
	}
	return len(p), nil
}

// handler is one with all hooks, changed by change.
func (w *world) handler(change func(*site.Config)) *site.Handler {
	w.t.Helper()
	cfg := site.Config{
		KB: w.kb, Key: []byte(strings.Repeat("k", 32)), Now: w.clock, WorkBits: 4,
		SignIn: func(_ context.Context, email, password string, _ netip.Addr) (int64, error) {
			switch email + ":" + password {
			case "ada@example.org:right":
				return 1, nil
			case "sam@example.org:right":
				return 2, nil
			}
			return 0, fault.New(fault.Unauthenticated, "no")
		},
		User: func(id int64) kb.Caller { return person(id) },
		Contact: func(_ context.Context, s kb.Site, m site.Message) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.refuse == nil {
				w.messages = append(w.messages, m)
			}
			return w.refuse
		},
		Events: w.store,
		LastEvent: func(ctx context.Context, accountID int64) (int64, error) {
			return w.store.Within(helpdesk.Scope{AccountID: accountID}).LastEvent(ctx)
		},
		Limit: func(_ context.Context, what, _ string) time.Duration {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.over[what] {
				return time.Minute
			}
			return 0
		},
	}
	if change != nil {
		change(&cfg)
	}
	h, err := site.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// text makes the input of something with a title in languages.
func text(source string, titles map[string]string, content string) kb.TextInput {
	in := kb.TextInput{SourceLocale: source, Translations: map[string]storage.Opt[kb.TranslationInput]{}}
	for locale, title := range titles {
		t := kb.TranslationInput{Title: storage.Some(title)}
		if content != "" && locale == source {
			t.Content = storage.Some(content)
		}
		in.Translations[locale] = storage.Some(t)
	}
	return in
}

func (w *world) collection(titles map[string]string, icon string) kb.Collection {
	w.t.Helper()
	c, err := w.editor.CreateCollection(context.Background(), kb.CollectionInput{TextInput: text("en", titles, ""), Icon: storage.Some(icon)})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) category(in int64, titles map[string]string) kb.Category {
	w.t.Helper()
	c, err := w.editor.CreateCategory(context.Background(), kb.CategoryInput{TextInput: text("en", titles, ""), CollectionID: in})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) article(in int64, categories []int64, titles map[string]string, content string) kb.ArticleRevision {
	w.t.Helper()
	a, err := w.editor.CreateArticle(context.Background(), kb.ArticleInput{
		TextInput: text("en", titles, content), CollectionID: in, CategoryIDs: storage.Some(categories),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// library fills the site: collection 1 with categories 1 and 2, collection 2 with loose articles; article 1 is in English,
// French and Arabic.
func (w *world) library() {
	w.t.Helper()
	pay := w.collection(map[string]string{"en": "Payments & payouts", "fr": "Paiements", "ar": "المدفوعات"}, "coins")
	start := w.collection(map[string]string{"en": "Getting started"}, "")
	payouts := w.category(pay.ID, map[string]string{"en": "Payouts", "fr": "Versements"})
	refunds := w.category(pay.ID, map[string]string{"en": "Refunds"})
	w.article(pay.ID, []int64{payouts.ID}, map[string]string{"en": "Connect your bank account", "fr": "Relier votre compte bancaire", "ar": "اربط حسابك البنكي"},
		`<h1>Connect your bank account</h1><h2>Before you start</h2><p style="color: red">Have these at <a href="#connect-your-bank-account">hand</a>.</p><h2>Connect</h2><table><tr><td>1</td></tr></table><h3>A code</h3>`+
			`<details><summary>Is it safe?</summary><p>Yes.</p></details><details><summary>Is it fast?</summary><p>Very.</p></details><pre><code class="language-go">x := "&lt;b&gt;"</code></pre>`)
	w.article(pay.ID, []int64{payouts.ID}, map[string]string{"en": "Why a payout is late"}, "<p>Banks are slow with a refund.</p>")
	w.article(pay.ID, []int64{refunds.ID, payouts.ID}, map[string]string{"en": "Refund a payment"}, "<p>Choose <b>Refund</b> & wait.</p>")
	w.article(start.ID, nil, map[string]string{"en": "Größe & “quotes” <b>"}, "<p>First.</p>")
	for i := range 7 {
		w.article(start.ID, nil, map[string]string{"en": fmt.Sprint("Step ", i+1)}, "<p>Go on.</p>")
	}
}

// get requests a page of the site.
func (w *world) get(path string, header ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.ask(w.Handler, "GET", "https://help.example.org"+path, nil, header...)
}

func (w *world) post(path string, form url.Values, header ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.ask(w.Handler, "POST", "https://help.example.org"+path, form, header...)
}

func (w *world) ask(h http.Handler, method, address string, form url.Values, header ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(method, address, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

// value finds the value of a hidden field.
func value(body, name string) string {
	_, after, _ := strings.Cut(body, `name="`+name+`" value="`)
	found, _, _ := strings.Cut(after, `"`)
	return found
}
