package bunstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// A list that walks its order in vain, and then sorts what matches, has the marks of the rows that it returns.
func TestMarksOfSecondTry(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, _ *bun.DB, db *bunstore.DB) {
		scope, _ := twoConversations(t, db)
		const many = 600 // more than are sorted at once
		var customer helpdesk.Customer
		tag := helpdesk.Tag{Name: "Tag", Key: "tag"}
		if err := db.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
			boxes, err := tx.Mailboxes().List(ctx, storage.NoFilter{}, storage.Seek{Limit: 1})
			if err != nil {
				return err
			}
			other := helpdesk.Customer{}
			for _, c := range []*helpdesk.Customer{&customer, &other} {
				if err := tx.InsertCustomer(ctx, c); err != nil {
					return err
				}
			}
			if err := helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &tag); err != nil {
				return err
			}
			var all []*helpdesk.Conversation
			for i := range 2 * many { // the customer's are the oldest
				of := customer.ID
				if i >= many {
					of = other.ID
				}
				all = append(all, &helpdesk.Conversation{Number: int64(i + 10), MailboxID: boxes[0].ID, CustomerID: of, UpdatedAt: time.Unix(int64(i+10), 0)})
			}
			if err := tx.Conversations().Insert(ctx, all...); err != nil {
				return err
			}
			return tx.SetTags(ctx, []int64{all[many-1].ID}, []int64{tag.ID})
		}); err != nil {
			t.Fatal(err)
		}
		at, _ := db.Within(scope).(helpdesk.MarkedReader)
		rows, marks, err := at.MarkedConversations(t.Context(), helpdesk.ConversationOrder{
			ConversationFilter: helpdesk.ConversationFilter{CustomerID: customer.ID}, Sort: helpdesk.ByUpdated,
		}, 1, storage.Seek{Desc: true, Limit: 25})
		if err != nil || len(rows) != 25 {
			t.Fatalf("%d conversations, %v", len(rows), err)
		}
		if len(marks) != 1 || marks[0].ConversationID != rows[0].ID || len(marks[0].Tags) != 1 || marks[0].Tags[0].ID != tag.ID {
			t.Errorf("the marks are %+v, want the tag of conversation %d", marks, rows[0].ID)
		}
	})
}
