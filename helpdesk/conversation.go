package helpdesk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Status of a conversation.
type Status string

// The statuses of a conversation.
const (
	StatusPosted  Status = "posted"
	StatusDraft   Status = "draft"
	StatusPending Status = "pending"
	StatusClosed  Status = "closed"
)

// Conversation is an exchange between a customer and agents about one matter.
type Conversation struct {
	ID              int64
	Number          int64 // counts up within the account
	Channel         string
	MailboxID       int64
	CustomerID      int64
	CustomerEmailID int64  // 0 when the customer no longer has the address
	CustomerEmail   string // where answers go
	UserID          int64  // assigned user; 0: none
	TeamID          int64  // assigned team, beside the user; 0: none
	Status          Status
	Priority        Priority
	Subject         string
	Preview         string
	RefersTo        int64     // conversation that its first message referred to but could not join; 0: none
	AwaitingSince   time.Time // time of the first customer message not yet answered
	SpamAt          time.Time // since when it is spam, and therefore closed; zero: not spam
	SnoozedUntil    time.Time // snoozed until then, or until the customer writes; zero: not snoozed
	SLAID           int64     // the SLA that it is under; 0: none
	SLATrack        string    // what is known for its targets, see [Conversation.Targets]
	DueAt           time.Time // when the next target is due; zero: none is, or time stands still
	SoonAt          time.Time // since when DueAt is soon
	HeldAt          time.Time // since when it is on hold, see [Conversations.Hold]; zero: it is not
	HeldByID        int64     // who put it on hold; 0: nobody, or an embedding application
	HoldReason      string    // why it is on hold, plain text
	ErasedAt        time.Time // when its content was erased last, see [RetentionPolicy]; zero: never
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// newConversation returns an open conversation of a mailbox with a customer, who writes from the given address.
func newConversation(mailboxID, customerID int64, from CustomerEmail, at time.Time) Conversation {
	return Conversation{
		Channel: channelEmail, MailboxID: mailboxID, CustomerID: customerID, CustomerEmailID: from.ID, CustomerEmail: from.Email,
		Status: StatusPosted, Priority: PriorityNormal, CreatedAt: at, UpdatedAt: at,
	}
}

// unassigned reports whether the conversation has neither a user nor a team.
func (c Conversation) unassigned() bool { return c.UserID == 0 && c.TeamID == 0 }

// insert stores a new conversation under the next number of the account.
func (c *Conversation) insert(ctx context.Context, tx Tx) error {
	var err error
	if c.Number, err = tx.TakeNumber(ctx); err != nil {
		return err
	}
	return tx.Conversations().Insert(ctx, c)
}

// ConversationFilter narrows a list of conversations. The zero value selects all.
type ConversationFilter struct {
	Statuses     []Status
	MailboxID    int64
	CustomerID   int64
	CompanyID    int64              // of a customer of this company
	UserID       storage.Opt[int64] // null: none
	TeamID       storage.Opt[int64] // null: none
	UpdatedSince time.Time
	Terms        []SearchTerm      // all of them, see [SearchIndex]
	TagIDs       []int64           // any of these
	Fields       []FieldMatch      // all of these
	Audience     []string          // with an [Interaction.Audience] that has any of these
	Awaiting     storage.Opt[bool] // whether a customer is waiting; null is absent
	DraftBy      int64             // has a draft by this user
	Undelivered  bool              // has a delivery that is [sending.State.Undelivered]
	Snoozed      storage.Opt[bool] // whether it is snoozed; null is absent
	Priorities   []Priority        // any of these
	Spam         storage.Opt[bool] // whether it is spam; null is absent
	Due          DueRange
	Ratings      []Verdict         // with a rating that is any of these
	Held         storage.Opt[bool] // whether it is on hold; null is absent
	Unerased     bool              // has changed since its content was erased, or it never was

	CreatedBefore time.Time
	Attached      bool                 // has a file, not one that a message shows, in an interaction that is no draft
	Also          []ConversationFilter // each of them selects it, too
	Except        []ConversationFilter // none of them selects it
}

// DueRange selects conversations by when something is due. The zero value selects all.
type DueRange struct {
	From, Before time.Time
	Soon         time.Time // only if it is soon at that time; zero: all
}

// ConversationOrder narrows a list of conversations and orders it.
type ConversationOrder struct {
	ConversationFilter
	Sort ConversationSort // "": ByCreated
}

// ConversationSort orders a list of conversations.
type ConversationSort string

// The orders of a list of conversations.
const (
	ByCreated  ConversationSort = "created_at"
	ByUpdated  ConversationSort = "updated_at"
	ByNumber   ConversationSort = "number"
	ByAwaiting ConversationSort = "customer_awaiting_reply_since" // conversations that await no reply sort as 1970
	ByDue      ConversationSort = "due_at"                        // those of which nothing is due sort as the end of 9999
)

// SortKey returns the conversation's key in an order, see [storage.Position].
func (c Conversation) SortKey(s ConversationSort) int64 {
	switch s {
	case ByUpdated:
		return c.UpdatedAt.UnixMicro()
	case ByNumber:
		return c.Number
	case ByAwaiting:
		if c.AwaitingSince.IsZero() {
			return 0
		}
		return c.AwaitingSince.UnixMicro()
	case ByDue:
		if c.DueAt.UnixMicro() <= 0 {
			return neverDue
		}
		return c.DueAt.UnixMicro()
	default:
		return c.CreatedAt.UnixMicro()
	}
}

// neverDue is the end of 9999.
const neverDue = 253402300799000000

// channelEmail is the only channel.
const channelEmail = "email"

// ConversationInput is a new conversation.
type ConversationInput struct {
	Channel      string             // required: "email"
	To           string             // required: the customer's address
	MailboxID    int64              // 0: the account's oldest mailbox
	UserID       storage.Opt[int64] // assigned user; absent or null: none
	TeamID       storage.Opt[int64] // assigned team; absent or null: none
	Status       Status             // "" means posted
	Priority     Priority           // "" means normal
	Subject      string             // at most 998 characters
	Interactions []InteractionInput // in order; at most 100
	Fields       FieldTexts
}

// ConversationUpdate changes a conversation. Absent fields are unchanged.
type ConversationUpdate struct {
	Subject   storage.Opt[string] // null: an empty one
	MailboxID storage.Opt[int64]
	UserID    storage.Opt[int64] // null: none
	TeamID    storage.Opt[int64] // null: none
	Status    storage.Opt[Status]
	// SnoozedUntil snoozes the conversation until a time, or until the customer writes. Null ends the snooze, as does closing
	// the conversation.
	SnoozedUntil storage.Opt[time.Time]
	Priority     storage.Opt[Priority]
	// Spam true closes the conversation and keeps it closed even if the customer writes. Spam false opens it, unless Status is
	// given. Opening a spam conversation also clears Spam.
	Spam   storage.Opt[bool]
	Fields FieldTexts

	unasked bool // closing needs no fields
}

func (s Status) valid() bool {
	switch s {
	case StatusPosted, StatusDraft, StatusPending, StatusClosed:
		return true
	}
	return false
}

// Conversations are the conversations that the member reaches, with their tags, followers and marks.
type Conversations struct{ *desk }

// Conversations returns the handle of conversations.
func (d *Desk) Conversations() Conversations { return Conversations{&d.desk} }

// Create starts a conversation with a customer. If no customer has the address, it creates one. Posted user
// interactions are sent. It needs conversations.create, the permissions of the interactions, and conversations.assign to set
// UserID or TeamID. A closed one needs the fields that are required to close.
func (d Conversations) Create(ctx context.Context, in ConversationInput) (Conversation, error) {
	begin, err := d.guard.Write(identity.ConversationsCreate)
	if err != nil {
		return Conversation{}, err
	}
	if in.UserID.Or(0) != 0 || in.TeamID.Or(0) != 0 {
		if begin, err = d.guard.Write(identity.ConversationsAssign); err != nil {
			return Conversation{}, err
		}
	}
	var problems fault.Collector
	address, name, err := in.validate()
	if err := problems.Take(err); err != nil {
		return Conversation{}, err
	}
	prepared := make([]preparedInteraction, min(len(in.Interactions), 100))
	for i := range prepared {
		prepared[i], err = d.prepare(in.Interactions[i], fmt.Sprintf("interactions[%d]", i))
		if err := problems.Take(err); err != nil {
			return Conversation{}, err
		}
	}
	if err := problems.Err(); err != nil {
		return Conversation{}, err
	}
	var c Conversation
	err = retryUnique(func() error {
		return begin(ctx, func(ctx context.Context, tx Tx) error {
			c, err = d.create(ctx, tx, in, address, name, prepared)
			return err
		})
	}, UniqueCustomerEmail)
	if err == nil {
		d.afterHandOut(ctx, &c)
	}
	return c, err
}

// validate normalises the input and returns the customer's address and name.
func (in *ConversationInput) validate() (address, name string, err error) {
	var problems fault.Collector
	if problems.Check(in.Channel != "", "channel", "is required") {
		problems.Check(in.Channel == channelEmail, "channel", "must be email")
	}
	in.To = plain.Line(in.To)
	if problems.Check(in.To != "", "to", "is required") {
		if address, name, err = parseRecipient(in.To); err != nil {
			problems.Add("to", "is not an email address")
		}
	}
	if in.Status == "" {
		in.Status = StatusPosted
	}
	problems.Check(in.Status.valid(), "status", "must be posted, draft, pending or closed")
	if in.Priority == "" {
		in.Priority = PriorityNormal
	}
	problems.Check(in.Priority.valid(), "priority", mustBePriority)
	in.Subject = plain.Line(in.Subject)
	bounded(&problems, "subject", in.Subject, 998)
	problems.Check(len(in.Interactions) <= 100, "interactions", "has more than 100 items")
	return address, name, problems.Err()
}

func (d *desk) create(ctx context.Context, tx Tx, in ConversationInput, address, name string, prepared []preparedInteraction) (Conversation, error) {
	mailbox, err := d.chooseMailbox(ctx, tx, in.MailboxID)
	if err != nil {
		return Conversation{}, err
	}
	if err := checkAssignee(ctx, tx, in.UserID.Or(0), in.TeamID.Or(0)); err != nil {
		return Conversation{}, err
	}
	now := d.svc.now()
	var index indexing
	customer, created, err := findCustomer(ctx, tx, address, name, now, &index)
	if err != nil {
		return Conversation{}, err
	}
	if d.userID == 0 { // in the portal
		tx = actAs(tx, subscription.Actor{Type: subscription.ActorCustomer, ID: customer.ID})
	}
	if created {
		if err := d.emit(ctx, tx, "customer.created", customer.ID, 0); err != nil {
			return Conversation{}, err
		}
	}
	email := customer.emailByKey(mailaddr.Key(address))
	c := newConversation(mailbox.ID, customer.ID, email, now)
	c.UserID, c.TeamID, c.Status, c.Priority, c.Subject = in.UserID.Or(0), in.TeamID.Or(0), in.Status, in.Priority, in.Subject
	if err := c.insert(ctx, tx); err != nil {
		return Conversation{}, err
	}
	if err := tx.AddParticipants(ctx, c.ID, []string{email.Key}); err != nil {
		return Conversation{}, err
	}
	if err := setFields(ctx, tx, FieldOfConversation, []int64{c.ID}, in.Fields); err != nil {
		return Conversation{}, err
	}
	if err := closable(ctx, tx.Reader(), []Conversation{c}); err != nil {
		return Conversation{}, err
	}
	if err := d.emit(ctx, tx, "conversation.created", c.ID, c.MailboxID); err != nil {
		return Conversation{}, err
	}
	said, all := make([]Interaction, len(prepared)), &recent{conversationID: c.ID, whole: true}
	for i, p := range prepared {
		p.starter = i == 0
		if said[i], err = d.add(ctx, tx, &c, all, mailbox, p); err != nil {
			return Conversation{}, err
		}
	}
	c.Status = in.Status // adding the initial interactions does not reopen it
	if err := d.tellBegun(ctx, tx, c, said); err != nil {
		return Conversation{}, err
	}
	index.addConversation(c.ID)
	if err := index.add(ctx, tx, c, said...); err != nil {
		return Conversation{}, err
	}
	if err := index.write(ctx, tx); err != nil {
		return Conversation{}, err
	}
	if len(prepared) == 0 {
		return c, nil
	}
	return c, tx.Conversations().Update(ctx, &c)
}

// chooseMailbox returns the requested mailbox, or the account's default. A member who does not reach the default gets the
// oldest mailbox that they do.
func (d *desk) chooseMailbox(ctx context.Context, tx Tx, id int64) (Mailbox, error) {
	if id != 0 {
		return tx.Mailboxes().Get(ctx, id)
	}
	account, err := tx.Account(ctx)
	if err != nil {
		return Mailbox{}, err
	}
	if account.DefaultMailboxID != 0 {
		chosen, err := tx.Mailboxes().Get(ctx, account.DefaultMailboxID)
		if !fault.Is(err, fault.NotFound) {
			return chosen, err
		}
	}
	oldest, err := tx.Mailboxes().List(ctx, storage.NoFilter{}, storage.Seek{Limit: 1})
	if err != nil {
		return Mailbox{}, err
	}
	if len(oldest) == 0 {
		return Mailbox{}, fault.Field("mailbox_id", "is required: the account has no mailbox yet")
	}
	return oldest[0], nil
}

// checkAssignee verifies that the user to be assigned works in this account and that the team exists; 0 means none.
func checkAssignee(ctx context.Context, tx Tx, userID, teamID int64) error {
	if userID != 0 {
		if err := checkUser(ctx, tx.Reader(), userID); err != nil {
			return err
		}
	}
	return checkTeam(ctx, tx, teamID)
}

// checkUser verifies that a user works in the account.
func checkUser(ctx context.Context, r Reader, userID int64) error {
	users, err := r.UsersByID(ctx, []int64{userID})
	if err != nil {
		return err
	}
	if len(users) == 0 {
		return fault.Missing("user", userID)
	}
	return nil
}

// Get returns a conversation. It needs conversations.view.
func (d Conversations) Get(ctx context.Context, id int64) (Conversation, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return Conversation{}, err
	}
	return r.Conversations().Get(ctx, id)
}

