package main

import (
	"fmt"
	"io"
	"net/http"
	"net/smtp"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// ready requests /readyz.
func (s *process) ready() (status int, text string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.http+"/readyz", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if (res.StatusCode == http.StatusOK) != (res.Header.Get("Retry-After") == "") {
		s.t.Errorf("%d with Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
	}
	return res.StatusCode, string(body)
}

// says waits until /readyz gives this answer.
func (s *process) says(status int, text string) {
	s.t.Helper()
	testenv.Eventually(s.t, fmt.Sprint("readyz says ", status, " ", text), func() bool {
		got, body := s.ready()
		return got == status && strings.Contains(body, text)
	})
}

// TestLostBlobs takes the folder of the blobs away, as a mount that is lost: while the server runs, and before it starts.
// Meanwhile everything waits, nothing is written to the wrong place, nothing is quarantined and no answer fails; when the
// folder is back all goes on without a restart.
func TestLostBlobs(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		sent := 0
		send := func() error {
			raw := crlf(head(sent, fmt.Sprintf("Message-ID: <m%d@example.com>\n\nText %d.\n", sent, sent)))
			err := smtp.SendMail(s.intake, nil, "a@example.com", []string{m.InternalEmailAddress}, []byte(raw))
			if err == nil {
				sent++
			}
			return err
		}
		burst := func() {
			for range 15 {
				if err := send(); err != nil {
					t.Fatal(err)
				}
			}
		}
		burst()
		testenv.Eventually(t, "the first mails are filed", func() bool { return len(s.conversations()) == sent })
		s.says(http.StatusOK, "ready")
		for _, restart := range []bool{false, true} {
			burst()
			if restart {
				s.kill() // some of the mails are not filed yet
			}
			back := s.takeBlobs()
			if restart {
				s.start()
			}
			s.says(http.StatusServiceUnavailable, "Is its disk mounted?")
			if err := send(); err == nil || !strings.HasPrefix(err.Error(), "4") {
				t.Errorf("the intake says %v", err)
			}
			var c object[conversationView]
			s.ok("POST", "/accounts/1/conversations", url.Values{
				"channel": {"email"}, "to": {"customer@example.com"}, "subject": {"Answer"},
				"interactions[0][type]": {"user"}, "interactions[0][body]": {"Text."},
			}, &c)
			i := s.interactions(c.Data.ID)[0]
			files := fmt.Sprintf("/accounts/1/conversations/%d/interactions/%d/attachments", c.Data.ID, i.ID)
			if status := s.upload(files, 1000); status != http.StatusServiceUnavailable {
				t.Errorf("uploading a file: %d", status)
			}
			time.Sleep(2 * time.Second) // for whatever would go wrong
			if i := s.interactions(c.Data.ID)[0]; len(i.Deliveries) != 1 || i.Deliveries[0].State != "queued" {
				t.Errorf("an answer meanwhile: %+v", i.Deliveries)
			}
			if out, err := s.command("doctor"); err == nil || !strings.Contains(out, "FAIL  mark of the blobs") {
				t.Errorf("the doctor says %v\n%s", err, out)
			}
			if out, err := s.command("blobs", "sweep"); err == nil {
				t.Errorf("the sweep: %s", out)
			}
			back()
			s.says(http.StatusOK, "ready")
			testenv.Eventually(t, "every mail is filed", func() bool { return len(ledgerOf(s, m.ID, "filed")) == sent })
			testenv.Eventually(t, "the answer is sent", func() bool {
				return s.interactions(c.Data.ID)[0].Deliveries[0].State == "sent"
			})
		}
		if bad := ledgerOf(s, m.ID, "quarantined"); len(bad) > 0 {
			t.Errorf("%d mails were quarantined: %+v", len(bad), bad[0])
		}
		if out, err := s.command("doctor"); err != nil || !strings.Contains(out, "ok    files that the database names") || !strings.Contains(out, "ok    integrity of the database") {
			t.Errorf("the doctor says %v\n%s", err, out)
		}
	})
}

