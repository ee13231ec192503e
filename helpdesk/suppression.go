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
	text := "Not sent: the address is suppressed. A member added it."
	if s.Reason == sending.SuppressedBounce {
		text = "Not sent: the address is suppressed because a mail to it bounced."
	}
	if s.Detail != "" {
		text += " (" + s.Detail + ")"
	}
	return text
}

// Suppressions are the addresses that get no mail.
type Suppressions struct{ *desk }

// Suppressions returns the handle of the addresses that get no mail.
func (d *Desk) Suppressions() Suppressions { return Suppressions{&d.desk} }

// Get returns one suppression. It needs customers.view.
func (d Suppressions) Get(ctx context.Context, id int64) (sending.Suppression, error) {
	r, err := d.guard.Read(identity.CustomersView)
	if err != nil {
		return sending.Suppression{}, err
	}
	return suppressionNoun().Reader(r).Get(ctx, id)
}

// List lists the suppressed addresses, newest first. It needs customers.view.
func (d Suppressions) List(ctx context.Context, req storage.PageRequest) (storage.Page[sending.Suppression], error) {
	r, err := d.guard.Read(identity.CustomersView)
	if err != nil {
		return storage.Page[sending.Suppression]{}, err
	}
	return storage.List(req, true, func(s sending.Suppression) storage.Position { return storage.Position{ID: s.ID} },
		func(seek storage.Seek) ([]sending.Suppression, error) {
			return suppressionNoun().Reader(r).List(ctx, sending.SuppressionFilter{}, seek)
		})
}

// Add stops mail to an address. It needs customers.update. An address that is already suppressed is an Invalid fault on
// email.
func (d Suppressions) Add(ctx context.Context, in sending.SuppressionInput) (sending.Suppression, error) {
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
		if err := suppressionNoun().Rows(tx).Insert(ctx, &s); err != nil {
			return err
		}
		return d.emit(ctx, tx, "suppression.created", s.ID, 0)
	})
	return s, takenField(err, sending.UniqueSuppression, "email")
}

// Lift allows mail to an address again. [Interactions.RetryDeliveries] sends what failed in the meantime. It needs
// customers.update.
func (d Suppressions) Lift(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.CustomersUpdate)
	if err != nil {
		return err
	}
	if err := d.reachesAll(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := suppressionNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "suppression.deleted", id, 0)
	})
}

func suppressionNoun() storage.Declared[sending.Suppression, sending.SuppressionFilter] {
	return storage.Declared[sending.Suppression, sending.SuppressionFilter]{
		Noun: storage.Noun[sending.Suppression]{
			Name: "suppression",
			ID:   func(t *sending.Suppression) *int64 { return &t.ID },
			Unique: []storage.Unique[sending.Suppression]{
				{Code: sending.UniqueSuppression, Index: "email", Fields: func(t *sending.Suppression) []any { return []any{&t.Key} }},
			},
		},
		Key: "suppression", Plural: "suppressions",
		Columns: []storage.Column[sending.Suppression]{
			{Name: "email", Field: func(t *sending.Suppression) any { return &t.Email }},
			{Name: "email_key", Field: func(t *sending.Suppression) any { return &t.Key }},
			{Name: "reason", Field: func(t *sending.Suppression) any { return (*string)(&t.Reason) }},
			{Name: "detail", Field: func(t *sending.Suppression) any { return &t.Detail }},
			{Name: "user_id", Field: func(t *sending.Suppression) any { return &t.UserID }, Refers: "user"},
			{Name: "interaction_id", Field: func(t *sending.Suppression) any { return &t.InteractionID }, Refers: "interaction", Loose: true},
			{Name: "created_at", Field: func(t *sending.Suppression) any { return &t.CreatedAt }},
		},
		Where: func(f sending.SuppressionFilter) []storage.Condition { return storage.AnyOf("email_key", f.Keys) },
	}
}

// suppressionsOf returns the suppressions of addresses, given by mailaddr.Key.
func suppressionsOf(ctx context.Context, rows storage.RowReader[sending.Suppression, sending.SuppressionFilter], keys []string) ([]sending.Suppression, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return rows.List(ctx, sending.SuppressionFilter{Keys: keys}, storage.Seek{Limit: storage.NoLimit})
}
