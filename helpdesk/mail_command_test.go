package helpdesk_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
)

// The commands in the first lines of a member's mail, in all spellings, and invalid ones.
func TestReadCommands(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		in, want, problem string
	}{
		{"", "", ""},
		{"@note", "@note", ""},
		{"@NOTE", "@note", ""},
		{"@Note.", "", "no such command"},
		{"＠note", "@note", ""},
		{" \u00a0@note\u200b\t", "@note", ""},
		{"@note|@close", "@note, @close", ""},
		{"@close|@close", "@close", ""},
		{"@reopen", "@reopen", ""},
		{"@close|@reopen", "", "contradict"},
		{"@close now", "", "a line of its own"},
		{"@assign me", "@assign me", ""},
		{"@Assign ME", "@assign me", ""},
		{"@assign  <Carl@Example.org>", "@assign carl@example.org", ""},
		{"@assign", "", "say whom"},
		{"@assign Billing team", "@assign Billing team", ""},
		{"@assign Größe|@assign GRÖSSE", "@assign GRÖSSE", ""},
		{"@assign me|@assign Billing", "@assign me, @assign Billing", ""},
		{"@assign Billing|@unassign", "@assign Billing, @unassign", ""},
		{"@assign Billing|@assign Sales", "", "one team only"},
		{"@assign carl@", "", "say whom"},
		{"@assign " + strings.Repeat("x", 401), "", "say whom"},
		{"@assign me|@assign carl@example.org", "", "to one only"},
		{"@assign me|@unassign", "", "to one only"},
		{"@unassign", "@unassign", ""},
		{"@unassign me", "", "to one only"},
		{"@tag door, Größe,  ", "@tag door, Größe", ""},
		{"@tag a|@tag b，c", "@tag a, b, c", ""},
		{"@tag #a", "@tag a", ""},
		{"@tag", "", "say which tags"},
		{"@tag ,", "", "say which tags"},
		{"@tag " + strings.Repeat("x,y,", 1) + "x", "@tag x, y", ""},
		{"@snooze 2d", "@snooze 2026-11-03 12:00", ""},
		{"@snooze 3 hours", "@snooze 2026-11-01 15:00", ""},
		{"@snooze for 1 WEEK", "@snooze 2026-11-08 12:00", ""},
		{"@snooze tomorrow", "@snooze 2026-11-02 08:00", ""},
		{"@snooze 2026-12-24", "@snooze 2026-12-24 08:00", ""},
		{"@snooze until 2026-12-24 17:30", "@snooze 2026-12-24 17:30", ""},
		{"@snooze", "", "say how long"},
		{"@snooze 0d", "", "say how long"},
		{"@snooze 99999999999999999999d", "", "say how long"},
		{"@snooze -1d", "", "say how long"},
		{"@snooze 1d|@snooze 2d", "", "one time only"},
		{"@close|@snooze 1d", "", "contradict"},
		{"@cloze", "", "no such command"},
		{"@", "", "no such command"},
		{"@@close", "", "no such command"},
		{"@note|@delete", "", "no such command"},
		{"@\u0430ssign me", "", "no such command"}, // a Cyrillic letter
		{strings.Repeat("@note|", 21) + "@note", "", "more than 20"},
	}
	for _, tt := range tests {
		var lines []string
		for line := range strings.SplitSeq(tt.in, "|") {
			if line != "" {
				lines = append(lines, line)
			}
		}
		c, err := helpdesk.ReadCommands(lines, now)
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		if got := c.String(); got != tt.want || (tt.problem == "") != (problem == "") || !strings.Contains(problem, tt.problem) {
			t.Errorf("%q: %q, %q", tt.in, got, problem)
		}
	}
	c, err := helpdesk.ReadCommands([]string{"@note She called."}, now)
	if diff := cmp.Diff("She called.", c.Text); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// All lines are parsed or refused, and a parsed command can be parsed again.
func FuzzReadCommands(f *testing.F) {
	for _, s := range []string{"@note", "@close\n@tag a, b", "@assign me", "@snooze 2d", "@cloze", "＠note", "@tag ,,", "> @close", "@snooze 2026-12-24 17:30"} {
		f.Add(s)
	}
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		var lines []string
		for line := range strings.SplitSeq(s, "\n") {
			if helpdesk.IsCommand(line) {
				lines = append(lines, line)
			}
		}
		c, err := helpdesk.ReadCommands(lines, now)
		if err != nil {
			return
		}
		if c.Status == helpdesk.StatusClosed && !c.Snooze.IsZero() || c.Assign != "" && c.Unassign || len(c.Tags) > helpdesk.MaxTags || c.Snooze.Before(now.AddDate(-3000, 0, 0)) && !c.Snooze.IsZero() {
			t.Errorf("%q is %s", s, c)
		}
	})
}
