package helpdesk

import (
	"context"
	"html"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// SavedReply is a reusable text for replies.
type SavedReply struct {
	ID        int64
	UserID    int64 // owner, who alone sees it; 0: shared by all members
	Name      string
	Key       string // case-folded Name; unique among a user's, and among the shared ones
	Body      string // sanitized HTML with placeholders such as {{customer.first_name}}
	CreatedAt time.Time
	UpdatedAt time.Time
}

// UniqueSavedReply is the code of a store's Conflict fault for a duplicate (account, UserID, Key).
const UniqueSavedReply = "saved_reply"

// SavedReplyFilter narrows a list of saved replies.
type SavedReplyFilter struct {
	UserIDs []int64 // owned by any of these users, 0 for shared ones; empty: none
	Prefix  string  // prefix of Key
}

// SavedReplyInput creates or changes a saved reply.
type SavedReplyInput struct {
	Name string // required, at most 100 characters
	// Body is HTML or text, at most 64 KiB; required. It may contain only the placeholders in [ReplyPlaceholders].
	Body string
	// Shared is whether all members see it, otherwise only the caller. Absent: a new one is not, another stays as it is.
	Shared storage.Opt[bool]
}

// maxSavedReply is the maximum size of a body.
const maxSavedReply = 64 << 10

// ReplyPlaceholders lists the placeholders allowed in a saved reply's body, between double braces.
func ReplyPlaceholders() []string {
	return []string{"customer.first_name", "customer.name", "agent.name", "conversation.number", "conversation.subject"}
}

var placeholderPattern = regexp.MustCompile(`\{\{([^{}]*)\}\}`)

// filled replaces the placeholders of a body by values, as text. The result must be sanitized again, since a value may be
// inside a URL.
func filled(body string, values map[string]string) string {
	return mailhtml.FromInput(placeholderPattern.ReplaceAllStringFunc(body, func(place string) string {
		value, known := values[strings.TrimSpace(strings.Trim(place, "{}"))]
		if !known {
			return place
		}
		return html.EscapeString(value)
	}))
}

// apply validates in and copies it into r.
func (r *SavedReply) apply(d *Desk, in SavedReplyInput) error {
	var problems fault.Collector
	r.Name = plain.Line(in.Name)
	r.Key = tagKey(r.Name)
	required(&problems, "name", r.Name, 100)
	if problems.Check(len(in.Body) <= maxSavedReply, "body", "is larger than 64 KiB") {
		r.Body = d.cleanBody(&problems, "body", in.Body)
		problems.Check(!blank(r.Body), "body", "is required")
	}
	checkPlaceholders(&problems, "body", r.Body, ReplyPlaceholders())
	if shared, given := in.Shared.Get(); given && shared {
		r.UserID = 0
	} else if given || r.ID == 0 {
		r.UserID = d.userID
	}
	return problems.Err()
}

// mayWriteReply checks the permission to change saved replies: interactions.create for the caller's own; shared ones have
// the permissions of views.
func (d *Desk) mayWriteReply(shared bool, p identity.Permission) error {
	if !shared {
		return nil
	}
	_, err := d.guard.Write(p)
	return err
}

// ownOrShared returns a saved reply if it is the caller's own or shared.
func (d *Desk) ownOrShared(r SavedReply, err error) (SavedReply, error) {
	if err == nil && r.UserID != 0 && r.UserID != d.userID {
		err = fault.Missing("saved reply", r.ID)
	}
	if err != nil {
		return SavedReply{}, err
	}
	return r, nil
}

// SavedReply returns a saved reply, the caller's own or a shared one. It needs interactions.view.
func (d *Desk) SavedReply(ctx context.Context, id int64) (SavedReply, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return SavedReply{}, err
	}
	return d.ownOrShared(r.SavedReplies().Get(ctx, id))
}

// SavedReplies lists the caller's own saved replies and the shared ones, oldest first, whose names begin with a prefix,
// ignoring case. It needs interactions.view.
func (d *Desk) SavedReplies(ctx context.Context, prefix string, req storage.PageRequest) (storage.Page[SavedReply], error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return storage.Page[SavedReply]{}, err
	}
	filter := SavedReplyFilter{UserIDs: []int64{0, d.userID}, Prefix: tagKey(plain.Cut(plain.Line(prefix), 100))}
	return storage.List(req, false, func(s SavedReply) storage.Position { return storage.Position{ID: s.ID} },
		func(seek storage.Seek) ([]SavedReply, error) { return r.SavedReplies().List(ctx, filter, seek) })
}

