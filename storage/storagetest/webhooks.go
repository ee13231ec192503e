package storagetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func webhookTests() []testCase {
	return []testCase{
		{"DeleteWebhook", testDeleteWebhook},
		{"Deliveries", testWebhookDeliveries},
		{"Due", testDueWebhookDeliveries},
		{"Fail", testFailWebhookDeliveries},
		{"Prune", testPruneWebhookDeliveries},
		{"Cursor", testWebhookCursor},
		{"CursorIsLocked", testWebhookCursorIsLocked},
		{"EventsBySeq", testEventsBySeq},
	}
}

func (w *world) newWebhook() subscription.Webhook {
	return subscription.Webhook{URL: "https://" + w.mark + ".example/hook", Events: []string{"conversation.created", "tag.created"},
		MailboxIDs: []int64{w.mailbox.ID}, IsActive: true, Reason: subscription.WebhookGone, FailingSince: at(2), Failures: 3, LastSuccessAt: at(1), After: 7,
		SealedSecret: []byte("\x00\xffsealed"), SealedFormer: []byte("\xff\x00former"), FormerUntil: at(9), UserID: w.user.ID, CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newWebhookDelivery(webhookID int64) subscription.WebhookDelivery {
	return subscription.WebhookDelivery{WebhookID: webhookID, Seq: 12, Type: "conversation.created", MailboxID: w.mailbox.ID, State: subscription.WebhookPending,
		Attempts: 2, Status: 503, Problem: "answered 503 " + w.mark, Response: "out of <é> order " + w.mark, NextAttemptAt: at(5), HeldBy: 42, HeldUntil: at(4),
		CreatedAt: base, UpdatedAt: at(1)}
}

// hook creates the world's webhook with a delivery.
func (w *world) hook(ctx context.Context, tx helpdesk.Tx) error {
	w.webhook = w.newWebhook()
	if err := helpdesk.Nouns().Webhooks.Rows(tx).Insert(ctx, &w.webhook); err != nil {
		return err
	}
	w.hooked = w.newWebhookDelivery(w.webhook.ID)
	return tx.WebhookDeliveries().Insert(ctx, &w.hooked)
}

func testDeleteWebhook(t *testing.T, b Backend) {
	w := newWorld(t, b)
	other := w.newWebhook()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().Webhooks.Rows(tx).Insert(ctx, &other)
	})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().Webhooks.Rows(tx).Delete(ctx, w.webhook.ID)
	})
	left := w.content(t)
	same(t, "webhooks left", []subscription.Webhook{other}, left.Webhooks)
	same(t, "deliveries left", 0, len(left.Hooked))
	_, err := w.in().WebhookDeliveries().Get(t.Context(), w.hooked.ID)
	fails(t, "a delivery of a deleted webhook", err, fault.NotFound)
	late := w.newWebhookDelivery(w.webhook.ID)
	err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.WebhookDeliveries().Insert(ctx, &late) })
	fails(t, "delivering to a deleted webhook", err, fault.NotFound)
	mine := func() bool {
		found, err := b.Store.AccountsWithWebhooks(t.Context(), storage.Seek{From: &storage.Position{ID: w.account.ID - 1}, Limit: 1})
		ok(t, err)
		return len(found) == 1 && found[0].ID == w.account.ID
	}
	same(t, "with a webhook", true, mine())
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().Webhooks.Rows(tx).Delete(ctx, other.ID)
	})
	same(t, "without a webhook", false, mine())
}

// deliver stores variations of the usual delivery of the world's webhook.
func (w *world) deliver(t *testing.T, n int, change func(i int, d *subscription.WebhookDelivery)) []subscription.WebhookDelivery {
	t.Helper()
	all := make([]subscription.WebhookDelivery, n)
	for i := range all {
		all[i] = w.newWebhookDelivery(w.webhook.ID)
		change(i, &all[i])
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.WebhookDeliveries().Insert(ctx, storage.Pointers(all)...)
	})
	return all
}

