package storagetest

import (
	"context"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func suppressionTests() []testCase {
	return []testCase{
		{"Suppression", testSuppression},
		{"Unique", testUniqueSuppression},
		{"Traffic", testTraffic},
	}
}

func (w *world) newSuppression(local string) helpdesk.Suppression {
	return helpdesk.Suppression{Email: "G." + w.address(local), Key: w.address(local), Reason: helpdesk.SuppressedBounce,
		Detail: "550 5.1.1 <é> unknown " + w.mark, UserID: nobody, InteractionID: nobody, CreatedAt: base}
}

func testSuppression(t *testing.T, b Backend) {
	w := newWorld(t, b)
	one(t, "suppression", w.suppression, w.in().Suppression, w.suppression.ID)
	var all []helpdesk.Suppression
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		all = []helpdesk.Suppression{w.suppression}
		for _, local := range []string{"c", "b", "a"} {
			s := w.newSuppression(local)
			s.UserID, s.InteractionID, s.Detail = 0, 0, ""
			ok(t, tx.InsertSuppression(ctx, &s))
			all = append(all, s)
		}
		return nil
	})
	for what, test := range map[string]struct {
		seek storage.Seek
		want []helpdesk.Suppression
	}{
		"first page":  {storage.Seek{Limit: 2}, all[:2]},
		"second page": {storage.Seek{Limit: 2, From: &storage.Position{ID: all[1].ID}}, all[2:]},
		"page before": {storage.Seek{Limit: 2, Desc: true, From: &storage.Position{ID: all[2].ID}}, []helpdesk.Suppression{all[1], all[0]}},
		"no page":     {storage.Seek{}, nil},
	} {
		got, err := w.in().Suppressions(t.Context(), test.seek)
		ok(t, err)
		same(t, what, test.want, got)
	}
	found, err := w.in().SuppressionsByKey(t.Context(), []string{all[3].Key, "nobody", all[0].Key})
	ok(t, err)
	same(t, "by key", []helpdesk.Suppression{all[0], all[3]}, found)
	found, err = w.in().SuppressionsByKey(t.Context(), nil)
	ok(t, err)
	same(t, "by no key", 0, len(found))
	remove := func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteSuppression(ctx, all[0].ID) }
	w.tx(t, remove)
	same(t, "left", all[1:], w.content(t).Suppressions)
	fails(t, "removing again", w.try(t, remove), fault.NotFound)
}

func testUniqueSuppression(t *testing.T, b Backend) {
	w, other := newWorld(t, b), newAccount(t, b)
	insert := func(ctx context.Context, tx helpdesk.Tx) error {
		again := w.suppression
		return tx.InsertSuppression(ctx, &again)
	}
	conflicts(t, "an address again", w.try(t, insert), helpdesk.UniqueSuppression)
	other.tx(t, insert)
}

func testTraffic(t *testing.T, b Backend) {
	w := newWorld(t, b)
	email, key := w.customer.Emails[0].ID, w.address("busy")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n := range 4 {
			i := w.newQuestion(w.conversation)
			i.CreatedAt = at(n)
			ok(t, tx.InsertInteraction(ctx, &i))
		}
		var sent []helpdesk.Delivery
		for n, state := range []helpdesk.DeliveryState{helpdesk.DeliverySent, helpdesk.DeliveryQueued, helpdesk.DeliveryBounced, helpdesk.DeliveryFailed, helpdesk.DeliverySent} {
			d := w.newDelivery(w.answer)
			d.AddressKey, d.State, d.UpdatedAt = key, state, at(n)
			sent = append(sent, d)
		}
		return tx.InsertDeliveries(ctx, sent)
	})
	for _, test := range []struct {
		since                time.Time
		limit, received, out int
	}{{base, 100, 5, 3}, {at(1), 100, 3, 2}, {at(1), 2, 2, 2}, {at(3).Add(time.Microsecond), 100, 0, 1}, {at(5), 100, 0, 0}, {base, 0, 0, 0}} {
		received, err := w.in().Received(t.Context(), email, test.since, test.limit)
		ok(t, err)
		sent, err := w.in().SentTo(t.Context(), key, test.since, test.limit)
		ok(t, err)
		if received != test.received || sent != test.out {
			t.Errorf("since %v, at most %d: received %d, sent %d; want %d and %d", test.since, test.limit, received, sent, test.received, test.out)
		}
	}
}

func suppressionReads() map[string]readProbe {
	type r = helpdesk.Reader
	return map[string]readProbe{
		"Suppression": {ofAccount, true, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.Suppression(ctx, v.suppression.ID))
		}},
		"Suppressions": {ofAccount, false, func(ctx context.Context, r r, _ *world) (any, error) { return answer(r.Suppressions(ctx, all())) }},
		"SuppressionsByKey": {ofAccount, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.SuppressionsByKey(ctx, []string{v.suppression.Key}))
		}},
		"Received": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			n, err := r.Received(ctx, v.customer.Emails[0].ID, base, 10)
			return nonZero(n, v), err
		}},
		"SentTo": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			n, err := r.SentTo(ctx, v.delivery.AddressKey, base, 10)
			return nonZero(n, v), err
		}},
	}
}

func suppressionWrites() map[string]writeProbe {
	return map[string]writeProbe{
		"DeleteSuppression": {level: ofAccount, call: func(ctx context.Context, tx helpdesk.Tx, v *world) error {
			return tx.DeleteSuppression(ctx, v.suppression.ID)
		}},
	}
}

func (g *generator) readSuppression(seen content, seek storage.Seek) operation {
	old := oneOf(g, seen.Suppressions)
	return oneOf(g, []operation{
		{method: "Suppression", args: []any{g.either("Suppression", old.ID)}},
		{method: "Suppressions", args: []any{ordered{g.from(seek, "Suppression"), "Suppression"}}},
		{method: "SuppressionsByKey", args: []any{[]string{old.Key, g.participant()}}},
	})
}

func (g *generator) readTraffic(seen content) operation {
	email := oneOf(g, oneOf(g, seen.Customers).Emails)
	return oneOf(g, []operation{
		{method: "Received", args: []any{g.either("CustomerEmail", email.ID), g.time(false), g.IntN(4)}},
		{method: "SentTo", args: []any{g.participant(), g.time(false), g.IntN(4)}},
	})
}

func (g *generator) writeSuppression(seen content) operation {
	old := oneOf(g, seen.Suppressions)
	if g.IntN(4) == 0 {
		return operation{method: "DeleteSuppression", args: []any{g.either("Suppression", old.ID)}}
	}
	s := helpdesk.Suppression{Email: g.text(), Key: g.participant(), Reason: helpdesk.SuppressedManual, Detail: g.text(), UserID: g.pool["User"][0], CreatedAt: g.time(false)}
	return operation{method: "InsertSuppression", args: []any{&s}, clash: true}
}
