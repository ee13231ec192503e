package bunstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// A list by a tag is one statement, whether few or many conversations have it.
func TestTagStatements(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, _ *bunstore.DB) {
		fillBig(t, app, 1200)
		seen := &recorder{}
		r := bunstore.New(app.WithQueryHook(seen), bunstore.Config{}).Within(helpdesk.Scope{AccountID: 1})
		for name, tt := range map[string]struct {
			tag  int64
			most int
		}{
			"one has":   {1, 1},
			"some have": {5, 1},
			"half have": {2, 1},
		} {
			seen.take()
			page, err := r.Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{TagIDs: []int64{tt.tag}}}, storage.Seek{Limit: 26, Desc: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := len(seen.take()); got > tt.most {
				t.Errorf("a tag that %s: %d statements for %d conversations, at most %d are expected", name, got, len(page), tt.most)
			}
		}
	})
}

// Lists of every combination of keys, in every order, with a tag or a word, have the right rows, whichever index they are read
// from.
func TestListsOfSeveralKeys(t *testing.T) {
	t.Parallel()
	type condition struct {
		where string
		apply func(f *helpdesk.ConversationFilter)
	}
	user := func(where string, id storage.Opt[int64]) condition {
		return condition{where, func(f *helpdesk.ConversationFilter) { f.UserID = id }}
	}
	states := func(where string, all ...helpdesk.Status) condition {
		return condition{where, func(f *helpdesk.ConversationFilter) { f.Statuses = all }}
	}
	none := condition{"TRUE", func(*helpdesk.ConversationFilter) {}}
	choices := [][]condition{
		{none, user("user_id = 7", storage.Some[int64](7)), user("user_id = 60", storage.Some[int64](60)), user("user_id = 0", storage.Null[int64]())},
		{none, {"team_id = 1", func(f *helpdesk.ConversationFilter) { f.TeamID = storage.Some[int64](1) }}},
		{none, {"mailbox_id = 1", func(f *helpdesk.ConversationFilter) { f.MailboxID = 1 }}},
		{none, {"customer_id = 2", func(f *helpdesk.ConversationFilter) { f.CustomerID = 2 }}, {"customer_id = 1", func(f *helpdesk.ConversationFilter) { f.CustomerID = 1 }},
			{"customer_id = 2", func(f *helpdesk.ConversationFilter) { f.CompanyID = 5 }}},
		{none, states("status = 'closed'", helpdesk.StatusClosed), states("status IN ('posted', 'pending')", helpdesk.StatusPosted, helpdesk.StatusPending)},
		{
			none, {"spam_at > 0", func(f *helpdesk.ConversationFilter) { f.Spam = storage.Some(true) }},
			{"priority = 'urgent'", func(f *helpdesk.ConversationFilter) { f.Priorities = []helpdesk.Priority{helpdesk.PriorityUrgent} }},
		},
		{
			none, {"id % 2 = 0", func(f *helpdesk.ConversationFilter) { f.TagIDs = []int64{2} }},
			{"id % 10 <> 0", func(f *helpdesk.ConversationFilter) { f.Terms = []helpdesk.SearchTerm{{Text: "common"}} }},
		},
	}
	eachEmbedded(t, func(t *testing.T, app *bun.DB, db *bunstore.DB) {
		fillBig(t, app, 1200)
		readers := map[string]helpdesk.Reader{
			"TRUE":           db.Within(helpdesk.Scope{AccountID: 1}),
			"mailbox_id = 2": db.Within(helpdesk.Scope{AccountID: 1, Mailboxes: []int64{2}}),
		}
		var each func(f helpdesk.ConversationFilter, where []string, rest [][]condition)
		each = func(f helpdesk.ConversationFilter, where []string, rest [][]condition) {
			if len(rest) > 0 {
				for _, c := range rest[0] {
					further := f
					c.apply(&further)
					each(further, append(where, c.where), rest[1:])
				}
				return
			}
			for scope, r := range readers {
				for sort, column := range map[helpdesk.ConversationSort]string{
					helpdesk.ByCreated: "created_at", helpdesk.ByUpdated: "updated_at", helpdesk.ByNumber: "number", helpdesk.ByAwaiting: "awaiting_key",
				} {
					page, err := r.Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: f, Sort: sort}, storage.Seek{Limit: 26, Desc: true})
					if err != nil {
						t.Fatalf("%s, by %s: %v", where, column, err)
					}
					var got, want []int64
					for _, c := range page {
						got = append(got, c.ID)
					}
					query := fmt.Sprintf("SELECT id FROM hw_conversations WHERE %s AND %s ORDER BY +%s DESC, id DESC LIMIT 26", strings.Join(where, " AND "), scope, column)
					if err := app.NewRaw(query).Scan(t.Context(), &want); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("%s in %s, by %s: (-want +got)\n%s", where, scope, column, diff)
					}
				}
			}
		}
		each(helpdesk.ConversationFilter{}, nil, choices)
	})
}
