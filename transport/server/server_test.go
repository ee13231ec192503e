package server_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"net/smtp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/jobs"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport/server"
)

// relay keeps the mails that it is given.
type relay chan sent

type sent struct {
	to   []string
	text string
}

func (r relay) Send(_ context.Context, _ string, to []string, m *outbound.Mail) ([]outbound.Result, error) {
	var b strings.Builder
	if _, err := m.WriteTo(&b); err != nil {
		return nil, err
	}
	r <- sent{to, b.String()}
	results := make([]outbound.Result, len(to))
	for i := range results {
		results[i].State = sending.Sent
	}
	return results, nil
}

// config returns the configuration of every server.
func config() server.Config {
	return server.Config{Store: memstore.New(), Blobs: memblob.New(), Keys: [][]byte{storage.NewSecretKey()}, Relay: make(relay, 10)}
}

// made is a server with an account that has a mailbox.
type made struct {
	*server.Server
	owner   identity.User
	account identity.Account
	desk    *helpdesk.Desk
	mailbox helpdesk.Mailbox
}

func newServer(t *testing.T, cfg server.Config) *made {
	t.Helper()
	srv, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m := &made{Server: srv}
	operator := srv.Service().Operator()
	if m.owner, err = operator.CreateUser(t.Context(), identity.UserInput{Email: "olga@example.org"}); err != nil {
		t.Fatal(err)
	}
	if m.account, err = operator.CreateAccount(t.Context(), identity.AccountInput{Name: "Acme"}, m.owner.ID); err != nil {
		t.Fatal(err)
	}
	if m.desk, err = srv.Service().Desk(t.Context(), srv.Service().As(m.owner.ID), m.account.ID); err != nil {
		t.Fatal(err)
	}
	if m.mailbox, err = m.desk.Mailboxes().Create(t.Context(), helpdesk.MailboxInput{Email: storage.Some("support@example.org")}); err != nil {
		t.Fatal(err)
	}
	return m
}

// start runs the server until the function that it returns is called.
func (m *made) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// missing is which fields an error is about.
func missing(err error) []string {
	var fields []string
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid {
		for name := range f.Fields {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields
}

func TestNewListsMissingFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(cfg *server.Config)
		want   []string
	}{
		"all of it":          {func(cfg *server.Config) { *cfg = server.Config{} }, []string{"Blobs", "Keys", "Store"}},
		"a store of its own": {func(cfg *server.Config) { cfg.Store = struct{ helpdesk.Store }{memstore.New()} }, []string{"Jobs.Jobs", "Site.Events"}},
		"a short key":        {func(cfg *server.Config) { cfg.Keys = append(cfg.Keys, []byte("short")) }, []string{"Keys"}},
		"a pattern that is taken": {func(cfg *server.Config) {
			cfg.Handlers = map[string]http.Handler{"GET /healthz": http.NotFoundHandler()}
		}, []string{"Handlers"}},
		"a path of the desk that is taken":                {func(cfg *server.Config) { cfg.DeskPath = server.APIBase }, []string{"DeskPath"}},
		"a path of the desk that is none":                 {func(cfg *server.Config) { cfg.DeskPath = "support/" }, []string{"DeskPath"}},
		"a prefix of the desk that is not below the base": {func(cfg *server.Config) { cfg.Agents.Prefix = "/support" }, []string{"Agents.Prefix"}},
		"a base that is none":                             {func(cfg *server.Config) { cfg.BaseURL = "help" }, []string{"BaseURL"}},
		"a handler without a function": {func(cfg *server.Config) {
			cfg.Jobs.Handlers = map[string]jobs.Handler{helpdesk.JobSendMail: {}}
		}, []string{"Handlers[mail.send]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config()
			c.change(&cfg)
			srv, err := server.New(cfg)
			if diff := cmp.Diff(c.want, missing(err)); diff != "" || srv != nil {
				t.Errorf("%v: %s", err, diff)
			}
		})
	}
}

