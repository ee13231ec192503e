package helpdesk

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// View is a saved filter of the list of conversations.
type View struct {
	ID         int64
	UserID     int64 // creator
	Name       string
	Filter     ViewFilter
	Visibility ViewVisibility
	TeamID     int64    // of ViewOfTeam, otherwise 0
	Columns    []string // keys of the fields that a list shows, in order
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// ViewVisibility is who sees a view. Its creator always does.
type ViewVisibility string

// Who sees a view.
const (
	ViewShared  ViewVisibility = "shared"  // all members
	ViewOfTeam  ViewVisibility = "team"    // the members of a team
	ViewPrivate ViewVisibility = "private" // nobody else
)

// ViewReader narrows views to those that a user sees who is in some teams. The zero value selects all.
type ViewReader struct {
	UserID  int64
	TeamIDs []int64
}

// Sees reports whether the reader sees a view.
func (r ViewReader) Sees(v View) bool {
	return r.UserID == 0 || v.UserID == r.UserID || v.Visibility == ViewShared || v.Visibility == ViewOfTeam && slices.Contains(r.TeamIDs, v.TeamID)
}

// viewNoun declares the rows of views.
func viewNoun() storage.Declared[View, ViewReader] {
	return storage.Declared[View, ViewReader]{
		Noun: storage.Noun[View]{Name: "view", ID: func(v *View) *int64 { return &v.ID }},
		Key:  "view", Plural: "views",
		Columns: []storage.Column[View]{
			{Name: "user_id", Field: func(v *View) any { return &v.UserID }, Refers: "user"},
			{Name: "name", Field: func(v *View) any { return &v.Name }},
			{Name: "filter", Field: func(v *View) any { return storedFilter{&v.Filter} }},
			{Name: "visibility", Field: func(v *View) any { return (*string)(&v.Visibility) }},
			{Name: "team_id", Field: func(v *View) any { return &v.TeamID }, Refers: "team", Loose: true},
			{Name: "columns", Field: func(v *View) any { return storage.Texts(&v.Columns) }},
			{Name: "created_at", Field: func(v *View) any { return &v.CreatedAt }},
			{Name: "updated_at", Field: func(v *View) any { return &v.UpdatedAt }},
		},
		Where: ViewReader.where,
		Names: func(v *View, visit func(noun string, id *int64)) { v.Filter.eachID(visit) },
	}
}

// where is the condition of views that the reader sees, see [ViewReader.Sees].
func (r ViewReader) where() []storage.Condition {
	if r.UserID == 0 {
		return nil
	}
	return []storage.Condition{storage.Either(
		[]storage.Condition{storage.OneOf("user_id", []int64{r.UserID})},
		[]storage.Condition{storage.OneOf("visibility", []string{string(ViewShared)})},
		[]storage.Condition{storage.OneOf("visibility", []string{string(ViewOfTeam)}), storage.OneOf("team_id", r.TeamIDs)},
	)}
}

// storedFilter is a filter as it is stored: its time as that of other columns.
type storedFilter struct{ of *ViewFilter }

// Text implements [storage.Value].
func (s storedFilter) Text() (string, error) {
	filter := *s.of
	filter.UpdatedSince = time.UnixMicro(filter.UpdatedSince.UnixMicro()).UTC()
	return storage.Object(&filter, ViewFilter.texts).Text()
}

// Read implements [storage.Value].
func (s storedFilter) Read(text string) error {
	return storage.Object(s.of, ViewFilter.texts).Read(text)
}

// texts returns all texts of the filter.
func (f ViewFilter) texts() []string {
	all := []string{f.Agent, f.Words, f.Draft, string(f.Due), string(f.Sort)}
	for _, s := range f.Statuses {
		all = append(all, string(s))
	}
	for _, p := range f.Priorities {
		all = append(all, string(p))
	}
	for _, v := range f.Ratings {
		all = append(all, string(v))
	}
	for key, q := range f.Fields {
		all = append(append(all, key, q.From, q.To), q.Values...)
	}
	return all
}

// eachID calls visit for each id in the filter, with its noun, and takes over what visit makes of it. A tag without one is gone.
func (f *ViewFilter) eachID(visit func(noun string, id *int64)) {
	visit("mailbox", &f.MailboxID)
	visit("customer", &f.CustomerID)
	visit("company", &f.CompanyID)
	visit("team", &f.TeamID)
	f.TagIDs = slices.Clone(f.TagIDs)
	for i := range f.TagIDs {
		visit("tag", &f.TagIDs[i])
	}
	f.TagIDs = slices.DeleteFunc(f.TagIDs, func(id int64) bool { return id == 0 })
	if id, err := strconv.ParseInt(f.Agent, 10, 64); err == nil && id != 0 {
		visit("user", &id)
		f.Agent = strconv.FormatInt(id, 10)
	}
}

// ViewFilter narrows and orders the list of conversations as [ConversationQuery] does, for the member who applies it. The
// zero value selects all.
type ViewFilter struct {
	Agent        string           `json:"agent,omitempty"` // AgentMe, AgentUnassigned or a user's id; "": all
	Statuses     []Status         `json:"status,omitempty"`
	MailboxID    int64            `json:"mailbox_id,omitempty"`
	CustomerID   int64            `json:"customer_id,omitempty"`
	CompanyID    int64            `json:"company_id,omitempty"`
	TagIDs       []int64          `json:"tag_id,omitempty"`
	UpdatedSince time.Time        `json:"updated_since,omitzero"`
	Words        string           `json:"query,omitempty"` // ConversationQuery.Query
	Awaiting     *bool            `json:"awaiting,omitempty"`
	Draft        string           `json:"draft,omitempty"` // AgentMe, or "" for all
	Undelivered  bool             `json:"undelivered,omitempty"`
	Snoozed      *bool            `json:"snoozed,omitempty"`
	Priorities   []Priority       `json:"priority,omitempty"`
	Spam         *bool            `json:"spam,omitempty"`
	Held         *bool            `json:"held,omitempty"`
	TeamID       int64            `json:"team_id,omitempty"` // 0: all
	Fields       FieldQueries     `json:"fields,omitempty"`
	Due          Due              `json:"due,omitempty"`
	Ratings      []Verdict        `json:"rating,omitempty"`
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
	// Visibility is who sees the view. Absent: a new one is shared, another stays as it is.
	Visibility storage.Opt[ViewVisibility]
	TeamID     int64 // required with ViewOfTeam, otherwise 0
	// Columns are keys of fields of conversations that a list shows, in order, at most [MaxViewColumns]. Absent: a new view
	// has none, another keeps its own.
	Columns storage.Opt[[]string]
}

// MaxViewColumns is the maximum number of a view's columns.
const MaxViewColumns = 5

// Query returns the filter's query for a user who applies it; ok is false if Agent is invalid.
func (f ViewFilter) Query(userID int64) (q ConversationQuery, ok bool) {
	q = ConversationQuery{
		Statuses: f.Statuses, MailboxID: f.MailboxID, CustomerID: f.CustomerID, CompanyID: f.CompanyID, TagIDs: f.TagIDs,
		UpdatedSince: f.UpdatedSince, Query: f.Words, Sort: f.Sort, Ascending: f.Ascending,
		Undelivered: f.Undelivered, Priorities: f.Priorities, Fields: f.Fields, Due: f.Due, Ratings: f.Ratings,
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
	if f.Held != nil {
		q.Held = storage.Some(*f.Held)
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
	if q.CompanyID == 0 {
		q.CompanyID = view.CompanyID
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
	if !q.Held.IsSet() {
		q.Held = view.Held
	}
	if q.DraftBy == 0 {
		q.DraftBy = view.DraftBy
	}
	if len(q.Priorities) == 0 {
		q.Priorities = view.Priorities
	}
	for key, one := range view.Fields {
		if _, given := q.Fields[key]; !given {
			q.Fields = maps.Clone(q.Fields)
			if q.Fields == nil {
				q.Fields = FieldQueries{}
			}
			q.Fields[key] = one
		}
	}
	q.Undelivered = q.Undelivered || view.Undelivered
	q.Due = cmp.Or(q.Due, view.Due)
	if len(q.Ratings) == 0 {
		q.Ratings = view.Ratings
	}
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
	in.Filter.Ratings = slices.Clone(in.Filter.Ratings)
	in.Filter.Words = plain.Cut(plain.Line(in.Filter.Words), 1000)
	in.Filter.Fields = in.Filter.Fields.normal()
	in.Filter.UpdatedSince = in.Filter.UpdatedSince.UTC().Truncate(time.Microsecond)
	problems.Check(in.Filter.Draft == "" || in.Filter.Draft == AgentMe, "filter[draft]", "must be me")
	q, ok := in.Filter.Query(userID)
	problems.Check(ok, "filter[agent]", "must be me, unassigned or a user's id")
	q.check(&problems, "filter")
	if seen, given := in.Visibility.Get(); given {
		problems.Check(slices.Contains([]ViewVisibility{ViewShared, ViewOfTeam, ViewPrivate}, seen), "visibility", "must be shared, team or private")
	}
	problems.Check(len(in.Columns.Or(nil)) <= MaxViewColumns, "columns", fmt.Sprintf("has more than %d keys", MaxViewColumns))
	ofTeam := in.Visibility.Or("") == ViewOfTeam
	problems.Check(!ofTeam || in.TeamID > 0, "team_id", "is required for a view of a team")
	problems.Check(ofTeam || in.TeamID == 0, "team_id", "is only for a view of a team")
	return q, problems.Err()
}

// viewReader returns what narrows views to those that the member sees.
func (d *desk) viewReader(ctx context.Context, r Reader) (ViewReader, error) {
	reader := ViewReader{UserID: d.userID}
	all, err := teamNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: MaxTeams})
	for _, t := range all {
		if t.Has(d.userID) {
			reader.TeamIDs = append(reader.TeamIDs, t.ID)
		}
	}
	return reader, err
}

// seenView returns a view if the member sees it.
func (d *desk) seenView(ctx context.Context, r Reader, v View, err error) (View, error) {
	if err != nil || v.Visibility == ViewShared || v.UserID == d.userID {
		return v, err
	}
	reader, err := d.viewReader(ctx, r)
	if err == nil && !reader.Sees(v) {
		err = fault.Missing("view", v.ID)
	}
	if err != nil {
		return View{}, err
	}
	return v, nil
}

// show sets who sees a view. Only its creator makes it private: anybody else would take it from themselves.
func (v *View) show(ctx context.Context, d *desk, r Reader, in ViewInput) error {
	seen, given := in.Visibility.Get()
	if !given {
		return nil
	}
	if seen == ViewPrivate && v.UserID != d.userID {
		return fault.New(fault.Forbidden, "Only the creator of a view can make it private.")
	}
	if seen == ViewOfTeam && in.TeamID != v.TeamID {
		if _, err := teamNoun().Reader(r).Get(ctx, in.TeamID); err != nil {
			return err
		}
	}
	v.Visibility, v.TeamID = seen, in.TeamID
	return nil
}

// showFields checks the fields of the filter and sets the columns.
func (v *View) showFields(ctx context.Context, r Reader, in ViewInput) error {
	if _, err := in.Filter.Fields.of(ctx, r, FieldOfConversation, "filter"); err != nil || !in.Columns.IsSet() {
		return err
	}
	v.Columns = nil
	fields, err := fieldsOf(ctx, r, FieldOfConversation)
	if err != nil {
		return err
	}
	var problems fault.Collector
	for i, key := range in.Columns.Or(nil) {
		_, known := byKey(fields, key)
		problems.Check(known, fmt.Sprintf("columns[%d]", i), "is not a field of conversations")
		if !slices.Contains(v.Columns, key) {
			v.Columns = append(v.Columns, key)
		}
	}
	return problems.Err()
}

// Views are saved lists of conversations.
type Views struct{ *desk }

// Views returns the handle of saved views.
func (d *Desk) Views() Views { return Views{&d.desk} }

// Get returns a view that the member sees; another is a NotFound fault. It needs views.view.
func (d Views) Get(ctx context.Context, id int64) (View, error) {
	r, err := d.guard.Read(identity.ViewsView)
	if err != nil {
		return View{}, err
	}
	v, err := viewNoun().Reader(r).Get(ctx, id)
	return d.seenView(ctx, r, v, err)
}

// List lists the views that the member sees, oldest first. It needs views.view.
func (d Views) List(ctx context.Context, req storage.PageRequest) (storage.Page[View], error) {
	r, err := d.guard.Read(identity.ViewsView)
	if err != nil {
		return storage.Page[View]{}, err
	}
	reader, err := d.viewReader(ctx, r)
	if err != nil {
		return storage.Page[View]{}, err
	}
	return storage.List(req, false, func(v View) storage.Position { return storage.Position{ID: v.ID} },
		func(seek storage.Seek) ([]View, error) { return viewNoun().Reader(r).List(ctx, reader, seek) })
}

// Create creates a view. It needs views.create. What the filter names must be within the member's reach, and its
// team must exist; otherwise it is a NotFound fault.
func (d Views) Create(ctx context.Context, in ViewInput) (View, error) {
	begin, err := d.guard.Write(identity.ViewsCreate)
	if err != nil {
		return View{}, err
	}
	q, err := in.prepare(d.userID)
	if err != nil {
		return View{}, err
	}
	now := d.svc.now()
	v := View{UserID: d.userID, Name: in.Name, Filter: in.Filter, Visibility: ViewShared, CreatedAt: now, UpdatedAt: now}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := q.references(ctx, tx.Reader()); err != nil {
			return err
		}
		if err := v.showFields(ctx, tx.Reader(), in); err != nil {
			return err
		}
		if err := v.show(ctx, d.desk, tx.Reader(), in); err != nil {
			return err
		}
		if err := viewNoun().Rows(tx).Insert(ctx, &v); err != nil {
			return err
		}
		return d.emit(ctx, tx, "view.created", v.ID, 0)
	})
	return v, err
}

