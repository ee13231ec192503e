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
)

// TestManualMoveIn runs the manual's commands for other help desks, with an export of each.
func TestManualMoveIn(t *testing.T) {
	t.Parallel()
	commands := manualCommands(t, "move-in/other-help-desks.md")
	if len(commands) != 1 {
		t.Fatalf("there are %d blocks of commands: %q", len(commands), commands)
	}
	s := newServer(t)
	s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	conversations := 0
	for _, desk := range []struct {
		name string
		made int
	}{{"zendesk", 7}, {"helpscout", 3}, {"freescout", 2}} {
		sample, err := filepath.Abs("../../helpdesk/movein/" + desk.name + "/testdata/export")
		if err != nil {
			t.Fatal(err)
		}
		export := filepath.Join(s.dir, "export")
		if err := os.RemoveAll(export); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(export, os.DirFS(sample)); err != nil {
			t.Fatal(err)
		}
		out := s.shell(".", strings.ReplaceAll(commands[0], "zendesk", desk.name))
		conversations += desk.made
		for _, want := range []string{
			fmt.Sprintf("%d conversations with", desk.made), "nothing was changed", "imported: ", "problem: ", "kept in a note: ", "not taken: ", "status: ", "0 conversations were here already", "(1, first: ",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", desk.name, want, out)
			}
		}
		if all := s.conversations(); len(all) != conversations {
			t.Errorf("%s: %d conversations", desk.name, len(all))
		}
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no such mailbox": {[]string{"--mailbox", "sales@example.org", "export"}, "account 1 has no mailbox sales@example.org"},
		"no such folder":  {[]string{"--mailbox", "support@example.org", "nowhere"}, "nothing was imported"},
		"nothing there":   {[]string{"--mailbox", "support@example.org", "export/attachments"}, "there is nothing to import"},
	} {
		if out, err := s.command(append([]string{"import", "zendesk"}, c.args...)...); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// An export is imported while a server runs, on either database. Killed at random moments and run again, the import files
// each comment once, with its file.
func TestMoveInKilled(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		const tickets = 120
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		folder := t.TempDir()
		exportTickets(t, folder, tickets)
		args := []string{"import", "zendesk", "--mailbox", "support@example.org", folder}
		for range 8 {
			if s.killed(900*time.Millisecond, args...) {
				break
			}
		}
		if out, err := s.command(args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := s.command(args...)
		if want := fmt.Sprintf("0 conversations with 0 messages and 0 files, 0 saved replies; 0 conversations and 0 customers got more, %d conversations were here already", tickets+1); err != nil || !strings.Contains(out, want) {
			t.Errorf("%v\n%s", err, out)
		}
		counts := map[int]int{}
		for _, c := range s.conversations() {
			counts[len(s.interactions(c.ID))]++
		}
		if diff := cmp.Diff(map[int]int{3: tickets, 601: 1}, counts); diff != "" {
			t.Error(diff)
		}
	})
}

// exportTickets writes an export of Zendesk with so many tickets, each with a file and a note, and one with 600 comments.
func exportTickets(t *testing.T, folder string, tickets int) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(folder, "attachments"), 0o700); err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for i := range tickets {
		at := time.Date(2020, 1, 1, i, 0, 0, 0, time.UTC).Format(time.RFC3339)
		fmt.Fprintf(&list, `{"id":%d,"subject":"Ticket %d","status":"solved","requester_id":%d,"created_at":%q,"updated_at":%q,"tags":["t%d"],"comments":[`+
			`{"id":1,"author_id":%d,"public":true,"body":"Ask","created_at":%q,"attachments":[{"id":%d,"file_name":"a.txt","content_type":"text/plain"}]},{"id":2,"author_id":0,"public":false,"body":"Note","created_at":%q}]}`+"\n",
			i+1, i+1, i%7+1, at, at, i%5, i%7+1, at, i+1, at)
		write(t, filepath.Join(folder, "attachments", fmt.Sprintf("%d.txt", i+1)), "file")
	}
	write(t, filepath.Join(folder, "tickets.json"), list.String())
	list.Reset()
	fmt.Fprintf(&list, `{"id":%d,"subject":"Long","status":"open","requester_id":1,"created_at":"2020-06-01T00:00:00Z","comments":[`, tickets+1)
	for i := range 600 {
		fmt.Fprintf(&list, `{"id":%d,"author_id":1,"public":true,"body":"Once more","created_at":"2020-06-01T00:00:00Z"},`, i+1)
	}
	write(t, filepath.Join(folder, "more.json"), strings.TrimSuffix(list.String(), ",")+"]}\n")
	list.Reset()
	for i := range 7 {
		fmt.Fprintf(&list, `{"id":%d,"name":"Customer %d","email":"c%d@example.com","role":"end-user"}`+"\n", i+1, i+1, i+1)
	}
	write(t, filepath.Join(folder, "users.json"), list.String())
}