func TestRunNeedsAHandlerOfEveryKind(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Relay = nil
	m := newServer(t, cfg)
	want := []string{"Handlers[mail.credential]", "Handlers[mail.invite]", "Handlers[mail.password]", "Handlers[mail.probe]", "Handlers[mail.return]", "Handlers[mail.send]", "Handlers[mail.tell]"}
	if diff := cmp.Diff(want, missing(m.Run(t.Context()))); diff != "" {
		t.Error(diff)
	}
	own := jobs.Handler{Func: func(context.Context, storage.ClaimedJob) error { return nil }}
	cfg.Jobs.Handlers = map[string]jobs.Handler{helpdesk.JobSendMail: own}
	for _, kind := range helpdesk.SystemMailKinds() {
		cfg.Jobs.Handlers[kind] = own
	}
	srv, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := srv.Run(ctx); err != nil {
		t.Error(err)
	}
}

// TestJobKinds finds the kinds in the source, so that none is left out.
func TestJobKinds(t *testing.T) {
	t.Parallel()
	for folder, listed := range map[string][]string{"../../helpdesk": helpdesk.JobKinds(), "../../kb": kb.JobKinds()} {
		packages, err := parser.ParseDir(token.NewFileSet(), folder, nil, 0) //nolint:staticcheck // the files are enough
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, p := range packages {
			ast.Inspect(p, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok || !strings.HasPrefix(spec.Names[0].Name, "Job") || len(spec.Values) == 0 {
					return true
				}
				if text, ok := spec.Values[0].(*ast.BasicLit); ok {
					kind, _ := strconv.Unquote(text.Value)
					found[kind] = true
				}
				return true
			})
		}
		for kind := range found {
			if !slices.Contains(listed, kind) {
				t.Errorf("%s: JobKinds has no %s", folder, kind)
			}
		}
		if len(found) != len(listed) {
			t.Errorf("%s: %d kinds in the source, %d listed", folder, len(found), len(listed))
		}
	}
}

// A customer writes, the mail becomes a conversation, and the answer leaves.
func TestMailInAndOut(t *testing.T) {
	t.Parallel()
	cfg := config()
	out := make(relay, 1)
	cfg.Relay, cfg.IntakeListen = out, "127.0.0.1:0"
	m := newServer(t, cfg)
	defer m.start(t)()
	const text = "From: Ada <ada@example.com>\r\nTo: support@example.org\r\nSubject: The door\r\nMessage-ID: <1@example.com>\r\n\r\nIt is stuck.\r\n"
	if err := smtp.SendMail(m.Addrs()[0].String(), nil, "ada@example.com", []string{m.desk.Mailboxes().InternalAddress(m.mailbox)}, []byte(text)); err != nil {
		t.Fatal(err)
	}
	var c helpdesk.Conversation
	testenv.Eventually(t, "the mail becomes a conversation", func() bool {
		page, err := m.desk.Conversations().List(t.Context(), helpdesk.ConversationQuery{}, storage.PageRequest{})
		if err != nil || len(page.Items) == 0 {
			return false
		}
		c = page.Items[0]
		return true
	})
	if _, err := m.desk.Interactions().Create(t.Context(), c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Have you tried to pull?"}); err != nil {
		t.Fatal(err)
	}
	select {
	case mail := <-out:
		if diff := cmp.Diff([]string{"ada@example.com"}, mail.to); diff != "" || !strings.Contains(mail.text, "Have you tried to pull?") {
			t.Errorf("%s\n%s", diff, mail.text)
		}
	case <-time.After(testenv.Patience):
		t.Error("the answer has not left")
	}
}