func testWebhookDeliveries(t *testing.T, b Backend) {
	w := newWorld(t, b)
	states := []subscription.WebhookState{subscription.WebhookDelivered, subscription.WebhookFailed, subscription.WebhookPending, subscription.WebhookFailed}
	made := w.deliver(t, 4, func(i int, d *subscription.WebhookDelivery) {
		d.State = states[i]
		if i == 3 {
			*d = subscription.WebhookDelivery{WebhookID: d.WebhookID, Seq: 1, Type: "tag.created", State: states[i], CreatedAt: at(3), UpdatedAt: at(3)}
		}
	})
	one(t, "delivery", made[0], w.in().WebhookDeliveries().Get, made[0].ID)
	one(t, "bare delivery", made[3], w.in().WebhookDeliveries().Get, made[3].ID)
	every := append([]subscription.WebhookDelivery{w.hooked}, made...)
	for what, test := range map[string]struct {
		filter subscription.WebhookDeliveryFilter
		seek   storage.Seek
		want   []subscription.WebhookDelivery
	}{
		"all":         {subscription.WebhookDeliveryFilter{WebhookID: w.webhook.ID}, all(), every},
		"newest":      {subscription.WebhookDeliveryFilter{WebhookID: w.webhook.ID}, storage.Seek{Desc: true, Limit: 2}, []subscription.WebhookDelivery{made[3], made[2]}},
		"next":        {subscription.WebhookDeliveryFilter{WebhookID: w.webhook.ID}, storage.Seek{Desc: true, Limit: 1, From: &storage.Position{ID: made[2].ID}}, made[1:2]},
		"failed":      {subscription.WebhookDeliveryFilter{WebhookID: w.webhook.ID, State: subscription.WebhookFailed}, all(), []subscription.WebhookDelivery{made[1], made[3]}},
		"of another":  {subscription.WebhookDeliveryFilter{WebhookID: nobody}, all(), nil},
		"of no state": {subscription.WebhookDeliveryFilter{WebhookID: w.webhook.ID, State: "later"}, all(), nil},
		"no page":     {subscription.WebhookDeliveryFilter{WebhookID: w.webhook.ID}, storage.Seek{}, nil},
	} {
		got, err := w.in().WebhookDeliveries().List(t.Context(), test.filter, test.seek)
		ok(t, err)
		same(t, what, test.want, got)
	}
	// of no mailbox: seen in every scope
	none := b.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{}})
	got, err := none.WebhookDeliveries().List(t.Context(), subscription.WebhookDeliveryFilter{WebhookID: w.webhook.ID}, all())
	ok(t, err)
	same(t, "without mailboxes", made[3:], got)
}

func testDueWebhookDeliveries(t *testing.T, b Backend) {
	w := newWorld(t, b)
	made := w.deliver(t, 8, func(i int, d *subscription.WebhookDelivery) {
		d.NextAttemptAt, d.HeldUntil, d.HeldBy = at(10), time.Time{}, 0
		switch i {
		case 0:
			d.NextAttemptAt = at(20)
		case 2:
			d.HeldUntil = at(11) // due later than its time
		case 3:
			d.HeldUntil = at(30)
		case 4:
			d.State = subscription.WebhookDelivered
		case 5:
			d.State, d.HeldUntil = subscription.WebhookFailed, at(40)
		case 6:
			d.NextAttemptAt, d.HeldUntil = at(50), at(40)
		}
	})
	first := w.hooked // due at(5)
	for what, test := range map[string]struct {
		now   time.Time
		limit int
		want  []subscription.WebhookDelivery
	}{
		"none yet":   {at(5).Add(-time.Microsecond), 9, nil},
		"one":        {at(5), 9, []subscription.WebhookDelivery{first}},
		"all due":    {at(19), 9, []subscription.WebhookDelivery{first, made[1], made[7], made[2]}},
		"the oldest": {at(19), 2, []subscription.WebhookDelivery{first, made[1]}},
		"at last":    {at(100), 9, []subscription.WebhookDelivery{first, made[1], made[7], made[2], made[0], made[3], made[6]}},
		"no limit":   {at(100), 0, nil},
	} {
		got, err := w.in().WebhookDeliveries().List(t.Context(),
			subscription.WebhookDeliveryFilter{WebhookID: w.webhook.ID, DueBy: test.now}, storage.Seek{Limit: test.limit})
		ok(t, err)
		same(t, what, test.want, got)
	}
	got, err := w.in().WebhookDeliveries().List(t.Context(), subscription.WebhookDeliveryFilter{WebhookID: w.webhook.ID, HeldAfter: at(11)}, all())
	ok(t, err)
	same(t, "held", []subscription.WebhookDelivery{made[3], made[6]}, got)
}