// CreateSavedReply creates a saved reply. It needs interactions.create, and views.create for a shared one. A name that
// another reply of the same owner has is an Invalid fault on name.
func (d *Desk) CreateSavedReply(ctx context.Context, in SavedReplyInput) (SavedReply, error) {
	begin, err := d.guard.Write(identity.InteractionsCreate)
	if err != nil {
		return SavedReply{}, err
	}
	if err := d.mayWriteReply(in.Shared.Or(false), identity.ViewsCreate); err != nil {
		return SavedReply{}, err
	}
	now := d.svc.now()
	r := SavedReply{CreatedAt: now, UpdatedAt: now}
	if err := r.apply(d, in); err != nil {
		return SavedReply{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.SavedReplies().Insert(ctx, &r); err != nil {
			return err
		}
		return d.emitReply(ctx, tx, "saved_reply.created", r)
	})
	return r, takenField(err, UniqueSavedReply, "name")
}

// UpdateSavedReply changes a saved reply, including whether it is shared. It needs interactions.create, and views.update if
// it is or becomes shared; members limited to some mailboxes cannot change a shared one (Forbidden).
func (d *Desk) UpdateSavedReply(ctx context.Context, id int64, in SavedReplyInput) (SavedReply, error) {
	begin, err := d.guard.Write(identity.InteractionsCreate)
	if err != nil {
		return SavedReply{}, err
	}
	var r SavedReply
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if r, err = d.changeableReply(ctx, tx, id, in.Shared.Or(false), identity.ViewsUpdate); err != nil {
			return err
		}
		if err := r.apply(d, in); err != nil {
			return err
		}
		r.UpdatedAt = d.svc.now()
		if err := tx.SavedReplies().Update(ctx, &r); err != nil {
			return err
		}
		return d.emitReply(ctx, tx, "saved_reply.updated", r)
	})
	return r, takenField(err, UniqueSavedReply, "name")
}

// changeableReply locks a saved reply that the caller may change; p is the permission if it is or becomes shared.
func (d *Desk) changeableReply(ctx context.Context, tx Tx, id int64, shared bool, p identity.Permission) (SavedReply, error) {
	r, err := d.ownOrShared(tx.SavedReplies().Lock(ctx, id))
	if err == nil {
		err = d.mayChangeReply(r, shared, p)
	}
	return r, err
}

// mayChangeReply checks the permission to change a saved reply that the caller sees.
func (d *Desk) mayChangeReply(r SavedReply, shared bool, p identity.Permission) error {
	if err := d.mayWriteReply(shared || r.UserID == 0, p); err != nil || r.UserID != 0 {
		return err
	}
	return d.reachesAll()
}

// DeleteSavedReply removes a saved reply with its files. It needs interactions.create, and views.delete for a shared one,
// which members limited to some mailboxes cannot delete (Forbidden).
func (d *Desk) DeleteSavedReply(ctx context.Context, id int64) error {
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
	if err := tx.SavedReplies().Delete(ctx, id); err != nil {
		return err
	}
	return tx.Enqueue(ctx, purgeKeys(accountID, keys)...)
}

// emitReply emits an event for a shared reply; the caller's own are private.
func (d *Desk) emitReply(ctx context.Context, tx Tx, kind string, r SavedReply) error {
	if r.UserID != 0 {
		return nil
	}
	return d.emit(ctx, tx, kind, r.ID, 0)
}

// FillReply returns the body of a saved reply with placeholders filled in for the caller's reply in a conversation:
// sanitized HTML, whatever the customer's name. It needs interactions.view.
func (d *Desk) FillReply(ctx context.Context, conversationID, replyID int64) (string, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return "", err
	}
	c, err := r.Conversations().Get(ctx, conversationID)
	if err != nil {
		return "", err
	}
	reply, err := d.ownOrShared(r.SavedReplies().Get(ctx, replyID))
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
	return filled(reply.Body, values), nil
}

// forgetReplies removes a former member's saved replies.
func forgetReplies(ctx context.Context, tx Tx, accountID, userID int64) error {
	own, err := tx.SavedReplies().List(ctx, SavedReplyFilter{UserIDs: []int64{userID}}, storage.Seek{Limit: storage.NoLimit})
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
func savedReplyNoun() storage.Noun[SavedReply] {
	return storage.Noun[SavedReply]{
		Name: "saved reply",
		ID:   func(r *SavedReply) *int64 { return &r.ID },
		Unique: []storage.Unique[SavedReply]{
			{Code: UniqueSavedReply, Fields: func(r *SavedReply) []any { return []any{&r.UserID, &r.Key} }},
		},
	}
}
