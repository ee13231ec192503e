package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/smtp"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/testenv"
)

// blobFiles are the files in the folder of blobs: blobs of accounts, and temporary ones.
func (s *process) blobFiles() (files, temporary []string) {
	s.t.Helper()
	root := filepath.Join(s.dir, "data", "blobs")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir():
		case strings.HasPrefix(path, filepath.Join(root, "=tmp")):
			temporary = append(temporary, path)
		case strings.HasPrefix(path, filepath.Join(root, "accounts+")):
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return files, temporary
}

// age makes all files of blobs as old as if they had been written then.
func (s *process) age(d time.Duration) {
	s.t.Helper()
	files, temporary := s.blobFiles()
	then := time.Now().Add(-d)
	for _, path := range append(files, temporary...) {
		if err := os.Chtimes(path, then, then); err != nil {
			s.t.Fatal(err)
		}
	}
}

// command runs the program in the server's folder, with its settings.
func (s *process) command(args ...string) (string, error) {
	s.t.Helper()
	path := program(s.t)
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// named are the keys that the rows of the server's database name.
func (s *process) named(databaseURL string) int {
	s.t.Helper()
	if path, ok := strings.CutPrefix(databaseURL, "sqlite:"); ok {
		databaseURL = "sqlite:" + filepath.Join(s.dir, path)
	}
	db, err := both.Open(s.t.Context(), databaseURL, bunstore.Config{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	total := 0
	for after := ""; ; {
		keys, err := db.ListNamedBlobs(s.t.Context(), after, 500)
		if err != nil {
			s.t.Fatal(err)
		}
		total += len(keys)
		if len(keys) < 500 {
			return total
		}
		after = keys[len(keys)-1]
	}
}

// hurl posts a file of n bytes; the result does not matter here.
func (s *process) hurl(ctx context.Context, path, field, filename string, content []byte) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile(field, filename)
	if err == nil {
		_, _ = part.Write(content)
	}
	_ = form.Close()
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.http+apiBase+path, &body)
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", form.FormDataContentType())
	if res, err := http.DefaultClient.Do(req); err == nil {
		_ = res.Body.Close()
	}
}

// TestSweepAfterKills kills the server while files are uploaded, sites get files and themes, and mails arrive. Files left
// without a row are swept once they are old enough, and nothing else is.
func TestSweepAfterKills(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		attachments := s.notes()
		var site object[struct{ ID int64 }]
		s.ok("POST", "/sites", url.Values{"account_id": {"1"}, "name": {"Help"}}, &site)
		ctx, stop := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		var number atomic.Int64
		each := func(do func(n int64)) {
			wait.Go(func() {
				for ctx.Err() == nil {
					do(number.Add(1))
				}
			})
		}
		text := bytes.Repeat([]byte("some text "), 20_000)
		for range 3 {
			each(func(n int64) {
				s.hurl(ctx, attachments, "file", fmt.Sprint(n, ".txt"), text[:rand.IntN(len(text))])
			})
			each(func(n int64) {
				s.hurl(ctx, fmt.Sprintf("/sites/%d/files", site.Data.ID), "file", fmt.Sprint(n, ".txt"), text[:rand.IntN(len(text))])
			})
		}
		each(func(n int64) {
			s.status("POST", fmt.Sprintf("%s/sites/%d/themes", apiBase, site.Data.ID), url.Values{"name": {fmt.Sprint("Theme ", n)}}, 5*time.Second)
		})
		each(func(n int64) {
			raw := crlf(head(int(n), fmt.Sprintf("Message-ID: <m%d@example.com>\n\n", n))) + string(text[:rand.IntN(100_000)]) + "\r\n"
			_ = smtp.SendMail(s.intake, nil, "a@example.com", []string{m.InternalEmailAddress}, []byte(raw))
		})
		for range kills {
			time.Sleep(time.Duration(200+rand.IntN(700)) * time.Millisecond)
			s.kill()
			s.start()
		}
		stop()
		wait.Wait()
		testenv.Eventually(t, "every mail is filed", func() bool { return len(ledgerOf(s, m.ID, "received")) == 0 })
		s.stop()
		swept(t, s, databaseURL)
	})
}

