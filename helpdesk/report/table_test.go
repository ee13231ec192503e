package report_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/report"
)

// A table has what there is of a conversation, and says what there is not by nothing.
func TestTables(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	facts := []report.Fact{
		{ConversationID: 7, Number: 3, CreatedAt: asked, MailboxID: 1, Channel: "email", BusinessReply: report.None},
		{
			ConversationID: 8, Number: 4, CreatedAt: asked, MailboxID: 1, TeamID: 2, UserID: 3, SLAID: 4, Channel: "email", Tags: []int64{5, 6},
			AskedAt: asked, FirstReplyAt: asked.Add(90 * time.Second), FirstReplyBy: 3, BusinessReply: 60, Replies: 1, Touches: 2, Received: 3, Reopened: 4, Wait: 90,
			ResolvedAt: asked.Add(time.Hour), Verdict: "good", RatedAt: asked.Add(2 * time.Hour), RatedID: 3, FirstReplySLA: report.Met, ResolutionSLA: report.Breached,
		},
	}
	each := func(fn func(report.Fact) error) error {
		for _, f := range facts {
			if err := fn(f); err != nil {
				return err
			}
		}
		return nil
	}
	var table, lines, empty strings.Builder
	if err := errors.Join(report.WriteCSV(&table, each), report.WriteJSONLines(&lines, each)); err != nil {
		t.Fatal(err)
	}
	want := "\uFEFF" + strings.Join(report.Columns(), ",") + "\r\n" +
		"7,3,2026-03-04T05:06:07Z,1,,,,email,,,,,,0,0,0,0,0,,,,,,,,,\r\n" +
		"8,4,2026-03-04T05:06:07Z,1,2,3,4,email,5 6,2026-03-04T05:07:37Z,3,90,60,1,2,3,4,90,2026-03-04T06:06:07Z,3600,good,2026-03-04T07:06:07Z,3,met,,breached,\r\n"
	if diff := cmp.Diff(want, table.String()); diff != "" {
		t.Errorf("CSV: %s", diff)
	}
	first, second, _ := strings.Cut(lines.String(), "\n")
	if !strings.HasPrefix(first, `{"conversation_id":7,"number":3,"created_at":"2026-03-04T05:06:07Z","mailbox_id":1,"team_id":null`) || !strings.Contains(first, `"tag_ids":[]`) {
		t.Errorf("the first line: %s", first)
	}
	if !strings.Contains(second, `"tag_ids":[5,6],"first_reply_at":"2026-03-04T05:07:37Z","first_reply_user_id":3,"first_reply_seconds":90`) {
		t.Errorf("the second line: %s", second)
	}
	facts = nil
	if err := report.WriteCSV(&empty, each); err != nil || empty.String() != "\uFEFF"+strings.Join(report.Columns(), ",")+"\r\n" {
		t.Errorf("a table of nothing: %q, %v", empty.String(), err)
	}
	failed := errors.New("failed")
	fails := func(func(report.Fact) error) error { return failed }
	if err := report.WriteCSV(&empty, fails); !errors.Is(err, failed) {
		t.Errorf("a table that breaks off: %v", err)
	}
	if err := report.WriteJSONLines(&empty, fails); !errors.Is(err, failed) {
		t.Errorf("lines that break off: %v", err)
	}
}
