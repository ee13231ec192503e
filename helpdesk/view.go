package helpdesk

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// View is a saved filter of the list of conversations, shared by all members.
type View struct {
	ID        int64
	UserID    int64 // creator
	Name      string
	Filter    ViewFilter
	CreatedAt time.Time
	UpdatedAt time.Time
}

// ViewFilter narrows and orders the list of conversations as [ConversationQuery] does, for the member who applies it. The
// zero value selects all.
type ViewFilter struct {
	Agent        string           `json:"agent,omitempty"` // AgentMe, AgentUnassigned or a user's id; "": all
	Statuses     []Status         `json:"status,omitempty"`
	MailboxID    int64            `json:"mailbox_id,omitempty"`
	CustomerID   int64            `json:"customer_id,omitempty"`
	TagIDs       []int64          `json:"tag_id,omitempty"`
	UpdatedSince time.Time        `json:"updated_since,omitzero"`
	Words        string           `json:"query,omitempty"` // ConversationQuery.Query
	Awaiting     *bool            `json:"awaiting,omitempty"`
	Draft        string           `json:"draft,omitempty"` // AgentMe, or "" for all
	Undelivered  bool             `json:"undelivered,omitempty"`
	Snoozed      *bool            `json:"snoozed,omitempty"`
	Priorities   []Priority       `json:"priority,omitempty"`
	Spam         *bool            `json:"spam,omitempty"`
	TeamID       int64            `json:"team_id,omitempty"` // 0: all
	Sort         ConversationSort `json:"sort_by,omitempty"`
	Ascending    bool             `json:"ascending,omitempty"`
}

// Agents of a filter that are no ids.
const (
	AgentMe         = "me"         // the member who applies the filter
	AgentUnassigned = "unassigned" // no user
)

// ViewInput makes or changes a view.
type ViewInput struct {
	Name   string // required, at most 100 characters
	Filter ViewFilter
}

// Query returns the filter's query for a user who applies it; ok is false if Agent is invalid.
func (f ViewFilter) Query(userID int64) (q ConversationQuery, ok bool) {
	q = ConversationQuery{
		Statuses: f.Statuses, MailboxID: f.MailboxID, CustomerID: f.CustomerID, TagIDs: f.TagIDs,
		UpdatedSince: f.UpdatedSince, Query: f.Words, Sort: f.Sort, Ascending: f.Ascending,
		Undelivered: f.Undelivered, Priorities: f.Priorities,
	}
	if f.TeamID != 0 {
		q.TeamID = storage.Some(f.TeamID)
	}
	if f.Awaiting != nil {
		q.Awaiting = storage.Some(*f.Awaiting)
	}
	if f.Snoozed != nil {
		q.Snoozed = storage.Some(*f.Snoozed)
	}
	if f.Spam != nil {
		q.Spam = storage.Some(*f.Spam)
	}
	if f.Draft == AgentMe {
		q.DraftBy = userID
	}
	switch f.Agent {
	case "":
	case AgentMe:
		q.UserID = storage.Some(userID)
	case AgentUnassigned:
		q.UserID = storage.Null[int64]()
	default:
		id, err := strconv.ParseInt(f.Agent, 10, 64)
		q.UserID, ok = storage.Some(id), err == nil && id > 0
		return q, ok
	}
	return q, true
}

// inherit fills in what q leaves open from a view.
func (q *ConversationQuery) inherit(view ConversationQuery) {
	if len(q.Statuses) == 0 {
		q.Statuses = view.Statuses
	}
	if q.MailboxID == 0 {
		q.MailboxID = view.MailboxID
	}
	if q.CustomerID == 0 {
		q.CustomerID = view.CustomerID
	}
	if len(q.TagIDs) == 0 {
		q.TagIDs = view.TagIDs
	}
	if !q.UserID.IsSet() {
		q.UserID = view.UserID
	}
	if !q.TeamID.IsSet() {
		q.TeamID = view.TeamID
	}
	if q.UpdatedSince.IsZero() {
		q.UpdatedSince = view.UpdatedSince
	}
	if q.Query == "" {
		q.Query = view.Query
	}
	if !q.Awaiting.IsSet() {
		q.Awaiting = view.Awaiting
	}
	if !q.Snoozed.IsSet() {
		q.Snoozed = view.Snoozed
	}
	if !q.Spam.IsSet() {
		q.Spam = view.Spam
	}
	if q.DraftBy == 0 {
		q.DraftBy = view.DraftBy
	}
	if len(q.Priorities) == 0 {
		q.Priorities = view.Priorities
	}
	q.Undelivered = q.Undelivered || view.Undelivered
	if q.Sort == "" && !q.Ascending {
		q.Sort, q.Ascending = view.Sort, view.Ascending
	}
}

