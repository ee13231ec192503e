package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/customercsv"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/events"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/api"
	"github.com/helpwright/helpwright/transport/errand"
	"github.com/helpwright/helpwright/transport/internal/openapitest"
)

// backend is a kind of store that the API is tested over.
type backend struct {
	name string
	open func(t testing.TB) helpdesk.Store
}

func backends() []backend {
	return []backend{
		{"Memory", func(testing.TB) helpdesk.Store { return memstore.New() }},
		{"SQLite", func(t testing.TB) helpdesk.Store { return openDB(t, "sqlite:"+filepath.Join(t.TempDir(), "test.db")) }},
		{"PostgreSQL", func(t testing.TB) helpdesk.Store { return openDB(t, testenv.Postgres(t)) }},
	}
}

func openDB(t testing.TB, url string) *bunstore.DB {
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

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.FixedZone("", 3600))

// clock is fixed until it is moved, or advances by step with each reading.
type clock struct {
	mu   sync.Mutex
	at   time.Time
	step time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(c.step)
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
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
		p[i] = c.n
	}
	return len(p), nil
}

// checker is the one validator of all worlds: loading the document for each cost most of the package's time.
var checker = sync.OnceValues(func() (*openapitest.Validator, error) {
	return openapitest.Load(api.OpenAPI(), "/api/v1")
})

// world is a help desk with an account and its members.
type world struct {
	svc     *helpdesk.Service
	hub     *events.Hub
	kb      *kb.Service
	store   helpdesk.Store
	clock   *clock
	table   *transport.Table
	handler http.Handler
	check   *openapitest.Validator
	tokens  map[string]string // by name: owner, agent, editor, powerless, stranger
	account identity.Account  // of all but the stranger
	files   storage.Blobs     // of imports
	// fetch replaces the proxy of images; nil: no images.
	fetch func(ctx context.Context, address string) (helpdesk.RemoteImage, error)
}

// newWorld makes the world over a store. Users: Olga the owner, Alf the agent, Eva the editor of account 1; Sam the owner of
// account 2. The token "powerless" is Eva's, with a scope that her role has not; "scoped" may only see conversations.
func newWorld(t testing.TB, store helpdesk.Store) *world {
	t.Helper()
	w := &world{store: store, clock: &clock{at: noon.UTC()}, tokens: map[string]string{"unknown": "hwp_unknown"}}
	sealer, err := storage.NewSealer(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		t.Fatal(err)
	}
	if w.hub, err = events.New(events.Config{Log: store.(storage.EventLog)}); err != nil {
		t.Fatal(err)
	}
	w.svc, err = helpdesk.New(helpdesk.Config{
		Domains: []storage.Domain{kb.Domain()}, Feed: w.hub, EventSource: "https://desk.example/api/v1",
		Store: store, Blobs: memblob.New(), Sealer: sealer, SigningKey: bytes.Repeat([]byte("k"), 32),
		IntakeDomain: "in.example.net", MaxAttachment: 1 << 20, Now: w.clock.now, Rand: &counter{},
		FetchImage: func(ctx context.Context, address string) (helpdesk.RemoteImage, error) {
			if w.fetch == nil {
				return helpdesk.RemoteImage{}, fault.New(fault.NotFound, "none")
			}
			return w.fetch(ctx, address)
		},
		MailServers: mailServers{}, Relays: relays{},
		DNS: published, ParseKey: parseKey, Providers: []identity.Provider{workID()},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.kb, err = kb.New(kb.Config{
		Store: store.(interface{ KB() kb.Store }).KB(), Blobs: memblob.New(), Membership: api.Members(w.svc),
		BaseURL: "https://desk.example.net", Now: w.clock.now, Rand: &counter{},
	})
	if err != nil {
		t.Fatal(err)
	}
	olga := w.user(t, "Olga Owner", "owner")
	sam := w.user(t, "Sam Stranger", "stranger")
	w.account = w.newAccount(t, "Acme", olga)
	w.newAccount(t, "Other", sam)
	w.token(t, olga, "scoped", identity.ConversationsView)
	for _, m := range [][3]string{{"Alf Agent", "agent", identity.RoleAgent}, {"Eva Editor", "editor", identity.RoleEditor}} {
		id := w.user(t, m[0], m[1])
		if _, err := w.svc.Operator().AddMember(context.Background(), w.account.ID, id, m[2]); err != nil {
			t.Fatal(err)
		}
		if m[1] == "editor" {
			w.token(t, id, "powerless", identity.AuditLogView)
		}
	}
	w.serve(t, api.Config{})
	return w
}

// workID is an identity provider without users.
func workID() identity.Provider {
	return identity.Provider{
		Key: "work", Name: "Work ID", Issuer: "https://id.example.org", Domains: []string{"example.org", "acme.example"},
		Begin: func(context.Context) (string, []byte, error) { return "", nil, errors.New("off") },
		Finish: func(context.Context, []byte, url.Values) (who identity.Proven, err error) {
			return who, errors.New("off")
		},
	}
}

// signsIn gives a user an identity and two passkeys.
func (w *world) signsIn(t testing.TB, userID int64) (linked, passkey int64) {
	t.Helper()
	now, mark := w.clock.now(), strconv.FormatInt(userID, 10)
	i := identity.Identity{UserID: userID, Issuer: "https://id.example.org", Subject: mark, Email: "olga@acme.example", CreatedAt: now, UsedAt: now}
	p := identity.Passkey{UserID: userID, Name: "My laptop", CreatedAt: now, UsedAt: now}
	p.CredentialID, p.Handle, p.PublicKey = []byte("first "+mark), []byte(mark), []byte("key")
	second := p
	second.Name, second.CredentialID, second.BackedUp, second.UsedAt = "My phone", []byte("second "+mark), true, time.Time{}
	err := w.store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		return errors.Join(tx.InsertIdentity(ctx, &i), tx.InsertPasskey(ctx, &p), tx.InsertPasskey(ctx, &second))
	})
	if err != nil {
		t.Fatal(err)
	}
	return i.ID, p.ID
}