// ConversationQuery narrows and orders a list of conversations.
type ConversationQuery struct {
	Statuses   []Status // any of these; empty: all
	MailboxID  int64    // 0: all
	CustomerID int64    // 0: all
	CompanyID  int64    // of a customer of this company; 0: all
	// UserID is the assigned user. Null means no user, and no team unless TeamID is given.
	UserID       storage.Opt[int64]
	TeamID       storage.Opt[int64] // null: none
	UpdatedSince time.Time
	Sort         ConversationSort // "": ByCreated
	Ascending    bool             // newest or largest first otherwise
	// Query consists of words that must all occur in the subject, the messages, the notes or the customer's names, company,
	// addresses and phones, and of conditions, see [search.Parse]. Empty selects all conversations. Case and accents are
	// ignored, and the last word may be a prefix. Only the first 16 words count. A query without any letter, digit or sign matches
	// nothing. The words of a phrase must all occur, too; only [Conversations.Search] checks that they follow one another.
	Query  string
	Zone   *time.Location // of the days in Query; nil: UTC
	TagIDs []int64        // any of these; empty: all
	// Awaiting selects by whether a customer is waiting for a reply; absent or null selects all. In ascending ByAwaiting order,
	// the longest wait comes first.
	Awaiting    storage.Opt[bool]
	DraftBy     int64             // with a draft of an answer by this user; 0: all
	Undelivered bool              // with a reply that failed to reach a recipient
	Snoozed     storage.Opt[bool] // whether it is snoozed; absent or null: all
	Priorities  []Priority        // any of these; empty: all
	Spam        storage.Opt[bool] // whether it is spam; absent or null: all
	Fields      FieldQueries      // values of fields
	Due         Due               // when something is due; "": all
	Ratings     []Verdict         // with a rating that is any of these; empty: all
	Held        storage.Opt[bool] // whether it is on hold; absent or null: all
	// ViewID names a view that supplies the filters and the order that are not given here; 0: none.
	ViewID int64

	matched []FieldMatch // Fields, once they are checked
	due     DueRange     // Due, at the time of the list
}

