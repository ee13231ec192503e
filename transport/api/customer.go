package api

import (
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// customer as the API shows it.
type customer struct {
	ID        int64             `json:"id"`
	Name      string            `json:"name" description:"First and last name, or an address if both are empty."`
	Initials  string            `json:"initials"`
	FirstName string            `json:"first_name"`
	LastName  string            `json:"last_name"`
	CompanyID *int64            `json:"company_id" description:"The company that the customer belongs to. Null: none."`
	Company   string            `json:"company" description:"Name of the company, or text if there is none."`
	Note      string            `json:"note" description:"The team's note about the customer, as plain text. Customers do not see it."`
	External  string            `json:"external_id" description:"The customer's id in another system. Empty: none."`
	AccountID int64             `json:"account_id"`
	Avatar    *string           `json:"avatar" description:"URL of an image. Null if there is none."`
	Emails    []customerEmail   `json:"emails"`
	Phones    []customerPhone   `json:"phones"`
	Websites  []customerWebsite `json:"websites"`
	Fields    map[string]any    `json:"fields" description:"Values of the fields of customers. By key: a text, a number, true or false, the value of an option, a date such as 2026-01-31, a time, or a list for a multiselect. Null: none."`
	Stats     *customerStats    `json:"stats,omitempty" description:"Only present when a single customer is retrieved."`
	CreatedAt transport.Time    `json:"created_at"`
	UpdatedAt transport.Time    `json:"updated_at"`
}

type customerEmail struct {
	ID    int64  `json:"id"`
	Email string `json:"email"`
}

type customerPhone struct {
	ID    int64  `json:"id"`
	Phone string `json:"phone"`
}

type customerWebsite struct {
	ID      int64  `json:"id"`
	Website string `json:"website"`
}

type customerStats struct {
	Conversations conversationCounts `json:"conversations"`
}

type conversationCounts struct {
	Total        int64 `json:"total"`
	Posted       int64 `json:"posted"`
	Pending      int64 `json:"pending"`
	Closed       int64 `json:"closed"`
	EmailChannel int64 `json:"email_channel"`
}

type customerInput struct {
	FirstName string                      `json:"first_name" required:"true" maxLength:"100" example:"Ada"`
	LastName  storage.Opt[string]         `json:"last_name" maxLength:"100" example:"Lovelace"`
	CompanyID storage.Opt[int64]          `json:"company_id" description:"Null: none. A new customer for whom neither it nor company is given joins the company that has the domain of an address."`
	Company   storage.Opt[string]         `json:"company" maxLength:"200" description:"Ignored with a company_id. If exactly one company has this name, ignoring case, the customer joins it; otherwise the text is kept and the customer has no company."`
	Note      storage.Opt[string]         `json:"note" maxLength:"10000" description:"Plain text, visible to the team only."`
	External  storage.Opt[string]         `json:"external_id" maxLength:"200" description:"The customer's id in another system, unique in the account: 422 if another customer has it. Empty or null: none."`
	Emails    storage.Opt[[]emailInput]   `json:"emails" maxItems:"15" description:"Replaces the list: omitted items are removed."`
	Phones    storage.Opt[[]phoneInput]   `json:"phones" maxItems:"25"`
	Websites  storage.Opt[[]websiteInput] `json:"websites" maxItems:"150"`
	Fields    fieldValues                 `json:"fields" description:"Values of fields. By key: a text, a number, true or false, the value of an option, a date such as 2026-01-31, a time, or a list for a multiselect. Null or empty: none. Omitted keys stay unchanged."`
}

// Items without an id, or with an id that the customer does not have, are new.

type emailInput struct {
	ID    storage.Opt[int64] `json:"id"`
	Email string             `json:"email" required:"true" example:"ada@example.org"`
}

type phoneInput struct {
	ID    storage.Opt[int64] `json:"id"`
	Phone string             `json:"phone" required:"true" example:"+44 20 7946 0000"`
}

type websiteInput struct {
	ID      storage.Opt[int64] `json:"id"`
	Website string             `json:"website" required:"true" example:"https://example.org"`
}

type customerID struct {
	CustomerID int64 `path:"customer_id"`
}

type customerUpdate struct {
	customerID
	customerInput
}

type customerList struct {
	transport.Paging
	Email     string `query:"email" description:"The customer with this address."`
	External  string `query:"external_id" description:"The customer with this id in another system."`
	CompanyID int64  `query:"company_id"`
	Query     string `query:"query" description:"Words that must all occur in names, company, addresses or phones. The last one may be a prefix."`

	Fields fieldConditions `query:"fields" description:"By key of a field: a value or several, of which any is enough, or from and to of a number, a date or a time, or empty, as in fields[plan]=gold, fields[amount][from]=10 and fields[plan][empty]=true."`
}

type customerDeletion struct {
	customerID
	Force bool `query:"force" description:"Also delete the conversations."`
}

func (a *api) addCustomers(t *transport.Table) {
	transport.Handle(t, a.desk, transport.Operation{
		ID: "createCustomer", Method: http.MethodPost, Path: customersPath, Tag: "Customers", Status: http.StatusCreated, Lean: true,
		Summary:     "Create a customer",
		Description: "Needs customers.create.",
	}, a.createCustomer)
	transport.HandlePage(t, a.desk, transport.Operation{
		ID: "listCustomers", Method: http.MethodGet, Path: customersPath, Tag: "Customers",
		Summary:     "List customers",
		Description: "Newest first. Needs customers.view.",
	}, a.listCustomers)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "getCustomer", Method: http.MethodGet, Path: customerPath, Tag: "Customers",
		Summary:     "Retrieve a customer with the counts of their conversations",
		Description: "Needs customers.view.",
	}, a.getCustomer)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "updateCustomer", Method: http.MethodPut, Path: customerPath, Tag: "Customers", Lean: true, Slow: true,
		Summary: "Update a customer",
		Description: "Omitted fields stay unchanged; a list that is given replaces the old one. An item without an id, or with an unknown " +
			"one, is new, unless the customer has this address already. Needs customers.update.",
	}, a.updateCustomer)
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "deleteCustomer", Method: http.MethodDelete, Path: customerPath, Tag: "Customers", Slow: true,
		Summary:     "Delete a customer",
		Description: "409 if there are conversations, unless force is set. Needs customers.delete, and conversations.delete to force.",
	}, a.deleteCustomer)
}

