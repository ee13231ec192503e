package helpdesk_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// found lists the ids of the conversations that a query finds.
func (b *bundle) found(query string) []int64 {
	b.t.Helper()
	page := must(b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{Query: query, Ascending: true}, storage.PageRequest{}))(b.t)
	var ids []int64
	for _, c := range page.Items {
		ids = append(ids, c.ID)
	}
	return ids
}

func (b *bundle) finds(query string, want ...int64) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.found(query)); diff != "" {
		b.t.Errorf("%q: %s", query, diff)
	}
}

// A conversation is found by its current content, whoever changed it.
func TestSearchFollowsChanges(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	b.finds("stuck door", id)
	b.finds("lovelace open", id)
	b.finds("ada@example.com", id)
	b.finds("bell")
	b.receive(ledger.Incoming{
		Message: message.Message{
			MessageID: "2@example.com", InReplyTo: []string{"1@example.com"}, From: []mailaddr.Address{ada}, Subject: "Bell", HTML: "<p>It <b>rin</b>gs</p>",
		},
	})
	b.finds("bell rings", id)
	note := must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "Locksmith"}))(t)
	b.finds("locksmith", id)
	must(b.desk.Interactions().Update(b.ctx, id, note.ID, helpdesk.InteractionUpdate{Body: storage.Some("Carpenter")}))(t)
	b.finds("locksmith")
	b.finds("carpenter", id)
	if err := b.desk.Interactions().Delete(b.ctx, id, note.ID); err != nil {
		t.Fatal(err)
	}
	b.finds("carpenter")
	b.finds("bell rings", id)
	must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Subject: storage.Some("Gate")}))(t)
	b.finds("gate", id)
	customer := b.conversation(id).CustomerID
	must(b.desk.Customers().Update(b.ctx, customer, helpdesk.CustomerInput{FirstName: storage.Some("Augusta"), LastName: storage.Some("King")}))(t)
	b.finds("king gate", id)
	b.finds("lovelace")
	second := must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: "Window"}))(t)
	b.finds("king", id, second.ID)
	b.finds(" !?")
	b.finds("\x00\xff")
	b.finds("", id, second.ID)
	if err := b.desk.Conversations().Delete(b.ctx, id); err != nil {
		t.Fatal(err)
	}
	b.finds("king", second.ID)
}

// The beginning of a huge message is indexed, and the earliest messages of a huge conversation.
func TestSearchLimits(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	mail := opening()
	mail.Text = "first " + strings.Repeat("x ", helpdesk.MaxSearchText/2) + "last"
	id := b.receive(mail).ConversationID
	b.finds("first", id)
	b.finds("last")
	for n := range 8 {
		var text strings.Builder
		for i := range 6000 {
			fmt.Fprintf(&text, "n%dw%d ", n, i)
		}
		must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: text.String()}))(t)
	}
	b.finds("n0w5999", id)
	b.finds("n7w5999")
	b.finds("door", id)
}

func TestMergeCustomers(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first := b.receive(opening()).ConversationID
	second := must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "king@example.com", Subject: "Window"}))(t)
	from, into := b.conversation(first).CustomerID, second.CustomerID
	phones := func(all ...string) storage.Opt[[]helpdesk.Item] {
		var items []helpdesk.Item
		for _, p := range all {
			items = append(items, helpdesk.Item{Value: p})
		}
		return storage.Some(items)
	}
	must(b.desk.Customers().Update(b.ctx, from, helpdesk.CustomerInput{FirstName: storage.Some("Ada"), Company: storage.Some("Engines"), Phones: phones("1", "2")}))(t)
	must(b.desk.Customers().Update(b.ctx, into, helpdesk.CustomerInput{FirstName: storage.Some("Augusta"), Phones: phones("2", "3")}))(t)
	for _, tt := range []struct {
		into int64
		kind fault.Kind
	}{{0, fault.Invalid}, {from, fault.Invalid}, {12345, fault.NotFound}} {
		if _, err := b.desk.Customers().Merge(b.ctx, from, tt.into); !fault.Is(err, tt.kind) {
			t.Errorf("into %d: %v", tt.into, err)
		}
	}
	if _, err := b.member(identity.RoleCollaborator).Customers().Merge(b.ctx, from, into); !fault.Is(err, fault.Forbidden) {
		t.Errorf("by a collaborator: %v", err)
	}
	c := must(b.desk.Customers().Merge(b.ctx, from, into))(t)
	if c.ID != into || c.FirstName != "Augusta" || c.Company != "Engines" || len(c.Emails) != 2 || len(c.Phones) != 3 {
		t.Errorf("%+v", c)
	}
	if got := must(b.desk.Customers().Get(b.ctx, into))(t); !cmp.Equal(c, got) {
		t.Error(cmp.Diff(c, got))
	}
	if _, err := b.desk.Customers().Get(b.ctx, from); !fault.Is(err, fault.NotFound) {
		t.Errorf("the customer that is gone: %v", err)
	}
	b.finds("augusta", first, second.ID)
	b.finds("lovelace")
	// the next mail from the address goes on with the customer that stayed
	b.receive(ledger.Incoming{Message: message.Message{MessageID: "3@example.com", From: []mailaddr.Address{ada}, Subject: "Again", Text: "x"}})
	if stats := must(b.desk.Customers().Stats(b.ctx, into))(t); stats.Total != 3 {
		t.Errorf("%+v", stats)
	}
	export := must(b.desk.Customers().Export(b.ctx, into))(t)
	if len(export.Conversations) != 3 || len(export.Conversations[0].Interactions) != 1 {
		t.Errorf("%+v", export)
	}
	if _, err := b.member(identity.RoleAgent).Customers().Export(b.ctx, into); !fault.Is(err, fault.Forbidden) {
		t.Errorf("an export by an agent: %v", err)
	}
}

func TestMergeCustomersWithinLimits(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	make := func(name string, emails, phones int) int64 {
		in := helpdesk.CustomerInput{FirstName: storage.Some(name)}
		var e, p []helpdesk.Item
		for i := range emails {
			e = append(e, helpdesk.Item{Value: fmt.Sprintf("%s%d@example.com", name, i)})
		}
		for i := range phones {
			p = append(p, helpdesk.Item{Value: fmt.Sprintf("%s%d", name, i)})
		}
		in.Emails, in.Phones = storage.Some(e), storage.Some(p)
		return must(b.desk.Customers().Create(b.ctx, in))(t).ID
	}
	a, z := make("a", 8, 13), make("z", 8, 13)
	_, err := b.desk.Customers().Merge(b.ctx, a, z)
	want := fault.Fields{"into": {"would have more than 15 emails", "would have more than 25 phones"}}
	if f, ok := errors.AsType[*fault.Error](err); !ok || !cmp.Equal(want, f.Fields) {
		t.Errorf("got %v", err)
	}
	if got := must(b.desk.Customers().Get(b.ctx, a))(t); len(got.Emails) != 8 {
		t.Errorf("something was done: %+v", got)
	}
	must(b.desk.Customers().Merge(b.ctx, make("b", 7, 12), z))(t)
}
