package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/netguard"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/spans"
)

// maildir puts mails into the INBOX of a user of Dovecot.
func maildir(t testing.TB, server testenv.DovecotServer, user string, raws ...string) {
	t.Helper()
	root := filepath.Join(filepath.Dir(server.Ctl), "mail")
	owner, err := os.Stat(root)
	if err != nil {
		testenv.Skip(t, "the mail of this Dovecot is somewhere else")
	}
	own := func(path string) {
		if sys, ok := owner.Sys().(*syscall.Stat_t); ok && os.Getuid() == 0 {
			if err := os.Chown(path, int(sys.Uid), int(sys.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, folder := range []string{"", "tmp", "new", "cur"} {
		if err := os.MkdirAll(filepath.Join(root, user, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		own(filepath.Join(root, user, folder))
	}
	for _, raw := range raws {
		name := testenv.Name(fmt.Sprint(time.Now().UnixNano())) + ".test"
		path := filepath.Join(root, user, "tmp", name)
		if err := os.WriteFile(path, []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
		own(path)
		if err := os.Rename(path, filepath.Join(root, user, "new", name)); err != nil {
			t.Fatal(err)
		}
	}
}

// letters makes n mails that differ.
func letters(prefix string, n int) []string {
	raws := make([]string, n)
	for i := range raws {
		raws[i] = fmt.Sprintf("From: c%d@example.com\r\nSubject: %s %d\r\nMessage-ID: <%s-%d@example.com>\r\n\r\nText %d.\r\n", i, prefix, i, prefix, i, i)
	}
	return raws
}

// inbound are the settings of a user of a server.
func inbound(t testing.TB, kind ledger.InboundType, addr, user, password string) helpdesk.InboundInput {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return helpdesk.InboundInput{
		Type: kind, Host: host, Port: number, Username: user, Password: storage.Some(password),
		Encryption: mailserver.None, ValidateCertificate: storage.Some(false),
	}
}

// fetched adds a mailbox whose mail is fetched.
func (b *bundle) fetched(email string, in helpdesk.InboundInput) int64 {
	b.t.Helper()
	m, err := b.desk.Mailboxes().Create(b.t.Context(), helpdesk.MailboxInput{Email: storage.Some(email), Inbound: storage.Some(in)})
	if err != nil {
		b.t.Fatal(err)
	}
	return m.ID
}

func (b *bundle) count(mailbox int64) int {
	b.t.Helper()
	n := 0
	for after := int64(0); ; {
		rows, err := b.intake.Waiting(b.t.Context(), b.desk.AccountID(), mailbox, after, 1000)
		if err != nil {
			b.t.Fatal(err)
		}
		if len(rows) == 0 {
			return n
		}
		n += len(rows)
		after = rows[len(rows)-1].ID
	}
}

func (b *bundle) fetch() (stop func()) {
	b.t.Helper()
	return b.fetchTraced(nil)
}

func (b *bundle) fetchTraced(tracer storage.Tracer) (stop func()) {
	b.t.Helper()
	servers := ingest.NewServers(ingest.ServersConfig{AllowPrivateHosts: true, PollInterval: 50 * time.Millisecond})
	f := check(ingest.NewFetcher(ingest.FetcherConfig{Intake: b.intake, Servers: servers, Refresh: 20 * time.Millisecond, Tracer: tracer}))(b.t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				b.t.Errorf("Run: %v", err)
			}
		case <-time.After(testenv.Patience):
			b.t.Error("Run does not end")
		}
	}
	b.t.Cleanup(stop)
	return stop
}

// deaf is a server that accepts connections but is silent.
func deaf(t testing.TB) (addr string, connections *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	connections = new(atomic.Int32)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	return listener.Addr().String(), connections
}

// Mailboxes are independent: servers that do not answer delay no others, neither in fetching nor when their settings change.
func TestSlowServersDelayNoOthers(t *testing.T) {
	t.Parallel()
	dovecot := testenv.POP3(t)
	b := newBundle(t, memblob.New())
	slow, connections := deaf(t)
	var slowBoxes []int64
	for i := range 20 {
		kind := []ledger.InboundType{ledger.InboundIMAP, ledger.InboundPOP3}[i%2]
		slowBoxes = append(slowBoxes, b.fetched(fmt.Sprintf("slow%d@example.org", i), inbound(t, kind, slow, "u", "p")))
	}
	b.fetch()
	testenv.Eventually(t, "the slow servers are connected to", func() bool { return connections.Load() >= 20 })
	boxes := map[int64]string{}
	for name, addr := range map[ledger.InboundType]string{ledger.InboundIMAP: dovecot.Addr, ledger.InboundPOP3: dovecot.POP3Addr} {
		user := testenv.Name("fetch")
		maildir(t, dovecot, user, letters(string(name), 30)...)
		boxes[b.fetched(string(name)+"@example.org", inbound(t, name, addr, user, dovecot.Password))] = user
	}
	for id := range boxes {
		testenv.Eventually(t, "all mails are there", func() bool { return b.count(id) == 30 })
	}
	// New settings for the slow ones: those that work go on.
	for _, id := range slowBoxes {
		if _, err := b.desk.Mailboxes().Update(t.Context(), id, helpdesk.MailboxInput{Inbound: storage.Some(inbound(t, ledger.InboundIMAP, slow, "other", "p"))}); err != nil {
			t.Fatal(err)
		}
	}
	for id, user := range boxes {
		maildir(t, dovecot, user, letters("late", 5)...)
		testenv.Eventually(t, "late mails are there", func() bool { return b.count(id) == 35 })
		st, err := b.desk.Mailboxes().FetchStatus(t.Context(), id)
		if err != nil || !st.Connected || st.LastError != "" || st.NeedsReauth {
			t.Errorf("status: %+v, %v", st, err)
		}
	}
	testenv.Eventually(t, "the changed ones are connected to", func() bool { return connections.Load() >= 40 })
}

// The commands of a fetch are traced within it, by kind only.
func TestFetchIsTraced(t *testing.T) {
	t.Parallel()
	dovecot := testenv.POP3(t)
	for kind, c := range map[ledger.InboundType]struct {
		addr string
		want []string
	}{
		ledger.InboundIMAP: {dovecot.Addr, []string{"imap greeting", "imap login", "imap select", "imap search", "imap fetch", "take mails from imap"}},
		ledger.InboundPOP3: {dovecot.POP3Addr, []string{"pop3 greeting", "pop3 login", "pop3 list", "pop3 fetch", "take mails from pop3"}},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b, tracer, user := newBundle(t, memblob.New()), new(spans.Recorder), testenv.Name("traced")
			maildir(t, dovecot, user, letters("traced", 3)...)
			id := b.fetched("traced@example.org", inbound(t, kind, c.addr, user, dovecot.Password))
			stop := b.fetchTraced(tracer)
			testenv.Eventually(t, "the mails", func() bool { return b.count(id) == 3 })
			testenv.Eventually(t, "the end of a fetch", func() bool { return slices.Contains(tracer.Ended(), spans.Span{Name: "fetch mails"}) })
			stop()
			within, stray := map[string]bool{}, map[string]bool{}
			for _, s := range tracer.Ended() {
				if s.Within == "fetch mails" {
					within[s.Name] = true
				} else if s.Name != "fetch mails" {
					stray[s.Name] = true
				}
			}
			for _, name := range c.want {
				if !within[name] {
					t.Errorf("no span %s", name)
				}
			}
			if len(stray) > 0 {
				t.Errorf("outside of a fetch: %v", stray)
			}
		})
	}
}

// The positions of one server mean nothing to another: after a move all mail is fetched there, although both count alike.
func TestMoveToAnotherServer(t *testing.T) {
	t.Parallel()
	dovecot := testenv.POP3(t)
	for kind, addr := range map[ledger.InboundType]string{ledger.InboundIMAP: dovecot.Addr, ledger.InboundPOP3: dovecot.POP3Addr} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, memblob.New())
			first, second := testenv.Name("first"), testenv.Name("second")
			maildir(t, dovecot, first, letters("first", 10)...)
			maildir(t, dovecot, second, letters("second", 4)...)
			id := b.fetched("moved@example.org", inbound(t, kind, addr, first, dovecot.Password))
			b.fetch()
			testenv.Eventually(t, "the first server's mails", func() bool { return b.count(id) == 10 })
			in := inbound(t, kind, addr, second, dovecot.Password)
			if _, err := b.desk.Mailboxes().Update(t.Context(), id, helpdesk.MailboxInput{Inbound: storage.Some(in)}); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, "the second server's mails", func() bool { return b.count(id) == 14 })
		})
	}
}

