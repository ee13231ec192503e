package storagetest

import (
	"context"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func pgpKeyTests() []testCase {
	return []testCase{
		{"Key", testPGPKey},
		{"OfAddresses", testPGPKeysOfAddresses},
		{"Unique", testUniquePGPKey},
		{"References", testPGPKeyReferences},
		{"GoesWithItsAddress", testPGPKeyGoesWithItsAddress},
	}
}

func (w *world) newPGPKey(fingerprint string) helpdesk.PGPKey {
	return helpdesk.PGPKey{CustomerEmailID: w.customer.Emails[0].ID, Name: "Grace <grace@" + w.mark + ">", Fingerprint: fingerprint,
		Content: []byte("\x00\xffkey"), ExpiresAt: at(1000), CreatedAt: base, UpdatedAt: at(1)}
}

func testPGPKey(t *testing.T, b Backend) {
	w := newWorld(t, b)
	k := w.newPGPKey("B2")
	k.ExpiresAt = helpdesk.PGPKey{}.ExpiresAt // never
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertPGPKey(ctx, &k) })
	one(t, "key", k, w.in().PGPKey, k.ID)
	k.Name, k.UpdatedAt = "Other", at(7)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdatePGPKey(ctx, &k) })
	one(t, "changed key", k, w.in().PGPKey, k.ID)
	one(t, "other key", w.pgpKey, w.in().PGPKey, w.pgpKey.ID)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeletePGPKey(ctx, k.ID) })
	for what, fn := range map[string]txFunc{
		"deleting again": func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeletePGPKey(ctx, k.ID) },
		"updating":       func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdatePGPKey(ctx, &k) },
	} {
		fails(t, what+" a deleted key", w.try(t, fn), fault.NotFound)
	}
}

func testPGPKeysOfAddresses(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second := w.newPGPKey("B2")
	second.CustomerEmailID = w.customer.Emails[1].ID
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertPGPKey(ctx, &second) })
	one, two := w.customer.Emails[0], w.customer.Emails[1]
	list := func(seek storage.Seek, emails ...int64) []helpdesk.PGPKey {
		got, err := w.in().PGPKeys(t.Context(), emails, seek)
		ok(t, err)
		return got
	}
	same(t, "keys of an address", []helpdesk.PGPKey{second}, list(all(), two.ID))
	same(t, "keys of two", []helpdesk.PGPKey{w.pgpKey, second}, list(all(), two.ID, one.ID, nobody, one.ID))
	same(t, "keys of none", []helpdesk.PGPKey{}, list(all()))
	same(t, "first page", []helpdesk.PGPKey{w.pgpKey}, list(storage.Seek{Limit: 1}, one.ID, two.ID))
	from := &storage.Position{ID: w.pgpKey.ID}
	same(t, "second page", []helpdesk.PGPKey{second}, list(storage.Seek{Limit: 1, From: from}, one.ID, two.ID))
	byAddress := func(keys ...string) []helpdesk.KeyOfAddress {
		got, err := w.in().PGPKeysByAddress(t.Context(), keys)
		ok(t, err)
		return got
	}
	ofOne, ofTwo := helpdesk.KeyOfAddress{PGPKey: w.pgpKey, EmailKey: one.Key}, helpdesk.KeyOfAddress{PGPKey: second, EmailKey: two.Key}
	same(t, "keys by an address", []helpdesk.KeyOfAddress{ofTwo}, byAddress(two.Key, "nobody@example.com"))
	same(t, "keys by two", []helpdesk.KeyOfAddress{ofOne, ofTwo}, byAddress(two.Key, one.Key, one.Key))
	same(t, "keys by none", []helpdesk.KeyOfAddress{}, byAddress())
	same(t, "keys by what is written, not the key", []helpdesk.KeyOfAddress{}, byAddress(one.Email))
}

