package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// conversationView as the API shows it.
type conversationView struct {
	ID         int64                   `json:"id"`
	AccountID  int64                   `json:"account_id"`
	UserID     *int64                  `json:"user_id" description:"Who created it."`
	Name       string                  `json:"name"`
	Visibility helpdesk.ViewVisibility `json:"visibility" enum:"shared,team,private" description:"Who sees it beside its creator: all members, the members of a team, or nobody."`
	TeamID     *int64                  `json:"team_id" description:"The team that sees it. Null: none."`
	Filter     savedFilter             `json:"filter"`
	Columns    []string                `json:"columns" description:"Keys of the fields of conversations that a list shows, in order."`
	CreatedAt  transport.Time          `json:"created_at"`
	UpdatedAt  transport.Time          `json:"updated_at"`
}

// savedFilter shows only the fields that were given.
type savedFilter struct {
	Agent        string              `json:"agent,omitempty" description:"me, unassigned or a user's id."`
	TeamID       int64               `json:"team_id,omitempty"`
	Status       []helpdesk.Status   `json:"status,omitempty"`
	MailboxID    int64               `json:"mailbox_id,omitempty"`
	CustomerID   int64               `json:"customer_id,omitempty"`
	CompanyID    int64               `json:"company_id,omitempty"`
	TagID        []int64             `json:"tag_id,omitempty"`
	UpdatedSince *transport.Time     `json:"updated_since,omitempty"`
	Query        string              `json:"query,omitempty"`
	Awaiting     *bool               `json:"awaiting,omitempty"`
	Draft        string              `json:"draft,omitempty" description:"me."`
	Undelivered  bool                `json:"undelivered,omitempty"`
	Snoozed      *bool               `json:"snoozed,omitempty"`
	Priority     []helpdesk.Priority `json:"priority,omitempty"`
	Spam         *bool               `json:"spam,omitempty"`
	Held         *bool               `json:"held,omitempty" description:"Whether it is on hold."`

	Fields   map[string]savedCondition `json:"fields,omitempty" description:"By key of a field."`
	Due      helpdesk.Due              `json:"due,omitempty" enum:"soon,breached,today,any" description:"When a target of an SLA is due."`
	Rating   []helpdesk.Verdict        `json:"rating,omitempty" description:"With a rating that is any of these."`
	SortBy   string                    `json:"sort_by,omitempty"`
	SortType string                    `json:"sort_type,omitempty"`
}

// savedCondition is a condition on a field.
type savedCondition struct {
	Values []string `json:"values,omitempty" description:"Any of these."`
	From   string   `json:"from,omitempty"`
	To     string   `json:"to,omitempty"`
	Empty  *bool    `json:"empty,omitempty" description:"True: there is no value. False: there is one."`
}

// viewFilter is the filter of the list of conversations in a body. Unknown names are refused: a view that silently shows too
// much is misleading.
type viewFilter struct{ conversationFilter }

// RefuseUnknown reports unknown names as problems.
func (*viewFilter) RefuseUnknown() {}

// CheckInput refuses the same filters as the list of conversations.
func (in *viewFilter) CheckInput(problem func(field, text string)) { in.check("agent", problem) }

type viewInput struct {
	Name       string                  `json:"name" required:"true" maxLength:"100" example:"Mine, open"`
	Filter     storage.Opt[viewFilter] `json:"filter" alias:"filters" required:"true" description:"Filters and order, as in the list of conversations. All are optional."`
	Visibility storage.Opt[string]     `json:"visibility" enum:"shared,team,private" description:"Who sees it beside you: all members (the default), the members of a team, or nobody."`
	TeamID     storage.Opt[int64]      `json:"team_id" description:"The team that sees it. Required if visibility is team, and only then given."`
	Columns    storage.Opt[[]string]   `json:"columns" maxItems:"5" description:"Keys of fields of conversations that a list shows, in order."`
}

// CheckInput requires the filter, which may be empty but not absent.
func (in *viewInput) CheckInput(problem func(field, text string)) {
	if _, given := in.Filter.Get(); !given {
		problem("filter", "is required")
	}
}

func (in viewInput) input() helpdesk.ViewInput {
	filter, _ := in.Filter.Get()
	out := helpdesk.ViewInput{Name: in.Name, Filter: filter.filter(), TeamID: in.TeamID.Or(0), Columns: in.Columns}
	if seen, given := in.Visibility.Get(); given {
		out.Visibility = storage.Some(helpdesk.ViewVisibility(seen))
	}
	return out
}