func testFailWebhookDeliveries(t *testing.T, b Backend) {
	w := newWorld(t, b)
	made := w.deliver(t, 2, func(i int, d *subscription.WebhookDelivery) {
		if i == 0 {
			d.State = subscription.WebhookDelivered
		}
	})
	// the scope does not matter
	err := b.Store.InTx(t.Context(), helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.empty.ID}}, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.FailWebhookDeliveries(ctx, w.webhook.ID, "switched off", at(60))
	})
	ok(t, err)
	want := []subscription.WebhookDelivery{w.hooked, made[0], made[1]}
	for _, i := range []int{0, 2} {
		want[i].State, want[i].Problem, want[i].UpdatedAt = subscription.WebhookFailed, "switched off", at(60)
		want[i].HeldBy, want[i].HeldUntil, want[i].NextAttemptAt = 0, time.Time{}, time.Time{}
	}
	same(t, "deliveries", want, w.content(t).Hooked)
}

func testPruneWebhookDeliveries(t *testing.T, b Backend) {
	w := newWorld(t, b)
	made := w.deliver(t, 8, func(i int, d *subscription.WebhookDelivery) {
		d.CreatedAt, d.State = at(i), subscription.WebhookDelivered
		if i == 1 {
			d.State = subscription.WebhookPending
		}
	})
	for _, step := range []struct {
		what    string
		before  time.Time
		keep, n int
		want    []subscription.WebhookDelivery // of made
	}{
		{"nothing", base, 9, 100, made},
		{"few of the old", at(4), 9, 2, append(made[1:2:2], made[3:]...)},
		{"all of the old", at(4), 9, 100, append(made[1:2:2], made[4:]...)},
		{"all but three", base, 3, 100, append(made[1:2:2], made[5:]...)},
		{"all", base, 0, 100, made[1:2]},
	} {
		before := len(w.content(t).Hooked)
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			n, err := tx.PruneWebhookDeliveries(ctx, w.webhook.ID, step.before, step.keep, step.n)
			same(t, step.what+": how many", before-1-len(step.want), n)
			return err
		})
		same(t, step.what, step.want, w.content(t).Hooked[1:])
	}
}

func testWebhookCursor(t *testing.T, b Backend) {
	w := newWorld(t, b)
	behind := func() bool {
		found, err := b.Store.WebhookBacklog(t.Context(), storage.Seek{From: &storage.Position{ID: w.account.ID - 1}, Limit: 1})
		ok(t, err)
		return len(found) == 1 && found[0].ID == w.account.ID
	}
	cursor := func() (seq int64) {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) (err error) {
			seq, err = tx.WebhookCursorForUpdate(ctx)
			return err
		})
		return seq
	}
	emit := func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Emit(ctx, storage.Event{Type: "a.b", Time: base})
	}
	w.tx(t, emit)
	same(t, "behind without a cursor", false, behind())
	for what, fn := range map[string]txFunc{
		"reading": func(ctx context.Context, tx helpdesk.Tx) error {
			_, err := tx.WebhookCursorForUpdate(ctx)
			return err
		},
		"moving":   func(ctx context.Context, tx helpdesk.Tx) error { return tx.SaveWebhookCursor(ctx, 1) },
		"removing": func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteWebhookCursor(ctx) },
	} {
		fails(t, what+" a cursor that is not there", w.try(t, fn), fault.NotFound)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.StartWebhookCursor(ctx, 1) })
	same(t, "behind at the end", false, behind())
	w.tx(t, emit)
	same(t, "behind", true, behind())
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.StartWebhookCursor(ctx, 2) })
	same(t, "cursor that was there", int64(1), cursor())
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.SaveWebhookCursor(ctx, 2) })
	same(t, "cursor", int64(2), cursor())
	same(t, "behind after all", false, behind())
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteWebhookCursor(ctx) })
	w.tx(t, emit)
	same(t, "behind without the cursor", false, behind())
	err := b.Store.InTx(t.Context(), helpdesk.Scope{AccountID: nobody}, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.StartWebhookCursor(ctx, 0)
	})
	fails(t, "a cursor of no account", err, fault.NotFound)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.StartWebhookCursor(ctx, 1) })
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteAccount(ctx) })
	same(t, "behind without the account", false, behind())
}

