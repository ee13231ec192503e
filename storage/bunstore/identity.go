package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk/identity"
)

type identityRow struct {
	bun.BaseModel `bun:"table:hw_user_identities,alias:hw_user_identities"`
	ID            int64 `bun:",pk,autoincrement"`
	UserID        int64
	Issuer        string
	Subject       string
	Email         string
	CreatedAt     int64
	UsedAt        int64
}

func (r *identityRow) identity() identity.Identity {
	return identity.Identity{
		ID: r.ID, UserID: r.UserID, Issuer: r.Issuer, Subject: r.Subject, Email: r.Email, CreatedAt: timeOf(r.CreatedAt), UsedAt: timeOf(r.UsedAt),
	}
}

func identityRowOf(i *identity.Identity) identityRow {
	return identityRow{
		ID: i.ID, UserID: i.UserID, Issuer: i.Issuer, Subject: i.Subject, Email: i.Email, CreatedAt: micros(i.CreatedAt), UsedAt: micros(i.UsedAt),
	}
}

// IdentityBySubject implements [identity.SignOnDirectory].
func (d directory) IdentityBySubject(ctx context.Context, issuer, subject string) (identity.Identity, error) {
	var row identityRow
	q := d.selects(&row).Err(checkText(issuer)).Err(checkText(subject)).Where("issuer = ?", issuer).Where("subject = ?", subject)
	if err := one(ctx, q, "identity", 0); err != nil {
		return identity.Identity{}, err
	}
	return row.identity(), nil
}

// IdentitiesOf implements [identity.SignOnDirectory].
func (d directory) IdentitiesOf(ctx context.Context, userID int64) ([]identity.Identity, error) {
	var rows []identityRow
	err := d.selects(&rows).Where("user_id = ?", userID).OrderExpr("id").Scan(ctx)
	return mapped(rows, (*identityRow).identity), failure(ctx, err, "identity", 0)
}

// InsertIdentity implements [identity.SignOnWriter].
func (t systemTx) InsertIdentity(ctx context.Context, i *identity.Identity) error {
	row := identityRowOf(i)
	row.ID = 0
	if _, err := t.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "identity", 0)
	}
	i.ID = row.ID
	return nil
}

// UpdateIdentity implements [identity.SignOnWriter].
func (t systemTx) UpdateIdentity(ctx context.Context, i *identity.Identity) error {
	row := identityRowOf(i)
	res, err := t.updates(&row).Column("email", "used_at").Where("id = ?", i.ID).Where("user_id = ?", i.UserID).Exec(ctx)
	return changed(ctx, res, err, "identity", i.ID)
}

// DeleteIdentity implements [identity.SignOnWriter].
func (t systemTx) DeleteIdentity(ctx context.Context, userID, id int64) error {
	res, err := t.deletes((*identityRow)(nil)).Where("user_id = ?", userID).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, "identity", id)
}
