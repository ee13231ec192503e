package server_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/mailsignin"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/mailprovider"
	"github.com/helpwright/helpwright/transport/desk"
)

// The public address of the server of these tests.
const publicURL = "http://help.test"

// imapServer runs a Dovecot that takes the access tokens of a provider.
func imapServer(t *testing.T, p *mailprovider.Provider) testenv.DovecotServer {
	t.Helper()
	testenv.Dovecot(t)
	dir, err := os.MkdirTemp("/tmp", "hw") // not t.TempDir: Dovecot's user has to read it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(dir, "oauth2.conf")
	text := "introspection_mode = auth\nintrospection_url = " + p.IntrospectionURL() + "\nactive_attribute = active\nactive_value = true\nusername_attribute = username\n"
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return testenv.OwnDovecot(t, "auth_mechanisms = plain xoauth2\npassdb {\n  driver = oauth2\n  mechanisms = xoauth2\n  args = "+settings+"\n}\n")
}

// deliver puts a mail into the INBOX of a user of Dovecot.
func deliver(t *testing.T, d testenv.DovecotServer, user, raw string) {
	t.Helper()
	root := filepath.Join(filepath.Dir(d.Ctl), "mail")
	owner, err := os.Stat(root)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{filepath.Join(root, user)}
	for _, folder := range []string{"tmp", "new", "cur"} {
		paths = append(paths, filepath.Join(root, user, folder))
	}
	for _, path := range paths {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mail := filepath.Join(root, user, "new", testenv.Name(strconv.FormatInt(time.Now().UnixNano(), 10))+".test")
	if err := os.WriteFile(mail, []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	if sys, ok := owner.Sys().(*syscall.Stat_t); ok && os.Getuid() == 0 {
		for _, path := range append(paths, mail) {
			if err := os.Chown(path, int(sys.Uid), int(sys.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// submission runs an SMTP server that takes the access tokens of a provider, and no mail beyond the sender's address.
func submission(t *testing.T, p *mailprovider.Provider) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go submit(c, p)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func submit(c net.Conn, p *mailprovider.Provider) {
	defer c.Close()
	say := func(line string) { _, _ = fmt.Fprintf(c, "%s\r\n", line) }
	say("220 smtp.test ESMTP")
	for lines := bufio.NewScanner(c); lines.Scan(); {
		switch verb, rest, _ := strings.Cut(lines.Text(), " "); verb {
		case "EHLO":
			say("250-smtp.test")
			say("250 AUTH XOAUTH2")
		case "AUTH":
			given, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "XOAUTH2 "))
			user, token, _ := strings.Cut(strings.TrimPrefix(string(given), "user="), "\x01auth=Bearer ")
			if holder := p.Holder(strings.TrimRight(token, "\x01")); holder == "" || holder != user {
				say("535 5.7.8 no")
				continue
			}
			say("235 2.7.0 welcome")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// browser is a browser with a session of the owner.
type browser struct {
	t      *testing.T
	client *http.Client
	base   *url.URL
}

func (m *made) browser(t *testing.T) *browser {
	t.Helper()
	web := httptest.NewServer(m.Handler())
	t.Cleanup(web.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Service().SignIn().StartSession(t.Context(), m.Service().As(m.owner.ID), "Firefox")
	if err != nil {
		t.Fatal(err)
	}
	jar.SetCookies(base, []*http.Cookie{{Name: "helpwright_session", Value: s.Secret}})
	return &browser{t: t, base: base, client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// open follows links and redirects, also to the provider and back, and returns the page with its path.
func (b *browser) open(address string) (path, page string, status int) {
	b.t.Helper()
	for range 10 {
		address = strings.Replace(address, publicURL, b.base.String(), 1)
		if strings.HasPrefix(address, "/") {
			address = b.base.String() + address
		}
		req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, nil)
		if err != nil {
			b.t.Fatal(err)
		}
		res, err := b.client.Do(req)
		if err != nil {
			b.t.Fatal(err)
		}
		text := new(strings.Builder)
		_, _ = bufio.NewReader(res.Body).WriteTo(text)
		_ = res.Body.Close()
		if address = res.Header.Get("Location"); address == "" {
			return req.URL.RequestURI(), text.String(), res.StatusCode
		}
	}
	b.t.Fatal("too many redirects")
	return "", "", 0
}

// link returns the address of the first link with a text, as HTML has it.
func link(t *testing.T, page, text string) string {
	t.Helper()
	before, _, found := strings.Cut(page, text)
	at := strings.LastIndex(before, `href="`)
	if !found || at < 0 {
		t.Fatalf("no link %q in %s", text, page)
	}
	address, _, _ := strings.Cut(before[at+len(`href="`):], `"`)
	return strings.ReplaceAll(address, "&amp;", "&")
}

// signInServer is a server whose mailboxes can be signed in to a provider.
func signInServer(t *testing.T, kind mailprovider.Kind, imap string) (*made, *mailprovider.Provider) {
	t.Helper()
	p := mailprovider.Start(t, kind, publicURL+"/desk"+desk.MailSignInPath(string(kind)))
	return serverOf(t, p, imap), p
}

func serverOf(t *testing.T, p *mailprovider.Provider, imap string) *made {
	t.Helper()
	host, port, err := net.SplitHostPort(imap)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	make := map[mailprovider.Kind]func(mailsignin.Config) (mailserver.Provider, error){mailprovider.Google: mailsignin.Google, mailprovider.Microsoft: mailsignin.Microsoft}[p.Kind]
	provider, err := make(mailsignin.Config{
		ClientID: mailprovider.ClientID, ClientSecret: mailprovider.ClientSecret, RedirectURL: p.Redirect, AuthURL: p.AuthURL(), TokenURL: p.TokenURL(),
		Inbound:  mailserver.Address{Host: host, Port: number, Encryption: mailserver.None},
		Outbound: mailserver.Address{Host: "127.0.0.1", Port: submission(t, p), Encryption: mailserver.None},
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := config()
	cfg.BaseURL, cfg.AllowPrivateHosts = publicURL, true
	cfg.Desk.MailProviders = []mailserver.Provider{provider}
	cfg.Fetching.PollInterval = 50 * time.Millisecond
	return newServer(t, cfg)
}

// From the set-up to the first fetched mail, and from an access that was withdrawn to a new one, at a provider that behaves
// like Google and at one that behaves like Microsoft.
func TestMailSignIn(t *testing.T) {
	t.Parallel()
	for _, kind := range []mailprovider.Kind{mailprovider.Google, mailprovider.Microsoft} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			p := mailprovider.Start(t, kind, publicURL+"/desk"+desk.MailSignInPath(string(kind)))
			dovecot, account := imapServer(t, p), testenv.Name("desk")+"@example.org"
			m := serverOf(t, p, dovecot.Addr)
			if err := m.desk.Mailboxes().Delete(t.Context(), m.mailbox.ID, false); err != nil {
				t.Fatal(err)
			}
			stop := m.start(t)
			defer stop()
			deliver(t, dovecot, account, "From: kim@example.com\r\nSubject: The kettle leaks\r\nMessage-ID: <kettle@example.com>\r\n\r\nHelp.\r\n")
			name := map[mailprovider.Kind]string{mailprovider.Google: "Google", mailprovider.Microsoft: "Microsoft"}[kind]

			b := m.browser(t)
			_, page, _ := b.open("/desk/a/1/setup/mailbox")
			start := link(t, page, "Sign in with "+name)
			p.Set(mailprovider.State{Denied: "access_denied"})
			if _, page, status := b.open(start); status != http.StatusForbidden || !strings.Contains(page, "was not given permission") || strings.Contains(page, "The user refused") {
				t.Errorf("refused: %d %s", status, page)
			}
			p.Set(mailprovider.State{Account: account, Strict: kind == mailprovider.Microsoft})
			path, page, _ := b.open(start)
			for _, text := range []string{"Signed in to " + name + " as", account, "The connection works", `class="ok"`, "Accepts mail", "Mail to import"} {
				if !strings.Contains(page, text) {
					t.Errorf("%s does not say %q: %s", path, text, page)
				}
			}
			if path != "/desk/a/1/setup/mailbox" || strings.Contains(page, `type="password"`) {
				t.Errorf("%s: %s", path, page)
			}
			boxes, err := m.desk.Mailboxes().List(t.Context(), storage.PageRequest{})
			if err != nil || len(boxes.Items) != 1 {
				t.Fatalf("%+v, %v", boxes, err)
			}
			box := boxes.Items[0]
			if box.Email != account || !strings.HasPrefix(box.Name, "Desk") || box.Inbound.Auth != ledger.AuthOAuth2 || box.Inbound.Username != account ||
				box.Outbound.Auth != sending.OutboundOAuth2 || box.Outbound.Username != account || box.Inbound.ImportSince.IsZero() {
				t.Errorf("%+v", box)
			}
			testenv.Eventually(t, "the first mail is filed", func() bool {
				all, err := m.desk.Conversations().List(t.Context(), helpdesk.ConversationQuery{}, storage.PageRequest{})
				return err == nil && len(all.Items) == 1 && all.Items[0].Subject == "The kettle leaks"
			})

			p.Set(mailprovider.State{Account: account, Revoked: true, Expired: true})
			if _, err := m.desk.Mailboxes().Test(t.Context(), box.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := m.desk.Mailboxes().Update(t.Context(), box.ID, helpdesk.MailboxInput{Inbound: storage.Some(again(box))}); err != nil { // connects anew
				t.Fatal(err)
			}
			testenv.Eventually(t, "access is needed again", func() bool {
				st, err := m.desk.Mailboxes().FetchStatus(t.Context(), box.ID)
				return err == nil && st.NeedsReauth
			})
			settings := fmt.Sprintf("/desk/a/1/settings/mailboxes/%d", box.ID)
			_, page, _ = b.open(settings)
			if !strings.Contains(page, "Access has expired or was revoked.") || !strings.Contains(page, "New mail waits at "+name) {
				t.Errorf("%s: %s", settings, page)
			}
			for _, path := range []string{"/desk/a/1/settings/mailboxes", "/desk/a/1/health"} {
				_, page, _ := b.open(path)
				link(t, page, "Sign in again") // fails the test without one
			}
			p.Set(mailprovider.State{Account: account})
			if path, page, _ := b.open(link(t, page, "Sign in again")); path != settings || !strings.Contains(page, "The connection works") {
				t.Errorf("%s: %s", path, page)
			}
			testenv.Eventually(t, "mail is fetched again", func() bool {
				st, err := m.desk.Mailboxes().FetchStatus(t.Context(), box.ID)
				return err == nil && !st.NeedsReauth && st.Connected
			})
		})
	}
}

// again is a connection with another folder, which is connected anew.
func again(m helpdesk.Mailbox) helpdesk.InboundInput {
	in := m.Inbound
	return helpdesk.InboundInput{
		Type: in.Type, Host: in.Host, Port: in.Port, Username: in.Username, Encryption: in.Encryption, ValidateCertificate: storage.Some(true),
		Folders: []string{"INBOX"}, Auth: in.Auth, OAuth: helpdesk.OAuthInput{ClientID: in.OAuth.ClientID, TokenURL: in.OAuth.TokenURL, Scope: in.OAuth.Scope},
	}
}

// What comes back from a provider is taken once, in time, in the browser and for the user and the mailbox it began with.
func TestMailSignInIsBound(t *testing.T) {
	t.Parallel()
	m, p := signInServer(t, mailprovider.Microsoft, "127.0.0.1:1")
	b := m.browser(t)
	start := fmt.Sprintf("/desk/a/1/mailbox-sign-in/microsoft?mailbox=%d", m.mailbox.ID)
	begin := func() *url.URL {
		t.Helper()
		for address := b.base.String() + start; ; {
			res, err := b.client.Get(address)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			to, err := res.Location()
			if err != nil {
				t.Fatal(res.Status, err)
			}
			if to.Host == "help.test" {
				return to
			}
			address = to.String()
		}
	}
	inbound := func() ledger.Inbound {
		t.Helper()
		now, err := m.desk.Mailboxes().Get(t.Context(), m.mailbox.ID)
		if err != nil {
			t.Fatal(err)
		}
		return now.Inbound
	}
	p.Set(mailprovider.State{Account: "support@example.org"})
	back := begin()
	stranger := m.browser(t)
	if _, page, status := stranger.open(back.String()); status != http.StatusForbidden || !strings.Contains(page, "started in another browser") {
		t.Errorf("another browser: %d %s", status, page)
	}
	forged := *back
	query := back.Query()
	query.Set("state", "forged")
	forged.RawQuery = query.Encode()
	if _, page, status := b.open(forged.String()); status != http.StatusForbidden || !strings.Contains(page, "could not be verified") {
		t.Errorf("another state: %d %s", status, page)
	}
	if _, page, status := b.open(back.String()); status != http.StatusForbidden || !strings.Contains(page, "started in another browser") {
		t.Errorf("the state was used: %d %s", status, page)
	}
	if in := inbound(); in.Type != ledger.InboundForward {
		t.Errorf("%+v", in)
	}

	p.Set(mailprovider.State{Account: "anna@example.org"})
	_, page, status := b.open(start)
	if status != http.StatusConflict || !strings.Contains(page, "You signed in as anna@example.org, but the address of the mailbox is support@example.org.") || inbound().Type != ledger.InboundForward {
		t.Errorf("another account: %d %s", status, page)
	}
	b.open(link(t, page, "Use anna@example.org")) // of a mailbox that she reads too
	if in := inbound(); in.Type != ledger.InboundIMAP || in.Username != "support@example.org" || !in.OAuth.HasRefreshToken {
		t.Errorf("%+v", in)
	}
	p.Set(mailprovider.State{Account: "eve@example.org"})
	if _, _, status := b.open(start + "&account=anna@example.org"); status != http.StatusConflict {
		t.Errorf("an account that nobody chose: %d", status)
	}

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base.String()+start, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	res, err := b.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got := res.Header.Get("Location"); got != "/desk/a/1/settings/mailboxes" {
		t.Errorf("from another site: %s", got)
	}
	if _, _, status := b.open("/desk/a/1/mailbox-sign-in/yahoo"); status != http.StatusNotFound {
		t.Errorf("an unknown provider: %d", status)
	}
	p.Set(mailprovider.State{Account: "support@example.org"})
	if _, page, status := b.open("/desk/a/1/mailbox-sign-in/microsoft"); status != http.StatusConflict || !strings.Contains(page, "There is already a mailbox for support@example.org.") {
		t.Errorf("twice: %d %s", status, page)
	}
}
