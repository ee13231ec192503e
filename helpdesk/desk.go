package helpdesk

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// Desk is a member at work in one account. Its handles, such as [Desk.Conversations], have the operations, one handle for each
// kind of resource. All of them are limited to the mailboxes of the membership.
type Desk struct{ desk }

// desk is what the handles of a [Desk] share.
type desk struct {
	svc          *Service
	guard        deskGuard
	scope        Scope
	userID       int64
	caller       Caller
	membershipID int64
	permissions  identity.Set
	lagging      bool
}

// Lagging returns a copy of the desk whose Conversations, Customers and Counts, with their searches, may be up to one second
// old: a store with a replica answers them from there, which relieves its primary. Changes made through the same Store are
// always in them. All other methods read the current state. Stores without replicas have no difference. By default a desk
// does not lag.
func (d *Desk) Lagging() *Desk {
	lagging := *d
	lagging.lagging = true
	return &lagging
}

// lists returns the reader for lists, in place of the one that the guard gave.
func (d *desk) lists(r Reader) Reader {
	if !d.lagging {
		return r
	}
	scope := d.scope
	scope.MayLag = true
	return d.svc.cfg.Store.Within(scope)
}

// AccountID returns the account that the desk is open for.
func (d *Desk) AccountID() int64 { return d.scope.AccountID }

// UserID returns the member's user.
func (d *Desk) UserID() int64 { return d.userID }

// Scope returns the desk's account and the mailboxes that the membership allows.
func (d *Desk) Scope() Scope {
	return Scope{AccountID: d.scope.AccountID, Mailboxes: slices.Clone(d.scope.Mailboxes)}
}

// Holds reports whether the member has a permission.
func (d *Desk) Holds(p identity.Permission) bool { return d.guard.Allows(p) }

// Permissions lists the member's permissions, sorted.
func (d *Desk) Permissions() []identity.Permission { return d.permissions.Sorted() }

// emit appends an event about a resource to the account's log.
func (d *desk) emit(ctx context.Context, tx Tx, kind string, subject, mailboxID int64) error {
	return tx.Emit(ctx, d.event(kind, subject, mailboxID))
}

// emitIn is emit for a resource in a conversation.
func (d *desk) emitIn(ctx context.Context, tx Tx, kind string, subject int64, c Conversation) error {
	e := d.event(kind, subject, c.MailboxID)
	e.ConversationID = c.ID
	return tx.Emit(ctx, e)
}

func (d *desk) event(kind string, subject, mailboxID int64) storage.Event {
	e := storage.Event{
		Type: kind, Subject: subject, MailboxID: mailboxID, ActorID: d.userID, Data: eventData(subject), Time: d.svc.now(),
	}
	if areaOf(kind) == "conversation" {
		e.ConversationID = subject
	}
	return e
}

// becauseOf is the data of an event about a conversation that an interaction caused.
func becauseOf(e storage.Event, interactionID int64) storage.Event {
	e.Data, _ = json.Marshal(map[string]int64{"id": e.Subject, "interaction_id": interactionID}) // a map of integers always encodes
	return e
}

// eventData returns only the resource's id. Readers fetch the resource with their own permissions.
func eventData(id int64) []byte {
	data, _ := json.Marshal(map[string]int64{"id": id}) // a map of integers always encodes
	return data
}