// List lists the conversations that the member reaches, newest first unless the query orders otherwise. It needs
// conversations.view, views.view to apply a view, and interactions.view to search for words. A mailbox, customer, company, user,
// team, tag or view outside the member's reach is a NotFound fault; if only the view's filter names it, the list is empty.
func (d Conversations) List(ctx context.Context, q ConversationQuery, req storage.PageRequest) (storage.Page[Conversation], error) {
	list := func(ctx context.Context, r Reader, o ConversationOrder, seek storage.Seek) ([]Conversation, error) {
		return r.Conversations().List(ctx, o, seek)
	}
	return listOf(ctx, d.desk, q, req, list, func(c Conversation) Conversation { return c })
}

// listOf reads a page of what list returns of conversations.
func listOf[T any](
	ctx context.Context, d *desk, q ConversationQuery, req storage.PageRequest,
	list func(context.Context, Reader, ConversationOrder, storage.Seek) ([]T, error), of func(T) Conversation,
) (storage.Page[T], error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return storage.Page[T]{}, err
	}
	in, err := d.inquire(ctx, r, q)
	if err != nil || in.nothing {
		return storage.Page[T]{}, err
	}
	return pageOf(req, in, of, func(seek storage.Seek) ([]T, error) { return list(ctx, d.lists(in.reader), in.order, seek) })
}