// prepare normalises the input and returns its problems.
func (in *ViewInput) prepare(userID int64) (ConversationQuery, error) {
	var problems fault.Collector
	in.Name = plain.Line(in.Name)
	required(&problems, "name", in.Name, 100)
	in.Filter.Statuses, in.Filter.TagIDs = slices.Clone(in.Filter.Statuses), sortedSet(in.Filter.TagIDs)
	in.Filter.Priorities = slices.Clone(in.Filter.Priorities)
	in.Filter.Words = plain.Cut(plain.Line(in.Filter.Words), 1000)
	in.Filter.UpdatedSince = in.Filter.UpdatedSince.UTC().Truncate(time.Microsecond)
	problems.Check(in.Filter.Draft == "" || in.Filter.Draft == AgentMe, "filter[draft]", "must be me")
	q, ok := in.Filter.Query(userID)
	problems.Check(ok, "filter[agent]", "must be me, unassigned or a user's id")
	q.check(&problems, "filter")
	return q, problems.Err()
}

// View returns a view. It needs views.view.
func (d *Desk) View(ctx context.Context, id int64) (View, error) {
	r, err := d.guard.Read(identity.ViewsView)
	if err != nil {
		return View{}, err
	}
	return r.Views().Get(ctx, id)
}

// Views lists the account's views, oldest first. It needs views.view.
func (d *Desk) Views(ctx context.Context, req storage.PageRequest) (storage.Page[View], error) {
	r, err := d.guard.Read(identity.ViewsView)
	if err != nil {
		return storage.Page[View]{}, err
	}
	return storage.List(req, false, func(v View) storage.Position { return storage.Position{ID: v.ID} },
		func(seek storage.Seek) ([]View, error) { return r.Views().List(ctx, storage.NoFilter{}, seek) })
}

// CreateView creates a view. It needs views.create. What the filter names must be within the member's reach; otherwise it is
// a NotFound fault.
func (d *Desk) CreateView(ctx context.Context, in ViewInput) (View, error) {
	begin, err := d.guard.Write(identity.ViewsCreate)
	if err != nil {
		return View{}, err
	}
	q, err := in.prepare(d.userID)
	if err != nil {
		return View{}, err
	}
	now := d.svc.now()
	v := View{UserID: d.userID, Name: in.Name, Filter: in.Filter, CreatedAt: now, UpdatedAt: now}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := q.references(ctx, tx.Reader()); err != nil {
			return err
		}
		if err := tx.Views().Insert(ctx, &v); err != nil {
			return err
		}
		return d.emit(ctx, tx, "view.created", v.ID, 0)
	})
	return v, err
}

// UpdateView changes a view, whoever created it. A member limited to some mailboxes may change only their own; otherwise it
// is a Forbidden fault. What the filter names as before is not checked again. It needs views.update.
func (d *Desk) UpdateView(ctx context.Context, id int64, in ViewInput) (View, error) {
	begin, err := d.guard.Write(identity.ViewsUpdate)
	if err != nil {
		return View{}, err
	}
	q, err := in.prepare(d.userID)
	if err != nil {
		return View{}, err
	}
	var v View
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if v, err = tx.Views().Lock(ctx, id); err != nil {
			return err
		}
		if err := d.mayChangeView(v); err != nil {
			return err
		}
		former, _ := v.Filter.Query(d.userID) // it was valid when it was stored
		changed := q.without(former)
		if err := changed.references(ctx, tx.Reader()); err != nil {
			return err
		}
		v.Name, v.Filter, v.UpdatedAt = in.Name, in.Filter, d.svc.now()
		if err := tx.Views().Update(ctx, &v); err != nil {
			return err
		}
		return d.emit(ctx, tx, "view.updated", v.ID, 0)
	})
	return v, err
}

// without returns the references of q that a former query did not have. The others are not checked again: what they name may
// have been deleted or left the member's reach since.
func (q ConversationQuery) without(former ConversationQuery) ConversationQuery {
	var added ConversationQuery
	for _, id := range q.TagIDs {
		if !slices.Contains(former.TagIDs, id) {
			added.TagIDs = append(added.TagIDs, id)
		}
	}
	if q.MailboxID != former.MailboxID {
		added.MailboxID = q.MailboxID
	}
	if q.CustomerID != former.CustomerID {
		added.CustomerID = q.CustomerID
	}
	if id, ok := q.UserID.Get(); ok && id != former.UserID.Or(0) {
		added.UserID = q.UserID
	}
	if id, ok := q.TeamID.Get(); ok && id != former.TeamID.Or(0) {
		added.TeamID = q.TeamID
	}
	return added
}

// mayChangeView returns a fault if a member limited to some mailboxes did not create the view, since its creator may see
// more.
func (d *Desk) mayChangeView(v View) error {
	if v.UserID == d.userID {
		return nil
	}
	return d.reachesAll()
}

// DeleteView removes a view. A member limited to some mailboxes may remove only their own; otherwise it is a Forbidden
// fault. It needs views.delete.
func (d *Desk) DeleteView(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.ViewsDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		v, err := tx.Views().Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := d.mayChangeView(v); err != nil {
			return err
		}
		if err := tx.Views().Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "view.deleted", id, 0)
	})
}