func testUniquePGPKey(t *testing.T, b Backend) {
	w := newWorld(t, b)
	insert := func(change func(*helpdesk.PGPKey)) error {
		k := w.newPGPKey(w.pgpKey.Fingerprint)
		change(&k)
		return w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertPGPKey(ctx, &k) })
	}
	conflicts(t, "a key again", insert(func(*helpdesk.PGPKey) {}), helpdesk.UniquePGPKey)
	ok(t, insert(func(k *helpdesk.PGPKey) { k.CustomerEmailID = w.customer.Emails[1].ID }))
	ok(t, insert(func(k *helpdesk.PGPKey) { k.Fingerprint = "B2" }))
}

func testPGPKeyReferences(t *testing.T, b Backend) {
	w, victim := newWorld(t, b), newWorld(t, b)
	for what, email := range map[string]int64{"no": 0, "an absent": nobody, "another account's": victim.customer.Emails[0].ID} {
		k := w.newPGPKey("B2")
		k.CustomerEmailID = email
		err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertPGPKey(ctx, &k) })
		fails(t, "a key of "+what+" address", err, fault.NotFound)
		k.ID = w.pgpKey.ID
		err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdatePGPKey(ctx, &k) })
		fails(t, "giving a key to "+what+" address", err, fault.NotFound)
	}
}

func testPGPKeyGoesWithItsAddress(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second := w.newPGPKey("B2")
	second.CustomerEmailID = w.customer.Emails[1].ID
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertPGPKey(ctx, &second) })
	c := w.customer
	c.Emails = c.Emails[1:]
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateCustomer(ctx, &c) })
	_, err := w.in().PGPKey(t.Context(), w.pgpKey.ID)
	fails(t, "key of a removed address", err, fault.NotFound)
	one(t, "key of the address that stayed", second, w.in().PGPKey, second.ID)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := tx.DeleteConversations(ctx, []int64{w.conversation.ID}); err != nil {
			return err
		}
		return tx.DeleteCustomer(ctx, w.customer.ID)
	})
	_, err = w.in().PGPKey(t.Context(), second.ID)
	fails(t, "key of a deleted customer", err, fault.NotFound)
}

func pgpKeyReads() map[string]readProbe {
	type r = helpdesk.Reader
	return map[string]readProbe{
		"PGPKey": {ofAccount, true, func(ctx context.Context, r r, v *world) (any, error) { return answer(r.PGPKey(ctx, v.pgpKey.ID)) }},
		"PGPKeys": {ofAccount, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.PGPKeys(ctx, []int64{v.pgpKey.CustomerEmailID}, all()))
		}},
		"PGPKeysByAddress": {ofAccount, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.PGPKeysByAddress(ctx, []string{v.customer.Emails[0].Key}))
		}},
	}
}

func pgpKeyWrites() map[string]writeProbe {
	type tx = helpdesk.Tx
	return map[string]writeProbe{
		"InsertPGPKey": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error {
			k := v.newPGPKey("THIEF")
			return tx.InsertPGPKey(ctx, &k)
		}},
		"UpdatePGPKey": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error {
			k := v.pgpKey
			k.Name = "stolen"
			return tx.UpdatePGPKey(ctx, &k)
		}},
		"DeletePGPKey": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error { return tx.DeletePGPKey(ctx, v.pgpKey.ID) }},
	}
}

func emailID(e helpdesk.CustomerEmail) int64 { return e.ID }

func (g *generator) writePGPKey(seen content) operation {
	old := oneOf(g, seen.PGPKeys)
	if g.IntN(5) == 0 {
		return operation{method: "DeletePGPKey", args: []any{g.either("PGPKey", old.ID)}}
	}
	k := helpdesk.PGPKey{CustomerEmailID: g.either("CustomerEmail", oneOf(g, oneOf(g, seen.Customers).Emails).ID).n,
		Name: g.text(), Fingerprint: oneOf(g, []string{"A", "B"}), ExpiresAt: g.time(true), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
	if g.IntN(2) == 0 {
		return operation{method: "InsertPGPKey", args: []any{&k}, clash: true}
	}
	k.ID = g.either("PGPKey", old.ID).n
	return operation{method: "UpdatePGPKey", args: []any{&k}, clash: true}
}
