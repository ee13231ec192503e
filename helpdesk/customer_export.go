package helpdesk

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// MaxExport is the maximum size of an export's messages, in bytes.
const MaxExport = 64 << 20

// CustomerExport contains all stored data about a customer.
type CustomerExport struct {
	Customer      Customer
	Fields        FieldSet             // of customers
	Conversations []ConversationExport // oldest first
}

// ConversationExport is a conversation with all that is in it.
type ConversationExport struct {
	Conversation Conversation
	Interactions []Interaction // oldest first
	Attachments  []Attachment  // of all interactions
	Fields       FieldSet      // of conversations
	Ratings      []Rating      // oldest first
}

// Export returns all data about a customer that the member reaches, for example to answer a data access request. It
// needs accounts.export, customers.view, conversations.view and interactions.view. More than 64 MiB of messages is a
// TooLarge fault; use the lists instead.
func (d Customers) Export(ctx context.Context, id int64) (CustomerExport, error) {
	var r Reader
	for _, p := range []identity.Permission{identity.AccountsExport, identity.CustomersView, identity.ConversationsView, identity.InteractionsView} {
		var err error
		if r, err = d.guard.Read(p); err != nil {
			return CustomerExport{}, err
		}
	}
	begin, err := d.guard.Write(identity.AccountsExport)
	if err != nil {
		return CustomerExport{}, err
	}
	c, err := r.Customer(ctx, id)
	if err != nil {
		return CustomerExport{}, err
	}
	out := CustomerExport{Customer: c}
	if out.Fields, err = readFields(ctx, r, FieldOfCustomer, []int64{id}); err != nil {
		return CustomerExport{}, err
	}
	left := MaxExport
	seek := storage.Seek{Limit: 100}
	for {
		batch, err := r.Conversations().List(ctx, ConversationOrder{ConversationFilter: ConversationFilter{CustomerID: id}, Sort: ByCreated}, seek)
		if err != nil {
			return CustomerExport{}, err
		}
		for _, c := range batch {
			one, err := d.exportConversation(ctx, r, c, &left)
			if err != nil {
				return CustomerExport{}, err
			}
			out.Conversations = append(out.Conversations, one)
			seek.From = &storage.Position{Key: c.SortKey(ByCreated), ID: c.ID}
		}
		if len(batch) < seek.Limit {
			break
		}
	}
	return out, begin(ctx, func(ctx context.Context, tx Tx) error { return d.emit(ctx, tx, "customer.exported", id, 0) })
}

// exportConversation reads a conversation and subtracts the size of its messages from left.
func (d *desk) exportConversation(ctx context.Context, r Reader, c Conversation, left *int) (ConversationExport, error) {
	out := ConversationExport{Conversation: c}
	var err error
	if out.Fields, err = readFields(ctx, r, FieldOfConversation, []int64{c.ID}); err != nil {
		return out, err
	}
	if out.Ratings, err = ratingsOf(ctx, r, c.ID); err != nil {
		return out, err
	}
	seek := storage.Seek{Limit: 100}
	for {
		batch, err := r.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID}, seek)
		if err != nil {
			return out, err
		}
		if err := d.conceal(ctx, r, batch); err != nil {
			return out, err
		}
		ids := make([]int64, len(batch))
		for n, i := range batch {
			ids[n] = i.ID
			*left -= len(i.Body)
			last := i.position()
			seek.From = &last
		}
		if *left < 0 {
			return out, fault.New(fault.TooLarge, "The customer has more than 64 MiB of messages. Read the lists instead.")
		}
		attachments, err := r.Attachments().List(ctx, AttachmentFilter{InteractionIDs: ids}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return out, err
		}
		d.svc.judge(batch, attachments)
		out.Interactions, out.Attachments = append(out.Interactions, batch...), append(out.Attachments, attachments...)
		if len(batch) < seek.Limit {
			return out, nil
		}
	}
}
