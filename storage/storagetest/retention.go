package storagetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

func retentionTests() []testCase {
	return []testCase{
		{"Accounts", testAccounts},
		{"PruneAudit", testPruneAudit},
		{"PruneEvents", testPruneEvents},
		{"PruneSessions", testPruneSessions},
		{"PruneFailedJobs", testPruneFailedJobs},
		{"PruneRawMails", testPruneRawMails},
		{"DropPeriods", testDropPeriods},
	}
}

// All accounts are listed by id, page by page.
func testAccounts(t *testing.T, b Backend) {
	first, second := newAccount(t, b), newAccount(t, b)
	page, err := b.Store.Accounts(t.Context(), storage.Seek{From: &storage.Position{ID: first.account.ID - 1}, Limit: 1})
	ok(t, err)
	same(t, "the first", []identity.Account{first.account}, page)
	rest, err := b.Store.Accounts(t.Context(), storage.Seek{From: &storage.Position{ID: first.account.ID}, Limit: 1000})
	ok(t, err)
	same(t, "the second", true, slices.ContainsFunc(rest, func(a identity.Account) bool { return a.ID == second.account.ID }))
	same(t, "the first again", false, slices.ContainsFunc(rest, func(a identity.Account) bool { return a.ID <= first.account.ID }))
}

// pruneStep is a call of a pruning method: what it deletes, and what remains.
type pruneStep struct {
	what    string
	before  time.Time
	n       int
	removed int
	left    []int64
}

// longAgo returns a time before those of other tests in the same store.
func longAgo(hours int) time.Time {
	return time.Date(1990, 1, 1, hours, 0, 0, 0, time.UTC)
}

func testPruneAudit(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	for _, v := range []*world{w, other} {
		v.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			var all []helpdesk.AuditEntry
			for i := range 6 {
				e := v.newAudit()
				e.Subject, e.CreatedAt = int64(i), at([]int{3, 1, 2, 4, 5, 6}[i])
				all = append(all, e)
			}
			return tx.InsertAudit(ctx, all)
		})
	}
	left := func(v *world) (subjects []int64) {
		found, err := b.Store.Within(helpdesk.Scope{AccountID: v.account.ID}).AuditLog(t.Context(), helpdesk.AuditFilter{}, storage.Seek{Limit: 100})
		ok(t, err)
		for _, e := range found {
			subjects = append(subjects, e.Subject)
		}
		return subjects
	}
	for _, s := range []pruneStep{
		{"nothing", at(1), 10, 0, []int64{1, 2, 0, 3, 4, 5}},
		{"none", at(9), 0, 0, []int64{1, 2, 0, 3, 4, 5}},
		{"the oldest two", at(5), 2, 2, []int64{0, 3, 4, 5}},
		{"the rest of the old", at(5), 10, 2, []int64{4, 5}},
		{"again", at(5), 10, 0, []int64{4, 5}},
	} {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			n, err := tx.PruneAudit(ctx, s.before, s.n)
			same(t, s.what+": how many", s.removed, n)
			return err
		})
		same(t, s.what, s.left, left(w))
	}
	same(t, "another account", []int64{1, 2, 0, 3, 4, 5}, left(other))
}

// Events are deleted oldest first, except those that webhooks still need and the newest; numbering continues after it.
func testPruneEvents(t *testing.T, b Backend) {
	w := newWorld(t, b)
	prune := func(before time.Time, n int) (removed int) {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) (err error) {
			removed, err = tx.PruneEvents(ctx, before, n)
			return err
		})
		return removed
	}
	log := func() (seqs []int64) {
		found, err := b.Store.Within(helpdesk.Scope{AccountID: w.account.ID}).Events(t.Context(), subscription.EventFilter{}, storage.Seek{Limit: 1000})
		ok(t, err)
		for _, e := range found {
			seqs = append(seqs, e.Seq)
		}
		return seqs
	}
	same(t, "of no events", 0, prune(at(100), 10))
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Emit(ctx, storage.Event{Type: "a.b", Time: base})
	})
	begin := log()[0]
	seqs := func(from, to int64) (all []int64) {
		for n := from; n <= to; n++ {
			all = append(all, begin+n)
		}
		return all
	}
	same(t, "the newest", 0, prune(at(100), 10))
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for i := range 9 {
			if err := tx.Emit(ctx, storage.Event{Type: "a.b", Subject: int64(i), Time: at(10 + i)}); err != nil {
				return err
			}
		}
		return tx.StartWebhookCursor(ctx, begin+7)
	})
	same(t, "numbers go on", seqs(0, 9), log())
	var pending subscription.WebhookDelivery
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		pending = w.newWebhookDelivery(w.webhook.ID)
		pending.Seq, pending.State = begin+5, subscription.WebhookPending
		return tx.WebhookDeliveries().Insert(ctx, &pending)
	})
	same(t, "the first three", 3, prune(at(100), 3))
	same(t, "after the first three", seqs(3, 9), log())
	same(t, "the old", 1, prune(at(13), 100)) // the one at 12
	same(t, "after the old", seqs(4, 9), log())
	same(t, "up to the pending delivery", 1, prune(at(100), 100))
	same(t, "at the pending delivery", seqs(5, 9), log())
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		pending.State = subscription.WebhookFailed
		return tx.WebhookDeliveries().Update(ctx, &pending)
	})
	same(t, "up to the cursor", 3, prune(at(100), 100))
	same(t, "at the cursor", seqs(8, 9), log())
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteWebhookCursor(ctx) })
	same(t, "all but the newest", 1, prune(at(100), 100))
	same(t, "the newest", seqs(9, 9), log())
	last, err := b.Store.Within(helpdesk.Scope{AccountID: w.account.ID}).LastEvent(t.Context())
	ok(t, err)
	same(t, "its number", begin+9, last)
}

