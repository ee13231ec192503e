package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	business "github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/form"
)

// conversation as the API shows it.
type conversation struct {
	ID              int64              `json:"id"`
	Channel         string             `json:"channel" enum:"email"`
	CustomerEmail   emailRef           `json:"customer_email" description:"Where answers go unless the customer's latest mail has a Reply-To."`
	MailboxID       int64              `json:"mailbox_id"`
	Mailbox         nullable[mailbox]  `json:"mailbox,omitzero" description:"With expand=mailbox."`
	UserID          *int64             `json:"user_id" description:"Assigned user. Null: none."`
	User            nullable[user]     `json:"user,omitzero" description:"With expand=user. Null: none."`
	TeamID          *int64             `json:"team_id" description:"Assigned team, in addition to the user. Null: none."`
	Team            nullable[team]     `json:"team,omitzero" description:"With expand=team. Null: none."`
	Number          int64              `json:"number"`
	Status          string             `json:"status" enum:"posted,draft,pending,closed"`
	Subject         string             `json:"subject"`
	Preview         string             `json:"preview"`
	RealtimeChannel string             `json:"realtime_channel"`
	RefersTo        *int64             `json:"refers_to" description:"Conversation that its first mail refers to although the sender takes no part in it. Null if there is none. POST merge merges into it."`
	AwaitingSince   *transport.Time    `json:"customer_awaiting_reply_since"`
	SnoozedUntil    *transport.Time    `json:"snoozed_until" description:"Snoozed until then or until the customer writes. Null: not snoozed."`
	Priority        string             `json:"priority,omitempty" enum:"low,normal,high,urgent" description:"Whether it is visible to members."`
	SpamAt          *transport.Time    `json:"spam_at" description:"When it was marked as spam and closed. Null: not spam."`
	Tags            []conversationTag  `json:"tags"`
	Fields          map[string]any     `json:"fields" description:"Values of the fields of conversations. By key: a text, a number, true or false, the value of an option, a date such as 2026-01-31, a time, or a list for a multiselect. Null: none."`
	Customer        nullable[customer] `json:"customer,omitzero" description:"With expand=customer."`
	SLA             *conversationSLA   `json:"sla" description:"What was promised for it. Null: nothing."`
	DueAt           *transport.Time    `json:"due_at" description:"When the next target of its SLA is due, in the past if it is overdue. Null: none is, or time stands still."`
	Hold            *conversationHold  `json:"hold" description:"Keeps it from every retention policy and from deletion. Null: it is not on hold."`
	ErasedAt        *transport.Time    `json:"erased_at" description:"When its content was erased last. Null: never."`
	UnreadCount     int64              `json:"unread_count" description:"Number of customer interactions that the caller has not read."`
	CreatedAt       transport.Time     `json:"created_at" description:"For mail from a fetched mailbox's backlog: when it was sent."`
	UpdatedAt       transport.Time     `json:"updated_at" description:"Time of the latest interaction, like created_at."`

	Highlight *conversationHighlight `json:"highlight,omitempty" description:"Passages that match the search. Only of searchConversations."`
}

// emailRef is an address of a customer.
type emailRef struct {
	ID    *int64 `json:"id" description:"Null if the customer no longer has the address."`
	Email string `json:"email"`
}

type conversationInput struct {
	expanding
	Channel      string             `json:"channel" required:"true" enum:"email"`
	To           string             `json:"to" required:"true" example:"ada@example.org" description:"The customer's address."`
	MailboxID    storage.Opt[int64] `json:"mailbox_id" description:"Default: the account's default mailbox."`
	UserID       storage.Opt[int64] `json:"user_id" description:"Assigned user."`
	TeamID       storage.Opt[int64] `json:"team_id" description:"Assigned team."`
	Status       string             `json:"status" enum:"posted,draft,pending,closed" default:"posted"`
	Priority     string             `json:"priority" enum:"low,normal,high,urgent" default:"normal"`
	Subject      string             `json:"subject" maxLength:"998" example:"Broken engine"`
	Interactions []interactionInput `json:"interactions" maxItems:"100"`
	Fields       fieldValues        `json:"fields" description:"Values of fields. By key: a text, a number, true or false, the value of an option, a date such as 2026-01-31, a time, or a list for a multiselect."`
}

