package main

import (
	"fmt"
	"net/smtp"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

// TestTour pastes the tour that the first start prints into a shell.
func TestTour(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			testenv.Skip(t, "no "+tool+" to follow the tour with")
		}
	}
	s := newServer(t)
	testenv.Eventually(t, "the tour is printed", func() bool { return strings.Contains(s.stdout.String(), "REPLY_TO") })
	_, tour, _ := strings.Cut(s.stdout.String(), "(with curl):\n")
	cmd := exec.CommandContext(t.Context(), "bash", "-eu", "-o", "pipefail", "-c", tour)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HELPWRIGHT_BOOTSTRAP_TOKEN="+s.token)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := s.conversations()
	if len(all) != 1 || all[0].Subject != "The door is stuck" {
		t.Fatalf("conversations: %+v\n%s", all, out)
	}
	var types []string
	for _, i := range s.interactions(all[0].ID) {
		types = append(types, i.Type)
	}
	if got := strings.Join(types, " "); got != "customer user note customer" {
		t.Errorf("interactions: %s\n%s", got, out)
	}
	spooled, _ := filepath.Glob(filepath.Join(s.dir, "data", "outbox", "*.eml"))
	if len(spooled) != 1 {
		t.Fatalf("spooled: %v", spooled)
	}
	mail, err := os.ReadFile(spooled[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"X-Envelope-From: support@example.org\r\n", "X-Envelope-To: ada@example.com\r\n", "Subject: Re: The door is stuck\r\n",
		"In-Reply-To: <1@example.com>\r\n", "References: <1@example.com>\r\n", "pull?",
	} {
		if !strings.Contains(string(mail), text) {
			t.Errorf("%q is not in the mail:\n%s", text, mail)
		}
	}
	if strings.Contains(string(mail), "She pushed") {
		t.Error("the note left")
	}
}

// TestHostileMail sends mails that must not delay the next one.
func TestHostileMail(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		send := func(raw string) error {
			return smtp.SendMail(s.intake, nil, "a@example.com", []string{m.InternalEmailAddress}, []byte(crlf(raw)))
		}
		lines := strings.Repeat(strings.Repeat("x", 76)+"\n", 30<<20/77)
		nested := "The innermost.\n"
		for i := range 100 {
			nested = fmt.Sprintf("From: a@example.com\nSubject: Level %d\nMIME-Version: 1.0\nContent-Type: message/rfc822\n\n", i) + nested
		}
		for _, raw := range []string{
			head(1, "\n"+lines),
			head(2, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"+strings.Repeat("--b\n\nx\n", 10000)+"--b--\n"),
			head(3, "X-Long: "+strings.Repeat("x\n ", 500_000)+"\n\nLong header.\n"),
			head(4, nestedMultiparts(100)),
			nested,
			head(6, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nbroken"),
			head(7, "\nThe last one is ordinary.\n"),
		} {
			if err := send(raw); err != nil {
				t.Fatalf("%.60q: %v", raw, err)
			}
		}
		testenv.Eventually(t, "all seven mails are dealt with", func() bool {
			return len(ledgerOf(s, m.ID)) == 7 && len(ledgerOf(s, m.ID, "received")) == 0
		})
		for _, f := range ledgerOf(s, m.ID, "quarantined") {
			t.Logf("quarantined: %s", f.Reason)
			if f.Reason == "" || strings.Contains(f.Reason, "unexpected") {
				t.Errorf("mail %d is in quarantine without a clear reason: %q", f.ID, f.Reason)
			}
		}
		for _, want := range []string{"Mail 1", "Mail 6", "Mail 7"} {
			found := false
			for _, c := range s.conversations() {
				found = found || c.Subject == want
			}
			if !found {
				t.Errorf("%s is no conversation", want)
			}
		}
		if err := smtp.SendMail(s.intake, nil, "a@example.com", []string{"nobody@localhost"}, []byte("x")); err == nil || !strings.HasPrefix(err.Error(), "550") {
			t.Errorf("an unknown recipient: %v", err)
		}
	})
}

// TestRefusedLogin shows the problem of a mailbox's connection.
func TestRefusedLogin(t *testing.T) {
	t.Parallel()
	dovecot := testenv.POP3(t)
	s := newServer(t, "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true")
	wrong := dovecot
	wrong.Password = "wrong"
	m := s.mailbox(imapForm(wrong, testenv.Name("login"), "a@example.org"))
	pop := func(addr, email string) mailboxView {
		server := wrong
		server.Addr = addr
		form := imapForm(server, testenv.Name("pop"), email)
		form["connection[inbound][type]"] = []string{"POP3"}
		return s.mailbox(form)
	}
	p, no := pop(dovecot.POP3Addr, "b@example.org"), pop(dovecot.Addr, "c@example.org")
	type view = object[struct {
		Connected bool
		LastError string `json:"last_error"`
	}]
	for id, want := range map[int64]string{m.ID: "login", p.ID: "login", no.ID: "pop3: starttls: the server's answer was not understood"} {
		var status view
		testenv.Eventually(t, "an error is shown", func() bool {
			s.ok("GET", mailboxPath(id)+"/status", nil, &status)
			return status.Data.LastError != ""
		})
		if !strings.Contains(status.Data.LastError, want) || strings.Contains(status.Data.LastError, "wrong") {
			t.Errorf("mailbox %d: %q", id, status.Data.LastError)
		}
	}
	var tried object[struct {
		OK    bool
		Error string
	}]
	if s.ok("POST", mailboxPath(m.ID)+"/test", nil, &tried); tried.Data.OK || !strings.Contains(tried.Data.Error, "login") {
		t.Errorf("the connection test says %+v", tried.Data)
	}
	// Set right, it works without a restart.
	right := imapForm(dovecot, testenv.Name("login"), "a@example.org")
	s.ok("PUT", mailboxPath(m.ID), right, nil)
	var status view
	testenv.Eventually(t, "it is connected", func() bool {
		s.ok("GET", mailboxPath(m.ID)+"/status", nil, &status)
		return status.Data.Connected
	})
}