// tokenEndpoint gives tokens, each with a new refresh token, until it is told to refuse.
type tokenEndpoint struct {
	gone  atomic.Bool
	given atomic.Int32
	last  atomic.Value // the refresh token of the last request
}

func (e *tokenEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.last.Store(r.PostFormValue("refresh_token"))
	if e.gone.Load() {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error": "invalid_grant"}`))
		return
	}
	n := e.given.Add(1)
	_, _ = fmt.Fprintf(w, `{"access_token": "token-%d", "refresh_token": "refresh-%d", "expires_in": 3600}`, n, n+1)
}

// introspection validates tokens for Dovecot.
func introspection(w http.ResponseWriter, r *http.Request) {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	user, good := strings.CutPrefix(token, "token-for-")
	_, _ = fmt.Fprintf(w, `{"active": %t, "username": %q}`, good, user)
}

// Dovecot accepts an access token, by OAUTHBEARER and XOAUTH2, IMAP and POP3; a revoked grant is reported as such.
func TestOAuthAtDovecot(t *testing.T) {
	t.Parallel()
	check := httptest.NewServer(http.HandlerFunc(introspection))
	t.Cleanup(check.Close)
	dir, err := os.MkdirTemp("/tmp", "hw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(dir, "oauth2.conf")
	text := "introspection_mode = auth\nintrospection_url = " + check.URL + "/\nactive_attribute = active\nactive_value = true\nusername_attribute = username\n"
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, mechanism := range []string{"xoauth2", "oauthbearer"} {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()
			dovecot := testenv.OwnDovecot(t, fmt.Sprintf("auth_mechanisms = plain %s\npassdb {\n  driver = oauth2\n  mechanisms = %[1]s\n  args = %s\n}\n", mechanism, settings))
			user := testenv.Name("oauth")
			maildir(t, dovecot, user, letters("oauth", 3)...)
			var asked atomic.Int32
			endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.PostFormValue("refresh_token") == "gone":
					w.WriteHeader(http.StatusBadRequest)
					_, _ = w.Write([]byte(`{"error": "invalid_grant"}`))
				case asked.Add(1) == 1: // one that has ended early
					_, _ = w.Write([]byte(`{"access_token": "stale", "expires_in": 3600}`))
				default:
					_, _ = fmt.Fprintf(w, `{"access_token": "token-for-%s", "expires_in": 3600}`, user)
				}
			}))
			t.Cleanup(endpoint.Close)
			b := newBundle(t, memblob.New())
			b.fetch()
			for kind, addr := range map[ledger.InboundType]string{ledger.InboundIMAP: dovecot.Addr, ledger.InboundPOP3: dovecot.POP3Addr} {
				in := inbound(t, kind, addr, user, "")
				in.Auth, in.OAuth = ledger.AuthOAuth2, helpdesk.OAuthInput{
					ClientID: "client", TokenURL: endpoint.URL, RefreshToken: storage.Some("refresh"), ClientSecret: storage.Some("s"),
				}
				id := b.fetched(string(kind)+"@example.org", in)
				testenv.Eventually(t, string(kind)+": all mails are there", func() bool { return b.count(id) == 3 })
				in.OAuth.RefreshToken = storage.Some("gone")
				if _, err := b.desk.Mailboxes().Update(t.Context(), id, helpdesk.MailboxInput{Inbound: storage.Some(in)}); err != nil {
					t.Fatal(err)
				}
				testenv.Eventually(t, string(kind)+": needs access again", func() bool {
					st, err := b.desk.Mailboxes().FetchStatus(t.Context(), id)
					return err == nil && st.NeedsReauth && strings.Contains(st.LastError, "invalid_grant")
				})
				in.OAuth.RefreshToken = storage.Some("refresh")
				if _, err := b.desk.Mailboxes().Update(t.Context(), id, helpdesk.MailboxInput{Inbound: storage.Some(in)}); err != nil {
					t.Fatal(err)
				}
				testenv.Eventually(t, string(kind)+": has access again", func() bool {
					st, err := b.desk.Mailboxes().FetchStatus(t.Context(), id)
					return err == nil && !st.NeedsReauth && st.Connected
				})
			}
		})
	}
}

