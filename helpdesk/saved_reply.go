package helpdesk

import (
	"cmp"
	"context"
	"html"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// SavedReply is a reusable text for replies. With actions it is a macro: they are done together with the reply, or alone by
// [Conversations.ApplyMacro].
type SavedReply struct {
	ID        int64
	UserID    int64 // owner, who alone sees it; 0: shared by all members
	Name      string
	Key       string // case-folded Name; unique among a user's, and among the shared ones
	Body      string // sanitized HTML with placeholders such as {{customer.first_name}}; may be empty with Actions
	Actions   []rules.Action
	CreatedAt time.Time
	UpdatedAt time.Time
}

// UniqueSavedReply is the code of a store's Conflict fault for a duplicate (account, UserID, Key).
const UniqueSavedReply = "saved_reply"

// SavedReplyFilter narrows a list of saved replies.
type SavedReplyFilter struct {
	UserIDs []int64 // owned by any of these users, 0 for shared ones; empty: none
	Prefix  string  // prefix of Key
	// Sets lists those of all owners whose actions set the field of conversations with this key, instead.
	Sets string
}

// SavedReplyInput creates or changes a saved reply.
type SavedReplyInput struct {
	Name string // required, at most 100 characters
	// Body is HTML, or text without tags, at most 64 KiB; required without actions, unless there is a Text. It may contain only
	// the placeholders in [SavedReplies.Placeholders].
	Body string
	Text string // plain text, shown as it is; not together with Body
	// Shared is whether all members see it, otherwise only the caller. Absent: a new one is not, another stays as it is.
	Shared storage.Opt[bool]
	// Actions are those of rules, except [rules.Reply] and [rules.Webhook]; at most [rules.MaxActions]. What they name must
	// be within the caller's reach, otherwise it is a NotFound fault. Absent: a new one has none, another keeps its own.
	Actions storage.Opt[[]rules.Action]
}

// maxSavedReply is the maximum size of a body.
const maxSavedReply = 64 << 10

// ReplyPlaceholders lists the placeholders allowed in a saved reply's body, between double braces, except those of fields:
// "fields." or "customer.fields." and a key, see [SavedReplies.Placeholders]. "rating" stays in the reply: in its message, the links
// of the survey for the conversation are there, or nothing if there is none.
func ReplyPlaceholders() []string {
	return append(textPlaceholders(), ratingPlaceholder)
}

// textPlaceholders are those that a text is put in place of.
func textPlaceholders() []string {
	return []string{"customer.first_name", "customer.name", "agent.name", "conversation.number", "conversation.subject"}
}

// Placeholder is a placeholder of saved replies.
type Placeholder struct {
	Name  string // between double braces
	Field Field  // whose value stands there; zero: none
}

// SavedReplies are texts that members answer with again and again, with their files.
type SavedReplies struct{ *desk }

// SavedReplies returns the handle of saved replies.
func (d *Desk) SavedReplies() SavedReplies { return SavedReplies{&d.desk} }

// Placeholders lists the placeholders allowed in a saved reply's body, those of fields last. It needs interactions.view or
// create.
func (d SavedReplies) Placeholders(ctx context.Context) ([]Placeholder, error) {
	p := identity.InteractionsView
	if !d.guard.Allows(p) && d.guard.Allows(identity.InteractionsCreate) {
		p = identity.InteractionsCreate
	}
	r, err := d.guard.Read(p)
	if err != nil {
		return nil, err
	}
	return replyPlaceholders(ctx, r)
}

func replyPlaceholders(ctx context.Context, r Reader) ([]Placeholder, error) {
	var all []Placeholder
	for _, name := range ReplyPlaceholders() {
		all = append(all, Placeholder{Name: name})
	}
	for _, kind := range []struct {
		of     FieldKind
		prefix string
	}{{FieldOfConversation, "fields."}, {FieldOfCustomer, "customer.fields."}} {
		fields, err := fieldsOf(ctx, r, kind.of)
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			all = append(all, Placeholder{Name: kind.prefix + f.Key, Field: f})
		}
	}
	return all, nil
}

