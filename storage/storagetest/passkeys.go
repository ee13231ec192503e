package storagetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

func (w *world) newPasskey(name string) helpdesk.Passkey {
	return helpdesk.Passkey{
		UserID: w.user.ID, Name: name, ChallengeAt: at(1), CreatedAt: base, UsedAt: at(3),
		PasskeyKey: helpdesk.PasskeyKey{
			CredentialID: []byte("\x00\xff" + name + w.mark), Handle: []byte{0, 255, 7}, PublicKey: []byte{165, 1, 0, 255}, SignCount: 1 << 31,
			BackupEligible: true, BackedUp: true, Transports: []string{"internal", "hybrid"},
		},
	}
}

// testPasskeys finds passkeys, and keeps them apart by credential and user.
func testPasskeys(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	system := func(fn func(ctx context.Context, tx helpdesk.SystemTx) error) error {
		return b.Store.InSystemTx(t.Context(), fn)
	}
	insert := func(p *helpdesk.Passkey) error {
		return system(func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertPasskey(ctx, p) })
	}
	list := func(want ...helpdesk.Passkey) {
		t.Helper()
		got, err := b.Store.PasskeysOf(t.Context(), w.user.ID)
		ok(t, err)
		same(t, "PasskeysOf", append([]helpdesk.Passkey{}, want...), got)
	}
	second := w.newPasskey("second")
	second.SignCount, second.BackupEligible, second.BackedUp, second.Transports, second.UsedAt = 0, false, false, nil, time.Time{}
	ok(t, insert(&second))
	list(w.passkey, second)
	for _, want := range []helpdesk.Passkey{w.passkey, second, other.passkey} {
		got, err := b.Store.PasskeyByCredential(t.Context(), want.CredentialID)
		ok(t, err)
		same(t, "PasskeyByCredential", want, got)
	}
	for _, id := range [][]byte{nil, {}, {0}, append([]byte{}, w.passkey.CredentialID[:5]...), []byte("SECOND" + w.mark)} {
		_, err := b.Store.PasskeyByCredential(t.Context(), id)
		fails(t, "an unknown credential", err, fault.NotFound)
	}
	taken := other.newPasskey("x")
	taken.CredentialID = w.passkey.CredentialID
	conflicts(t, "another's passkey", insert(&taken), helpdesk.UniquePasskey)
	nobodys := w.newPasskey("nobody")
	nobodys.UserID = nobody
	fails(t, "of nobody", insert(&nobodys), fault.NotFound)

	update := func(p helpdesk.Passkey) error {
		return system(func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.UpdatePasskey(ctx, &p) })
	}
	w.passkey.SignCount, w.passkey.BackedUp, w.passkey.ChallengeAt, w.passkey.UsedAt = 1<<31+1, false, at(8), at(9)
	changed := w.passkey
	changed.Name, changed.CredentialID, changed.PublicKey, changed.Handle, changed.CreatedAt = "ignored", []byte("i"), []byte("i"), []byte("i"), at(99)
	changed.BackupEligible, changed.Transports = false, nil
	ok(t, update(changed))
	list(w.passkey, second)
	changed.UserID = other.user.ID
	fails(t, "updating another's", update(changed), fault.NotFound)

	remove := func(user, id int64) error {
		return system(func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.DeletePasskey(ctx, user, id) })
	}
	fails(t, "deleting another's", remove(other.user.ID, second.ID), fault.NotFound)
	ok(t, remove(w.user.ID, second.ID))
	fails(t, "deleting again", remove(w.user.ID, second.ID), fault.NotFound)
	list(w.passkey)

	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Memberships().Delete(ctx, w.member.ID) })
	ok(t, system(func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.DeleteUser(ctx, w.user.ID) }))
	list()
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
		p := &helpdesk.Passkey{ID: g.any("Passkey"), UserID: g.any("User"), ChallengeAt: g.time(false), UsedAt: g.time(true)}
		p.SignCount, p.BackedUp = int64(g.IntN(9)), g.IntN(2) == 0
		return operation{method: "UpdatePasskey", args: []any{p}}
	}
	p := &helpdesk.Passkey{UserID: oneOf(g, g.pool["User"]), Name: g.text(), CreatedAt: base}
	p.CredentialID, p.Handle, p.PublicKey = fmt.Append(nil, "p", g.IntN(6)), []byte{1}, []byte{2}
	return operation{method: "InsertPasskey", args: []any{p}}
}