// The program signs in its users itself, and serves the help desk below a path, beside pages of its own.
func TestBelowAPathWithOwnUsers(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.BaseURL = "https://shop.example/help"
	cfg.Authenticate = func(r *http.Request) (int64, error) {
		id, _ := strconv.ParseInt(r.Header.Get("X-User"), 10, 64)
		return id, nil
	}
	cfg.Handlers = map[string]http.Handler{"GET /own": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "own") })}
	m := newServer(t, cfg)
	sites, err := m.KB().Sites(m.Service().As(m.owner.ID))
	if err != nil {
		t.Fatal(err)
	}
	site, err := sites.Create(t.Context(), kb.SiteInput{AccountID: m.account.ID, Name: "Help", Path: storage.Some("center")})
	if err != nil {
		t.Fatal(err)
	}
	center := strings.TrimPrefix(m.KB().URL(site), "https://shop.example")
	mux := http.NewServeMux()
	mux.Handle("/help/", http.StripPrefix("/help", m.Handler()))
	web := httptest.NewServer(mux)
	defer web.Close()
	conversations := "/help/api/v1/accounts/" + strconv.FormatInt(m.account.ID, 10) + "/conversations"
	for _, c := range []struct {
		path   string
		user   int64
		status int
	}{
		{conversations, 0, http.StatusUnauthorized},
		{conversations, m.owner.ID, http.StatusOK},
		{conversations, m.owner.ID + 1, http.StatusNotFound},
		{center, 0, http.StatusOK},
		{"/help/own", 0, http.StatusOK},
		{"/help/healthz", 0, http.StatusOK},
		{"/help/readyz", 0, http.StatusOK},
		{"/api/v1/accounts", 0, http.StatusNotFound},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "shop.example"
		req.Header.Set("X-User", strconv.FormatInt(c.user, 10))
		res, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != c.status {
			t.Errorf("%s as %d: %d, want %d; %v", c.path, c.user, res.StatusCode, c.status, err)
		}
		links := regexp.MustCompile(`(?:href|action|src)="(/[^"]*)"`).FindAllStringSubmatch(string(page), -1)
		if c.path == center && len(links) == 0 {
			t.Errorf("the help centre has no links: %s", page)
		}
		for _, link := range links {
			if !strings.HasPrefix(link[1], "/help/") {
				t.Errorf("%s: the link %s leads elsewhere", c.path, link[1])
			}
		}
	}
}

// The agents' pages are where the program wants them, and a mux of its own serves them by the patterns that the server names.
// Who has not signed in is sent to the program's page, which learns where to return to.
func TestDeskElsewhere(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.BaseURL, cfg.DeskPath = "https://shop.example/help", "/staff/inbox"
	cfg.Authenticate = func(r *http.Request) (int64, error) {
		id, _ := strconv.ParseInt(r.Header.Get("X-User"), 10, 64)
		return id, nil
	}
	cfg.Agents.SignIn = "/login"
	m := newServer(t, cfg)
	mux := http.NewServeMux()
	for _, pattern := range m.Patterns() {
		mux.Handle(pattern, m.Handler())
	}
	mux.HandleFunc("GET /own", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "own") })
	web := httptest.NewServer(http.StripPrefix("/help", mux))
	defer web.Close()
	client := *web.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	desk := "/help/staff/inbox"
	for _, c := range []struct {
		path   string
		user   int64
		status int
		to     string
	}{
		{desk, 0, http.StatusSeeOther, desk + "/"},
		{desk + "/", 0, http.StatusSeeOther, "/login?next=" + url.QueryEscape(desk+"/")},
		{desk + "/a/1/inbox/all?sort=oldest", 0, http.StatusSeeOther, "/login?next=" + url.QueryEscape(desk+"/a/1/inbox/all?sort=oldest")},
		{desk + "/a/1/inbox/all", m.owner.ID, http.StatusOK, ""},
		{"/help/desk/", m.owner.ID, http.StatusNotFound, ""},
		{"/help/healthz", 0, http.StatusOK, ""},
		{"/help/own", 0, http.StatusOK, ""},
		{"/help/api/v1/accounts/1/conversations", m.owner.ID, http.StatusOK, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "shop.example"
		req.Header.Set("X-User", strconv.FormatInt(c.user, 10))
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != c.status || res.Header.Get("Location") != c.to {
			t.Errorf("%s as %d: %d to %q, want %d to %q; %v", c.path, c.user, res.StatusCode, res.Header.Get("Location"), c.status, c.to, err)
		}
		for _, link := range regexp.MustCompile(`(?:href|action|src)="(/[^"]*)"`).FindAllStringSubmatch(string(page), -1) {
			if strings.HasPrefix(c.path, desk) && !strings.HasPrefix(link[1], desk+"/") {
				t.Errorf("%s: the link %s leads elsewhere", c.path, link[1])
			}
		}
	}
}