type conversationID struct {
	ConversationID int64 `path:"conversation_id"`
}

type conversationGet struct {
	conversationID
	expanding
}

type conversationUpdate struct {
	conversationID
	expanding
	Subject   storage.Opt[string] `json:"subject" required:"true" maxLength:"998"`
	MailboxID storage.Opt[int64]  `json:"mailbox_id"`
	UserID    storage.Opt[int64]  `json:"user_id" description:"Null or empty: none."`
	TeamID    storage.Opt[int64]  `json:"team_id" description:"Null or empty: none."`
	Status    storage.Opt[string] `json:"status" enum:"posted,draft,pending,closed"`

	SnoozedUntil storage.Opt[time.Time] `json:"snoozed_until" description:"Snoozes it until then or until the customer writes. Null wakes it, as closing does."`
	Priority     storage.Opt[string]    `json:"priority" enum:"low,normal,high,urgent"`
	Fields       fieldValues            `json:"fields" description:"Values of fields. By key: a text, a number, true or false, the value of an option, a date such as 2026-01-31, a time, or a list for a multiselect. Null or empty: none. Omitted keys stay unchanged."`
	Spam         storage.Opt[bool]      `json:"spam" description:"True closes it as spam; it then stays closed even if the customer writes. False reopens it unless status says otherwise. Opening a spam conversation also marks it as not spam."`
}

// CheckInput requires the subject, which may be empty but not absent.
func (in *conversationUpdate) CheckInput(problem func(field, text string)) {
	if !in.Subject.IsSet() {
		problem("subject", "is required")
	}
	if status, given := in.Status.Get(); given {
		among(problem, "status", status, "posted", "draft", "pending", "closed")
	}
	if priority, given := in.Priority.Get(); given {
		among(problem, "priority", priority, priorities()...)
	}
}

// priorities are the names of the priorities of a conversation.
func priorities() []string {
	var words []string
	for _, p := range helpdesk.Priorities() {
		words = append(words, string(p))
	}
	return words
}

// verdicts are what a rating can be.
func verdicts() []string {
	var words []string
	for _, v := range helpdesk.Verdicts() {
		words = append(words, string(v))
	}
	return words
}

// conversationFilter filters and sorts the list of conversations, in its query and in a view.
type conversationFilter struct {
	UserID       agent             `json:"agent" alias:"user_id" query:"user_id" description:"A user's id, me, or unassigned (no user, and no team unless team_id is given)."`
	TeamID       int64             `json:"team_id" query:"team_id"`
	Status       words             `json:"status" query:"status" enum:"posted,draft,pending,closed" description:"Any of these."`
	MailboxID    int64             `json:"mailbox_id" query:"mailbox_id"`
	CustomerID   int64             `json:"customer_id" query:"customer_id"`
	CompanyID    int64             `json:"company_id" query:"company_id" description:"Of the customers of this company."`
	TagID        numbers           `json:"tag_id" query:"tag_id" description:"With any of these tags."`
	UpdatedSince time.Time         `json:"updated_since" query:"updated_since" description:"Changed at or after this time."`
	Query        string            `json:"query" query:"query" description:"Words that must all occur in subject, messages, notes or customer, and conditions such as from:ada, see searchConversations. The last word may be a prefix."`
	Awaiting     storage.Opt[bool] `json:"awaiting" query:"awaiting" description:"True: a customer is waiting for an answer. False: none is."`
	Draft        string            `json:"draft" query:"draft" enum:"me" description:"me: with a draft answer by the caller."`
	Undelivered  bool              `json:"undelivered" query:"undelivered" description:"With an answer whose delivery failed, bounced or was suppressed."`
	Snoozed      storage.Opt[bool] `json:"snoozed" query:"snoozed" description:"True: snoozed. False: not snoozed."`
	Priority     words             `json:"priority" query:"priority" enum:"low,normal,high,urgent" description:"Any of these."`
	Spam         storage.Opt[bool] `json:"spam" query:"spam" description:"True: spam. False: not spam. Default: both."`
	Fields       fieldConditions   `json:"fields" query:"fields" description:"By key of a field: a value or several, of which any is enough, or from and to of a number, a date or a time, or empty, as in fields[plan]=gold, fields[amount][from]=10 and fields[plan][empty]=true."`
	Due          string            `json:"due" query:"due" enum:"soon,breached,today,any" description:"When a target of an SLA is due. soon: its share of the time that counts as soon has begun. breached: overdue. today: on this day, in UTC or the timezone of the request. any: at any time."`
	Rating       words             `json:"rating" query:"rating" enum:"good,neutral,bad,asked" description:"With a rating that is any of these. asked: the customer has not answered yet."`
	Held         storage.Opt[bool] `json:"held" query:"held" description:"True: on hold. False: not on hold. Default: both."`
	SortBy       string            `json:"sort_by" query:"sort_by" enum:"created_at,updated_at,number,customer_awaiting_reply_since,due_at" default:"created_at" description:"due_at: conversations of which nothing is due come last in ascending order."`
	SortType     string            `json:"sort_type" query:"sort_type" enum:"asc,desc" default:"desc"`
}

