package helpdesk_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

const aDay = 24 * time.Hour

// Expired data is removed, in several batches, and nothing else; data with unlimited retention is kept.
func TestPrune(t *testing.T) {
	t.Parallel()
	const sessions, events, jobs, audit = "sessions", "events", "jobs", "audit"
	for name, tt := range map[string]struct {
		keep helpdesk.Retention
		days int // that pass
		gone []string
	}{
		"young":       {helpdesk.Retention{}, 80, []string{sessions}},
		"old events":  {helpdesk.Retention{}, 91, []string{sessions, events}},
		"old jobs":    {helpdesk.Retention{}, 181, []string{sessions, events, jobs}},
		"old entries": {helpdesk.Retention{}, 731, []string{sessions, events, jobs, audit}},
		"for ever":    {helpdesk.Retention{Audit: -1, Events: -1, Deliveries: -1, Sessions: -1, FailedJobs: -1}, 9999, nil},
		"settings": {
			helpdesk.Retention{Audit: aDay, Events: 4 * aDay, Deliveries: aDay, Sessions: 90 * aDay, FailedJobs: 2 * aDay}, 3, []string{audit, jobs},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, func(cfg *helpdesk.Config) { cfg.Retention = tt.keep })
			must(b.svc.SignIn().StartSession(b.ctx, b.svc.As(b.desk.UserID()), ""))(t)
			b.fill(1200)
			want := helpdesk.Pruned{}
			for _, kind := range tt.gone {
				switch kind {
				case sessions:
					want.Sessions = 1
				case events:
					want.Events = int(must(b.desk.Events().Last(b.ctx))(t)) - 1 // the newest stays
				case jobs:
					want.FailedJobs = 1
				case audit:
					want.Audit = len(must(b.store.Within(helpdesk.Scope{AccountID: b.account.ID}).AuditLog(b.ctx, helpdesk.AuditFilter{}, storage.Seek{Limit: 9999}))(t))
				}
			}
			if young := must(b.svc.Prune(b.ctx))(t); young != (helpdesk.Pruned{}) {
				t.Errorf("at once: %+v", young)
			}
			b.clock.Add(time.Duration(tt.days) * aDay)
			if diff := cmp.Diff(want, must(b.svc.Prune(b.ctx))(t)); diff != "" {
				t.Error(diff)
			}
			if again := must(b.svc.Prune(b.ctx))(t); again != (helpdesk.Pruned{}) {
				t.Errorf("once more: %+v", again)
			}
		})
	}
}

// periods is a store that drops periods.
type periods struct {
	*memstore.Store
	asked helpdesk.Periods
}

func (p *periods) DropPeriods(_ context.Context, before helpdesk.Periods) (int, error) {
	p.asked = before
	return 3, nil
}

