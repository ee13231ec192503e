package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/testenv"
)

// A Maildir is imported while a server runs, on either database. Killed at random moments and run again, the import files
// each mail once.
func TestMailImport(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		const threads = 150
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		folder := filepath.Join(t.TempDir(), "Maildir")
		write := func(name, raw string) {
			t.Helper()
			path := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(raw), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for i := range threads {
			at := func(hour int) string {
				return time.Date(2020, 1, 1+i, hour, 0, 0, 0, time.UTC).Format(time.RFC1123Z)
			}
			write(fmt.Sprintf("cur/%d.ask:2,S", i), fmt.Sprintf("From: c%d@example.com\nTo: support@example.org\nDate: %s\nMessage-ID: <q%d@example.com>\nSubject: Question %d\n\nHow?\n", i, at(8), i, i))
			write(fmt.Sprintf(".Sent/cur/%d.answer:2,S", i), fmt.Sprintf("From: support@example.org\nTo: c%d@example.com\nDate: %s\nMessage-ID: <a%d@example.org>\nIn-Reply-To: <q%d@example.com>\nSubject: Re: Question %d\n\nSo.\n", i, at(9), i, i, i))
		}
		write("new/.keep", "")
		write(".Sent/new/.keep", "")
		write(".Drafts/cur/1.draft", "From: support@example.org\n\nNot yet.\n")
		args := []string{"mail", "import", "--mailbox", "support@example.org", folder}
		out, err := s.command(append(args, "--dry-run")...)
		if want := "300 mails to import, 0 were imported before; nothing was changed"; err != nil || !strings.Contains(out, want) || !strings.Contains(out, "left out: .Drafts: it has drafts") || len(s.conversations()) != 0 {
			t.Fatalf("%v\n%s", err, out)
		}
		for range kills {
			if s.killed(400*time.Millisecond, args...) {
				break
			}
		}
		if out, err := s.command(args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err = s.command(args...)
		if err != nil || !strings.Contains(out, "0 mails were imported, 300 were before") {
			t.Errorf("%v\n%s", err, out)
		}
		answered := 0
		testenv.Eventually(t, "all mails are filed", func() bool {
			answered = 0
			for _, c := range s.conversations() {
				if c.Status == "closed" {
					answered++
				}
			}
			return answered == threads
		})
		counts := map[int]int{}
		for _, c := range s.conversations() {
			counts[len(s.interactions(c.ID))]++
		}
		if diff := cmp.Diff(map[int]int{2: threads}, counts); diff != "" {
			t.Error(diff)
		}
		for name, c := range map[string]struct {
			args []string
			want string
		}{
			"no such mailbox": {[]string{"--mailbox", "sales@example.org", folder}, "account 1 has no mailbox sales@example.org; it has support@example.org"},
			"no such account": {[]string{"--mailbox", "sales@example.org", "--account", "9", folder}, "account 9 has no mailbox yet"},
			"no such folder":  {[]string{"--mailbox", "support@example.org", folder + "x"}, "nothing was imported"},
			"no mails":        {[]string{"--mailbox", "support@example.org", filepath.Join(folder, "new")}, "there are no mails"},
		} {
			if out, err := s.command(append([]string{"mail", "import"}, c.args...)...); err == nil || !strings.Contains(out, c.want) {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}
	})
}