// fieldPlaces adds the values of the fields of a conversation and its customer that a body has placeholders for.
func fieldPlaces(ctx context.Context, r Reader, body string, c Conversation, values map[string]string) error {
	for _, of := range []struct {
		kind   FieldKind
		prefix string
		id     int64
	}{{FieldOfConversation, "fields.", c.ID}, {FieldOfCustomer, "customer.fields.", c.CustomerID}} {
		if !strings.Contains(body, of.prefix) {
			continue
		}
		set, err := readFields(ctx, r, of.kind, []int64{of.id})
		if err != nil {
			return err
		}
		for _, f := range set.Fields {
			values[of.prefix+f.Key] = strings.Join(f.Shown(set.Values[of.id][f.Key]), ", ")
		}
	}
	return nil
}

var placeholderPattern = regexp.MustCompile(`\{\{([^{}]*)\}\}`)

// filled replaces the placeholders of a body by values, as text. The result must be sanitized again, since a value may be
// inside a URL.
func filled(body string, values map[string]string) string {
	escaped := make(map[string]string, len(values))
	for name, value := range values {
		escaped[name] = html.EscapeString(value)
	}
	return mailhtml.FromInput(replaced(body, escaped))
}

// replaced replaces the placeholders of a text by values. Unknown ones stay as they are.
func replaced(text string, values map[string]string) string {
	return placeholderPattern.ReplaceAllStringFunc(text, func(place string) string {
		if value, known := values[strings.TrimSpace(strings.Trim(place, "{}"))]; known {
			return value
		}
		return place
	})
}

// apply validates in and copies it into r.
func (r *SavedReply) apply(d *desk, in SavedReplyInput, places []Placeholder, fields []Field) error {
	var problems fault.Collector
	if in.Actions.IsSet() {
		r.Actions = d.checkMacro(&problems, in.Actions.Or(nil), fields)
	}
	r.Name = plain.Line(in.Name)
	r.Key = tagKey(r.Name)
	required(&problems, "name", r.Name, 100)
	fits := problems.Check(len(in.Body) <= maxSavedReply, "body", "is larger than 64 KiB")
	if problems.Check(len(in.Text) <= maxSavedReply, "text", "is larger than 64 KiB") && fits {
		r.Body = d.bodyOf(&problems, fieldOf(""), in.Body, in.Text)
		problems.Check(!blank(r.Body) || len(r.Actions) > 0, "body", "is required")
	}
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = p.Name
	}
	checkPlaceholders(&problems, "body", r.Body, names)
	if shared, given := in.Shared.Get(); given && shared {
		r.UserID = 0
	} else if given || r.ID == 0 {
		r.UserID = d.userID
	}
	return problems.Err()
}

// mayWriteReply checks the permission to change saved replies: interactions.create for the caller's own; shared ones have
// the permissions of views.
func (d *desk) mayWriteReply(shared bool, p identity.Permission) error {
	if !shared {
		return nil
	}
	_, err := d.guard.Write(p)
	return err
}

// ownOrShared returns a saved reply if it is the caller's own or shared.
func (d *desk) ownOrShared(r SavedReply, err error) (SavedReply, error) {
	if err == nil && r.UserID != 0 && r.UserID != d.userID {
		err = fault.Missing("saved reply", r.ID)
	}
	if err != nil {
		return SavedReply{}, err
	}
	return r, nil
}

// Get returns a saved reply, the caller's own or a shared one. It needs interactions.view.
func (d SavedReplies) Get(ctx context.Context, id int64) (SavedReply, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return SavedReply{}, err
	}
	return d.ownOrShared(savedReplyNoun().Reader(r).Get(ctx, id))
}

// List lists the caller's own saved replies and the shared ones, oldest first, whose names begin with a prefix,
// ignoring case. It needs interactions.view.
func (d SavedReplies) List(ctx context.Context, prefix string, req storage.PageRequest) (storage.Page[SavedReply], error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return storage.Page[SavedReply]{}, err
	}
	filter := SavedReplyFilter{UserIDs: []int64{0, d.userID}, Prefix: tagKey(plain.Cut(plain.Line(prefix), 100))}
	return storage.List(req, false, func(s SavedReply) storage.Position { return storage.Position{ID: s.ID} },
		func(seek storage.Seek) ([]SavedReply, error) {
			return savedReplyNoun().Reader(r).List(ctx, filter, seek)
		})
}