func (w *world) serve(t testing.TB, cfg api.Config) {
	t.Helper()
	cfg.Service, cfg.KB = w.svc, w.kb
	cfg.Now = w.clock.now
	cfg.Errands = w.office(t)
	w.table = must(api.New(cfg))(t)
	w.handler, w.check = w.table.Handler(), must(checker())(t)
}

// imported stores an import of customers that was checked.
func (w *world) imported(t testing.TB) {
	t.Helper()
	e := errand.Errand{
		ID: "checked", AccountID: w.account.ID, Kind: customercsv.Kind, Step: customercsv.StepCheck, File: "people.csv", State: errand.Done,
		Report:  errand.Report{Step: customercsv.StepCheck, Notes: []errand.Note{{About: "row 7, Email", Text: "is required"}}},
		Created: w.clock.now(), Changed: w.clock.now(),
	}
	raw := must(json.Marshal(e))(t)
	key := fmt.Sprintf("%d/%s", e.AccountID, e.Kind)
	err := w.store.(storage.Vault).SetItem(t.Context(), storage.VaultItem{Key: "errands/" + key, Value: raw, Modified: e.Created})
	if err == nil {
		_, err = w.files.Put(t.Context(), fmt.Sprintf("%s%d/%s/%s", errand.Prefix, e.AccountID, e.ID, errand.ReportFile), strings.NewReader("failed: 1\n"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// office keeps imports, and runs none.
func (w *world) office(t testing.TB) *errand.Office {
	t.Helper()
	vault, ok := w.store.(storage.Vault)
	if !ok {
		return nil
	}
	w.files = memblob.New()
	return must(errand.New(errand.Config{
		Vault: vault, Blobs: w.files, Now: w.clock.now, Accounts: func(context.Context, int64) (bool, error) { return true, nil },
		Works: map[string]errand.Work{customercsv.Kind: func(context.Context, *errand.Task) error { return nil }},
	}))(t)
}

func (w *world) user(t testing.TB, name, token string) int64 {
	t.Helper()
	u, err := w.svc.Operator().CreateUser(context.Background(), identity.UserInput{Name: name, Email: token + "@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	w.token(t, u.ID, token)
	return u.ID
}

func (w *world) token(t testing.TB, userID int64, name string, scopes ...identity.Permission) {
	t.Helper()
	_, secret, err := w.svc.Operator().CreateToken(context.Background(), userID, identity.TokenInput{Name: name, Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	w.tokens[name] = secret
}

func (w *world) newAccount(t testing.TB, name string, owner int64) identity.Account {
	t.Helper()
	a, err := w.svc.Operator().CreateAccount(context.Background(), identity.AccountInput{Name: name}, owner)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// desk is the owner's desk.
func (w *world) desk(t testing.TB) *helpdesk.Desk {
	t.Helper()
	caller, err := w.svc.Authenticate(context.Background(), w.tokens["owner"])
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.svc.Desk(context.Background(), caller, w.account.ID)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// do sends a request as a user, or without credentials for ""; header alternates names and values. The answer is checked
// against the OpenAPI document.
func (w *world) do(t testing.TB, who, method, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequest(method, "/api/v1"+path, strings.NewReader(body))
	if who != "" {
		req.Header.Set("Authorization", "Bearer "+w.tokens[who])
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, req)
	w.check.Check(t, req, rec.Code, rec.Header(), rec.Body.Bytes())
	return rec
}

// must is do as the owner for a request that has to succeed.
func (w *world) must(t testing.TB, method, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	rec := w.do(t, "owner", method, path, body, header...)
	if rec.Code >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, rec.Code, rec.Body)
	}
	return rec
}

// receive takes a mail for the first mailbox of the account and returns its row of the ledger.
func (w *world) receive(t testing.TB, mailboxID int64, raw string) int64 {
	t.Helper()
	ctx := context.Background()
	in := w.svc.Intake()
	mails := []ledger.Raw{{Raw: []byte(raw)}}
	if err := in.Take(ctx, w.account.ID, mailboxID, "smtp", mails, nil); err != nil {
		t.Fatal(err)
	}
	waiting, err := in.Waiting(ctx, w.account.ID, mailboxID, 0, 100)
	if err != nil || len(waiting) == 0 {
		t.Fatalf("%d waiting: %v", len(waiting), err)
	}
	return waiting[len(waiting)-1].ID
}

// mailServers are the servers of mailboxes: they refuse the password "wrong".
type mailServers struct{}

// List returns two mails of INBOX, the first of which was fetched before.
func (mailServers) List(ctx context.Context, s ledger.FetchSource, _ time.Time, each func(context.Context, ledger.ServerMails) error) error {
	if s.Password == "wrong" {
		return errors.New("login: refused")
	}
	return each(ctx, ledger.ServerMails{
		Folder: "INBOX", Cursor: "INBOX", Source: "imap", Prefix: "7:", Suffix: ":INBOX",
		Positions: []string{"7:1:INBOX", "7:2:INBOX"}, At: []mailserver.Cursor{{UIDValidity: 7, UID: 1}, {UIDValidity: 7, UID: 2}},
	})
}

func (mailServers) Test(_ context.Context, s ledger.FetchSource) error {
	if s.Password == "wrong" {
		return fmt.Errorf("login: refused: %w", ledger.ErrReauth)
	}
	return nil
}

// relays take everything.
type relays struct{}

func (relays) Test(context.Context, sending.Relay, string) error { return nil }
