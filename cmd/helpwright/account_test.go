package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

var rowsAndFiles = regexp.MustCompile(`\d+ rows, \d+ files`)

// TestManualAccount runs the manual's commands for moving an account: from SQLite to PostgreSQL and back, while the server
// runs. Imports are killed at random moments, and continue.
func TestManualAccount(t *testing.T) {
	t.Parallel()
	commands := manualCommands(t, "keep/move-account.md")
	if len(commands) != 2 {
		t.Fatalf("there are %d blocks of commands: %q", len(commands), commands)
	}
	s := newServer(t)
	s.received()
	out := s.shell(".", commands[0])
	want := rowsAndFiles.FindString(out)
	if want == "" || !strings.Contains(out, "note: ") {
		t.Fatal(out)
	}
	there := s.at(t.TempDir(), "HELPWRIGHT_DATABASE_URL="+testenv.Postgres(t))
	if out, err := there.command("migrate"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	archive := filepath.Join(s.dir, "account.tar.zst")
	began := time.Now()
	if out, err := there.command("account", "import", "--dry-run", archive); err != nil || !strings.Contains(out, want) || !strings.Contains(out, "nothing was changed") {
		t.Fatalf("%v\n%s", err, out)
	}
	took := time.Since(began)
	for range 3 {
		there.killed(2*took, "account", "import", archive)
	}
	there.shell(".", "cp "+archive+" .")
	out = there.shell(".", commands[1])
	if !strings.Contains(out, "nothing to do") && !strings.Contains(out, want) {
		t.Fatal(out)
	}
	if out := there.shell(".", commands[1]); !strings.Contains(out, "nothing to do: the archive was imported before, as account ") {
		t.Error(out)
	}
	id := regexp.MustCompile(`as account (\d+)`).FindStringSubmatch(there.shell(".", "helpwright account import account.tar.zst"))[1]
	folder := filepath.Join(t.TempDir(), "account")
	there.shell(".", "mkdir "+folder+" && helpwright account export --account "+id+" "+folder)
	back := s.at(t.TempDir())
	if out, err := back.command("account", "import", folder); err != nil || !strings.Contains(out, want) {
		t.Errorf("%v, want %s\n%s", err, want, out)
	}
	for _, args := range [][]string{{"import", filepath.Join(s.dir, "helpwright.db")}, {"export", archive}, {"export", "--account", "99", "x"}} {
		if out, err := back.command(append([]string{"account"}, args...)...); err == nil {
			t.Errorf("%v: %s", args, out)
		}
	}
}