// Create creates a saved reply. It needs interactions.create, and views.create for a shared one. A name that
// another reply of the same owner has is an Invalid fault on name.
func (d SavedReplies) Create(ctx context.Context, in SavedReplyInput) (SavedReply, error) {
	begin, err := d.guard.Write(identity.InteractionsCreate)
	if err != nil {
		return SavedReply{}, err
	}
	if err := d.mayWriteReply(in.Shared.Or(false), identity.ViewsCreate); err != nil {
		return SavedReply{}, err
	}
	now := d.svc.now()
	var r SavedReply
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		r = SavedReply{CreatedAt: now, UpdatedAt: now}
		if err := d.settleReply(ctx, tx, &r, in); err != nil {
			return err
		}
		if err := savedReplyNoun().Rows(tx).Insert(ctx, &r); err != nil {
			return err
		}
		return d.emitReply(ctx, tx, "saved_reply.created", r)
	})
	return r, takenField(err, UniqueSavedReply, "name")
}

// Update changes a saved reply, including whether it is shared. It needs interactions.create, and views.update if
// it is or becomes shared; members limited to some mailboxes cannot change a shared one (Forbidden).
func (d SavedReplies) Update(ctx context.Context, id int64, in SavedReplyInput) (SavedReply, error) {
	begin, err := d.guard.Write(identity.InteractionsCreate)
	if err != nil {
		return SavedReply{}, err
	}
	var r SavedReply
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if r, err = d.changeableReply(ctx, tx, id, in.Shared.Or(false), identity.ViewsUpdate); err != nil {
			return err
		}
		if err := d.settleReply(ctx, tx, &r, in); err != nil {
			return err
		}
		r.UpdatedAt = d.svc.now()
		if err := savedReplyNoun().Rows(tx).Update(ctx, &r); err != nil {
			return err
		}
		return d.emitReply(ctx, tx, "saved_reply.updated", r)
	})
	return r, takenField(err, UniqueSavedReply, "name")
}

// settleReply applies an input to a saved reply and checks what its actions name.
func (d *desk) settleReply(ctx context.Context, tx Tx, r *SavedReply, in SavedReplyInput) error {
	places, err := replyPlaceholders(ctx, tx.Reader())
	if err != nil {
		return err
	}
	fields, err := allFields(ctx, tx.Reader())
	if err != nil {
		return err
	}
	former := Rule{Actions: r.Actions}
	if err := r.apply(d, in, places, fields); err != nil {
		return err
	}
	return d.findRuleReferences(ctx, tx, Rule{Actions: r.Actions}, former)
}

// changeableReply locks a saved reply that the caller may change; p is the permission if it is or becomes shared.
func (d *desk) changeableReply(ctx context.Context, tx Tx, id int64, shared bool, p identity.Permission) (SavedReply, error) {
	r, err := d.ownOrShared(savedReplyNoun().Rows(tx).Lock(ctx, id))
	if err == nil {
		err = d.mayChangeReply(r, shared, p)
	}
	return r, err
}

// mayChangeReply checks the permission to change a saved reply that the caller sees.
func (d *desk) mayChangeReply(r SavedReply, shared bool, p identity.Permission) error {
	if err := d.mayWriteReply(shared || r.UserID == 0, p); err != nil || r.UserID != 0 {
		return err
	}
	return d.reachesAll()
}

// Delete removes a saved reply with its files. It needs interactions.create, and views.delete for a shared one,
// which members limited to some mailboxes cannot delete (Forbidden).
func (d SavedReplies) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.InteractionsCreate)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		r, err := d.changeableReply(ctx, tx, id, false, identity.ViewsDelete)
		if err != nil {
			return err
		}
		if err := removeReply(ctx, tx, d.scope.AccountID, id); err != nil {
			return err
		}
		return d.emitReply(ctx, tx, "saved_reply.deleted", r)
	})
}

// removeReply removes a saved reply with its files.
func removeReply(ctx context.Context, tx Tx, accountID, id int64) error {
	keys, err := replyFileKeys(ctx, tx.Reader(), id)
	if err != nil {
		return err
	}
	if err := savedReplyNoun().Rows(tx).Delete(ctx, id); err != nil {
		return err
	}
	return tx.Enqueue(ctx, purgeKeys(accountID, keys)...)
}