// Update changes a view that the member sees, whoever created it. Only its creator may make it private, and a member
// limited to some mailboxes may change only their own; otherwise it is a Forbidden fault. What the filter names as before is
// not checked again. It needs views.update.
func (d Views) Update(ctx context.Context, id int64, in ViewInput) (View, error) {
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
		v, err = viewNoun().Rows(tx).Lock(ctx, id)
		if v, err = d.seenView(ctx, tx.Reader(), v, err); err != nil {
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
		if err := v.showFields(ctx, tx.Reader(), in); err != nil {
			return err
		}
		if err := v.show(ctx, d.desk, tx.Reader(), in); err != nil {
			return err
		}
		v.Name, v.Filter, v.UpdatedAt = in.Name, in.Filter, d.svc.now()
		if err := viewNoun().Rows(tx).Update(ctx, &v); err != nil {
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
	if q.CompanyID != former.CompanyID {
		added.CompanyID = q.CompanyID
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
func (d *desk) mayChangeView(v View) error {
	if v.UserID == d.userID {
		return nil
	}
	return d.reachesAll()
}

// Delete removes a view that the member sees. A member limited to some mailboxes may remove only their own; otherwise it is
// a Forbidden fault. It needs views.delete.
func (d Views) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.ViewsDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		v, err := viewNoun().Rows(tx).Lock(ctx, id)
		if v, err = d.seenView(ctx, tx.Reader(), v, err); err != nil {
			return err
		}
		if err := d.mayChangeView(v); err != nil {
			return err
		}
		if err := viewNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "view.deleted", v.ID, 0)
	})
}

// CanChange reports whether the member may change a view that they see.
func (d Views) CanChange(v View) bool {
	return d.guard.Allows(identity.ViewsUpdate) && d.mayChangeView(v) == nil
}

// CanDelete reports whether the member may delete a view that they see.
func (d Views) CanDelete(v View) bool {
	return d.guard.Allows(identity.ViewsDelete) && d.mayChangeView(v) == nil
}

// keepViewsOf leaves the views of a deleted team to their creators.
func keepViewsOf(ctx context.Context, tx Tx, teamID int64, now time.Time) error {
	list := func(seek storage.Seek) ([]View, error) {
		return viewNoun().Reader(tx.Reader()).List(ctx, ViewReader{}, seek)
	}
	return each(list, func(v View) int64 { return v.ID }, func(v View) error {
		if v.TeamID != teamID {
			return nil
		}
		v.Visibility, v.TeamID, v.UpdatedAt = ViewPrivate, 0, now
		return viewNoun().Rows(tx).Update(ctx, &v)
	})
}
