package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// SuppressionReason says why an address gets no mail.
type SuppressionReason string

// The reasons of suppressions. More may be added.
const (
	SuppressedBounce SuppressionReason = "bounce" // a mail came back: there is no such address
	SuppressedManual SuppressionReason = "manual" // a member wanted it
)

// Suppression is an address that gets no mail: sending to it fails at once, with
// [DeliverySuppressed], until the suppression is lifted.
type Suppression struct {
	ID            int64
	Email         string
	Key           string // EmailKey; unique in the account
	Reason        SuppressionReason
	Detail        string // what the bounce said, or the member; at most 500 characters
	UserID        int64  // who suppressed it; 0: a bounce did
	InteractionID int64  // that bounced, which may be gone; 0: none
	CreatedAt     time.Time
}

// explain is the response of deliveries to the address.
func (s Suppression) explain() string {
	text := "Not sent: the address is on the list of suppressions, put there by a member."
	if s.Reason == SuppressedBounce {
		text = "Not sent: the address is on the list of suppressions, as a mail to it came back."
	}
	if s.Detail != "" {
		text += " (" + s.Detail + ")"
	}
	return text
}

// SuppressionInput suppresses an address.
type SuppressionInput struct {
	Email  string // required
	Detail string // at most 500 characters
}

// Suppression returns one suppression. It needs customers.view.
func (d *Desk) Suppression(ctx context.Context, id int64) (Suppression, error) {
	r, err := d.guard.Read(CustomersView)
	if err != nil {
		return Suppression{}, err
	}
	return r.Suppressions().Get(ctx, id)
}

// Suppressions lists the addresses that get no mail, newest first. It needs
// customers.view.
func (d *Desk) Suppressions(ctx context.Context, req storage.PageRequest) (storage.Page[Suppression], error) {
	r, err := d.guard.Read(CustomersView)
	if err != nil {
		return storage.Page[Suppression]{}, err
	}
	return storage.List(req, true, func(s Suppression) storage.Position { return storage.Position{ID: s.ID} },
		func(seek storage.Seek) ([]Suppression, error) {
			return r.Suppressions().List(ctx, storage.NoFilter{}, seek)
		})
}

// Suppress makes an address get no mail. It needs customers.update. One that is
// suppressed already is an Invalid fault on email.
func (d *Desk) Suppress(ctx context.Context, in SuppressionInput) (Suppression, error) {
	begin, err := d.guard.Write(CustomersUpdate)
	if err != nil {
		return Suppression{}, err
	}
	if err := d.reachesAll(); err != nil {
		return Suppression{}, err
	}
	var problems fault.Collector
	s := Suppression{Email: cleanLine(in.Email), Detail: cleanLine(in.Detail), Reason: SuppressedManual, UserID: d.userID, CreatedAt: d.svc.now()}
	if problems.Check(s.Email != "", "email", "is required") {
		problems.Check(ValidEmail(s.Email), "email", "is no mail address")
	}
	bounded(&problems, "detail", s.Detail, 500)
	if err := problems.Err(); err != nil {
		return Suppression{}, err
	}
	s.Key = EmailKey(s.Email)
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.Suppressions().Insert(ctx, &s); err != nil {
			return err
		}
		return d.emit(ctx, tx, "suppression.created", s.ID, 0)
	})
	return s, takenField(err, UniqueSuppression, "email")
}

// LiftSuppression lets an address get mail again. What failed for it meanwhile is
// sent by [Desk.RetryDeliveries]. It needs customers.update.
func (d *Desk) LiftSuppression(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(CustomersUpdate)
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
