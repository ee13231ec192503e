package bunstore_test

import (
	"testing"

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