// pageOf reads a page of what list returns of the conversations that are asked for.
func pageOf[T any](req storage.PageRequest, in inquiry, of func(T) Conversation, list func(storage.Seek) ([]T, error)) (storage.Page[T], error) {
	position := func(t T) storage.Position { return storage.Position{Key: of(t).SortKey(in.order.Sort), ID: of(t).ID} }
	return storage.List(req, !in.ascending, position, list)
}

// filter returns the query as a store filter, without its words.
func (q *ConversationQuery) filter() ConversationFilter {
	return ConversationFilter{
		Statuses: q.Statuses, MailboxID: q.MailboxID, CustomerID: q.CustomerID, CompanyID: q.CompanyID, UserID: q.UserID, TeamID: q.team(),
		UpdatedSince: q.UpdatedSince, TagIDs: q.TagIDs,
		Awaiting: q.Awaiting, DraftBy: q.DraftBy, Undelivered: q.Undelivered, Snoozed: q.Snoozed,
		Priorities: q.Priorities, Spam: q.Spam,
		Fields: q.matched, Due: q.dueRange(), Ratings: q.Ratings, Held: q.Held,
	}
}

// dueRange returns when something is due; before the time of the list is known, any of it.
func (q *ConversationQuery) dueRange() DueRange {
	if q.Due != "" && q.due == (DueRange{}) {
		return DueAny.at(time.Time{}, nil)
	}
	return q.due
}