// agent is a user's id, as text or as a number, or a word such as "me".
type agent string

// BindNode reads a text or a number; the filter's check validates words.
func (a *agent) BindNode(n *form.Node) (problem string) {
	switch n.Kind() {
	case form.Text, form.Number, form.Null:
		*a = agent(n.Text())
		return ""
	}
	return "must be an id, me or unassigned"
}

// check refuses an invalid user, status or order. The service would do so too, but in a separate answer from the problems of
// the other parameters.
func (in *conversationFilter) check(user string, problem func(field, text string)) {
	if _, ok := in.filter().Query(0); !ok {
		problem(user, "must be an id, me or unassigned")
	}
	for i, status := range in.Status {
		among(problem, fmt.Sprintf("status[%d]", i), status, "posted", "draft", "pending", "closed")
	}
	for i, priority := range in.Priority {
		among(problem, fmt.Sprintf("priority[%d]", i), priority, priorities()...)
	}
	if in.Draft != "" {
		among(problem, "draft", in.Draft, helpdesk.AgentMe)
	}
	if in.SortBy != "" {
		among(problem, "sort_by", in.SortBy, "created_at", "updated_at", "number", "customer_awaiting_reply_since", "due_at")
	}
	if in.Due != "" {
		among(problem, "due", in.Due, "soon", "breached", "today", "any")
	}
	for i, verdict := range in.Rating {
		among(problem, fmt.Sprintf("rating[%d]", i), verdict, verdicts()...)
	}
	if in.SortType != "" {
		among(problem, "sort_type", in.SortType, "asc", "desc")
	}
}

func (in *conversationFilter) filter() helpdesk.ViewFilter {
	f := helpdesk.ViewFilter{
		Agent: string(in.UserID), TeamID: in.TeamID, MailboxID: in.MailboxID, CustomerID: in.CustomerID, CompanyID: in.CompanyID, TagIDs: in.TagID, UpdatedSince: in.UpdatedSince,
		Words: in.Query, Draft: in.Draft, Undelivered: in.Undelivered, Fields: in.Fields.query(), Due: helpdesk.Due(in.Due),
		Sort: helpdesk.ConversationSort(in.SortBy), Ascending: in.SortType == "asc",
	}
	if waits, given := in.Awaiting.Get(); given {
		f.Awaiting = &waits
	}
	if asleep, given := in.Snoozed.Get(); given {
		f.Snoozed = &asleep
	}
	if spam, given := in.Spam.Get(); given {
		f.Spam = &spam
	}
	if held, given := in.Held.Get(); given {
		f.Held = &held
	}
	for _, priority := range in.Priority {
		f.Priorities = append(f.Priorities, helpdesk.Priority(priority))
	}
	for _, verdict := range in.Rating {
		f.Ratings = append(f.Ratings, helpdesk.Verdict(verdict))
	}
	for _, status := range in.Status {
		f.Statuses = append(f.Statuses, helpdesk.Status(status))
	}
	return f
}

type conversationList struct {
	expanding
	transport.Paging
	conversationFilter
	ViewID   int64  `query:"view_id" description:"Apply this view's filters and order, unless overridden here."`
	Timezone string `query:"timezone" example:"Europe/Berlin" description:"IANA name, of the days in due and query. Default: UTC."`
}

