package bunstore_test

import (
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// BenchmarkDueLists lists 25 of 1,000,000 conversations by when they are due: of 20,000 of them something is, each five minutes, and
// the 2,000 oldest are overdue.
func BenchmarkDueLists(b *testing.B) {
	const total = 1_000_000
	start := time.UnixMicro(1_700_000_000_000_000).UTC()
	now, never := start.Add(2_000*5*time.Minute), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	midnight := now.Truncate(24 * time.Hour)
	ranges := map[string]helpdesk.DueRange{
		"all": {}, "any": {Before: never}, "breached": {Before: now}, "soon": {From: now, Before: never, Soon: now},
		"today": {From: midnight, Before: midnight.Add(24 * time.Hour)},
	}
	open := helpdesk.ConversationFilter{
		Statuses: []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}, Snoozed: storage.Some(false), Spam: storage.Some(false),
	}
	for database, connect := range embedded {
		b.Run(database, func(b *testing.B) {
			app := connect(b)
			b.Cleanup(func() { _ = app.Close() })
			db := bunstore.New(app, bunstore.Config{})
			if err := db.Migrate(b.Context()); err != nil {
				b.Fatal(err)
			}
			fillLists(b, app, total, false)
			for _, statement := range []string{
				`UPDATE hw_conversations SET due_at = CASE WHEN id % 50 = 1 THEN 1700000000000000 + id / 50 * 300000000 ELSE -62135596800000000 END,
					soon_at = 1700000000000000 + id / 50 * 300000000 - 86400000000 WHERE due_at > 0`,
				"ANALYZE",
			} {
				if _, err := app.ExecContext(b.Context(), statement); err != nil {
					b.Fatal(err)
				}
			}
			conversations := db.Within(helpdesk.Scope{AccountID: 1}).Conversations()
			for name, due := range ranges {
				for list, order := range map[string]helpdesk.ConversationOrder{
					"by due time": {ConversationFilter: helpdesk.ConversationFilter{Due: due}, Sort: helpdesk.ByDue},
					"newest":      {ConversationFilter: helpdesk.ConversationFilter{Due: due}, Sort: helpdesk.ByCreated},
					"open":        {ConversationFilter: open, Sort: helpdesk.ByDue},
				} {
					order.Due = due
					seek := storage.Seek{Limit: 25, Desc: order.Sort == helpdesk.ByCreated}
					b.Run(name+", "+list, func(b *testing.B) {
						for b.Loop() {
							page, err := conversations.List(b.Context(), order, seek)
							if err != nil || len(page) != 25 {
								b.Fatal(len(page), err)
							}
						}
					})
				}
			}
		})
	}
}
