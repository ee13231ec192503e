package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk/identity"
)

type passkeyRow struct {
	bun.BaseModel  `bun:"table:hw_passkeys,alias:hw_passkeys"`
	ID             int64 `bun:",pk,autoincrement"`
	UserID         int64
	Name           string
	CredentialID   []byte
	Handle         []byte
	PublicKey      []byte
	SignCount      int64
	BackupEligible bool
	BackedUp       bool
	Transports     items[string]
	ChallengeAt    int64
	CreatedAt      int64
	UsedAt         int64
}

func (r *passkeyRow) passkey() identity.Passkey {
	return identity.Passkey{
		ID: r.ID, UserID: r.UserID, Name: r.Name,
		PasskeyKey: identity.PasskeyKey{
			CredentialID: r.CredentialID, Handle: r.Handle, PublicKey: r.PublicKey, SignCount: r.SignCount,
			BackupEligible: r.BackupEligible, BackedUp: r.BackedUp, Transports: r.Transports,
		},
		ChallengeAt: timeOf(r.ChallengeAt), CreatedAt: timeOf(r.CreatedAt), UsedAt: timeOf(r.UsedAt),
	}
}

func passkeyRowOf(p *identity.Passkey) passkeyRow {
	return passkeyRow{
		ID: p.ID, UserID: p.UserID, Name: p.Name, CredentialID: p.CredentialID, Handle: p.Handle, PublicKey: p.PublicKey, SignCount: p.SignCount,
		BackupEligible: p.BackupEligible, BackedUp: p.BackedUp, Transports: p.Transports,
		ChallengeAt: micros(p.ChallengeAt), CreatedAt: micros(p.CreatedAt), UsedAt: micros(p.UsedAt),
	}
}

// PasskeyByCredential implements [identity.PasskeyDirectory].
func (d directory) PasskeyByCredential(ctx context.Context, credentialID []byte) (identity.Passkey, error) {
	var row passkeyRow
	if err := one(ctx, d.selects(&row).Where("credential_id = ?", credentialID), "passkey", 0); err != nil {
		return identity.Passkey{}, err
	}
	return row.passkey(), nil
}

// PasskeysOf implements [identity.PasskeyDirectory].
func (d directory) PasskeysOf(ctx context.Context, userID int64) ([]identity.Passkey, error) {
	var rows []passkeyRow
	err := d.selects(&rows).Where("user_id = ?", userID).OrderExpr("id").Scan(ctx)
	return mapped(rows, (*passkeyRow).passkey), failure(ctx, err, "passkey", 0)
}

// InsertPasskey implements [identity.PasskeyWriter].
func (t systemTx) InsertPasskey(ctx context.Context, p *identity.Passkey) error {
	row := passkeyRowOf(p)
	row.ID = 0
	if _, err := t.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "passkey", 0)
	}
	p.ID = row.ID
	return nil
}

// UpdatePasskey implements [identity.PasskeyWriter].
func (t systemTx) UpdatePasskey(ctx context.Context, p *identity.Passkey) error {
	row := passkeyRowOf(p)
	res, err := t.updates(&row).Column("name", "sign_count", "backed_up", "challenge_at", "used_at").Where("id = ?", p.ID).Where("user_id = ?", p.UserID).Exec(ctx)
	return changed(ctx, res, err, "passkey", p.ID)
}

// DeletePasskey implements [identity.PasskeyWriter].
func (t systemTx) DeletePasskey(ctx context.Context, userID, id int64) error {
	res, err := t.deletes((*passkeyRow)(nil)).Where("user_id = ?", userID).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, "passkey", id)
}