// A refresh token that the endpoint replaces is kept, sealed, and is no reason to connect anew.
func TestRotatedRefreshTokenIsKept(t *testing.T) {
	t.Parallel()
	e := &tokenEndpoint{}
	endpoint := httptest.NewServer(e)
	t.Cleanup(endpoint.Close)
	addr, connections := deaf(t)
	b := newBundle(t, memblob.New())
	in := inbound(t, ledger.InboundIMAP, addr, "u", "")
	in.Auth, in.OAuth = ledger.AuthOAuth2, helpdesk.OAuthInput{ClientID: "c", TokenURL: endpoint.URL, RefreshToken: storage.Some("refresh-1")}
	id := b.fetched("rotated@example.org", in)
	stop := b.fetch()
	stored := func() string {
		sources, err := b.intake.Sources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sources {
			if s.MailboxID == id {
				return s.RefreshToken
			}
		}
		return ""
	}
	testenv.Eventually(t, "the new refresh token is kept", func() bool { return stored() == "refresh-2" })
	testenv.Eventually(t, "the server is connected to", func() bool { return connections.Load() == 1 })
	stop()
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	// One that is set by hand wins over one that comes late.
	if err := b.intake.KeepRefreshToken(t.Context(), b.desk.AccountID(), id, "refresh-1", "late"); err != nil || stored() != "refresh-2" {
		t.Errorf("%v, %q is kept", err, stored())
	}
	m, err := b.desk.Mailboxes().Get(t.Context(), id)
	if err != nil || len(m.Inbound.OAuth.SealedSecrets) > 0 || !m.Inbound.OAuth.HasRefreshToken {
		t.Errorf("%+v, %v", m.Inbound, err)
	}
	e.gone.Store(true)
	err = ingest.NewServers(ingest.ServersConfig{AllowPrivateHosts: true}).Test(t.Context(), ledger.FetchSource{Inbound: m.Inbound, RefreshToken: "x"})
	if !errors.Is(err, ledger.ErrReauth) {
		t.Errorf("Test: %v, want ErrReauth", err)
	}
	err = ingest.NewServers(ingest.ServersConfig{}).Test(t.Context(), ledger.FetchSource{Inbound: m.Inbound, RefreshToken: "x"})
	if !errors.Is(err, netguard.ErrPrivateHost) {
		t.Errorf("Test: %v, want the dial policy's refusal", err)
	}
}
