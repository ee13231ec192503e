package bunstore_test

import (
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// BenchmarkLists reads the first page of common lists, and one of a rare mix, of few and of many conversations. Its time does
// not depend on how many there are, nor on where those of a state are.
func BenchmarkLists(b *testing.B) {
	mixed := commonList{name: "pending of a user with a tag", order: helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{
		Statuses: []helpdesk.Status{helpdesk.StatusPending}, UserID: storage.Some[int64](8), TagIDs: []int64{2},
	}}}
	for name, open := range embedded {
		for _, total := range []int{1000, 300_000} {
			for _, together := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%d/together=%t", name, total, together), func(b *testing.B) {
					app := open(b)
					db := bunstore.New(app, bunstore.Config{})
					if err := db.Migrate(b.Context()); err != nil {
						b.Fatal(err)
					}
					fillLists(b, app, total, together)
					if _, err := app.Exec("ANALYZE"); err != nil {
						b.Fatal(err)
					}
					for _, l := range append(commonLists(), mixed) {
						b.Run(l.name, func(b *testing.B) {
							r := db.Within(helpdesk.Scope{AccountID: 1, Mailboxes: l.in})
							for b.Loop() {
								if _, err := r.Conversations().List(b.Context(), l.order, storage.Seek{Limit: 26, Desc: !l.ascending}); err != nil {
									b.Fatal(err)
								}
							}
						})
					}
				})
			}
		}
	}
}
