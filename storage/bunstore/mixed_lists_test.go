package bunstore_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// mixedLists is the number of lists of mixedBig.
const mixedLists = 250

// mixedFilters are conditions on fillBig's conversations, of which a list has at most one per row.
var mixedFilters = [][]struct {
	where string
	set   func(f *helpdesk.ConversationFilter)
}{
	{
		{"status IN ('posted', 'pending')", func(f *helpdesk.ConversationFilter) {
			f.Statuses = []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}
		}},
		{"status = 'pending'", func(f *helpdesk.ConversationFilter) { f.Statuses = []helpdesk.Status{helpdesk.StatusPending} }},
		{"status = 'closed'", func(f *helpdesk.ConversationFilter) { f.Statuses = []helpdesk.Status{helpdesk.StatusClosed} }},
	}, {
		{"user_id = 7", func(f *helpdesk.ConversationFilter) { f.UserID = storage.Some[int64](7) }},
		{"user_id = 0", func(f *helpdesk.ConversationFilter) { f.UserID = storage.Null[int64]() }},
	}, {
		{"team_id = 1", func(f *helpdesk.ConversationFilter) { f.TeamID = storage.Some[int64](1) }},
		{"team_id = 0", func(f *helpdesk.ConversationFilter) { f.TeamID = storage.Null[int64]() }},
	}, {
		{"mailbox_id = 1", func(f *helpdesk.ConversationFilter) { f.MailboxID = 1 }},
		{"mailbox_id = 2", func(f *helpdesk.ConversationFilter) { f.MailboxID = 2 }},
	}, {
		{"spam_at > 0", func(f *helpdesk.ConversationFilter) { f.Spam = storage.Some(true) }},
		{"spam_at <= 0", func(f *helpdesk.ConversationFilter) { f.Spam = storage.Some(false) }},
	}, {
		{"awaiting_key > 0", func(f *helpdesk.ConversationFilter) { f.Awaiting = storage.Some(true) }},
		{"awaiting_key = 0", func(f *helpdesk.ConversationFilter) { f.Awaiting = storage.Some(false) }},
	}, {
		{"id % 2 = 0", func(f *helpdesk.ConversationFilter) { f.TagIDs = []int64{2} }},
		{"id <= 3000", func(f *helpdesk.ConversationFilter) { f.TagIDs = []int64{3} }},
	}, {
		{"priority = 'normal'", func(f *helpdesk.ConversationFilter) { f.Priorities = []helpdesk.Priority{helpdesk.PriorityNormal} }},
		{"priority = 'urgent'", func(f *helpdesk.ConversationFilter) { f.Priorities = []helpdesk.Priority{helpdesk.PriorityUrgent} }},
	}, {
		{"id % 100 = 4", func(f *helpdesk.ConversationFilter) { f.Terms = []helpdesk.SearchTerm{{Text: "percent"}} }},
		{"id % 2 = 0", func(f *helpdesk.ConversationFilter) { f.Terms = []helpdesk.SearchTerm{{Text: "half"}} }},
		{"id <= 30000", func(f *helpdesk.ConversationFilter) { f.Terms = []helpdesk.SearchTerm{{Text: "old"}} }},
		{"id <= 100000 AND id % 10 <> 0", func(f *helpdesk.ConversationFilter) {
			f.Terms = []helpdesk.SearchTerm{{Text: "past"}, {Text: "common"}}
		}},
	}, {
		{"id % 2 = 1", func(f *helpdesk.ConversationFilter) {
			f.Except = []helpdesk.ConversationFilter{{Terms: []helpdesk.SearchTerm{{Text: "half"}}}}
		}},
		{"id > 3000", func(f *helpdesk.ConversationFilter) {
			f.Except = []helpdesk.ConversationFilter{{Except: []helpdesk.ConversationFilter{{Except: []helpdesk.ConversationFilter{{TagIDs: []int64{3}}}}}}}
		}},
	},
}

// mixedBig reads lists of several conditions, in all orders and from anywhere, and compares them with plain SQL.
func mixedBig(t *testing.T, app *bun.DB, db *bunstore.DB) {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 6)) // the same lists each time
	order := map[bool]string{true: "DESC", false: "ASC"}
	beyond := map[bool]string{true: "<", false: ">"}
	columns := []string{"created_at", "updated_at", "number", "awaiting_key"}
	sorts := []helpdesk.ConversationSort{helpdesk.ByCreated, helpdesk.ByUpdated, helpdesk.ByNumber, helpdesk.ByAwaiting}
	for range mixedLists {
		sort, seek := random.IntN(len(sorts)), storage.Seek{Limit: 26, Desc: random.IntN(2) == 0}
		scope, where := helpdesk.Scope{AccountID: 1}, []string{"account_id = 1"}
		if n := random.IntN(3); n > 0 {
			scope.Mailboxes = []int64{int64(n)}
			where = append(where, fmt.Sprintf("mailbox_id = %d", n))
		}
		f := helpdesk.ConversationOrder{Sort: sorts[sort]}
		for _, conditions := range mixedFilters {
			if n := random.IntN(4 * len(conditions)); n < len(conditions) {
				conditions[n].set(&f.ConversationFilter)
				where = append(where, conditions[n].where)
			}
		}
		if random.IntN(2) == 0 {
			from := storage.Position{ID: random.Int64N(bigConversations) + 1}
			if err := app.NewRaw("SELECT ? FROM hw_conversations WHERE id = ?", bun.Ident(columns[sort]), from.ID).Scan(t.Context(), &from.Key); err != nil {
				t.Fatal(err)
			}
			seek.From = &from
			where = append(where, fmt.Sprintf("(+%s, id) %s (%d, %d)", columns[sort], beyond[seek.Desc], from.Key, from.ID))
		}
		query := fmt.Sprintf("SELECT id FROM hw_conversations WHERE %s ORDER BY +%s %s, id %s LIMIT %d",
			strings.Join(where, " AND "), columns[sort], order[seek.Desc], order[seek.Desc], seek.Limit)
		want, got := []int64{}, []int64{}
		if err := app.NewRaw(query).Scan(t.Context(), &want); err != nil {
			t.Fatal(err)
		}
		page, err := db.Within(scope).Conversations().List(t.Context(), f, seek)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		for _, c := range page {
			got = append(got, c.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", query, diff)
		}
	}
}