func (a *api) createCustomer(ctx context.Context, d *helpdesk.Desk, in customerInput) (customer, error) {
	c, err := d.Customers().Create(ctx, in.input())
	return oneCustomer(ctx, d, c, err)
}

func (a *api) listCustomers(ctx context.Context, d *helpdesk.Desk, in customerList) (storage.Page[customer], error) {
	page, err := d.Customers().List(ctx, helpdesk.CustomerQuery{Email: in.Email, ExternalID: in.External, CompanyID: in.CompanyID, Query: in.Query, Fields: in.Fields.query()}, in.Request())
	if err != nil {
		return storage.Page[customer]{}, err
	}
	shown, err := showCustomers(ctx, d, page.Items)
	return storage.Page[customer]{Items: shown, Next: page.Next, Prev: page.Prev}, err
}

func (a *api) getCustomer(ctx context.Context, d *helpdesk.Desk, in customerID) (customer, error) {
	c, err := d.Customers().Get(ctx, in.CustomerID)
	if err != nil {
		return customer{}, err
	}
	stats, err := d.Customers().Stats(ctx, in.CustomerID)
	out, err := oneCustomer(ctx, d, c, err)
	out.Stats = &customerStats{Conversations: conversationCounts{
		Total: stats.Total, Posted: stats.Posted, Pending: stats.Pending, Closed: stats.Closed, EmailChannel: stats.EmailChannel,
	}}
	return out, err
}

func (a *api) updateCustomer(ctx context.Context, d *helpdesk.Desk, in customerUpdate) (customer, error) {
	c, err := d.Customers().Update(ctx, in.CustomerID, in.input())
	return oneCustomer(ctx, d, c, err)
}

func (a *api) deleteCustomer(ctx context.Context, d *helpdesk.Desk, in customerDeletion) error {
	return d.Customers().Delete(ctx, in.CustomerID, in.Force)
}

func (in customerInput) input() helpdesk.CustomerInput {
	return helpdesk.CustomerInput{
		FirstName: storage.Some(in.FirstName), LastName: in.LastName, CompanyID: in.CompanyID, Company: in.Company, Note: in.Note, ExternalID: in.External,
		Emails:   items(in.Emails, func(e emailInput) helpdesk.Item { return helpdesk.Item{ID: e.ID.Or(0), Value: e.Email} }),
		Phones:   items(in.Phones, func(p phoneInput) helpdesk.Item { return helpdesk.Item{ID: p.ID.Or(0), Value: p.Phone} }),
		Websites: items(in.Websites, func(w websiteInput) helpdesk.Item { return helpdesk.Item{ID: w.ID.Or(0), Value: w.Website} }),
		Fields:   in.Fields.texts(),
	}
}