// CheckInput refuses invalid filters.
func (in *conversationList) CheckInput(problem func(field, text string)) {
	in.check("user_id", problem)
	checkZone(problem, in.Timezone)
}

// query returns the query of a user.
func (in *conversationList) query(userID int64) helpdesk.ConversationQuery {
	query, _ := in.filter().Query(userID) // CheckInput has validated it
	query.ViewID, query.Zone = in.ViewID, zoneOf(in.Timezone)
	return query
}

// checkZone refuses an unknown timezone.
func checkZone(problem func(field, text string), name string) {
	if _, err := business.Zone(name); name != "" && err != nil {
		problem("timezone", "must be the name of a time zone, such as Europe/Berlin")
	}
}

// zoneOf returns a time zone that checkZone has let pass; "" is UTC.
func zoneOf(name string) *time.Location {
	zone, err := business.Zone(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

type conversationSearch struct {
	expanding
	transport.Paging
	Query     string `query:"query" maxLength:"1000" example:"from:ada refund is:open" description:"Words that must all occur in subject, messages, notes or customer; the last one may be a prefix. Conditions: from:, to:, subject:, tag:, mailbox:, assigned:, before: and after: a day such as 2026-01-31, 2026-01, 2026, today, yesterday or 7d (in UTC or timezone), has:attachment, is:open, pending, closed, snoozed, spam, unassigned, mine, waiting or undelivered, and phrases in quotes. A hyphen before a word or a condition excludes it. Spam is left out without is:spam. Empty: all."`
	Ascending bool   `query:"ascending" description:"The longest unchanged first instead of the newest."`
	Timezone  string `query:"timezone" example:"Europe/Berlin" description:"IANA name, of the days in query. Default: UTC."`
}

// CheckInput refuses an unknown timezone.
func (in *conversationSearch) CheckInput(problem func(field, text string)) {
	checkZone(problem, in.Timezone)
}

// searchResults is a page of conversations that a search found.
type searchResults struct {
	Conversations []conversation `json:"conversations" description:"The latest changed first unless ascending."`
	Count         *int           `json:"count" description:"How many conversations were found. Null on later pages."`
	AtLeast       bool           `json:"at_least" description:"There may be more than count: it ends at 1000, and for phrases with the page."`
	Corrected     *string        `json:"corrected" description:"The query that was answered because nothing was found for the given one: words that no conversation has are replaced by words that differ by one character. Null: the given one."`
	Incomplete    bool           `json:"incomplete" description:"For phrases, only the latest messages of long conversations were searched."`
	NextCursor    *string        `json:"next_cursor" description:"The cursor of the next page. Null: this is the last one. With phrases, a page may be empty and yet have a next one."`
}

// conversationHighlight shows why a conversation was found.
type conversationHighlight struct {
	Subject string `json:"subject" description:"HTML: escaped text with the matches in mark elements."`
	Snippet string `json:"snippet" description:"A passage of one of the latest messages, as HTML like subject. Empty if none of them matches."`
}

type conversationBulk struct {
	Conversations []int64 `json:"conversations" required:"true" maxItems:"100" description:"Ids. Also accepted in the query string."`
}

// deskContext identifies the member at work.
type deskContext struct {
	ActiveUsers []activeUser `json:"active_users"`
	IsOnline    bool         `json:"is_online"`
}

type activeUser struct {
	ID           int64           `json:"id" description:"Id of the membership."`
	UserID       int64           `json:"user_id"`
	AccountID    int64           `json:"account_id"`
	User         contextUser     `json:"user"`
	IsOnline     bool            `json:"is_online"`
	LastActivity *transport.Time `json:"last_activity"`
}

type contextUser struct {
	ID       int64   `json:"id"`
	Name     string  `json:"name"`
	Initials string  `json:"initials"`
	Avatar   *string `json:"avatar"`
}

func (a *api) addConversations(t *transport.Table) {
	expand := []string{"user", "team", "mailbox", "customer"}
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Conversations", Summary: summary, Description: description}
	}
	create := op("createConversation", http.MethodPost, conversationsPath, "Create a conversation",
		"Creates the customer if nobody has the address. Posted user interactions are sent. Needs conversations.create, the "+
			"permissions for the interactions, and conversations.assign to set user_id or team_id.")
	create.Status, create.Expand, create.Customers = http.StatusCreated, expand, true
	transport.Handle(t, a.talk, create, both(a.createConversation, a.portalCreateConversation))
	list := op("listConversations", http.MethodGet, conversationsPath, "List conversations",
		"Newest first unless sorted otherwise. Needs conversations.view, and views.view for view_id.")
	list.Expand, list.Customers = expand, true
	transport.HandlePage(t, a.talk, list, both(a.listConversations, a.portalListConversations))
	find := op("searchConversations", http.MethodGet, conversationsPath+"/search", "Search conversations",
		"Finds conversations with the passages that match, the latest changed first. Needs conversations.view and interactions.view.")
	find.Expand = expand
	transport.Handle(t, a.desk, find, a.searchConversations)
	get := op("getConversation", http.MethodGet, conversationPath, "Retrieve a conversation", "Needs conversations.view.")
	get.Expand, get.Customers = expand, true
	transport.Handle(t, a.talk, get, both(a.getConversation, a.portalGetConversation))
	update := op("updateConversation", http.MethodPut, conversationPath, "Update a conversation",
		"Omitted fields stay unchanged. Needs conversations.update, and conversations.assign to change user_id or team_id.")
	update.Expand = expand
	transport.Handle(t, a.desk, update, a.updateConversation)
	transport.HandleEmpty(t, a.desk, op("deleteConversation", http.MethodDelete, conversationPath, "Delete a conversation",
		"Deletes the conversation with everything in it. Its mails are not imported again. Needs conversations.delete."), a.deleteConversation)
	bulk := op("deleteConversations", http.MethodDelete, conversationsPath+"/bulk", "Delete conversations",
		"At most 100, all or none. 404 if one does not exist; `errors` names it. Needs conversations.delete.")
	bulk.BodyQuery = true
	transport.HandleEmpty(t, a.desk, bulk, a.deleteConversations)
	transport.Handle(t, a.desk, op("getContext", http.MethodGet, conversationsPath+"/context", "Retrieve the help desk's availability",
		"Whether the help desk is online, and which members are. Needs conversations.view."), a.getContext)
}

func (a *api) createConversation(ctx context.Context, d *helpdesk.Desk, in conversationInput) (conversation, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return conversation{}, err
	}
	input := helpdesk.ConversationInput{
		Channel: in.Channel, To: in.To, MailboxID: in.MailboxID.Or(0), UserID: in.UserID, TeamID: in.TeamID,
		Status: helpdesk.Status(in.Status), Priority: helpdesk.Priority(in.Priority), Subject: in.Subject, Fields: in.Fields.texts(),
	}
	for _, one := range in.Interactions {
		input.Interactions = append(input.Interactions, a.interactionInput(d, one))
	}
	c, err := d.Conversations().Create(ctx, input)
	return one(ctx, d, c, err, in.Expand, showConversations)
}

