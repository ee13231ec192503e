package memstore

import (
	"bytes"
	"context"

	"github.com/helpwright/helpwright/helpdesk/identity"
)

func (d directory) PasskeyByCredential(ctx context.Context, credentialID []byte) (identity.Passkey, error) {
	return query(ctx, d.src, func(db *data) (identity.Passkey, error) {
		return db.passkeys.first(global, func(p *identity.Passkey) bool { return bytes.Equal(p.CredentialID, credentialID) })
	})
}

func (d directory) PasskeysOf(ctx context.Context, userID int64) ([]identity.Passkey, error) {
	return query(ctx, d.src, func(db *data) ([]identity.Passkey, error) {
		return db.passkeys.where(global, func(p *identity.Passkey) bool { return p.UserID == userID }), nil
	})
}

func (t systemTx) InsertPasskey(ctx context.Context, p *identity.Passkey) error {
	return change(ctx, t.open, func(db *data) error {
		if _, err := db.users.get(global, p.UserID); err != nil {
			return err
		}
		if db.passkeys.conflict(global, 0, func(o *identity.Passkey) bool { return bytes.Equal(o.CredentialID, p.CredentialID) }) {
			return unique(identity.UniquePasskey, "The passkey is registered already.")
		}
		return db.passkeys.insert(global, p, &p.ID)
	})
}

func (t systemTx) UpdatePasskey(ctx context.Context, p *identity.Passkey) error {
	return change(ctx, t.open, func(db *data) error {
		kept, err := db.passkeys.get(global, p.ID)
		if err != nil {
			return err
		}
		if kept.UserID != p.UserID {
			return db.passkeys.missing(p.ID)
		}
		changed := *kept
		changed.Name, changed.SignCount, changed.BackedUp, changed.ChallengeAt, changed.UsedAt = p.Name, p.SignCount, p.BackedUp, p.ChallengeAt, p.UsedAt
		return db.passkeys.update(global, p.ID, &changed)
	})
}

func (t systemTx) DeletePasskey(ctx context.Context, userID, id int64) error {
	return change(ctx, t.open, func(db *data) error {
		kept, err := db.passkeys.get(global, id)
		if err != nil {
			return err
		}
		if kept.UserID != userID {
			return db.passkeys.missing(id)
		}
		db.passkeys.set(global, id, nil)
		return nil
	})
}