// team returns the team filter. With UserID null, TeamID defaults to none, so that only unassigned conversations match.
func (q *ConversationQuery) team() storage.Opt[int64] {
	if q.UserID.IsNull() && !q.TeamID.IsSet() {
		return storage.Null[int64]()
	}
	return q.TeamID
}

// check adds problems of fields below prefix.
func (q *ConversationQuery) check(problems *fault.Collector, prefix string) {
	field := fieldOf(prefix)
	for i, s := range q.Statuses {
		problems.Check(s.valid(), fmt.Sprintf("%s[%d]", field("status"), i), "must be posted, draft, pending or closed")
	}
	for i, p := range q.Priorities {
		problems.Check(p.valid(), fmt.Sprintf("%s[%d]", field("priority"), i), mustBePriority)
	}
	problems.Check(len(q.TagIDs) <= MaxTags, field("tag_id"), "has more than 100 ids")
	switch q.Sort {
	case "", ByCreated, ByUpdated, ByNumber, ByAwaiting, ByDue:
	default:
		problems.Add(field("sort_by"), "must be updated_at, created_at, number, customer_awaiting_reply_since or due_at")
	}
	for i, v := range q.Ratings {
		problems.Check(slices.Contains(Verdicts(), v), fmt.Sprintf("%s[%d]", field("rating"), i), "must be good, neutral, bad or asked")
	}
	problems.Check(q.Due.valid(), field("due"), "must be soon, breached, today or any")
}

// references verifies that everything the query names is within reach.
func (q *ConversationQuery) references(ctx context.Context, r Reader) error {
	if err := checkTags(ctx, r, q.TagIDs); err != nil {
		return err
	}
	if q.MailboxID != 0 {
		if _, err := r.Mailboxes().Get(ctx, q.MailboxID); err != nil {
			return err
		}
	}
	if q.CustomerID != 0 {
		if _, err := r.Customer(ctx, q.CustomerID); err != nil {
			return err
		}
	}
	if q.CompanyID != 0 {
		if _, err := companyNoun().Reader(r).Get(ctx, q.CompanyID); err != nil {
			return err
		}
	}
	if id, given := q.UserID.Get(); given {
		if err := checkUser(ctx, r, id); err != nil {
			return err
		}
	}
	if id, given := q.TeamID.Get(); given {
		if _, err := teamNoun().Reader(r).Get(ctx, id); err != nil {
			return err
		}
	}
	if q.DraftBy != 0 {
		return checkUser(ctx, r, q.DraftBy)
	}
	return nil
}