func (a *api) listConversations(ctx context.Context, d *helpdesk.Desk, in conversationList) (storage.Page[conversation], error) {
	page, err := d.Conversations().ListMarked(ctx, in.query(d.UserID()), in.Request())
	if err != nil {
		return storage.Page[conversation]{}, err
	}
	shown, err := showMarked(ctx, d, page.Items, in.Expand)
	return storage.Page[conversation]{Items: shown, Next: page.Next, Prev: page.Prev}, err
}

func (a *api) searchConversations(ctx context.Context, d *helpdesk.Desk, in conversationSearch) (searchResults, error) {
	query := helpdesk.ConversationQuery{Query: in.Query, Sort: helpdesk.ByUpdated, Ascending: in.Ascending, Zone: zoneOf(in.Timezone)}
	page, err := d.Conversations().Search(ctx, query, in.Request())
	if err != nil {
		return searchResults{}, err
	}
	rows := make([]helpdesk.MarkedConversation, len(page.Items))
	for i, hit := range page.Items {
		rows[i] = hit.MarkedConversation
	}
	shown, err := showMarked(ctx, d, rows, in.Expand)
	out := searchResults{Conversations: shown, AtLeast: page.AtLeast, Incomplete: page.Unread}
	for i := range shown {
		highlight := conversationHighlight(page.Items[i].Highlight)
		shown[i].Highlight = &highlight
	}
	if in.Cursor == "" {
		out.Count = &page.Count
	}
	if page.Corrected != "" {
		out.Corrected = &page.Corrected
	}
	if page.Next != "" {
		out.NextCursor = &page.Next
	}
	return out, err
}

