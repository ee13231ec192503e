package helpdesk

import (
	"context"
	"encoding/json"

	"github.com/helpwright/helpwright/storage"
)

// Desk is a member at work in one account. It reaches the mailboxes of the
// membership only, in every method.
type Desk struct {
	svc          *Service
	guard        deskGuard
	scope        Scope
	userID       int64
	membershipID int64
	permissions  permissionSet
}

// AccountID is the account that the desk is open for.
func (d *Desk) AccountID() int64 { return d.scope.AccountID }

// UserID is the member at work.
func (d *Desk) UserID() int64 { return d.userID }

// Holds reports whether the member has a permission.
func (d *Desk) Holds(p Permission) bool { return d.guard.Allows(p) }

// Permissions lists what the member holds, sorted.
func (d *Desk) Permissions() []Permission { return d.permissions.sorted() }

// emit appends an event about a resource to the account's log.
func (d *Desk) emit(ctx context.Context, tx Tx, kind string, subject, mailboxID int64) error {
	return tx.Emit(ctx, d.event(kind, subject, mailboxID))
}

func (d *Desk) event(kind string, subject, mailboxID int64) storage.Event {
	return storage.Event{
		Type: kind, Subject: subject, MailboxID: mailboxID, ActorID: d.userID, Data: eventData(subject), Time: d.svc.now(),
	}
}

// eventData is thin on purpose: readers fetch the resource with their own rights.
func eventData(id int64) []byte {
	data, _ := json.Marshal(map[string]int64{"id": id}) // a map of integers always encodes
	return data
}
