package storagetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
)

func (w *world) newPasskey(name string) identity.Passkey {
	return identity.Passkey{
		UserID: w.user.ID, Name: name, ChallengeAt: at(1), CreatedAt: base, UsedAt: at(3),
		PasskeyKey: identity.PasskeyKey{
			CredentialID: []byte("\x00\xff" + name + w.mark), Handle: []byte{0, 255, 7}, PublicKey: []byte{165, 1, 0, 255}, SignCount: 1 << 31,
			BackupEligible: true, BackedUp: true, Transports: []string{"internal", "hybrid"},
		},
	}
}

// testPasskeys finds passkeys, and keeps them apart by credential and user.
func testPasskeys(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	second, alike := w.newPasskey("second"), other.newPasskey("x")
	second.SignCount, second.BackupEligible, second.BackedUp, second.Transports, second.UsedAt = 0, false, false, nil, time.Time{}
	alike.CredentialID = w.passkey.CredentialID
	var unknown []identity.Passkey
	for _, id := range [][]byte{nil, {}, {0}, append([]byte{}, w.passkey.CredentialID[:5]...), []byte("SECOND" + w.mark)} {
		unknown = append(unknown, identity.Passkey{PasskeyKey: identity.PasskeyKey{CredentialID: id}})
	}
	credentials[identity.Passkey]{
		noun: "passkey", of: helpdesk.Store.PasskeysOf, insert: helpdesk.SystemTx.InsertPasskey, update: helpdesk.SystemTx.UpdatePasskey,
		remove: helpdesk.SystemTx.DeletePasskey, ids: func(p *identity.Passkey) (id, userID *int64) { return &p.ID, &p.UserID },
		find: func(ctx context.Context, p identity.Passkey) (identity.Passkey, error) {
			return b.Store.PasskeyByCredential(ctx, p.CredentialID)
		},
		first: w.passkey, others: other.passkey, second: second, unknown: unknown, alike: alike, unique: identity.UniquePasskey,
		moved: func(p *identity.Passkey) {
			p.Name, p.SignCount, p.BackedUp, p.ChallengeAt, p.UsedAt = "renamed", 1<<31+1, false, at(8), at(9)
		},
		ignored: func(p *identity.Passkey) {
			p.CredentialID, p.PublicKey, p.Handle, p.CreatedAt = []byte("i"), []byte("i"), []byte("i"), at(99)
			p.BackupEligible, p.Transports = false, nil
		},
	}.test(t, b, w)
}

func (g *generator) passkeyDirectory() operation {
	if g.IntN(2) == 0 {
		return operation{method: "PasskeyByCredential", args: []any{fmt.Append(nil, "p", g.IntN(7))}}
	}
	return operation{method: "PasskeysOf", args: []any{one64("User", g.any("User"))}}
}

func (g *generator) passkeySystem() operation {
	switch g.IntN(3) {
	case 0:
		return operation{method: "DeletePasskey", args: []any{one64("User", g.any("User")), one64("Passkey", g.any("Passkey"))}}
	case 1:
		p := &identity.Passkey{ID: g.any("Passkey"), UserID: g.any("User"), Name: g.text(), ChallengeAt: g.time(false), UsedAt: g.time(true)}
		p.SignCount, p.BackedUp = int64(g.IntN(9)), g.IntN(2) == 0
		return operation{method: "UpdatePasskey", args: []any{p}}
	}
	p := &identity.Passkey{UserID: oneOf(g, g.pool["User"]), Name: g.text(), CreatedAt: base}
	p.CredentialID, p.Handle, p.PublicKey = fmt.Append(nil, "p", g.IntN(6)), []byte{1}, []byte{2}
	return operation{method: "InsertPasskey", args: []any{p}}
}