// takeBlobs puts an empty folder in the place of the blobs' until back is called.
func (s *process) takeBlobs() (back func()) {
	s.t.Helper()
	folder := filepath.Join(s.dir, "data", "blobs")
	if err := os.Rename(folder, folder+"-away"); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		wrong, _ := s.blobFiles()
		if len(wrong) > 0 {
			s.t.Errorf("%d files were written to the wrong place", len(wrong))
		}
		if err := os.RemoveAll(folder); err != nil {
			s.t.Fatal(err)
		}
		if err := os.Rename(folder+"-away", folder); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestLostDatabase starts the server without the database to which its files belong: it reports that, creates nothing, and
// continues when the database is back. Starting anew requires an explicit command.
func TestLostDatabase(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	raw := crlf(head(1, "Message-ID: <m@example.com>\n\nText.\n"))
	if err := smtp.SendMail(s.intake, nil, "a@example.com", []string{m.InternalEmailAddress}, []byte(raw)); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the mail is filed", func() bool { return len(s.conversations()) == 1 })
	s.stop()
	file := filepath.Join(s.dir, "data", "helpwright.db")
	files, _ := s.blobFiles()
	for _, name := range []string{file + "-wal", file + "-shm"} {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	refused := func(what string) {
		t.Helper()
		for _, command := range [][]string{{"serve"}, {"migrate"}, {"user", "create", "--email", "new@example.org"}} {
			if out, err := s.command(command...); err == nil || !strings.Contains(out, "restore it from a backup") || !strings.Contains(out, "helpwright blobs adopt") {
				t.Errorf("%s: %v: %v\n%s", what, command, err, out)
			}
		}
		if out, err := s.command("doctor"); err == nil || !strings.Contains(out, "files of another database") {
			t.Errorf("%s: the doctor says %v\n%s", what, err, out)
		}
		if now, _ := s.blobFiles(); len(now) != len(files) {
			t.Errorf("%s: %d files, %d before", what, len(now), len(files))
		}
	}
	if err := os.Rename(file, file+"-away"); err != nil {
		t.Fatal(err)
	}
	refused("without a database")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a database was made: %v", err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("with an empty file")
	if err := os.Rename(file+"-away", file); err != nil {
		t.Fatal(err)
	}
	s.start()
	if n := len(s.conversations()); n != 1 {
		t.Errorf("%d conversations", n)
	}
	s.stop()
	for _, name := range []string{file, file + "-wal", file + "-shm"} {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if out, err := s.command("blobs", "adopt"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.start()
	s.says(http.StatusOK, "ready")
}

// TestOtherDatabase starts a server on PostgreSQL next to the files of another one.
func TestOtherDatabase(t *testing.T) {
	t.Parallel()
	one, two := databases["PostgreSQL"](t), databases["PostgreSQL"](t)
	s := newServer(t, "HELPWRIGHT_DATABASE_URL="+one)
	m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	raw := crlf(head(1, "Message-ID: <m@example.com>\n\nText.\n"))
	if err := smtp.SendMail(s.intake, nil, "a@example.com", []string{m.InternalEmailAddress}, []byte(raw)); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s.env = append(s.env, "HELPWRIGHT_DATABASE_URL="+two)
	if out, err := s.command("serve"); err == nil || !strings.Contains(out, "files of another database") {
		t.Errorf("a new database: %v\n%s", err, out)
	}
	// A server with files of its own is given those of the other.
	s.env = append(s.env, "HELPWRIGHT_BLOB_URL=file:data/own")
	s.start()
	s.says(http.StatusOK, "ready")
	s.stop()
	s.env = append(s.env, "HELPWRIGHT_BLOB_URL=file:data/blobs")
	s.start()
	s.says(http.StatusServiceUnavailable, "belongs to another database")
}
