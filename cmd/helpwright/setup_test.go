package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage/testenv"
)

// visitor is a browser that keeps cookies and follows redirects of forms.
type visitor struct {
	t    *testing.T
	http *http.Client
	base string
}

func (s *process) visitor() *visitor {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &visitor{t: s.t, http: &http.Client{Jar: jar}, base: "http://" + s.http}
}

// visit opens a page, or sends a form, and returns the final address and its content.
func (v *visitor) visit(address string, form url.Values) (path, page string, status int) {
	v.t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	if !strings.HasPrefix(address, "http") {
		address = v.base + address
	}
	r, err := http.NewRequestWithContext(v.t.Context(), method, address, body)
	if err != nil {
		v.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", v.base)
	}
	res, err := v.http.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return res.Request.URL.Path, string(text), res.StatusCode
}

// step sends a form and expects to be led to a page.
func (v *visitor) step(address string, form url.Values, to string) string {
	v.t.Helper()
	path, page, status := v.visit(address, form)
	if path != to || status != http.StatusOK {
		v.t.Fatalf("%s led to %s (%d), want %s:\n%s", address, path, status, to, page)
	}
	return page
}

var setUpLink = regexp.MustCompile(`http://\S+/desk/setup(\?token=hwr_[A-Z2-7]+)?`)

// TestSetUp sets a server up in the way of a browser, from the printed link to the inbox, and has a colleague join by the
// mail.
func TestSetUp(t *testing.T) {
	t.Parallel()
	s := newServer(t, "HELPWRIGHT_BOOTSTRAP_TOKEN=")
	testenv.Eventually(t, "the link is printed", func() bool { return setUpLink.MatchString(s.stdout.String()) })
	link := setUpLink.FindString(s.stdout.String())
	s.stop()
	s.start()
	testenv.Eventually(t, "the link is printed again", func() bool { return strings.Contains(s.stdout.String(), link+"\n") })

	v := s.visitor()
	if _, page, status := v.visit(link, nil); status != http.StatusOK || !strings.Contains(page, `name="password"`) {
		t.Fatalf("%d %s", status, page)
	}
	token := link[strings.Index(link, "hwr_"):]
	you := url.Values{"token": {token}, "name": {"Maya"}, "email": {"maya@example.org"}, "password": {"short"}}
	if _, page, status := v.visit("/desk/setup", you); status != http.StatusUnprocessableEntity || !strings.Contains(page, "Use at least 8 characters") {
		t.Fatalf("%d %s", status, page)
	}
	you.Set("password", "correct horse")
	v.step("/desk/setup", you, "/desk/a/1/setup/team")
	v.step("/desk/a/1/setup/team", url.Values{"name": {"Alder & Row"}}, "/desk/a/1/setup/mailbox")
	v.step("/desk/setup", nil, "/desk/a/1/setup/mailbox") // where it was left
	if _, _, status := s.visitor().visit("/desk/setup", you); status != http.StatusNotFound {
		t.Errorf("the link works twice: %d", status)
	}
	box := url.Values{"email": {"support@example.org"}, "password": {"geheim"}, "host": {"127.0.0.1"}, "port": {"1"}, "encryption": {"SSL"}, "type": {"IMAP"}}
	page := v.step("/desk/a/1/setup/mailbox", box, "/desk/a/1/setup/mailbox")
	if !strings.Contains(page, "Could not connect") || strings.Contains(page, "geheim") {
		t.Error(page)
	}
	page = v.step("/desk/a/1/setup/colleagues", url.Values{"addresses": {"lise@example.org"}, "role": {"3"}}, "/desk/a/1/inbox/unassigned")
	if !strings.Contains(page, "Invited 1 person") || !strings.Contains(page, "Alder &amp; Row") {
		t.Error(page)
	}
	s.token = regexp.MustCompile(`hwp_[A-Z2-7]+`).FindString(v.ownToken())
	var account object[struct {
		Name     string `json:"name"`
		SendHold int    `json:"send_hold"`
	}]
	s.ok("GET", "/accounts/1", nil, &account)
	if account.Data.Name != "Alder & Row" || account.Data.SendHold != 10 {
		t.Errorf("%+v", account.Data)
	}
	s.joins("lise@example.org")
	log, err := os.ReadFile(s.stderr.Name())
	if err != nil || strings.Contains(string(log), token) || strings.Contains(string(log), "geheim") {
		t.Error("a secret is in the log", err)
	}
}

// ownToken signs the owner in at the API.
func (v *visitor) ownToken() string {
	v.t.Helper()
	_, page, _ := v.visit("/api/v1/user/tokens", url.Values{"name": {"test"}})
	return page
}

// joins opens the link of an invitation's mail and ends in the desk.
func (s *process) joins(address string) {
	s.t.Helper()
	var raw []byte
	testenv.Eventually(s.t, "the invitation is mailed", func() bool {
		all, _ := filepath.Glob(filepath.Join(s.dir, "data", "outbox", "*.eml"))
		for _, file := range all {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "X-Envelope-To: "+address) {
				raw = text
			}
		}
		return raw != nil
	})
	m, err := mail.Parse(raw, mail.Limits{})
	if err != nil {
		s.t.Fatal(err)
	}
	link := regexp.MustCompile(`http://\S+/invitations/hwi_[A-Z2-7]+`).FindString(m.Text)
	v := s.visitor()
	path, page, status := v.visit(link, nil)
	if status != http.StatusOK || !strings.Contains(page, "You are joining as "+address) {
		s.t.Fatalf("%d %s", status, page)
	}
	v.step(path, url.Values{"name": {"Lise"}, "password": {"correct horse"}}, "/desk/a/1/inbox/unassigned")
	if _, _, status := s.visitor().visit(path, url.Values{"password": {"correct horse"}}); status != http.StatusNotFound {
		s.t.Errorf("the invitation works twice: %d", status)
	}
}

