package transport

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type customerConversations struct {
	customerID
	expanding
	Paging
	Status       words     `query:"status" enum:"posted,draft,pending,closed" description:"Any of these."`
	UpdatedSince time.Time `query:"updated_since" description:"Changed at this time or later."`
	Query        string    `query:"query" description:"Words, as for the list of all conversations."`
	SortBy       string    `query:"sort_by" enum:"created_at,updated_at,number,customer_awaiting_reply_since" default:"created_at"`
	SortType     string    `query:"sort_type" enum:"asc,desc" default:"desc"`
}

// list is the list of all conversations, narrowed to the customer's.
func (in *customerConversations) list() conversationList {
	return conversationList{
		expanding: in.expanding, Paging: in.Paging, conversationFilter: conversationFilter{
			Status: in.Status, CustomerID: in.CustomerID, UpdatedSince: in.UpdatedSince, Query: in.Query,
			SortBy: in.SortBy, SortType: in.SortType,
		},
	}
}

// SetDefaults makes the newest come first.
func (in *customerConversations) SetDefaults() {
	in.SortBy, in.SortType = string(helpdesk.ByCreated), "desc"
}

// CheckInput refuses what the list of all conversations refuses.
func (in *customerConversations) CheckInput(problem func(field, text string)) {
	all := in.list()
	all.CheckInput(problem)
}

type customerMerge struct {
	customerID
	Into int64 `json:"into" required:"true" description:"The customer that stays." example:"2"`
}

// customerExport is everything there is of a customer.
type customerExport struct {
	Customer      customer               `json:"customer"`
	Conversations []exportedConversation `json:"conversations" description:"Oldest first."`
}

type exportedConversation struct {
	conversation
	Interactions []interaction `json:"interactions" description:"Oldest first, with attachments."`
}

func (a *api) addCustomerMore(t *Table) {
	list := Operation{
		ID: "listCustomerConversations", Method: http.MethodGet, Path: customerPath + "/conversations", Tag: "Customers",
		Summary:     "List a customer's conversations",
		Description: "Newest first unless sorted otherwise. Needs conversations.view.",
		Expand:      []string{"user", "mailbox", "customer"},
	}
	HandlePage(t, a.desk, list, a.listCustomerConversations)
	Handle(t, a.desk, Operation{
		ID: "exportCustomer", Method: http.MethodGet, Path: customerPath + "/export", Tag: "Customers",
		Summary: "Export everything of a customer",
		Description: "The customer, the conversations that the caller reaches, all that was said in them, and what the attachments are. " +
			"413 for more than 64 MiB of messages. Needs accounts.export, customers.view, conversations.view and interactions.view.",
	}, a.exportCustomer)
	Handle(t, a.desk, Operation{
		ID: "mergeCustomer", Method: http.MethodPost, Path: customerPath + "/merge", Tag: "Customers", Lean: true,
		Summary: "Merge a customer into another",
		Description: "Everything that belongs to the customer belongs to the other from then on, and the customer is gone. " +
			"422 when the other would have more than 15 emails, 25 phones or 150 websites. Answers with the other. " +
			"Needs customers.update and customers.delete.",
	}, a.mergeCustomer)
}

func (a *api) listCustomerConversations(ctx context.Context, d *helpdesk.Desk, in customerConversations) (storage.Page[conversation], error) {
	return a.listConversations(ctx, d, in.list())
}

func (a *api) mergeCustomer(ctx context.Context, d *helpdesk.Desk, in customerMerge) (customer, error) {
	c, err := d.MergeCustomers(ctx, in.CustomerID, in.Into)
	return showCustomer(d, c), err
}

func (a *api) exportCustomer(ctx context.Context, d *helpdesk.Desk, in customerID) (customerExport, error) {
	found, err := d.ExportCustomer(ctx, in.CustomerID)
	if err != nil {
		return customerExport{}, err
	}
	out := customerExport{Customer: showCustomer(d, found.Customer), Conversations: []exportedConversation{}}
	var shown []conversation
	for some := range slices.Chunk(found.Conversations, storage.MaxLimit) {
		rows := make([]helpdesk.Conversation, len(some))
		for i, c := range some {
			rows[i] = c.Conversation
		}
		part, err := showConversations(ctx, d, rows, Expand{})
		if err != nil {
			return customerExport{}, err
		}
		shown = append(shown, part...)
	}
	for i, c := range found.Conversations {
		one := exportedConversation{conversation: shown[i], Interactions: []interaction{}}
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
