package helpdesk_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// A customer with very many conversations is renamed at once; a job has the conversations found by the new name.
func TestRenameWithManyConversations(t *testing.T) {
	t.Parallel()
	const conversations = 450
	b := newBundle(t)
	var customer int64
	for n := range conversations {
		c := must(b.desk.CreateConversation(b.ctx, helpdesk.ConversationInput{
			Channel: "email", To: "ann@example.com", Subject: fmt.Sprint("Question ", n), MailboxID: b.mailbox.ID,
			Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeNote, Body: "Text."}},
		}))(t)
		customer = c.CustomerID
	}
	found := func(query string) (n int) {
		for cursor := ""; ; {
			page := must(b.desk.Conversations(b.ctx, helpdesk.ConversationQuery{Query: query}, storage.PageRequest{Limit: 100, Cursor: cursor}))(t)
			n += len(page.Items)
			if cursor = page.Next; cursor == "" {
				return n
			}
		}
	}
	jobs := func() []storage.ClaimedJob {
		now := time.Now().Add(time.Minute)
		return must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobIndexCustomer: 10}, now, now.Add(time.Minute)))(t)
	}
	before := must(b.desk.Customer(b.ctx, customer))(t)
	rename := func(name string) helpdesk.Customer {
		return must(b.desk.UpdateCustomer(b.ctx, customer, helpdesk.CustomerInput{
			FirstName: name, Emails: storage.Some([]helpdesk.Item{{Value: "Ann@example.com"}}),
		}))(t)
	}
	if c := rename("Wilhelmina"); len(c.Emails) != 1 || c.Emails[0].ID != before.Emails[0].ID {
		t.Errorf("emails %v became %v", before.Emails, c.Emails)
	}
	if n := found("wilhelmina"); n == 0 || n >= conversations {
		t.Errorf("%d found at once", n)
	}
	claimed := jobs()
	if len(claimed) != 1 {
		t.Fatalf("%d jobs", len(claimed))
	}
	for range 2 { // it is idempotent
		if err := b.svc.IndexCustomer(b.ctx, claimed[0]); err != nil {
			t.Fatal(err)
		}
		if n := found("wilhelmina question"); n != conversations {
			t.Errorf("%d found", n)
		}
	}
	rename("Wilhelmina")
	if claimed := jobs(); len(claimed) != 0 {
		t.Error("the same name made a job")
	}
}