// items converts a list in an input for the service; null empties the list.
func items[T any](list storage.Opt[[]T], item func(T) helpdesk.Item) storage.Opt[[]helpdesk.Item] {
	if !list.IsSet() {
		return storage.Opt[[]helpdesk.Item]{}
	}
	out := []helpdesk.Item{}
	for _, one := range list.Or(nil) {
		out = append(out, item(one))
	}
	return storage.Some(out)
}

func showCustomer(d *helpdesk.Desk, c helpdesk.Customer) customer {
	out := customer{
		ID: c.ID, Name: c.Name(), Initials: c.Initials(), FirstName: c.FirstName, LastName: c.LastName, CompanyID: idOrNull(c.CompanyID), Company: c.Company, Note: c.Note, External: c.ExternalID,
		AccountID: d.AccountID(), Emails: []customerEmail{}, Phones: []customerPhone{}, Websites: []customerWebsite{},
		CreatedAt: transport.Time(c.CreatedAt), UpdatedAt: transport.Time(c.UpdatedAt),
	}
	for _, e := range c.Emails {
		out.Emails = append(out.Emails, customerEmail{ID: e.ID, Email: e.Email})
	}
	for _, p := range c.Phones {
		out.Phones = append(out.Phones, customerPhone{ID: p.ID, Phone: p.Phone})
	}
	for _, w := range c.Websites {
		out.Websites = append(out.Websites, customerWebsite{ID: w.ID, Website: w.Website})
	}
	return out
}

type customerConversations struct {
	customerID
	expanding
	transport.Paging
	Status       words     `query:"status" enum:"posted,draft,pending,closed" description:"Any of these."`
	UpdatedSince time.Time `query:"updated_since" description:"Changed at or after this time."`
	Query        string    `query:"query" description:"Words, as for the list of all conversations."`
	SortBy       string    `query:"sort_by" enum:"created_at,updated_at,number,customer_awaiting_reply_since" default:"created_at"`
	Timezone     string    `query:"timezone" example:"Europe/Berlin" description:"IANA name, of the days in query. Default: UTC."`
	SortType     string    `query:"sort_type" enum:"asc,desc" default:"desc"`
}

// list returns the list of all conversations, filtered by the customer.
func (in *customerConversations) list() conversationList {
	return conversationList{
		expanding: in.expanding, Paging: in.Paging, Timezone: in.Timezone, conversationFilter: conversationFilter{
			Status: in.Status, CustomerID: in.CustomerID, UpdatedSince: in.UpdatedSince, Query: in.Query,
			SortBy: in.SortBy, SortType: in.SortType,
		},
	}
}

// SetDefaults sorts the newest first.
func (in *customerConversations) SetDefaults() {
	in.SortBy, in.SortType = string(helpdesk.ByCreated), "desc"
}

// CheckInput refuses the same filters as the list of all conversations.
func (in *customerConversations) CheckInput(problem func(field, text string)) {
	all := in.list()
	all.CheckInput(problem)
}

type customerMerge struct {
	customerID
	Into int64 `json:"into" required:"true" description:"The customer that remains." example:"2"`
}

// addCustomerActs adds the operations on a whole customer.
func (a *api) addCustomerActs(t *transport.Table) {
	list := transport.Operation{
		ID: "listCustomerConversations", Method: http.MethodGet, Path: customerPath + "/conversations", Tag: "Customers",
		Summary:     "List a customer's conversations",
		Description: "Newest first unless sorted otherwise. Needs conversations.view.",
		Expand:      []string{"user", "mailbox", "customer"},
	}
	transport.HandlePage(t, a.desk, list, a.listCustomerConversations)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "mergeCustomer", Method: http.MethodPost, Path: customerPath + "/merge", Tag: "Customers", Lean: true, Slow: true,
		Summary: "Merge a customer into another",
		Description: "Moves everything of the customer to the other one and removes the customer. 422 if the other would have more than 15 " +
			"emails, 25 phones or 150 websites. Returns the other customer. Needs customers.update and customers.delete.",
	}, a.mergeCustomer)
}

func (a *api) listCustomerConversations(ctx context.Context, d *helpdesk.Desk, in customerConversations) (storage.Page[conversation], error) {
	return a.listConversations(ctx, d, in.list())
}

func (a *api) mergeCustomer(ctx context.Context, d *helpdesk.Desk, in customerMerge) (customer, error) {
	c, err := d.Customers().Merge(ctx, in.CustomerID, in.Into)
	return oneCustomer(ctx, d, c, err)
}
