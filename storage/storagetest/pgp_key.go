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
		{"OfAddresses", testPGPKeysOfAddresses},
		{"References", testPGPKeyReferences},
		{"GoesWithItsAddress", testPGPKeyGoesWithItsAddress},
	}
}

func (w *world) newPGPKey(fingerprint string) helpdesk.PGPKey {
	return helpdesk.PGPKey{CustomerEmailID: w.customer.Emails[0].ID, Name: "Grace <grace@" + w.mark + ">", Fingerprint: fingerprint,
		Content: []byte("\x00\xffkey"), ExpiresAt: at(1000), CreatedAt: base, UpdatedAt: at(1)}
}

func testPGPKeysOfAddresses(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second := w.newPGPKey("B2")
	second.CustomerEmailID = w.customer.Emails[1].ID
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().PGPKeys.Rows(tx).Insert(ctx, &second)
	})
	one, two := w.customer.Emails[0], w.customer.Emails[1]
	list := func(seek storage.Seek, emails ...int64) []helpdesk.PGPKey {
		got, err := helpdesk.Nouns().PGPKeys.Reader(w.in()).List(t.Context(), helpdesk.PGPKeyFilter{CustomerEmailIDs: emails}, seek)
		ok(t, err)
		return got
	}
	same(t, "keys of an address", []helpdesk.PGPKey{second}, list(all(), two.ID))
	same(t, "keys of two", []helpdesk.PGPKey{w.pgpKey, second}, list(all(), two.ID, one.ID, nobody, one.ID))
	same(t, "keys of none", []helpdesk.PGPKey{}, list(all()))
	same(t, "first page", []helpdesk.PGPKey{w.pgpKey}, list(storage.Seek{Limit: 1}, one.ID, two.ID))
	from := &storage.Position{ID: w.pgpKey.ID}
	same(t, "second page", []helpdesk.PGPKey{second}, list(storage.Seek{Limit: 1, From: from}, one.ID, two.ID))
	byKey := func(keys ...string) []helpdesk.CustomerEmail {
		got, err := w.in().EmailsByKey(t.Context(), keys)
		ok(t, err)
		return got
	}
	same(t, "addresses by a key", []helpdesk.CustomerEmail{two}, byKey(two.Key, "nobody@example.com"))
	same(t, "addresses by two", []helpdesk.CustomerEmail{one, two}, byKey(two.Key, one.Key, one.Key))
	same(t, "addresses by none", []helpdesk.CustomerEmail{}, byKey())
	same(t, "addresses by what is written, not the key", []helpdesk.CustomerEmail{}, byKey(one.Email))
}

func testPGPKeyReferences(t *testing.T, b Backend) {
	w, victim := newWorld(t, b), newWorld(t, b)
	for what, email := range map[string]int64{"no": 0, "an absent": nobody, "another account's": victim.customer.Emails[0].ID} {
		k := w.newPGPKey("B2")
		k.CustomerEmailID = email
		err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
			return helpdesk.Nouns().PGPKeys.Rows(tx).Insert(ctx, &k)
		})
		fails(t, "a key of "+what+" address", err, fault.NotFound)
		k.ID = w.pgpKey.ID
		err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
			return helpdesk.Nouns().PGPKeys.Rows(tx).Update(ctx, &k)
		})
		fails(t, "giving a key to "+what+" address", err, fault.NotFound)
	}
}

func testPGPKeyGoesWithItsAddress(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second := w.newPGPKey("B2")
	second.CustomerEmailID = w.customer.Emails[1].ID
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().PGPKeys.Rows(tx).Insert(ctx, &second)
	})
	c := w.customer
	c.Emails = c.Emails[1:]
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateCustomer(ctx, &c) })
	_, err := helpdesk.Nouns().PGPKeys.Reader(w.in()).Get(t.Context(), w.pgpKey.ID)
	fails(t, "key of a removed address", err, fault.NotFound)
	one(t, "key of the address that stayed", second, helpdesk.Nouns().PGPKeys.Reader(w.in()).Get, second.ID)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := tx.DeleteConversations(ctx, []int64{w.conversation.ID}); err != nil {
			return err
		}
		return tx.DeleteCustomer(ctx, w.customer.ID)
	})
	_, err = helpdesk.Nouns().PGPKeys.Reader(w.in()).Get(t.Context(), second.ID)
	fails(t, "key of a deleted customer", err, fault.NotFound)
}

func emailID(e helpdesk.CustomerEmail) int64 { return e.ID }

func (g *generator) writePGPKey(seen content) operation {
	old := oneOf(g, seen.PGPKeys)
	if g.IntN(5) == 0 {
		return operation{method: "PGPKeys.Delete", args: []any{g.either("PGPKey", old.ID)}}
	}
	k := helpdesk.PGPKey{CustomerEmailID: g.either("CustomerEmail", oneOf(g, oneOf(g, seen.Customers).Emails).ID).n,
		Name: g.text(), Fingerprint: oneOf(g, []string{"A", "B"}), ExpiresAt: g.time(true), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
	if g.IntN(2) == 0 {
		return operation{method: "PGPKeys.Insert", args: []any{[]*helpdesk.PGPKey{&k}}, clash: true}
	}
	k.ID = g.either("PGPKey", old.ID).n
	return operation{method: "PGPKeys.Update", args: []any{[]*helpdesk.PGPKey{&k}}, clash: true}
}