func (a *api) getConversation(ctx context.Context, d *helpdesk.Desk, in conversationGet) (conversation, error) {
	c, err := d.Conversations().GetMarked(ctx, in.ConversationID)
	return one(ctx, d, c, err, in.Expand, showMarked)
}

func (a *api) updateConversation(ctx context.Context, d *helpdesk.Desk, in conversationUpdate) (conversation, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return conversation{}, err
	}
	c, err := d.Conversations().Update(ctx, in.ConversationID, helpdesk.ConversationUpdate{
		Subject: storage.Some(in.Subject.Or("")), MailboxID: in.MailboxID, UserID: in.UserID, TeamID: in.TeamID, Status: asNamed[helpdesk.Status](in.Status),
		SnoozedUntil: in.SnoozedUntil, Priority: asNamed[helpdesk.Priority](in.Priority), Spam: in.Spam, Fields: in.Fields.texts(),
	})
	return one(ctx, d, c, err, in.Expand, showConversations)
}

func (a *api) deleteConversation(ctx context.Context, d *helpdesk.Desk, in conversationID) error {
	return d.Conversations().Delete(ctx, in.ConversationID)
}

func (a *api) deleteConversations(ctx context.Context, d *helpdesk.Desk, in conversationBulk) error {
	return d.Conversations().DeleteAll(ctx, in.Conversations)
}

func (a *api) getContext(ctx context.Context, d *helpdesk.Desk, _ struct{}) (deskContext, error) {
	active, err := d.Members().Active(ctx)
	out := deskContext{ActiveUsers: []activeUser{}, IsOnline: len(active) > 0}
	for _, m := range active {
		out.ActiveUsers = append(out.ActiveUsers, activeUser{
			ID: m.Membership.ID, UserID: m.User.ID, AccountID: d.AccountID(), IsOnline: true,
			User:         contextUser{ID: m.User.ID, Name: m.User.Name, Initials: m.User.Initials()},
			LastActivity: transport.TimePtr(&m.Membership.LastActivity),
		})
	}
	return out, err
}

// asNamed converts a text to a named type; absent and null are kept.
func asNamed[T ~string](s storage.Opt[string]) storage.Opt[T] {
	if text, given := s.Get(); given {
		return storage.Some(T(text))
	}
	if s.IsNull() {
		return storage.Null[T]()
	}
	return storage.Opt[T]{}
}

// one converts a single object with the function for pages.
func one[T, U, E any](ctx context.Context, d *helpdesk.Desk, row T, err error, how E, show func(context.Context, *helpdesk.Desk, []T, E) ([]U, error)) (U, error) {
	var none U
	if err != nil {
		return none, err
	}
	shown, err := show(ctx, d, []T{row}, how)
	if err != nil {
		return none, err
	}
	return shown[0], nil
}

// reached returns the referenced conversations that the member may see.
func reached(ctx context.Context, d *helpdesk.Desk, rows []helpdesk.MarkedConversation) (map[int64]bool, error) {
	if !d.Holds(identity.ConversationsView) {
		return nil, nil //nolint:nilnil // a nil map is an empty one
	}
	return d.Conversations().Reached(ctx, ids(rows, func(c helpdesk.MarkedConversation) []int64 { return []int64{c.RefersTo} }))
}

// showConversations adds tags and unread messages to conversations and shows them.
func showConversations(ctx context.Context, d *helpdesk.Desk, rows []helpdesk.Conversation, expand transport.Expand) ([]conversation, error) {
	of := ids(rows, func(c helpdesk.Conversation) []int64 { return []int64{c.ID} })
	marks, err := d.Conversations().TagsAndUnread(ctx, of)
	if err != nil {
		return nil, err
	}
	all := make([]helpdesk.MarkedConversation, len(rows))
	for i, c := range rows {
		all[i] = helpdesk.MarkedConversation{Conversation: c, Unread: marks[c.ID].Unread, Tags: marks[c.ID].Tags}
	}
	return showMarked(ctx, d, all, expand)
}