// TestSetUpWithOwnToken opens the set-up with the token that the operator has chosen, which is not printed.
func TestSetUpWithOwnToken(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	testenv.Eventually(t, "the page is printed", func() bool { return setUpLink.MatchString(s.stdout.String()) })
	if strings.Contains(s.stdout.String(), "hwr_") {
		t.Error("a secret is printed")
	}
	v := s.visitor()
	if _, _, status := v.visit("/desk/setup/token", url.Values{"token": {"nonsense"}}); status != http.StatusUnprocessableEntity {
		t.Error(status)
	}
	page := v.step("/desk/setup/token", url.Values{"token": {s.token}}, "/desk/setup")
	token := regexp.MustCompile(`hwr_[A-Z2-7]+`).FindString(page)
	v.step("/desk/setup", url.Values{"token": {token}, "name": {"Maya"}, "email": {"maya@example.org"}, "password": {"correct horse"}}, "/desk/a/1/setup/team")
	if _, _, status := s.visitor().visit("/desk/setup/token", url.Values{"token": {s.token}}); status != http.StatusUnprocessableEntity {
		t.Error("the token opens the set-up of somebody with a password:", status)
	}
}

// TestResetPassword chooses another password by the link that the command prints.
func TestResetPassword(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	if code, _, stderr := command(t, s.dir, s.env, "user", "create", "--email", "ada@example.org", "--password", "correct horse", "--account", "1"); code != exitDone {
		t.Fatal(stderr)
	}
	if code, _, stderr := command(t, s.dir, s.env, "user", "reset-password", "nobody@example.org"); code != exitFail || !strings.Contains(stderr, "no user") {
		t.Error(code, stderr)
	}
	code, link, stderr := command(t, s.dir, s.env, "user", "reset-password", "ada@example.org")
	if code != exitDone {
		t.Fatal(stderr)
	}
	v := s.visitor()
	link = strings.TrimSpace(link)
	token := link[strings.Index(link, "hwr_"):]
	if _, page, status := v.visit(link, nil); status != http.StatusOK || !strings.Contains(page, "ada@example.org") {
		t.Fatalf("%d %s", status, page)
	}
	if _, _, status := v.visit("/desk/reset", url.Values{"token": {token}, "password": {"short"}}); status != http.StatusUnprocessableEntity {
		t.Error(status)
	}
	v.step("/desk/reset", url.Values{"token": {token}, "password": {"another horse"}}, "/desk/a/1/inbox/unassigned")
	if _, _, status := v.visit(link, nil); status != http.StatusNotFound {
		t.Errorf("the link works twice: %d", status)
	}
	w := s.visitor()
	w.step("/desk/sign-in", url.Values{"email": {"ada@example.org"}, "password": {"another horse"}}, "/desk/a/1/inbox/unassigned")
}

// TestSetUpMailbox connects the first mailbox to a real server, from its oldest mail on.
func TestSetUpMailbox(t *testing.T) {
	t.Parallel()
	dovecot := testenv.Dovecot(t)
	user := testenv.Name("setup")
	appendAll(t, dovecot, user, []folderMail{{"INBOX", crlf("From: ada@example.com\nTo: support@example.org\nSubject: Door\nMessage-ID: <1@example.com>\n\nStuck.\n")}})
	s := newServer(t, "HELPWRIGHT_BOOTSTRAP_TOKEN=", "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true")
	testenv.Eventually(t, "the link is printed", func() bool { return setUpLink.MatchString(s.stdout.String()) })
	link := setUpLink.FindString(s.stdout.String())
	v := s.visitor()
	v.step("/desk/setup", url.Values{"token": {link[strings.Index(link, "hwr_"):]}, "name": {"Maya"}, "email": {"maya@example.org"}, "password": {"correct horse"}}, "/desk/a/1/setup/team")
	v.step("/desk/a/1/setup/team", url.Values{"name": {"Alder & Row"}}, "/desk/a/1/setup/mailbox")
	api := url.Values(imapForm(dovecot, user, "support@example.org"))
	form := url.Values{"email": {"support@example.org"}, "type": {"IMAP"}, "insecure": {"1"}}
	for field := range map[string]bool{"host": true, "port": true, "username": true, "password": true, "encryption": true} {
		form.Set(field, api.Get("connection[inbound]["+field+"]"))
	}
	page := v.step("/desk/a/1/setup/mailbox", form, "/desk/a/1/setup/mailbox")
	for _, text := range []string{"Server reached", "Signed in", "Folders", "Last 30 days"} {
		if !strings.Contains(page, text) {
			t.Errorf("%q is not on the page", text)
		}
	}
	if strings.Contains(page, form.Get("password")) {
		t.Error("the password is on the page")
	}
	v.step("/desk/a/1/setup/mailbox", url.Values{"act": {"start"}, "start": {"all"}}, "/desk/a/1/setup/colleagues")
	s.token = regexp.MustCompile(`hwp_[A-Z2-7]+`).FindString(v.ownToken())
	testenv.Eventually(t, "the mail is there", func() bool { return len(s.conversations()) == 1 })
}