// A private help centre requires the second factor that its account requires: before it is set up, sign-in is refused, and
// earlier sessions are invalid.
func TestPrivateSiteAsksForTheSecondFactor(t *testing.T) {
	t.Parallel()
	m := newServer(t, config())
	ctx, service := t.Context(), m.Service()
	const password = "correct horse"
	user, err := service.Operator().CreateUser(ctx, identity.UserInput{Email: "ada@example.org", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.Operator().AddMember(ctx, m.account.ID, user.ID, identity.RoleAgent); err != nil {
		t.Fatal(err)
	}
	sites, err := m.KB().Sites(service.As(m.owner.ID))
	if err != nil {
		t.Fatal(err)
	}
	private := kb.SiteInput{
		AccountID: m.account.ID, Name: "Acme", Visibility: storage.Some(kb.Private), CustomDomain: storage.Some("team.example.org"), Path: storage.Some(""),
	}
	if _, err := sites.Create(ctx, private); err != nil {
		t.Fatal(err)
	}
	visit := func(form url.Values, cookie string) (status int, body, session string) {
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://team.example.org/en", nil)
		if form != nil {
			req = httptest.NewRequestWithContext(ctx, http.MethodPost, "http://team.example.org/-/sign-in", strings.NewReader(form.Encode()))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		req.Header.Set("Cookie", cookie)
		rec := httptest.NewRecorder()
		m.Handler().ServeHTTP(rec, req)
		session, _, _ = strings.Cut(rec.Header().Get("Set-Cookie"), ";")
		return rec.Code, rec.Body.String(), session
	}
	hidden := func(body, name string) string {
		_, rest, _ := strings.Cut(body, `name="`+name+`" value="`)
		value, _, _ := strings.Cut(rest, `"`)
		return value
	}
	step := func(body string, form url.Values) (int, string, string) {
		form.Set("token", hidden(body, "token"))
		if s := hidden(body, "step"); s != "" {
			form.Set("step", s)
		}
		return visit(form, "")
	}
	signIn := func() (int, string, string) {
		_, body, _ := visit(nil, "")
		return step(body, url.Values{"email": {user.Email}, "password": {password}})
	}
	status, _, before := signIn()
	if status != http.StatusSeeOther || before == "" {
		t.Fatalf("with a password: %d", status)
	}
	if status, _, _ := visit(nil, before); status != http.StatusOK {
		t.Errorf("signed in: %d", status)
	}
	if _, err := m.desk.Account().Update(ctx, identity.AccountUpdate{Name: "Acme", RequireSecondFactor: storage.Some(true)}); err != nil {
		t.Fatal(err)
	}
	if status, body, _ := visit(nil, before); status != http.StatusForbidden || !strings.Contains(body, `name="password"`) {
		t.Errorf("a session from before the rule: %d %s", status, body)
	}
	if status, body, session := signIn(); status != http.StatusForbidden || session != "" || !strings.Contains(body, "Your team requires two-factor authentication.") {
		t.Errorf("without a second factor: %d %s", status, body)
	}
	admin, err := service.Admin(ctx, service.As(user.ID))
	if err != nil {
		t.Fatal(err)
	}
	begun, err := admin.BeginSecondFactor(ctx, password, "Acme")
	if err != nil {
		t.Fatal(err)
	}
	codes, err := admin.ConfirmSecondFactor(ctx, testenv.AppCode(begun.Secret, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	status, body, session := signIn()
	if status != http.StatusForbidden || session != "" || !strings.Contains(body, `name="code"`) {
		t.Fatalf("a password alone: %d %s", status, body)
	}
	if _, wrong, session := step(body, url.Values{"code": {"000000"}}); session != "" || !strings.Contains(wrong, "The code is incorrect") {
		t.Errorf("a wrong code: %s", wrong)
	}
	status, _, session = step(body, url.Values{"code": {codes[0]}})
	if status != http.StatusSeeOther {
		t.Fatalf("with a code: %d", status)
	}
	if status, _, _ := visit(nil, session); status != http.StatusOK {
		t.Errorf("signed in with a code: %d", status)
	}
}