// A store that can drop whole periods is asked for those that are older than the retention allows.
func TestPrunePeriods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		keep          helpdesk.Retention
		audit, events time.Duration
	}{
		"defaults": {helpdesk.Retention{}, 730 * aDay, 90 * aDay},
		"settings": {helpdesk.Retention{Audit: -1, Events: 40 * aDay}, 0, 40 * aDay},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &periods{}
			b := newBundle(t, func(cfg *helpdesk.Config) {
				store.Store, _ = cfg.Store.(*memstore.Store)
				cfg.Store, cfg.Retention, cfg.NoCredentialMails = store, tt.keep, true
			})
			if done := must(b.svc.Prune(b.ctx))(t); done.Periods != 3 {
				t.Errorf("%d periods", done.Periods)
			}
			want := helpdesk.Periods{Events: b.clock.Now().Add(-tt.events)}
			if tt.audit > 0 {
				want.Audit = b.clock.Now().Add(-tt.audit)
			}
			if diff := cmp.Diff(want, store.asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// fill makes n events and entries of the audit log, and a job that is given up.
func (b *bundle) fill(n int) {
	b.t.Helper()
	err := b.store.InTx(b.ctx, helpdesk.Scope{AccountID: b.account.ID}, func(ctx context.Context, tx helpdesk.Tx) error {
		entries := make([]helpdesk.AuditEntry, n)
		for i := range n {
			entries[i] = helpdesk.AuditEntry{Action: "a.b", CreatedAt: b.clock.Now()}
			if err := tx.Emit(ctx, storage.Event{Type: "tag.created", Subject: 1, Data: []byte(`{"id":1}`), Time: b.clock.Now()}); err != nil {
				return err
			}
		}
		if err := tx.InsertAudit(ctx, entries); err != nil {
			return err
		}
		return tx.Enqueue(ctx, storage.Job{Kind: "given.up", AccountID: b.account.ID, RunAt: b.clock.Now()})
	})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, job := range must(b.store.Claim(b.ctx, map[string]int{"given.up": 1}, b.clock.Now(), b.clock.Now().Add(time.Minute)))(b.t) {
		if err := b.store.Fail(b.ctx, job, "broken"); err != nil {
			b.t.Fatal(err)
		}
	}
}

// Deliveries refer to events: these cannot go first.
func TestRetentionRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		keep helpdesk.Retention
		ok   bool
	}{
		"defaults":                    {helpdesk.Retention{}, true},
		"events as long":              {helpdesk.Retention{Events: 10 * aDay, Deliveries: 10 * aDay}, true},
		"events for ever":             {helpdesk.Retention{Events: -1, Deliveries: -1}, true},
		"events shorter":              {helpdesk.Retention{Events: 10 * aDay, Deliveries: 11 * aDay}, false},
		"events shorter than default": {helpdesk.Retention{Events: 10 * aDay}, false},
		"deliveries for ever":         {helpdesk.Retention{Deliveries: -1}, false},
	} {
		sealer := must(storage.NewSealer(storage.NewSecretKey()))(t)
		_, err := helpdesk.New(helpdesk.Config{Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: storage.NewSecretKey(), Retention: tt.keep})
		if (err == nil) != tt.ok || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A request for expired events is told so, and a follower starts again.
func TestEventsNotKept(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(cfg *helpdesk.Config) { cfg.Feed = noFeed{} })
	emit := func(n int) {
		t.Helper()
		err := b.store.InTx(b.ctx, helpdesk.Scope{AccountID: b.account.ID}, func(ctx context.Context, tx helpdesk.Tx) error {
			for range n {
				if err := tx.Emit(ctx, storage.Event{Type: "tag.created", Subject: 1, Data: []byte(`{"id":1}`), Time: b.clock.Now()}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	emit(5)
	old := must(b.desk.Events().Last(b.ctx))(t)
	b.clock.Add(91 * aDay)
	emit(3)
	must(b.svc.Prune(b.ctx))(t)
	last := must(b.desk.Events().Last(b.ctx))(t)
	for after, want := range map[int64]string{0: "ok", old - 3: subscription.EventsLost, old - 1: subscription.EventsLost, old: "ok", last - 1: "ok", last: "ok", last + 9: "ok"} {
		got := "ok"
		if _, err := b.desk.Events().List(b.ctx, subscription.EventQuery{After: after}, storage.PageRequest{}); err != nil {
			got = codeOf(err)
		}
		if got != want {
			t.Errorf("events after %d of %d: %s", after, last, got)
		}
	}
	for after, want := range map[int64]bool{0: true, old - 1: true, old: false, last: false, last + 9: true} {
		follower := must(b.desk.Events().Follow(b.ctx, helpdesk.FollowInput{After: storage.Some(after)}))(t)
		if follower.Reset() != want || want && follower.Position() != last {
			t.Errorf("following after %d of %d: reset %v, at %d", after, last, follower.Reset(), follower.Position())
		}
	}
	if first := must(b.desk.Events().List(b.ctx, subscription.EventQuery{}, storage.PageRequest{}))(t).Items; len(first) == 0 || first[0].Seq != old+1 {
		t.Errorf("the list begins with %+v", first)
	}
}

func ExampleService_Prune() {
	ctx := context.Background()
	sealer, _ := storage.NewSealer(storage.NewSecretKey())
	svc, err := helpdesk.New(helpdesk.Config{
		Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: storage.NewSecretKey(),
		Retention: helpdesk.Retention{Audit: 365 * 24 * time.Hour, FailedJobs: -1}, // a year; unlimited; all others as usual
	})
	if err != nil {
		panic(err)
	}
	removed, err := svc.Prune(ctx) // now and then; the reference server does it every six hours
	fmt.Println(removed, err)
	// Output: {0 0 0 0 0 0 0 0} <nil>
}

// The raw bytes of old mails are removed if configured; data parsed from them is kept, and so are waiting mails.
func TestPruneRawMails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		keep time.Duration
		days int
		gone int
	}{
		"by default":  {0, 9999, 0},
		"for ever":    {-1, 9999, 0},
		"young":       {30 * aDay, 29, 0},
		"old":         {30 * aDay, 31, 1},
		"after a day": {aDay, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, func(cfg *helpdesk.Config) { cfg.Retention = helpdesk.Retention{RawMails: tt.keep} })
			filed := b.receive(opening())
			waits := b.quarantine(ledger.Raw{Raw: []byte("Subject: broken\r\n\r\nx")}, "unreadable")
			text := b.interactions(filed.ConversationID)
			stored := b.stored()
			b.clock.Add(time.Duration(tt.days) * aDay)
			if got := must(b.svc.Prune(b.ctx))(t); got.RawMails != tt.gone {
				t.Errorf("%+v", got)
			}
			b.purged()
			if left := b.stored(); left != stored-tt.gone {
				t.Errorf("%d of %d blobs are left", left, stored)
			}
			_, err := b.desk.InboundMails().Open(b.ctx, filed.MailboxID, filed.ID)
			_, err2 := b.desk.Interactions().Source(b.ctx, filed.ConversationID, filed.InteractionID)
			if tt.gone > 0 != fault.Is(err, fault.NotFound) || tt.gone > 0 != fault.Is(err2, fault.NotFound) {
				t.Errorf("the raw mail: %v, %v", err, err2)
			}
			if diff := cmp.Diff(text, b.interactions(filed.ConversationID)); diff != "" {
				t.Error(diff)
			}
			if raw, err := b.desk.InboundMails().Open(b.ctx, waits.MailboxID, waits.ID); err != nil {
				t.Errorf("a mail that waits: %v", err)
			} else if err := raw.Close(); err != nil {
				t.Error(err)
			}
			if again := must(b.svc.Prune(b.ctx))(t); again.RawMails != 0 {
				t.Errorf("once more: %+v", again)
			}
		})
	}
}
