package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// customerExport is all data of a customer.
type customerExport struct {
	Customer      customer               `json:"customer"`
	Conversations []exportedConversation `json:"conversations" description:"Oldest first."`
}

type exportedConversation struct {
	conversation
	Interactions []interaction `json:"interactions" description:"Oldest first, with attachments."`
	Ratings      []rating      `json:"ratings" description:"Oldest first."`
}

func (a *api) addCustomerExport(t *transport.Table) {
	transport.Handle(t, a.desk, transport.Operation{
		ID: "exportCustomer", Method: http.MethodGet, Path: customerPath + "/export", Tag: "Customers",
		Summary: "Export a customer",
		Description: "The customer with all conversations in the caller's reach, their interactions and the descriptions of attachments. 413 " +
			"for more than 64 MiB of messages. Needs accounts.export, customers.view, conversations.view and interactions.view.",
	}, a.exportCustomer)
}

func (a *api) exportCustomer(ctx context.Context, d *helpdesk.Desk, in customerID) (customerExport, error) {
	found, err := d.Customers().Export(ctx, in.CustomerID)
	if err != nil {
		return customerExport{}, err
	}
	out := customerExport{Customer: customerWith(d, found), Conversations: []exportedConversation{}}
	var shown []conversation
	for some := range slices.Chunk(found.Conversations, storage.MaxLimit) {
		rows := make([]helpdesk.Conversation, len(some))
		for i, c := range some {
			rows[i] = c.Conversation
		}
		part, err := showConversations(ctx, d, rows, transport.Expand{})
		if err != nil {
			return customerExport{}, err
		}
		shown = append(shown, part...)
	}
	for i, c := range found.Conversations {
		one := exportedConversation{conversation: shown[i], Interactions: []interaction{}, Ratings: []rating{}}
		for _, r := range c.Ratings {
			one.Ratings = append(one.Ratings, showRating(r))
		}
		said, err := a.showInteractions(ctx, d, c.Interactions, view{})
		if err != nil {
			return customerExport{}, err
		}
		at := map[int64]int{}
		for n, i := range said {
			at[i.ID] = n
			i.Attachments = []attachment{}
			one.Interactions = append(one.Interactions, i)
		}
		for _, file := range c.Attachments {
			i := &one.Interactions[at[file.InteractionID]]
			i.Attachments = append(i.Attachments, a.showAttachment(d.AccountID(), file))
		}
		out.Conversations = append(out.Conversations, one)
	}
	return out, nil
}
