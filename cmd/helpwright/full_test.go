package main

import (
	"fmt"
	"net/http"
	"net/smtp"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// fill makes every disk full for the server: no file grows, or is written beyond limit bytes, until the function returned is
// called.
func (s *process) fill(limit int) (free func()) {
	s.t.Helper()
	set := func(limit string) {
		s.t.Helper()
		out, err := exec.Command("prlimit", "--pid", strconv.Itoa(s.cmd.Process.Pid), "--fsize="+limit+":unlimited").CombinedOutput()
		if err != nil {
			s.t.Fatalf("%v\n%s", err, out)
		}
	}
	set(strconv.Itoa(limit))
	return func() { set("unlimited") }
}

// unwritable checks a server's answers while nothing can be written.
func unwritable(t *testing.T, s *process, m mailboxView, upload string) {
	t.Helper()
	s.says(http.StatusServiceUnavailable, "not ready")
	for path, form := range map[string]url.Values{
		"/accounts/1/mailboxes": {"name": {"More"}},
		"/accounts/1/conversations": {
			"channel": {"email"}, "to": {"customer@example.com"}, "subject": {"Answer"},
			"interactions[0][type]": {"user"}, "interactions[0][body]": {strings.Repeat("Text. ", 5000)},
		},
	} {
		if status, h := s.status("POST", apiBase+path, form, time.Minute); status != http.StatusServiceUnavailable || h.Get("Retry-After") == "" {
			t.Errorf("POST %s: %d, Retry-After %q", path, status, h.Get("Retry-After"))
		}
	}
	if status := s.upload(upload, 500_000); status != http.StatusServiceUnavailable {
		t.Errorf("uploading a file: %d", status)
	}
	raw := crlf(head(1, "Message-ID: <full@example.com>\n\nText.\n"))
	if err := smtp.SendMail(s.intake, nil, "a@example.com", []string{m.InternalEmailAddress}, []byte(raw)); err == nil || !strings.HasPrefix(err.Error(), "4") {
		t.Errorf("the intake says %v", err)
	}
	if status, _ := s.status("GET", apiBase+mailboxPath(m.ID), nil, 10*time.Second); status != http.StatusOK {
		t.Errorf("GET: %d", status)
	}
}

// notes makes a conversation, and returns where files are attached to it.
func (s *process) notes() (attachments string) {
	s.t.Helper()
	var c object[conversationView]
	s.ok("POST", "/accounts/1/conversations", url.Values{
		"channel": {"email"}, "to": {"customer@example.com"}, "interactions[0][type]": {"note"}, "interactions[0][body]": {"Text."},
	}, &c)
	return fmt.Sprintf("/accounts/1/conversations/%d/interactions/%d/attachments", c.Data.ID, s.interactions(c.Data.ID)[0].ID)
}

// works checks that the server goes on: at once, or when its clients try again.
func works(t *testing.T, s *process, m mailboxView, upload string, try func(t testing.TB, what string, is func() bool)) {
	t.Helper()
	s.says(http.StatusOK, "ready")
	try(t, "a mailbox is made", func() bool {
		status, _ := s.status("POST", apiBase+"/accounts/1/mailboxes", url.Values{"name": {"After"}}, time.Minute)
		return status == http.StatusCreated
	})
	try(t, "a file is uploaded", func() bool { return s.upload(upload, 500_000) == http.StatusCreated })
	raw := crlf(head(2, "Message-ID: <after@example.com>\n\nText.\n"))
	try(t, "a mail is taken", func() bool {
		return smtp.SendMail(s.intake, nil, "a@example.com", []string{m.InternalEmailAddress}, []byte(raw)) == nil
	})
	if bad := ledgerOf(s, m.ID, "quarantined"); len(bad) > 0 {
		t.Errorf("%d mails were quarantined", len(bad))
	}
}

// atOnce tries once.
func atOnce(t testing.TB, what string, is func() bool) {
	t.Helper()
	if !is() {
		t.Error("not at once: " + what)
	}
}

// TestFullDisk has all disks full: on SQLite for the database and the files, on PostgreSQL for the files. All that writes is
// told to come again, nothing is a defect, and when there is room again everything works.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		upload := s.notes()
		free := s.fill(0)
		if strings.HasPrefix(databaseURL, "sqlite:") {
			unwritable(t, s, m, upload)
		} else { // which has a disk of its own
			s.says(http.StatusServiceUnavailable, "files")
			if status := s.upload(upload, 500_000); status != http.StatusServiceUnavailable {
				t.Errorf("uploading a file: %d", status)
			}
			raw := crlf(head(1, "Message-ID: <full@example.com>\n\nText.\n"))
			if err := smtp.SendMail(s.intake, nil, "a@example.com", []string{m.InternalEmailAddress}, []byte(raw)); err == nil || !strings.HasPrefix(err.Error(), "4") {
				t.Errorf("the intake says %v", err)
			}
		}
		files, temporary := s.blobFiles()
		free()
		if len(files)+len(temporary) > 0 {
			t.Errorf("%d files and %d temporary ones were left", len(files), len(temporary))
		}
		works(t, s, m, upload, atOnce)
	})
}

// TestReadOnlyDatabase has PostgreSQL refuse writes, as a standby does.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	dsn := databases["PostgreSQL"](t)
	s := newServer(t, "HELPWRIGHT_DATABASE_URL="+dsn)
	m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	upload := s.notes()
	thaw := s.readOnly(dsn)
	unwritable(t, s, m, upload)
	_, out, _ := command(t, s.dir, append(s.env, "HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_LISTEN="), "doctor")
	says(t, "the doctor", out, "FAIL  writing to the database: bunstore: The database takes no writes right now: it is read-only.")
	thaw()
	works(t, s, m, upload, testenv.Eventually) // a session from before may refuse a write
}