// Whole periods are dropped without what is young, or what pruning keeps. Stores without periods have nothing to drop.
func testDropPeriods(t *testing.T, b Backend) {
	store, drops := b.Store.(helpdesk.PeriodDropper)
	if !drops {
		return
	}
	w := newAccount(t, b)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		var all []helpdesk.AuditEntry
		for i := range 6 {
			e := w.newAudit()
			e.CreatedAt = longAgo(i)
			all = append(all, e)
			if err := tx.Emit(ctx, storage.Event{Type: "a.b", Subject: int64(i), Time: longAgo(i)}); err != nil {
				return err
			}
		}
		return tx.InsertAudit(ctx, all)
	})
	reader := b.Store.Within(helpdesk.Scope{AccountID: w.account.ID})
	left := func() (events, entries int, newest int64) {
		found, err := reader.Events(t.Context(), subscription.EventFilter{}, storage.Seek{Limit: 1000})
		ok(t, err)
		young, newest := 0, int64(0)
		for _, e := range found {
			if !e.Time.Before(longAgo(3)) {
				young++
			}
			newest = e.Subject
		}
		log, err := reader.AuditLog(t.Context(), helpdesk.AuditFilter{Since: longAgo(3)}, storage.Seek{Limit: 1000})
		ok(t, err)
		return young, len(log), newest
	}
	for _, before := range []helpdesk.Periods{{}, {Events: longAgo(3)}, {Audit: longAgo(3)}, {Audit: longAgo(3), Events: longAgo(3)}} {
		dropped, err := store.DropPeriods(t.Context(), before)
		ok(t, err)
		if dropped < 0 || before == (helpdesk.Periods{}) && dropped > 0 {
			t.Errorf("%d periods are dropped", dropped)
		}
		events, entries, newest := left()
		same(t, "young events", 3, events)
		same(t, "young entries", 3, entries)
		same(t, "the newest", int64(5), newest)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { // pruning goes on
		n, err := tx.PruneEvents(ctx, longAgo(3), 100)
		same(t, "at most the old", true, n <= 3)
		return err
	})
	events, _, _ := left()
	same(t, "young events after pruning", 3, events)
}

func testPruneSessions(t *testing.T, b Backend) {
	w := newAccount(t, b)
	var ids []int64
	for i, expires := range []time.Time{longAgo(2), longAgo(1), longAgo(3), longAgo(9), {}} {
		token := identity.AccessToken{UserID: w.user.ID, Hash: fmt.Append(nil, "prune ", i, w.mark), CreatedAt: base, ExpiresAt: expires, Session: true}
		plain := token
		plain.Hash, plain.Session = append([]byte("plain "), token.Hash...), false
		ok(t, b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
			if err := tx.InsertToken(ctx, &plain); err != nil {
				return err
			}
			return tx.InsertToken(ctx, &token)
		}))
		ids = append(ids, token.ID)
	}
	left := func(sessions bool) (found []int64) {
		all, err := b.Store.TokensOf(t.Context(), w.user.ID, sessions, storage.Seek{Limit: 100})
		ok(t, err)
		for _, token := range all {
			found = append(found, token.ID)
		}
		return found
	}
	plain := len(left(false))
	for _, s := range []pruneStep{
		{"nothing", longAgo(1), 10, 0, ids},
		{"the first", longAgo(5), 1, 1, []int64{ids[0], ids[2], ids[3], ids[4]}},
		{"all that expired", longAgo(5), 10, 2, ids[3:]},
	} {
		ok(t, b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
			n, err := tx.PruneSessions(ctx, s.before, s.n)
			same(t, s.what+": how many", s.removed, n)
			return err
		}))
		same(t, s.what, s.left, left(true))
	}
	same(t, "tokens that are no sessions", plain, len(left(false)))
}

