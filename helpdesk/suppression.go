package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// SuppressionReason is the reason why no mail is sent to an address.
type SuppressionReason string

// The reasons of suppressions. More may be added.
const (
	SuppressedBounce SuppressionReason = "bounce" // a message bounced: the address does not exist
	SuppressedManual SuppressionReason = "manual" // suppressed by a member
)

// Suppression is an address that no mail is sent to: its deliveries fail at once, as
// [DeliverySuppressed], until the suppression is lifted.
type Suppression struct {
	ID            int64
	Email         string
	Key           string // EmailKey; unique in the account
	Reason        SuppressionReason
	Detail        string // the bounce's or the member's explanation; at most 500 characters
	UserID        int64  // who suppressed it; 0: a bounce
	InteractionID int64  // that bounced, may no longer exist; 0: none
	CreatedAt     time.Time
}

// explain returns the response of deliveries to the address.
func explainSuppression(s Suppression) string {
	text := "Not sent: the address is on the list of suppressions, put there by a member."
	if s.Reason == SuppressedBounce {
		text = "Not sent: the address is on the list of suppressions, as a mail to it came back."
	}
	if s.Detail != "" {
		text += " (" + s.Detail + ")"
	}
	return text
}

// SuppressionInput is a new suppression.
type SuppressionInput struct {
	Email  string // required
	Detail string // at most 500 characters
}

// Suppression returns one suppression. It needs customers.view.
func (d *Desk) Suppression(ctx context.Context, id int64) (Suppression, error) {
	r, err := d.guard.Read(identity.CustomersView)
	if err != nil {
		return Suppression{}, err
	}
	return r.Suppressions().Get(ctx, id)
}

// Suppressions lists the suppressed addresses, newest first. It needs customers.view.
func (d *Desk) Suppressions(ctx context.Context, req storage.PageRequest) (storage.Page[Suppression], error) {
	r, err := d.guard.Read(identity.CustomersView)
	if err != nil {
		return storage.Page[Suppression]{}, err
	}
	return storage.List(req, true, func(s Suppression) storage.Position { return storage.Position{ID: s.ID} },
		func(seek storage.Seek) ([]Suppression, error) {
			return r.Suppressions().List(ctx, storage.NoFilter{}, seek)
		})
}

// Suppress stops mail to an address. It needs customers.update. An address that is already
// suppressed is an Invalid fault on email.
func (d *Desk) Suppress(ctx context.Context, in SuppressionInput) (Suppression, error) {
	begin, err := d.guard.Write(identity.CustomersUpdate)
	if err != nil {
		return Suppression{}, err
	}
	if err := d.reachesAll(); err != nil {
		return Suppression{}, err
	}
	var problems fault.Collector
	s := Suppression{Email: plain.Line(in.Email), Detail: plain.Line(in.Detail), Reason: SuppressedManual, UserID: d.userID, CreatedAt: d.svc.now()}
	if problems.Check(s.Email != "", "email", "is required") {
		problems.Check(mailaddr.Valid(s.Email), "email", "is not an email address")
	}
	bounded(&problems, "detail", s.Detail, 500)
	if err := problems.Err(); err != nil {
		return Suppression{}, err
	}
	s.Key = mailaddr.Key(s.Email)
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.Suppressions().Insert(ctx, &s); err != nil {
			return err
		}
		return d.emit(ctx, tx, "suppression.created", s.ID, 0)
	})
	return s, takenField(err, UniqueSuppression, "email")
}

// LiftSuppression allows mail to an address again. [Desk.RetryDeliveries] sends what failed in the
// meantime. It needs customers.update.
func (d *Desk) LiftSuppression(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.CustomersUpdate)
	if err != nil {
		return err
	}
	if err := d.reachesAll(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.Suppressions().Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "suppression.deleted", id, 0)
	})
}