// emitReply emits an event for a shared reply; the caller's own are private.
func (d *desk) emitReply(ctx context.Context, tx Tx, kind string, r SavedReply) error {
	if r.UserID != 0 {
		return nil
	}
	return d.emit(ctx, tx, kind, r.ID, 0)
}

// Fill returns the body of a saved reply with placeholders filled in for the caller's reply in a conversation:
// sanitized HTML, whatever the customer's name. It needs interactions.view.
func (d SavedReplies) Fill(ctx context.Context, conversationID, replyID int64) (string, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return "", err
	}
	return d.fillReply(ctx, r, conversationID, replyID, "")
}

// fillReply fills in a saved reply. With signs, that name is the agent's, and not the member's.
func (d *desk) fillReply(ctx context.Context, r Reader, conversationID, replyID int64, signs string) (string, error) {
	c, err := r.Conversations().Get(ctx, conversationID)
	if err != nil {
		return "", err
	}
	reply, err := d.ownOrShared(savedReplyNoun().Reader(r).Get(ctx, replyID))
	if err != nil {
		return "", err
	}
	customer, err := r.Customer(ctx, c.CustomerID)
	if err != nil {
		return "", err
	}
	users, err := r.UsersByID(ctx, []int64{d.userID})
	if err != nil {
		return "", err
	}
	values := map[string]string{
		"customer.first_name": customer.FirstName, "customer.name": customer.Name(), "agent.name": "",
		"conversation.number": strconv.FormatInt(c.Number, 10), "conversation.subject": c.Subject,
	}
	for _, u := range users {
		values["agent.name"] = u.Name
	}
	values["agent.name"] = cmp.Or(signs, values["agent.name"])
	if err := fieldPlaces(ctx, r, reply.Body, c, values); err != nil {
		return "", err
	}
	return filled(reply.Body, values), nil
}

// forgetReplies removes a former member's saved replies.
func forgetReplies(ctx context.Context, tx Tx, accountID, userID int64) error {
	own, err := savedReplyNoun().Rows(tx).List(ctx, SavedReplyFilter{UserIDs: []int64{userID}}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	for _, r := range own {
		if err := removeReply(ctx, tx, accountID, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// savedReplyNoun declares the rows of saved replies.
func savedReplyNoun() storage.Declared[SavedReply, SavedReplyFilter] {
	return storage.Declared[SavedReply, SavedReplyFilter]{
		Noun: storage.Noun[SavedReply]{
			Name: "saved reply",
			ID:   func(t *SavedReply) *int64 { return &t.ID },
			Unique: []storage.Unique[SavedReply]{
				{Code: UniqueSavedReply, Index: "key", Fields: func(t *SavedReply) []any { return []any{&t.UserID, &t.Key} }},
			},
		},
		Key: "saved_reply", Plural: "saved_replies",
		Columns: []storage.Column[SavedReply]{
			{Name: "user_id", Field: func(t *SavedReply) any { return &t.UserID }, Refers: "user"},
			{Name: "name", Field: func(t *SavedReply) any { return &t.Name }},
			{Name: "name_key", Field: func(t *SavedReply) any { return &t.Key }},
			{Name: "body", Field: func(t *SavedReply) any { return &t.Body }},
			{Name: "actions", Field: func(t *SavedReply) any { return storage.Objects(&t.Actions, actionParts) }},
			{Name: "created_at", Field: func(t *SavedReply) any { return &t.CreatedAt }},
			{Name: "updated_at", Field: func(t *SavedReply) any { return &t.UpdatedAt }},
		},
		Names: (*SavedReply).EachID,
		Where: func(f SavedReplyFilter) []storage.Condition {
			if f.Sets != "" {
				return []storage.Condition{{Column: "actions", Contains: setsFieldJSON(f.Sets)}}
			}
			where := []storage.Condition{storage.OneOf("user_id", f.UserIDs)}
			if f.Prefix != "" {
				where = append(where, storage.Condition{Column: "name_key", Prefix: f.Prefix})
			}
			return where
		},
	}
}
