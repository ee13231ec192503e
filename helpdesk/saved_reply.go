package helpdesk

import (
	"context"
	"html"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// SavedReply is a text that is answered with again and again.
type SavedReply struct {
	ID        int64
	UserID    int64 // whose it is, who alone sees it; 0: shared by all members
	Name      string
	Key       string // Name with its case folded; unique among a user's, and among those that are shared
	Body      string // HTML that is safe to show, with placeholders such as {{customer.first_name}}
	CreatedAt time.Time
	UpdatedAt time.Time
}

// UniqueSavedReply is the code of the Conflict fault of a store for a second saved reply
// with the same (account, UserID, Key).
const UniqueSavedReply = "saved_reply"

// SavedReplyFilter narrows a list of saved replies.
type SavedReplyFilter struct {
	UserIDs []int64 // of any of these users, 0 for those that are shared; empty: none
	Prefix  string  // what their Key begins with
}

// SavedReplyInput makes or changes a saved reply.
type SavedReplyInput struct {
	Name string // required, at most 100 characters
	// Body is HTML or text, at most 64 KiB; required. It may have the placeholders that
	// [ReplyPlaceholders] lists, and no others.
	Body   string
	Shared bool // all members see it; otherwise the caller alone
}

// maxSavedReply is how large a body may be.
const maxSavedReply = 64 << 10

// ReplyPlaceholders lists what stands for something in the body of a saved reply,
// between double braces.
func ReplyPlaceholders() []string {
	return []string{"customer.first_name", "customer.name", "agent.name", "conversation.number", "conversation.subject"}
}

var placeholderPattern = regexp.MustCompile(`\{\{([^{}]*)\}\}`)

// filled puts values into the places of a body, as text. What it becomes is cleaned
// again: a value may stand in an address.
func filled(body string, values map[string]string) string {
	return mailhtml.FromInput(placeholderPattern.ReplaceAllStringFunc(body, func(place string) string {
		value, known := values[strings.TrimSpace(strings.Trim(place, "{}"))]
		if !known {
			return place
		}
		return html.EscapeString(value)
	}))
}

// apply validates in and puts it into r.
func (r *SavedReply) apply(d *Desk, in SavedReplyInput) error {
	var problems fault.Collector
	r.Name = cleanLine(in.Name)
	r.Key = tagKey(r.Name)
	required(&problems, "name", r.Name, 100)
	if problems.Check(len(in.Body) <= maxSavedReply, "body", "is larger than 64 KiB") {
		r.Body = d.cleanBody(&problems, "body", in.Body)
		problems.Check(!blank(r.Body), "body", "is required")
	}
	checkPlaceholders(&problems, "body", r.Body, ReplyPlaceholders())
	if r.UserID = d.userID; in.Shared {
		r.UserID = 0
	}
	return problems.Err()
}

// mayWriteReply is the right to change saved replies: one's own with interactions.create,
// those of all as views, which are shared like them.
func (d *Desk) mayWriteReply(shared bool, p Permission) error {
	if !shared {
		return nil
	}
	_, err := d.guard.Write(p)
	return err
}

// ownOrShared is what the caller sees of saved replies.
func (d *Desk) ownOrShared(r SavedReply, err error) (SavedReply, error) {
	if err == nil && r.UserID != 0 && r.UserID != d.userID {
		err = fault.Missing("saved reply", r.ID)
	}
	if err != nil {
		return SavedReply{}, err
	}
	return r, nil
}

// SavedReply returns a saved reply, the caller's own or a shared one. It needs
// interactions.view.
func (d *Desk) SavedReply(ctx context.Context, id int64) (SavedReply, error) {
	r, err := d.guard.Read(InteractionsView)
	if err != nil {
		return SavedReply{}, err
	}
	return d.ownOrShared(r.SavedReplies().Get(ctx, id))
}

// SavedReplies lists the caller's own saved replies and those that are shared, oldest
// first, of which the names begin with a prefix, whatever its case. It needs
// interactions.view.
func (d *Desk) SavedReplies(ctx context.Context, prefix string, req storage.PageRequest) (storage.Page[SavedReply], error) {
	r, err := d.guard.Read(InteractionsView)
	if err != nil {
		return storage.Page[SavedReply]{}, err
	}
	filter := SavedReplyFilter{UserIDs: []int64{0, d.userID}, Prefix: tagKey(cut(cleanLine(prefix), 100))}
	return storage.List(req, false, func(s SavedReply) storage.Position { return storage.Position{ID: s.ID} },
		func(seek storage.Seek) ([]SavedReply, error) { return r.SavedReplies().List(ctx, filter, seek) })
}

// CreateSavedReply saves a reply. It needs interactions.create, and views.create for one
// that is shared. A name that another of the same owner has is an Invalid fault on name.
func (d *Desk) CreateSavedReply(ctx context.Context, in SavedReplyInput) (SavedReply, error) {
	begin, err := d.guard.Write(InteractionsCreate)
	if err != nil {
		return SavedReply{}, err
	}
	if err := d.mayWriteReply(in.Shared, ViewsCreate); err != nil {
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

// UpdateSavedReply changes a saved reply, also whether it is shared. It needs
// interactions.create, and views.update for one that is or becomes shared, which members
// of some mailboxes cannot change (Forbidden).
func (d *Desk) UpdateSavedReply(ctx context.Context, id int64, in SavedReplyInput) (SavedReply, error) {
	begin, err := d.guard.Write(InteractionsCreate)
	if err != nil {
		return SavedReply{}, err
	}
	var r SavedReply
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if r, err = d.changeableReply(ctx, tx, id, in.Shared, ViewsUpdate); err != nil {
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

// changeableReply locks a saved reply that the caller may change, if it is or becomes
// shared with a permission.
func (d *Desk) changeableReply(ctx context.Context, tx Tx, id int64, shared bool, p Permission) (SavedReply, error) {
	r, err := d.ownOrShared(tx.SavedReplies().Lock(ctx, id))
	if err == nil {
		err = d.mayChangeReply(r, shared, p)
	}
	return r, err
}

// mayChangeReply is the right to change a saved reply that the caller sees.
func (d *Desk) mayChangeReply(r SavedReply, shared bool, p Permission) error {
	if err := d.mayWriteReply(shared || r.UserID == 0, p); err != nil || r.UserID != 0 {
		return err
	}
	return d.reachesAll()
}

// DeleteSavedReply removes a saved reply with its files. It needs interactions.create, and views.delete
// for one that is shared, which members of some mailboxes cannot delete (Forbidden).
func (d *Desk) DeleteSavedReply(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(InteractionsCreate)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		r, err := d.changeableReply(ctx, tx, id, false, ViewsDelete)
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

// emitReply tells members of what is shared; what is the caller's own is nobody's
// business.
func (d *Desk) emitReply(ctx context.Context, tx Tx, kind string, r SavedReply) error {
	if r.UserID != 0 {
		return nil
	}
	return d.emit(ctx, tx, kind, r.ID, 0)
}

// FillReply returns the body of a saved reply with its placeholders filled for an answer
// by the caller in a conversation: HTML that is safe to show, whatever the customer is
// called. It needs interactions.view.
func (d *Desk) FillReply(ctx context.Context, conversationID, replyID int64) (string, error) {
	r, err := d.guard.Read(InteractionsView)
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

// forgetReplies removes the saved replies of a user who is no member any more.
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