// swept checks the sweep of a server that is not running: afterwards there are as many files as rows.
func swept(t *testing.T, s *process, databaseURL string) {
	t.Helper()
	before, temporary := s.blobFiles()
	rows := s.named(databaseURL)
	if out, err := s.command("blobs", "sweep"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if young, _ := s.blobFiles(); len(young) != len(before) {
		t.Errorf("%d files of a moment ago, %d after a sweep", len(before), len(young))
	}
	s.age(25 * time.Hour)
	out, err := s.command("blobs", "sweep", "--dry-run")
	if err != nil || !strings.Contains(out, fmt.Sprintf("would remove %d of %d files", len(before)-rows, len(before))) {
		t.Errorf("%v\n%s", err, out[max(0, len(out)-300):])
	}
	if still, _ := s.blobFiles(); len(still) != len(before) {
		t.Error("a dry run removed files")
	}
	out, err = s.command("blobs", "sweep")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	after, left := s.blobFiles()
	t.Logf("%d rows; %d files and %d temporary ones before the sweep, %d and %d after it", rows, len(before), len(temporary), len(after), len(left))
	if len(after) != rows || len(left) != 0 || s.named(databaseURL) != rows {
		t.Errorf("%d files and %d temporary ones, %d rows", len(after), len(left), rows)
	}
}

// TestBlobsOfAReadOnlyDatabase sends large mails while the database is read-only: none of them is accepted, and they leave
// no files behind.
func TestBlobsOfAReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		before, _ := s.blobFiles()
		thaw := s.readOnly(databaseURL)
		body := strings.Repeat(strings.Repeat("x", 70)+"\r\n", 5<<20/72)
		raw := crlf(head(1, "Message-ID: <large@example.com>\n\n")) + body
		for range 8 {
			err := smtp.SendMail(s.intake, nil, "a@example.com", []string{m.InternalEmailAddress}, []byte(raw))
			if err == nil || !strings.HasPrefix(err.Error(), "4") {
				t.Errorf("the intake answered %v", err)
			}
		}
		if files, temporary := s.blobFiles(); len(files) != len(before) || len(temporary) > 0 {
			t.Errorf("%d files and %d temporary ones were left", len(files)-len(before), len(temporary))
		}
		thaw()
		testenv.Eventually(t, "the mail is accepted", func() bool {
			return smtp.SendMail(s.intake, nil, "a@example.com", []string{m.InternalEmailAddress}, []byte(raw)) == nil
		})
		testenv.Eventually(t, "the mail is filed", func() bool { return len(s.conversations()) == 1 })
	})
}

// readOnly makes the server's database refuse writes, until the function returned is called.
func (s *process) readOnly(databaseURL string) (thaw func()) {
	s.t.Helper()
	if strings.HasPrefix(databaseURL, "sqlite:") {
		return s.refusing()
	}
	db, err := sql.Open("pgx", databaseURL)
	if err != nil {
		s.t.Fatal(err)
	}
	u, err := url.Parse(databaseURL)
	if err != nil {
		s.t.Fatal(err)
	}
	set := func(value string) {
		if _, err := db.Exec("ALTER DATABASE " + u.Path[1:] + " SET default_transaction_read_only = " + value); err != nil {
			s.t.Fatal(err)
		}
	}
	set("on")
	_, err = db.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	if err != nil {
		s.t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // connections idle for longer than a second are checked before use
	return func() {
		// The server's connections stay read-only: it has to make new ones.
		if _, err := db.Exec("SET default_transaction_read_only = off"); err != nil {
			s.t.Fatal(err)
		}
		set("off")
		_ = db.Close()
	}
}

// refusing has triggers of SQLite refuse all writes, at once; waiting for a lock takes as long as usual.
func (s *process) refusing() (thaw func()) {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "data", "helpwright.db")+"?_txlock=immediate&_pragma=busy_timeout(60000)")
	if err != nil {
		s.t.Fatal(err)
	}
	rows, err := db.Query(`SELECT name FROM pragma_table_list WHERE type = 'table' AND name LIKE 'hw\_%' ESCAPE '\'`)
	if err != nil {
		s.t.Fatal(err)
	}
	var refuse, allow strings.Builder
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			s.t.Fatal(err)
		}
		for _, act := range []string{"INSERT", "UPDATE", "DELETE"} {
			fmt.Fprintf(&refuse, "CREATE TRIGGER refuse_%[1]s_%[2]s BEFORE %[1]s ON %[2]s BEGIN SELECT RAISE(ABORT, 'nothing is written'); END;\n", act, table)
			fmt.Fprintf(&allow, "DROP TRIGGER refuse_%s_%s;\n", act, table)
		}
	}
	if err := rows.Err(); err != nil || refuse.Len() == 0 {
		s.t.Fatal(err)
	}
	run := func(statements string) {
		s.t.Helper()
		if _, err := db.Exec("BEGIN IMMEDIATE;\n" + statements + "COMMIT;"); err != nil {
			s.t.Fatal(err)
		}
	}
	run(refuse.String())
	return func() { run(allow.String()); _ = db.Close() }
}