// Concurrent readers of the log each continue where the others stopped.
func testWebhookCursorIsLocked(t *testing.T, b Backend) {
	w := newWorld(t, b)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.StartWebhookCursor(ctx, 0) })
	oneByOne(t, func() error {
		return w.Store.InTx(t.Context(), w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
			seq, err := tx.WebhookCursorForUpdate(ctx)
			if err != nil {
				return err
			}
			return tx.SaveWebhookCursor(ctx, seq+1)
		})
	})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		seq, err := tx.WebhookCursorForUpdate(ctx)
		same(t, "cursor", int64(40), seq)
		return err
	})
}

// oneByOne calls do 40 times, from four goroutines.
func oneByOne(t *testing.T, do func() error) {
	t.Helper()
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 10 {
				if err := do(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

func testEventsBySeq(t *testing.T, b Backend) {
	w := newWorld(t, b)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n := range 5 {
			e := storage.Event{Type: fmt.Sprint("test.", n), Time: base, MailboxID: []int64{0, w.mailbox.ID}[n%2]}
			if err := tx.Emit(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
	types := func(mailboxes []int64, seqs ...int64) (types []string) {
		found, err := b.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: mailboxes}).EventsBySeq(t.Context(), seqs)
		ok(t, err)
		for _, e := range found {
			types = append(types, e.Type)
		}
		return types
	}
	same(t, "some", []string{"test.0", "test.1", "test.4"}, types(nil, 5, 1, 2, 99, 1))
	same(t, "none", 0, len(types(nil)))
	same(t, "in a scope", []string{"test.0", "test.4"}, types([]int64{w.empty.ID}, 5, 1, 2))
}

func webhookReads() map[string]readProbe {
	type r = helpdesk.Reader
	return map[string]readProbe{
		"EventsBySeq": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.EventsBySeq(ctx, []int64{1}))
		}},
	}
}

func webhookWrites() map[string]writeProbe {
	type tx = helpdesk.Tx
	return map[string]writeProbe{
		"WebhookDeliveries.Insert": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error {
			d := v.newWebhookDelivery(v.webhook.ID)
			return tx.WebhookDeliveries().Insert(ctx, &d)
		}},
		"FailWebhookDeliveries": {level: ofAccount, quiet: true, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.FailWebhookDeliveries(ctx, v.webhook.ID, "stolen", base)
		}},
		"PruneWebhookDeliveries": {level: ofAccount, quiet: true, call: func(ctx context.Context, tx tx, v *world) error {
			_, err := tx.PruneWebhookDeliveries(ctx, v.webhook.ID, at(1000), 0, 100)
			return err
		}},
	}
}

