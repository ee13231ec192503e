package helpdesk_test

import (
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// Conversations are found by what an import adds to their customer.
func TestCustomerFilledByImport(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.annWrites(t, 3)
	done, err := b.svc.MoveIn().Customers(b.ctx, b.account.ID, []helpdesk.ImportedCustomer{{Emails: []string{"ann@example.com"}, Company: helpdesk.ImportedCompany{Name: "Fjordline"}}})
	if err != nil || len(done.Changed) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	found := must(b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{Query: "fjordline"}, storage.PageRequest{}))(t)
	if len(found.Items) != 3 {
		t.Errorf("%d found", len(found.Items))
	}
}

// A customer with very many conversations is renamed at once; a job has the conversations found by the new name.
func TestRenameWithManyConversations(t *testing.T) {
	t.Parallel()
	const conversations = 450
	b := newBundle(t)
	customer := b.annWrites(t, conversations)
	found := func(query string) (n int) {
		for cursor := ""; ; {
			page := must(b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{Query: query}, storage.PageRequest{Limit: 100, Cursor: cursor}))(t)
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
	before := must(b.desk.Customers().Get(b.ctx, customer))(t)
	rename := func(name string) helpdesk.Customer {
		return must(b.desk.Customers().Update(b.ctx, customer, helpdesk.CustomerInput{
			FirstName: storage.Some(name), Emails: storage.Some([]helpdesk.Item{{Value: "Ann@example.com"}}),
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
		if err := b.svc.Jobs().IndexCustomer(b.ctx, claimed[0]); err != nil {
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
