package memstore

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk/identity"
)

func (d directory) IdentityBySubject(ctx context.Context, issuer, subject string) (identity.Identity, error) {
	return query(ctx, d.src, func(db *data) (identity.Identity, error) {
		return db.identities.first(global, func(i *identity.Identity) bool { return i.Issuer == issuer && i.Subject == subject })
	})
}

func (d directory) IdentitiesOf(ctx context.Context, userID int64) ([]identity.Identity, error) {
	return query(ctx, d.src, func(db *data) ([]identity.Identity, error) {
		return db.identities.where(global, func(i *identity.Identity) bool { return i.UserID == userID }), nil
	})
}

func (t systemTx) InsertIdentity(ctx context.Context, i *identity.Identity) error {
	return change(ctx, t.open, func(db *data) error {
		if _, err := db.users.get(global, i.UserID); err != nil {
			return err
		}
		if db.identities.conflict(global, 0, func(o *identity.Identity) bool { return o.Issuer == i.Issuer && o.Subject == i.Subject }) {
			return unique(identity.UniqueUserIdentity, "Another user has this identity.")
		}
		return db.identities.insert(global, i, &i.ID)
	})
}

func (t systemTx) UpdateIdentity(ctx context.Context, i *identity.Identity) error {
	return change(ctx, t.open, func(db *data) error {
		kept, err := db.identities.get(global, i.ID)
		if err != nil {
			return err
		}
		if kept.UserID != i.UserID {
			return db.identities.missing(i.ID)
		}
		changed := *kept
		changed.Email, changed.UsedAt = i.Email, i.UsedAt
		return db.identities.update(global, i.ID, &changed)
	})
}

func (t systemTx) DeleteIdentity(ctx context.Context, userID, id int64) error {
	return change(ctx, t.open, func(db *data) error {
		kept, err := db.identities.get(global, id)
		if err != nil {
			return err
		}
		if kept.UserID != userID {
			return db.identities.missing(id)
		}
		db.identities.set(global, id, nil)
		return nil
	})
}