// showMarked converts a page with one query for each relation.
func showMarked(ctx context.Context, d *helpdesk.Desk, rows []helpdesk.MarkedConversation, expand transport.Expand) ([]conversation, error) {
	referred, err := reached(ctx, d, rows)
	if err != nil {
		return nil, err
	}
	var users map[int64]user
	var teams map[int64]team
	mailboxes, customers := map[int64]mailbox{}, map[int64]customer{}
	if expand.Has("user") {
		if users, err = findUsers(ctx, d, ids(rows, func(c helpdesk.MarkedConversation) []int64 { return []int64{c.UserID} })); err != nil {
			return nil, err
		}
	}
	if expand.Has("team") {
		if teams, err = findTeams(ctx, d, ids(rows, func(c helpdesk.MarkedConversation) []int64 { return []int64{c.TeamID} })); err != nil {
			return nil, err
		}
	}
	if expand.Has("mailbox") {
		found, err := d.Mailboxes().ByID(ctx, ids(rows, func(c helpdesk.MarkedConversation) []int64 { return []int64{c.MailboxID} }))
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			mailboxes[m.ID] = showMailbox(d, m)
		}
	}
	if expand.Has("customer") {
		if customers, err = findCustomers(ctx, d, ids(rows, func(c helpdesk.MarkedConversation) []int64 { return []int64{c.CustomerID} })); err != nil {
			return nil, err
		}
	}
	set, err := d.Conversations().Fields(ctx, ids(rows, func(c helpdesk.MarkedConversation) []int64 { return []int64{c.ID} }))
	if err != nil {
		return nil, err
	}
	out := make([]conversation, len(rows))
	for i, c := range rows {
		out[i] = showConversation(c.Conversation)
		out[i].Fields = showFields(set, c.ID)
		if referred[c.RefersTo] {
			out[i].RefersTo = idOrNull(c.RefersTo)
		}
		out[i].Tags, out[i].UnreadCount = showTags(c.Tags), c.Unread
		if expand.Has("user") {
			out[i].User = shownOrNull(pick(users, c.UserID))
		}
		if expand.Has("team") {
			out[i].Team = shownOrNull(pick(teams, c.TeamID))
		}
		if expand.Has("mailbox") {
			out[i].Mailbox = shownOrNull(pick(mailboxes, c.MailboxID))
		}
		if expand.Has("customer") {
			out[i].Customer = shownOrNull(pick(customers, c.CustomerID))
		}
	}
	return out, nil
}

func showConversation(c helpdesk.Conversation) conversation {
	return conversation{
		ID: c.ID, Channel: c.Channel, CustomerEmail: emailRef{ID: idOrNull(c.CustomerEmailID), Email: c.CustomerEmail},
		MailboxID: c.MailboxID, UserID: idOrNull(c.UserID), TeamID: idOrNull(c.TeamID), Number: c.Number, Status: string(c.Status), Subject: c.Subject,
		Preview: c.Preview, RealtimeChannel: fmt.Sprintf("conversations.%d", c.ID), AwaitingSince: transport.TimePtr(&c.AwaitingSince), SnoozedUntil: transport.TimePtr(&c.SnoozedUntil),
		Priority: string(c.Priority), SpamAt: transport.TimePtr(&c.SpamAt), SLA: showConversationSLA(c), DueAt: transport.TimePtr(&c.DueAt), Hold: showHold(c), ErasedAt: transport.TimePtr(&c.ErasedAt), CreatedAt: transport.Time(c.CreatedAt), UpdatedAt: transport.Time(c.UpdatedAt),
	}
}

// findCustomers returns customers by id, for showing them.
func findCustomers(ctx context.Context, d *helpdesk.Desk, ids []int64) (map[int64]customer, error) {
	found, err := d.Customers().ByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	all, err := showCustomers(ctx, d, found)
	return byID(all, func(c customer) int64 { return c.ID }), err
}