type viewID struct {
	ViewID int64 `path:"view_id"`
}

// viewUpdate does not embed viewInput, as embedded inputs with checks are exported.
type viewUpdate struct {
	viewID
	Name       string                  `json:"name" required:"true" maxLength:"100"`
	Filter     storage.Opt[viewFilter] `json:"filter" alias:"filters" required:"true" description:"Replaces the filter."`
	Visibility storage.Opt[string]     `json:"visibility" enum:"shared,team,private" description:"Who sees it beside its creator, who alone can make it private. Absent: as before."`
	TeamID     storage.Opt[int64]      `json:"team_id" description:"The team that sees it. Required if visibility is team, and only then given."`
	Columns    storage.Opt[[]string]   `json:"columns" maxItems:"5" description:"Keys of fields of conversations that a list shows, in order. Absent: as before."`
}

// CheckInput requires the filter.
func (in *viewUpdate) CheckInput(problem func(field, text string)) {
	(&viewInput{Filter: in.Filter}).CheckInput(problem)
}

const (
	viewsPath = accountPath + "/conversation-views"
	viewPath  = viewsPath + "/{view_id}"
)

func (a *api) addViews(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Conversation views", Summary: summary, Description: description}
	}
	create := op("createView", http.MethodPost, viewsPath, "Create a view",
		"404 if the filter refers to something that does not exist, or the team does not. Needs views.create.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in viewInput) (conversationView, error) {
		v, err := d.Views().Create(ctx, in.input())
		return showView(d, v), err
	})
	list := op("listViews", http.MethodGet, viewsPath, "List views", "Those that you see: your own, those of your teams, and the shared ones, oldest first. Needs views.view.")
	list.Aliases = []string{accountPath + "/views"}
	transport.HandlePage(t, a.desk, list, func(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[conversationView], error) {
		page, err := d.Views().List(ctx, in.Request())
		return mapPage(page, func(v helpdesk.View) conversationView { return showView(d, v) }), err
	})
	transport.Handle(t, a.desk, op("getView", http.MethodGet, viewPath, "Retrieve a view", "Needs views.view."),
		func(ctx context.Context, d *helpdesk.Desk, in viewID) (conversationView, error) {
			v, err := d.Views().Get(ctx, in.ViewID)
			return showView(d, v), err
		})
	transport.Handle(t, a.desk, op("updateView", http.MethodPut, viewPath, "Update a view", "Also one created by somebody else. Needs views.update."),
		func(ctx context.Context, d *helpdesk.Desk, in viewUpdate) (conversationView, error) {
			v, err := d.Views().Update(ctx, in.ViewID, viewInput{Name: in.Name, Filter: in.Filter, Visibility: in.Visibility, TeamID: in.TeamID, Columns: in.Columns}.input())
			return showView(d, v), err
		})
	transport.HandleEmpty(t, a.desk, op("deleteView", http.MethodDelete, viewPath, "Delete a view", "Needs views.delete."),
		func(ctx context.Context, d *helpdesk.Desk, in viewID) error { return d.Views().Delete(ctx, in.ViewID) })
}

func showView(d *helpdesk.Desk, v helpdesk.View) conversationView {
	f := v.Filter
	shown := savedFilter{
		Agent: f.Agent, TeamID: f.TeamID, Status: f.Statuses, MailboxID: f.MailboxID, CustomerID: f.CustomerID, CompanyID: f.CompanyID, TagID: f.TagIDs,
		UpdatedSince: transport.TimePtr(&f.UpdatedSince), Query: f.Words, SortBy: string(f.Sort),
		Awaiting: f.Awaiting, Draft: f.Draft, Undelivered: f.Undelivered, Snoozed: f.Snoozed, Priority: f.Priorities, Spam: f.Spam, Held: f.Held, Due: f.Due, Rating: f.Ratings,
	}
	if f.Ascending {
		shown.SortType = "asc"
	}
	for key, one := range f.Fields {
		if shown.Fields == nil {
			shown.Fields = map[string]savedCondition{}
		}
		shown.Fields[key] = savedCondition(one)
	}
	return conversationView{
		ID: v.ID, AccountID: d.AccountID(), UserID: idOrNull(v.UserID), Name: v.Name, Filter: shown, Columns: listed(v.Columns),
		Visibility: v.Visibility, TeamID: idOrNull(v.TeamID),
		CreatedAt: transport.Time(v.CreatedAt), UpdatedAt: transport.Time(v.UpdatedAt),
	}
}