// Update changes a conversation. It needs conversations.update, and conversations.assign to change UserID or
// TeamID. Closing a conversation that lacks a field which is required for that is an Invalid fault on the field.
func (d Conversations) Update(ctx context.Context, id int64, in ConversationUpdate) (Conversation, error) {
	begin, err := d.guard.Write(identity.ConversationsUpdate)
	if err != nil {
		return Conversation{}, err
	}
	if err := in.check(); err != nil {
		return Conversation{}, err
	}
	var c Conversation
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		c, err = d.updateConversation(ctx, tx, id, in)
		return err
	})
	if err == nil {
		d.afterHandOut(ctx, &c)
	}
	return c, err
}

// check returns the problems of an update.
func (in ConversationUpdate) check() error {
	var problems fault.Collector
	bounded(&problems, "subject", plain.Line(in.Subject.Or("")), 998)
	if status, given := in.Status.Get(); given || in.Status.IsNull() {
		problems.Check(status.valid(), "status", "must be posted, draft, pending or closed")
	}
	if in.Priority.IsSet() {
		problems.Check(in.Priority.Or("").valid(), "priority", mustBePriority)
	}
	problems.Check(!in.Spam.IsNull(), "spam", "must not be empty")
	problems.Check(!in.MailboxID.IsNull(), "mailbox_id", "must not be empty")
	return problems.Err()
}

// updateConversation applies an update that was checked.
func (d *desk) updateConversation(ctx context.Context, tx Tx, id int64, in ConversationUpdate) (Conversation, error) {
	c, err := tx.Conversations().Lock(ctx, id)
	if err != nil {
		return c, err
	}
	old := c
	if err := d.assign(ctx, tx, &c, in); err != nil {
		return c, err
	}
	if mailbox := in.MailboxID.Or(c.MailboxID); mailbox != c.MailboxID {
		if _, err := tx.Mailboxes().Get(ctx, mailbox); err != nil {
			return c, err
		}
		c.MailboxID = mailbox
	}
	subject := c.Subject
	if in.Subject.IsSet() {
		subject = plain.Line(in.Subject.Or(""))
	}
	renamed := c.Subject != subject
	c.Subject, c.Status, c.Priority, c.UpdatedAt = subject, in.Status.Or(c.Status), in.Priority.Or(c.Priority), d.svc.now()
	if err := d.spam(ctx, tx, &c, in.Spam, in.Status); err != nil {
		return c, err
	}
	if err := d.snooze(ctx, tx, &c, in.SnoozedUntil); err != nil {
		return c, err
	}
	if err := tx.Conversations().Update(ctx, &c); err != nil {
		return c, err
	}
	if err := setFields(ctx, tx, FieldOfConversation, []int64{c.ID}, in.Fields); err != nil {
		return c, err
	}
	if old.Status != c.Status && !in.unasked {
		if err := closable(ctx, tx.Reader(), []Conversation{c}); err != nil {
			return c, err
		}
	}
	if renamed {
		if err := reindex(ctx, tx, c); err != nil {
			return c, err
		}
	}
	if madeSpam(old, c) {
		if err := d.returnAll(ctx, tx, ReturnedBySpam, c); err != nil {
			return c, err
		}
	}
	if err := d.svc.notifyAfterCommit(ctx, tx, d.scope.AccountID, d.assigned(old, c)...); err != nil {
		return c, err
	}
	return c, tx.Emit(ctx, d.updated(old, c)...)
}

// assign sets the conversation's user and team as the update requests.
func (d *desk) assign(ctx context.Context, tx Tx, c *Conversation, in ConversationUpdate) error {
	user, team := in.UserID.Or(c.UserID), in.TeamID.Or(c.TeamID)
	if user == c.UserID && team == c.TeamID {
		return nil
	}
	if _, err := d.guard.Write(identity.ConversationsAssign); err != nil {
		return err
	}
	newUser, newTeam := user, team
	if user == c.UserID {
		newUser = 0
	}
	if team == c.TeamID {
		newTeam = 0
	}
	if err := checkAssignee(ctx, tx, newUser, newTeam); err != nil {
		return err
	}
	c.UserID, c.TeamID = user, team
	return nil
}