func testPruneFailedJobs(t *testing.T, b Backend) {
	w := newAccount(t, b)
	kind := "prune " + w.mark
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for i, hour := range []int{1, 2, 3, 9, 1} {
			if err := tx.Enqueue(ctx, storage.Job{Kind: kind, AccountID: w.account.ID, Subject: int64(i), RunAt: longAgo(hour)}); err != nil {
				return err
			}
		}
		return nil
	})
	claimed, err := b.Jobs.Claim(t.Context(), map[string]int{kind: 5}, base, at(1))
	ok(t, err)
	for _, j := range claimed {
		if j.Subject != 4 {
			ok(t, b.Jobs.Fail(t.Context(), j, "broken"))
		}
	}
	left := func() (subjects []int64) {
		found, err := b.Store.Within(helpdesk.Scope{AccountID: w.account.ID}).FailedJobs(t.Context(), helpdesk.FailedJobFilter{}, storage.Seek{Limit: 100})
		ok(t, err)
		for _, j := range found {
			subjects = append(subjects, j.Subject)
		}
		slices.Sort(subjects)
		return subjects
	}
	for _, s := range []pruneStep{
		{"nothing", longAgo(1), 10, 0, []int64{0, 1, 2, 3}},
		{"all that are old", longAgo(5), 10, 3, []int64{3}},
	} {
		ok(t, b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
			n, err := tx.PruneFailedJobs(ctx, s.before, s.n)
			same(t, s.what+": how many", s.removed, n)
			return err
		}))
		same(t, s.what, s.left, left())
	}
	for _, j := range claimed {
		if j.Subject == 4 { // it is not failed
			ok(t, b.Jobs.Extend(t.Context(), j, at(2)))
		}
	}
}

// testPruneRawMails forgets the raw bytes of old messages that are done with, oldest first.
func testPruneRawMails(t *testing.T, b Backend) {
	w := newWorld(t, b)
	begin := base.AddDate(0, 0, 1)
	states := []ledger.State{ledger.Filed, ledger.Ignored, ledger.Quarantined, ledger.Received, ledger.Filed}
	mails := make([]*ledger.Mail, len(states))
	for n, state := range states {
		m := w.mail
		m.ID, m.Position, m.Identity, m.State, m.InteractionID, m.ConversationID = 0, fmt.Sprint("raw ", n), nil, state, 0, 0
		m.RawKey, m.ReceivedAt = fmt.Sprint("raw/old/", n), begin.Add(-time.Duration(n)*time.Hour)
		mails[n] = &m
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertInbound(ctx, mails) })
	for _, step := range []struct {
		name   string
		before time.Time
		n      int
		want   []string
	}{
		{"none at all", begin.Add(time.Hour), 0, nil},
		{"nothing that old", begin.Add(-4 * time.Hour), 10, nil},
		{"the oldest", begin.Add(-30 * time.Minute), 1, []string{"raw/old/4"}},
		{"all that are old", begin.Add(-30 * time.Minute), 10, []string{"raw/old/1"}},
		{"the rest", begin.Add(time.Minute), 10, []string{"raw/old/0"}},
		{"again", begin.Add(time.Minute), 10, nil},
	} {
		var got []string
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) (err error) {
			got, err = tx.PruneRawMails(ctx, step.before, step.n)
			return err
		})
		same(t, step.name, step.want, slices.DeleteFunc(slices.Clone(got), func(key string) bool { return key == w.mail.RawKey }))
	}
	for n, state := range states {
		got, err := w.in().InboundMail(t.Context(), mails[n].ID)
		ok(t, err)
		want := *mails[n]
		if state == ledger.Filed || state == ledger.Ignored {
			want.RawKey = ""
		}
		same(t, "kept otherwise as it was", want, got)
	}
}

// retentionWrites are the probes of the writes that prune.
func retentionWrites() map[string]writeProbe {
	type tx = helpdesk.Tx
	return map[string]writeProbe{
		"PruneRawMails": {level: ofAccount, quiet: true, call: func(ctx context.Context, tx tx, _ *world) error {
			_, err := tx.PruneRawMails(ctx, at(1000), 100)
			return err
		}},
		"PruneAudit": {level: ofAccount, quiet: true, call: func(ctx context.Context, tx tx, _ *world) error {
			_, err := tx.PruneAudit(ctx, at(1000), 100)
			return err
		}},
		"PruneEvents": {level: ofAccount, quiet: true, call: func(ctx context.Context, tx tx, _ *world) error {
			_, err := tx.PruneEvents(ctx, at(1000), 100)
			return err
		}},
	}
}

// prune generates operations for the comparison.
func (g *generator) prune() operation {
	return operation{method: oneOf(g, []string{"PruneAudit", "PruneEvents", "PruneRawMails"}), args: []any{g.time(false), g.IntN(4)}}
}

func (g *generator) pruneSystem() operation {
	return operation{method: oneOf(g, []string{"PruneSessions", "PruneFailedJobs"}), args: []any{g.time(false), g.IntN(4)}}
}
