package storagetest

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

func suppressionTests() []testCase {
	return []testCase{
		{"ByKey", testSuppressionsByKey},
		{"Traffic", testTraffic},
	}
}

func (w *world) newSuppression(local string) sending.Suppression {
	return sending.Suppression{Email: "G." + w.address(local), Key: w.address(local), Reason: sending.SuppressedBounce,
		Detail: "550 5.1.1 <é> unknown " + w.mark, UserID: nobody, InteractionID: nobody, CreatedAt: base}
}

func testSuppressionsByKey(t *testing.T, b Backend) {
	w := newWorld(t, b)
	first, second := w.newSuppression("a"), w.newSuppression("b")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().Suppressions.Rows(tx).Insert(ctx, &first, &second)
	})
	for what, test := range map[string]struct {
		keys []string
		want []sending.Suppression
	}{
		"two of them": {[]string{second.Key, "nobody", w.suppression.Key}, []sending.Suppression{w.suppression, second}},
	} {
		got, err := helpdesk.Nouns().Suppressions.Reader(w.in()).List(t.Context(), sending.SuppressionFilter{Keys: test.keys}, all())
		ok(t, err)
		same(t, what, test.want, got)
	}
}

func testTraffic(t *testing.T, b Backend) {
	w := newWorld(t, b)
	email, key, idle := w.customer.Emails[0].ID, w.address("busy"), w.address("idle")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n := range 4 {
			i := w.newQuestion(w.conversation)
			i.CreatedAt = at(n)
			ok(t, tx.Interactions().Insert(ctx, &i))
		}
		var sent []sending.Delivery
		for n, state := range []sending.State{sending.Sent, sending.Queued, sending.Bounced, sending.Failed, sending.Delivered} {
			d := w.newDelivery(w.answer)
			d.AddressKey, d.State, d.UpdatedAt = key, state, at(n)
			sent = append(sent, d)
		}
		return tx.Deliveries().Insert(ctx, storage.Pointers(sent)...)
	})
	for _, test := range []struct {
		since                time.Time
		limit, received, out int
	}{{base, 100, 5, 3}, {at(1), 100, 3, 2}, {at(1), 2, 2, 2}, {at(3).Add(time.Microsecond), 100, 0, 1}, {at(5), 100, 0, 0}, {base, 0, 0, 3}} {
		received, err := w.in().Received(t.Context(), email, test.since, test.limit)
		ok(t, err)
		sent, err := w.in().SentTo(t.Context(), []string{idle, key}, test.since)
		ok(t, err)
		want := map[string]int{key: test.out}
		if test.out == 0 {
			want = map[string]int{}
		}
		if received != test.received || !maps.Equal(sent, want) {
			t.Errorf("since %v, at most %d: received %d, sent %v; want %d and %v", test.since, test.limit, received, sent, test.received, want)
		}
	}
	for _, keys := range [][]string{nil, {idle}} {
		if sent, err := w.in().SentTo(t.Context(), keys, base); err != nil || len(sent) > 0 {
			t.Errorf("sent to %v: %v, %v", keys, sent, err)
		}
	}
}

func suppressionReads() map[string]readProbe {
	type r = helpdesk.Reader
	return map[string]readProbe{
		"Received": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			n, err := r.Received(ctx, v.customer.Emails[0].ID, base, 10)
			return nonZero(n, v), err
		}},
		"SentTo": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			sent, err := r.SentTo(ctx, []string{v.delivery.AddressKey}, base)
			return nonZero(sent[v.delivery.AddressKey], v), err
		}},
	}
}

func (g *generator) readSuppression(seen content, seek storage.Seek) operation {
	old := oneOf(g, seen.Suppressions)
	return oneOf(g, []operation{
		{method: "Suppressions.Get", args: []any{g.either("Suppression", old.ID)}},
		{method: "Suppressions.List", args: []any{sending.SuppressionFilter{}, ordered{g.from(seek, "Suppression"), "Suppression"}}},
		{method: "Suppressions.List", args: []any{sending.SuppressionFilter{Keys: []string{old.Key, g.participant()}}, ordered{g.from(seek, "Suppression"), "Suppression"}}},
	})
}

func (g *generator) readTraffic(seen content) operation {
	email := oneOf(g, oneOf(g, seen.Customers).Emails)
	return oneOf(g, []operation{
		{method: "Received", args: []any{g.either("CustomerEmail", email.ID), g.time(false), g.IntN(4)}},
		{method: "SentTo", args: []any{[]string{g.participant(), g.participant()}, g.time(false)}},
	})
}

func (g *generator) writeSuppression(seen content) operation {
	old := oneOf(g, seen.Suppressions)
	if g.IntN(4) == 0 {
		return operation{method: "Suppressions.Delete", args: []any{g.either("Suppression", old.ID)}}
	}
	s := sending.Suppression{Email: g.text(), Key: g.participant(), Reason: sending.SuppressedManual, Detail: g.text(), UserID: g.pool["User"][0], CreatedAt: g.time(false)}
	return operation{method: "Suppressions.Insert", args: []any{[]*sending.Suppression{&s}}, clash: true}
}
