package bunstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// logs is a database of PostgreSQL whose logs are partitioned.
type logs struct {
	t     *testing.T
	db    *bunstore.DB
	month time.Time // the present one
}

func newLogs(t *testing.T, db *bunstore.DB) *logs {
	t.Helper()
	now := time.Now().UTC()
	return &logs{t, db, time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)}
}

// in returns the second day of a month that is n months after the present one.
func (l *logs) in(n int) time.Time { return l.month.AddDate(0, n, 1) }

// account makes an account with an event and an entry of the audit log at each time.
func (l *logs) account(times ...time.Time) int64 {
	l.t.Helper()
	account := identity.Account{Name: "a"}
	err := l.db.InSystemTx(l.t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		return tx.InsertAccount(ctx, &account)
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.add(account.ID, times...)
	return account.ID
}

func (l *logs) add(account int64, times ...time.Time) {
	l.t.Helper()
	l.tx(account, func(ctx context.Context, tx helpdesk.Tx) error {
		for _, at := range times {
			if err := tx.InsertAudit(ctx, []helpdesk.AuditEntry{{Action: "a.b", CreatedAt: at}}); err != nil {
				return err
			}
			if err := tx.Emit(ctx, storage.Event{Type: "a.b", Time: at}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *logs) tx(account int64, fn func(ctx context.Context, tx helpdesk.Tx) error) {
	l.t.Helper()
	if err := l.db.InTx(l.t.Context(), helpdesk.Scope{AccountID: account}, fn); err != nil {
		l.t.Fatal(err)
	}
}

// expect compares the events and the number of entries of the audit log.
func (l *logs) expect(what string, account int64, audit int, seqs ...int64) {
	l.t.Helper()
	events, err := l.db.Events(l.t.Context(), account, 0, 9999)
	if err != nil {
		l.t.Fatal(err)
	}
	entries, err := l.db.Within(helpdesk.Scope{AccountID: account}).AuditLog(l.t.Context(), helpdesk.AuditFilter{}, storage.Seek{Limit: 9999})
	if err != nil {
		l.t.Fatal(err)
	}
	var got []int64
	for _, e := range events {
		got = append(got, e.Seq)
	}
	if diff := cmp.Diff(seqs, got); diff != "" || len(entries) != audit {
		l.t.Errorf("%s: %d entries, not %d; events (-want +got)\n%s", what, len(entries), audit, diff)
	}
}

// drop drops what is older than the start of a month. It may be of the future, so the partitions of now are not made anew.
func (l *logs) drop(n int) (dropped int) {
	l.t.Helper()
	before := l.month.AddDate(0, n, 0)
	dropped, err := bunstore.DropPartitions(l.t.Context(), l.db, helpdesk.Periods{Audit: before, Events: before})
	if err != nil {
		l.t.Fatal(err)
	}
	return dropped
}

// names lists the partitions of both logs.
func (l *logs) names() (all string) {
	l.t.Helper()
	err := bunstore.QueryRow(l.t.Context(), l.db, `SELECT string_agg(c.relname, ' ' ORDER BY c.relname) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent IN ('hw_events'::regclass, 'hw_audit'::regclass)`).Scan(&all)
	if err != nil {
		l.t.Fatal(err)
	}
	return all
}

// count counts the rows of a partition.
func (l *logs) count(table string) (n int) {
	l.t.Helper()
	if err := bunstore.QueryRow(l.t.Context(), l.db, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		l.t.Fatal(err)
	}
	return n
}

func (l *logs) name(table string, n int) string {
	month := l.month.AddDate(0, n, 0)
	return fmt.Sprintf("%s_y%04dm%02d", table, month.Year(), month.Month())
}

// Several servers make partitions at the same time, and each exists once.
func TestPartitionsAtOnce(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	l := newLogs(t, open(t, url, bunstore.Config{}))
	var group sync.WaitGroup
	for range 3 {
		db := unmigrated(t, url) // acts as a separate process
		group.Go(func() {
			if err := bunstore.MakePartitions(t.Context(), db, l.month, 12); err != nil {
				t.Error(err)
			}
		})
	}
	account := l.account()
	for range 50 { // nobody who writes fails meanwhile
		l.add(account, l.in(0), l.in(5))
	}
	group.Wait()
	if err := bunstore.MakePartitions(t.Context(), l.db, l.month, 12); err != nil { // what was left because of locks
		t.Fatal(err)
	}
	names := l.names()
	for n := range 12 {
		for _, table := range []string{"hw_events", "hw_audit"} {
			if strings.Count(names, l.name(table, n)) != 1 {
				t.Errorf("%s is missing: %s", l.name(table, n), names)
			}
		}
	}
	if n := l.count(l.name("hw_events", 5)); n != 50 {
		t.Errorf("%d of 50 events are in the partition of their month", n)
	}
}

// A month of which rows are there already takes them, unless they are many: then they stay where they are, and its rows go
// there, too.
func TestPartitionsOfEarlyRows(t *testing.T) {
	t.Parallel()
	l := newLogs(t, open(t, testenv.Postgres(t), bunstore.Config{}))
	account := l.account(l.in(5), l.in(5), l.in(6))
	if err := bunstore.Exec(t.Context(), l.db, fmt.Sprintf(`INSERT INTO hw_audit (account_id, action, subject, mailbox_id, user_id, token_id, address, created_at)
		SELECT %d, 'a.b', 0, 0, 0, 0, '', %d FROM generate_series(1, 1001)`, account, l.in(7).UnixMicro())); err != nil {
		t.Fatal(err)
	}
	if err := bunstore.MakePartitions(t.Context(), l.db, l.month, 9); err != nil {
		t.Fatal(err)
	}
	if n := l.count(l.name("hw_events", 5)); n != 2 {
		t.Errorf("%d events are in the partition of their month", n)
	}
	if names := l.names(); strings.Contains(names, l.name("hw_audit", 7)) || !strings.Contains(names, l.name("hw_audit", 8)) {
		t.Errorf("a month with many rows has a partition, or the next has none: %s", names)
	}
	l.add(account, l.in(7))
	l.expect("all", account, 1005, 1, 2, 3, 4)
	if n := l.count("hw_audit_default"); n != 1002 {
		t.Errorf("%d entries are in no month", n)
	}
}

// Old partitions are dropped; the newest event of each account and those that webhooks need stay, and are pruned later.
func TestDropPeriods(t *testing.T) {
	t.Parallel()
	l := newLogs(t, open(t, testenv.Postgres(t), bunstore.Config{}))
	if err := bunstore.MakePartitions(t.Context(), l.db, l.month, 6); err != nil {
		t.Fatal(err)
	}
	idle := l.account(l.in(0), l.in(1))
	cursor := l.account(l.in(0), l.in(1), l.in(1), l.in(4))
	pending := l.account(l.in(0), l.in(1), l.in(2), l.in(4))
	busy := l.account(l.in(0), l.in(1), l.in(2), l.in(4), l.in(9))
	l.tx(cursor, func(ctx context.Context, tx helpdesk.Tx) error { return tx.StartWebhookCursor(ctx, 2) })
	l.tx(pending, func(ctx context.Context, tx helpdesk.Tx) error {
		hook := subscription.Webhook{}
		if err := helpdesk.Nouns().Webhooks.Rows(tx).Insert(ctx, &hook); err != nil {
			return err
		}
		d := subscription.WebhookDelivery{WebhookID: hook.ID, Seq: 2, State: subscription.WebhookPending}
		return tx.WebhookDeliveries().Insert(ctx, &d)
	})
	none, err := l.db.DropPeriods(t.Context(), helpdesk.Periods{Audit: l.month, Events: l.month})
	if err != nil || none != 0 || l.drop(1) != 2 {
		t.Errorf("%d dropped that are not old, %v, and then not those of the present month", none, err)
	}
	if dropped := l.drop(3); dropped != 4 {
		t.Errorf("%d dropped", dropped)
	}
	l.expect("idle", idle, 0, 2)
	l.expect("cursor", cursor, 1, 3, 4)
	l.expect("pending", pending, 1, 2, 3, 4)
	l.expect("busy", busy, 2, 4, 5)
	if again := l.drop(3); again != 0 {
		t.Errorf("%d dropped again", again)
	}
	l.add(idle, l.in(5), time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC))
	l.expect("of other times", idle, 3, 2, 3, 4, 5)
	l.tx(idle, func(ctx context.Context, tx helpdesk.Tx) error {
		events, err := tx.PruneEvents(ctx, l.in(3), 100)
		entries, failed := tx.PruneAudit(ctx, l.in(3), 100)
		if events != 2 || entries != 1 {
			t.Errorf("%d events and %d entries of other times were pruned", events, entries)
		}
		return errors.Join(err, failed)
	})
	l.expect("after pruning", idle, 2, 3, 5)
}

// A partition of which many events are needed stays, and so does one that somebody uses; writers wait only briefly.
func TestDropPeriodsLater(t *testing.T) {
	t.Parallel()
	l := newLogs(t, open(t, testenv.Postgres(t), bunstore.Config{}))
	many := make([]time.Time, 1002)
	for i := range many {
		many[i] = l.in(0)
	}
	account := l.account(many...)
	l.tx(account, func(ctx context.Context, tx helpdesk.Tx) error { return tx.StartWebhookCursor(ctx, 1) })
	if dropped := l.drop(1); dropped != 1 { // the audit log's
		t.Errorf("%d dropped although a webhook needs the events", dropped)
	}
	l.tx(account, func(ctx context.Context, tx helpdesk.Tx) error { return tx.SaveWebhookCursor(ctx, 2) })
	pool, _ := bunstore.Plain(l.db)
	reading, err := pool.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reading.Rollback() }()
	if _, err := reading.Exec("SELECT count(*) FROM hw_events"); err != nil {
		t.Fatal(err)
	}
	ended, began := make(chan int), time.Now()
	go func() { ended <- l.drop(1) }()
	for waiting := true; waiting; {
		select {
		case dropped := <-ended:
			if waiting = false; dropped != 0 {
				t.Errorf("%d dropped while it is read", dropped)
			}
		default:
			l.add(account, l.in(1))
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("writers waited %v", took)
	}
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	if dropped := l.drop(1); dropped != 1 {
		t.Errorf("%d dropped later", dropped)
	}
	if n := l.count("hw_events_default"); n != 1000 {
		t.Errorf("%d events are kept", n)
	}
}

// cutter ends a context after some statements.
type cutter struct {
	left int
	end  context.CancelFunc
}

func (c *cutter) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (c *cutter) AfterQuery(context.Context, *bun.QueryEvent) {
	if c.left--; c.left == 0 {
		c.end()
	}
}

// Dropping that is interrupted after any of its statements loses nothing that is needed, and goes on the next time.
func TestDropPeriodsInterrupted(t *testing.T) {
	t.Parallel()
	app := embedded["PostgreSQL"](t)
	t.Cleanup(func() { _ = app.Close() })
	l := newLogs(t, bunstore.New(app, bunstore.Config{}))
	if err := l.db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	account := l.account(l.in(0), l.in(1))
	before, cut := l.month.AddDate(0, 2, 0), 0
	for n, dropped := 1, 0; dropped < 4; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		db := bunstore.New(app.WithQueryHook(&cutter{n, cancel}), bunstore.Config{})
		now, err := bunstore.DropPartitions(ctx, db, helpdesk.Periods{Audit: before, Events: before})
		cancel()
		if dropped += now; err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d statements: %v", n, err)
		}
		if err != nil {
			cut++
		}
		events, err := l.db.Events(t.Context(), account, 1, 9)
		if err != nil || len(events) != 1 {
			t.Fatalf("after %d statements: %v, %v", n, events, err)
		}
		if n > 200 {
			t.Fatal("it does not end")
		}
	}
	if cut < 7 { // once after each statement that drops the first partition
		t.Errorf("interrupted only %d times", cut)
	}
	l.expect("at the end", account, 0, 2)
}
