package helpdesk

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// explain returns the response of deliveries to the address.
func explainSuppression(s sending.Suppression) string {
	text := "Not sent: the address is on the list of suppressions, put there by a member."
	if s.Reason == sending.SuppressedBounce {
		text = "Not sent: the address is on the list of suppressions, as a mail to it came back."
	}
	if s.Detail != "" {
		text += " (" + s.Detail + ")"
	}
	return text
}

// Suppression returns one suppression. It needs customers.view.
func (d *Desk) Suppression(ctx context.Context, id int64) (sending.Suppression, error) {
	r, err := d.guard.Read(identity.CustomersView)
	if err != nil {
		return sending.Suppression{}, err
	}
	return r.Suppressions().Get(ctx, id)
}

// Suppressions lists the suppressed addresses, newest first. It needs customers.view.
func (d *Desk) Suppressions(ctx context.Context, req storage.PageRequest) (storage.Page[sending.Suppression], error) {
	r, err := d.guard.Read(identity.CustomersView)
	if err != nil {
		return storage.Page[sending.Suppression]{}, err
	}
	return storage.List(req, true, func(s sending.Suppression) storage.Position { return storage.Position{ID: s.ID} },
		func(seek storage.Seek) ([]sending.Suppression, error) {
			return r.Suppressions().List(ctx, storage.NoFilter{}, seek)
		})
}

// Suppress stops mail to an address. It needs customers.update. An address that is already suppressed is an Invalid fault on
// email.
func (d *Desk) Suppress(ctx context.Context, in sending.SuppressionInput) (sending.Suppression, error) {
	begin, err := d.guard.Write(identity.CustomersUpdate)
	if err != nil {
		return sending.Suppression{}, err
	}
	if err := d.reachesAll(); err != nil {
		return sending.Suppression{}, err
	}
	var problems fault.Collector
	s := sending.Suppression{Email: plain.Line(in.Email), Detail: plain.Line(in.Detail), Reason: sending.SuppressedManual, UserID: d.userID, CreatedAt: d.svc.now()}
	if problems.Check(s.Email != "", "email", "is required") {
		problems.Check(mailaddr.Valid(s.Email), "email", "is not an email address")
	}
	bounded(&problems, "detail", s.Detail, 500)
	if err := problems.Err(); err != nil {
		return sending.Suppression{}, err
	}
	s.Key = mailaddr.Key(s.Email)
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.Suppressions().Insert(ctx, &s); err != nil {
			return err
		}
		return d.emit(ctx, tx, "suppression.created", s.ID, 0)
	})
	return s, takenField(err, sending.UniqueSuppression, "email")
}

// LiftSuppression allows mail to an address again. [Desk.RetryDeliveries] sends what failed in the meantime. It needs
// customers.update.
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