func (g *generator) readWebhook(seen content, seek storage.Seek) operation {
	hook, hooked := g.either("Webhook", oneOf(g, seen.Webhooks).ID), oneOf(g, seen.Hooked)
	filter := subscription.WebhookDeliveryFilter{WebhookID: hook.n, State: oneOf(g, []subscription.WebhookState{"", subscription.WebhookPending, subscription.WebhookFailed})}
	return oneOf(g, []operation{
		{method: "Webhooks.Get", args: []any{hook}},
		{method: "Webhooks.List", args: []any{storage.NoFilter{}, ordered{g.from(seek, "Webhook"), "Webhook"}}},
		{method: "WebhookDeliveries.Get", args: []any{g.either("WebhookDelivery", hooked.ID)}},
		{method: "WebhookDeliveries.List", args: []any{filter, ordered{g.from(seek, "WebhookDelivery"), "WebhookDelivery"}}},
		{method: "WebhookDeliveries.List", args: []any{subscription.WebhookDeliveryFilter{WebhookID: hook.n, DueBy: g.time(false)}, storage.Seek{Limit: g.IntN(4)}}},
		{method: "WebhookDeliveries.List", args: []any{subscription.WebhookDeliveryFilter{WebhookID: hook.n, HeldAfter: g.time(false)}, storage.Seek{Limit: storage.NoLimit}}},
		{method: "EventsBySeq", args: []any{[]int64{int64(g.IntN(9)), int64(g.IntN(9))}}},
	})
}

func (g *generator) writeWebhook(seen content) operation {
	old, hooked := oneOf(g, seen.Webhooks), oneOf(g, seen.Hooked)
	hook := g.either("Webhook", old.ID)
	switch g.IntN(18) {
	case 16:
		return g.prune()
	case 0, 1:
		w := subscription.Webhook{URL: g.text(), Events: []string{"*", "a.b"}[:g.IntN(3)], IsActive: g.IntN(2) == 0, Reason: subscription.WebhookReason(g.text()),
			MailboxIDs: g.mailboxes(seen), FailingSince: g.time(true), Failures: g.IntN(9), LastSuccessAt: g.time(true), After: int64(g.IntN(9)), SealedSecret: []byte{0, 1}[:g.IntN(3)],
			FormerUntil: g.time(true), UserID: g.pool["User"][0], CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		if old.ID == 0 || g.IntN(2) == 0 {
			return operation{method: "Webhooks.Insert", args: []any{[]*subscription.Webhook{&w}}}
		}
		w.ID = hook.n
		return operation{method: "Webhooks.Update", args: []any{[]*subscription.Webhook{&w}}}
	case 2:
		if g.IntN(4) == 0 {
			return operation{method: "Webhooks.Delete", args: []any{hook}}
		}
		return operation{method: "Webhooks.Lock", args: []any{hook}}
	case 3:
		return operation{method: "FailWebhookDeliveries", args: []any{hook, g.text(), g.time(false)}}
	case 4:
		return operation{method: "PruneWebhookDeliveries", args: []any{hook, g.time(false), 1 + g.IntN(6), g.IntN(4)}}
	case 5:
		return operation{method: "StartWebhookCursor", args: []any{int64(g.IntN(9))}}
	case 6:
		return operation{method: oneOf(g, []string{"WebhookCursorForUpdate", "DeleteWebhookCursor"})}
	case 7:
		return operation{method: "SaveWebhookCursor", args: []any{int64(g.IntN(9))}}
	}
	d := subscription.WebhookDelivery{WebhookID: hook.n, Seq: int64(g.IntN(9)), Type: g.text(), MailboxID: oneOf(g, append(seen.Mailboxes, helpdesk.Mailbox{})).ID,
		State:    oneOf(g, []subscription.WebhookState{subscription.WebhookPending, subscription.WebhookPending, subscription.WebhookDelivered, subscription.WebhookFailed}),
		Attempts: g.IntN(9), Status: g.IntN(600), Problem: g.text(), Response: g.text(), NextAttemptAt: g.time(true), HeldBy: int64(g.IntN(3)), HeldUntil: g.time(true),
		CreatedAt: g.time(false), UpdatedAt: g.time(false)}
	if hooked.ID == 0 || g.IntN(2) == 0 {
		again := d
		return operation{method: "WebhookDeliveries.Insert", args: []any{[]*subscription.WebhookDelivery{&d, &again}[:1+g.IntN(2)]}}
	}
	d.ID, d.WebhookID = g.either("WebhookDelivery", hooked.ID).n, hooked.WebhookID
	return operation{method: "WebhookDeliveries.Update", args: []any{[]*subscription.WebhookDelivery{&d}}}
}