// Delete removes a conversation with all its contents. The messages it was created from are remembered, so that
// they are not imported again. It needs conversations.delete.
func (d Conversations) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.ConversationsDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		c, err := tx.Conversations().Lock(ctx, id)
		if err != nil {
			return err
		}
		return d.deleteConversations(ctx, tx, []Conversation{c})
	})
}

// MaxBulk is the maximum number of conversations in a bulk operation.
const MaxBulk = 100

// DeleteAll removes up to 100 conversations, all or none. An id that the member does not reach is a NotFound fault
// whose fields name it. It needs conversations.delete.
func (d Conversations) DeleteAll(ctx context.Context, ids []int64) error {
	begin, err := d.guard.Write(identity.ConversationsDelete)
	if err != nil {
		return err
	}
	var problems fault.Collector
	checkBulk(&problems, ids)
	if err := problems.Err(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		found, err := tx.Conversations().ByIDs(ctx, ids)
		if err != nil {
			return err
		}
		if err := missing(ids, found); err != nil {
			return err
		}
		return d.deleteConversations(ctx, tx, found)
	})
}

// missing returns a fault that names the ids that were not found.
func missing(ids []int64, found []Conversation) error {
	have := map[int64]bool{}
	for _, c := range found {
		have[c.ID] = true
	}
	fields := fault.Fields{}
	for i, id := range ids {
		if !have[id] {
			fields[fmt.Sprintf("conversations[%d]", i)] = []string{fmt.Sprintf("there is no conversation %d", id)}
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return &fault.Error{Kind: fault.NotFound, Resource: "conversation", Message: "Some conversations do not exist. Nothing was changed.", Fields: fields}
}

// deleteAll removes all conversations that match a filter, a hundred at a time.
func (d *desk) deleteAll(ctx context.Context, tx Tx, filter ConversationFilter) error {
	for {
		batch, err := tx.Conversations().List(ctx, ConversationOrder{ConversationFilter: filter, Sort: ByCreated}, storage.Seek{Limit: 100})
		if err != nil || len(batch) == 0 {
			return err
		}
		if err := d.deleteConversations(ctx, tx, batch); err != nil {
			return err
		}
	}
}

// deletePiece is the number of conversations that one transaction of several removes.
const deletePiece = 200

// deleteSome removes a piece of the conversations that match a filter, if there are more than that, and reports whether it did.
// A transaction can then remove the rest quickly.
func (d *desk) deleteSome(ctx context.Context, tx Tx, filter ConversationFilter) (bool, error) {
	some, err := tx.Conversations().List(ctx, ConversationOrder{ConversationFilter: filter, Sort: ByCreated}, storage.Seek{Limit: deletePiece + 1})
	if err != nil || len(some) <= deletePiece {
		return false, err
	}
	return true, d.deleteConversations(ctx, tx, some[:deletePiece])
}

func (d *desk) deleteConversations(ctx context.Context, tx Tx, all []Conversation) error {
	ids := make([]int64, len(all))
	for i, c := range all {
		ids[i] = c.ID
	}
	all, err := tx.Conversations().LockAll(ctx, ids)
	if err != nil {
		return err
	}
	if err := noneHeld(all...); err != nil {
		return err
	}
	events := make([]storage.Event, len(all))
	for i, c := range all {
		events[i] = d.event("conversation.deleted", c.ID, c.MailboxID)
	}
	keys, err := tx.BlobKeys(ctx, ids)
	if err != nil {
		return err
	}
	if err := tx.DeleteConversations(ctx, ids); err != nil {
		return err
	}
	if err := tx.Enqueue(ctx, purgeKeys(d.scope.AccountID, keys)...); err != nil {
		return err
	}
	return tx.Emit(ctx, events...)
}

// ByID returns those of the ids that the member reaches, in any order. It needs conversations.view.
func (d Conversations) ByID(ctx context.Context, ids []int64) ([]Conversation, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return r.Conversations().ByIDs(ctx, ids)
}
