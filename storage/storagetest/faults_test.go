package storagetest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/storagetest"
	"github.com/helpwright/helpwright/storage/testenv"
)

// faults are mistakes that a store may have, and the group of tests that has to find each.
var faults = map[string]struct {
	group string
	make  func(good *memstore.Store) storagetest.Backend
}{
	"commits what failed":         {"Transactions", inTx(commitsFailed)},
	"commits nothing":             {"Transactions", inTx(commitsNothing)},
	"hides errors":                {"Transactions", inTx(hidesErrors)},
	"commits a panic":             {"Transactions", inTx(commitsPanic)},
	"ignores cancellation":        {"Transactions", inTx(ignoresCancellation)},
	"leaves jobs of a rollback":   {"Transactions", inTx(leavesJobs)},
	"leaves events of a rollback": {"Transactions", inTx(leavesEvents)},
	"reads all mailboxes":         {"Isolation", store(func(s *faulty) { s.read = func(of helpdesk.Scope) helpdesk.Scope { of.Mailboxes = nil; return of } })},
	"writes all mailboxes":        {"Isolation", store(func(s *faulty) { s.write = func(of helpdesk.Scope) helpdesk.Scope { of.Mailboxes = nil; return of } })},
	"a snapshot of now":           {"Transfer", store(func(s *faulty) { s.snapshot = func(_, now helpdesk.Reader) helpdesk.Reader { return now } })},
	"a torn snapshot": {"Transfer", store(func(s *faulty) {
		s.snapshot = func(then, now helpdesk.Reader) helpdesk.Reader { return torn{then, now} }
	})},
	"announces a rollback":         {"Events", announcesRollback},
	"events again":                 {"Events", func(m *memstore.Store) storagetest.Backend { b := whole(m); b.Events = againLog{m}; return b }},
	"leases no job":                {"Jobs", jobs(func(q *queue) { q.lease = func(now, _ time.Time) time.Time { return now } })},
	"finishes for others":          {"Jobs", jobs(func(q *queue) { q.attempt = func(n int) int { return n + 1 } })},
	"extends what is lost":         {"Jobs", jobs(func(q *queue) { q.extends = true })},
	"forgets why":                  {"Jobs", jobs(func(q *queue) { q.reason = func(string) string { return "" } })},
	"claims too many":              {"Jobs", jobs(func(q *queue) { q.more = 1 })},
	"keeps a site's rollback":      {"Sites", library(func(s *shelves) { s.commits = true })},
	"a snapshot of the shelves":    {"KBTransfer", library(func(s *shelves) { s.live = true })},
	"reads the library of another": {"KBIsolation", library(func(s *shelves) { s.strays = true })},
}

// faultToTest names the fault that a process of TestFaults has.
const faultToTest = "HELPWRIGHT_TEST_FAULT"

// The suite finds each fault, and none in the store without it. Each runs in a process of its own, which has to fail.
func TestFaults(t *testing.T) {
	t.Parallel()
	if os.Getenv(faultToTest) != "" {
		return
	}
	groups := map[string]bool{}
	for name, f := range faults {
		groups[f.group] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := suiteWith(t, name, f.group)
			found := regexp.MustCompile(`--- FAIL: TestFaulty/` + f.group + `/\w+`).MatchString(out)
			if _, failed := errors.AsType[*exec.ExitError](err); !failed || !found {
				t.Errorf("%v: the suite does not find it:\n%s", err, out)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		var all []string
		for group := range groups {
			all = append(all, group)
		}
		if out, err := suiteWith(t, "none", strings.Join(all, "|")); err != nil {
			t.Errorf("%v:\n%s", err, out)
		}
	})
	t.Run(noLibrary, func(t *testing.T) {
		t.Parallel()
		if out, err := suiteWith(t, noLibrary, ".*"); err != nil {
			t.Errorf("%v:\n%s", err, out)
		}
	})
}

// noLibrary is no fault: a store may come without the knowledge base.
const noLibrary = "no knowledge base"

// suiteWith runs groups of the suite with a fault.
func suiteWith(t *testing.T, name, groups string) (string, error) {
	t.Helper()
	test := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFaulty$/^("+groups+")$", "-test.timeout=2m")
	test.Env = append(os.Environ(), faultToTest+"="+name, testenv.EnvRequire+"=") // what a store lacks is skipped
	out, err := test.CombinedOutput()
	return string(out), err
}

// TestFaulty is what the processes of TestFaults run.
func TestFaulty(t *testing.T) {
	t.Parallel()
	name := os.Getenv(faultToTest)
	if name == "" {
		return
	}
	storagetest.Run(t, func(*testing.T) storagetest.Backend {
		if f, has := faults[name]; has {
			return f.make(memstore.New())
		}
		b := whole(memstore.New())
		if name == noLibrary {
			b.KB = nil
		}
		return b
	})
}

func whole(m *memstore.Store) storagetest.Backend {
	return storagetest.Backend{Store: m, Jobs: m, Events: m, KB: m.KB()}
}

// transact runs a transaction of the help desk, as a store's InTx does.
type (
	body     = func(ctx context.Context, tx helpdesk.Tx) error
	transact = func(ctx context.Context, good helpdesk.Store, s helpdesk.Scope, fn body) error
)

// faulty is a store with a mistake.
type faulty struct {
	*memstore.Store
	read, write func(helpdesk.Scope) helpdesk.Scope
	snapshot    func(then, now helpdesk.Reader) helpdesk.Reader
	transact    transact
}

func store(mistake func(*faulty)) func(*memstore.Store) storagetest.Backend {
	return func(m *memstore.Store) storagetest.Backend {
		s := &faulty{Store: m}
		mistake(s)
		b := whole(m)
		b.Store = s
		return b
	}
}

func inTx(how transact) func(*memstore.Store) storagetest.Backend {
	return store(func(s *faulty) { s.transact = how })
}

func (s *faulty) Within(of helpdesk.Scope) helpdesk.Reader {
	if s.read != nil {
		of = s.read(of)
	}
	return s.Store.Within(of)
}

func (s *faulty) InTx(ctx context.Context, of helpdesk.Scope, fn func(ctx context.Context, tx helpdesk.Tx) error) error {
	if s.write != nil {
		of = s.write(of)
	}
	if s.transact != nil {
		return s.transact(ctx, s.Store, of, fn)
	}
	return s.Store.InTx(ctx, of, fn)
}

func (s *faulty) InSnapshot(ctx context.Context, of helpdesk.Scope, fn func(ctx context.Context, r helpdesk.Reader) error) error {
	return s.Store.InSnapshot(ctx, of, func(ctx context.Context, r helpdesk.Reader) error {
		if s.snapshot != nil {
			r = s.snapshot(r, s.Store.Within(of))
		}
		return fn(ctx, r)
	})
}

func commitsFailed(ctx context.Context, good helpdesk.Store, s helpdesk.Scope, fn body) (failed error) {
	err := good.InTx(ctx, s, func(ctx context.Context, tx helpdesk.Tx) error { failed = fn(ctx, tx); return nil })
	return errors.Join(failed, err)
}

func commitsNothing(ctx context.Context, good helpdesk.Store, s helpdesk.Scope, fn body) error {
	undo := errors.New("undone")
	if err := good.InTx(ctx, s, func(ctx context.Context, tx helpdesk.Tx) error { return errors.Join(fn(ctx, tx), undo) }); err != nil && !errors.Is(err, undo) {
		return err
	}
	return nil
}

func hidesErrors(ctx context.Context, good helpdesk.Store, s helpdesk.Scope, fn body) error {
	_ = good.InTx(ctx, s, fn)
	return nil
}

func commitsPanic(ctx context.Context, good helpdesk.Store, s helpdesk.Scope, fn body) error {
	var panicked any
	err := good.InTx(ctx, s, func(ctx context.Context, tx helpdesk.Tx) error {
		defer func() { panicked = recover() }()
		return fn(ctx, tx)
	})
	if panicked != nil {
		panic(panicked)
	}
	return err
}

func ignoresCancellation(ctx context.Context, good helpdesk.Store, s helpdesk.Scope, fn body) error {
	return good.InTx(context.WithoutCancel(ctx), s, fn)
}

// outbox notes what a transaction puts out.
type outbox struct {
	helpdesk.Tx
	jobs   *[]storage.Job
	events *[]storage.Event
}

func (o outbox) Enqueue(ctx context.Context, jobs ...storage.Job) error {
	*o.jobs = append(*o.jobs, jobs...)
	return o.Tx.Enqueue(ctx, jobs...)
}

func (o outbox) Emit(ctx context.Context, events ...storage.Event) error {
	*o.events = append(*o.events, events...)
	return o.Tx.Emit(ctx, events...)
}

func leaves(again func(ctx context.Context, tx helpdesk.Tx, o outbox) error) transact {
	return func(ctx context.Context, good helpdesk.Store, s helpdesk.Scope, fn body) error {
		o := outbox{jobs: new([]storage.Job), events: new([]storage.Event)}
		err := good.InTx(ctx, s, func(ctx context.Context, tx helpdesk.Tx) error {
			o.Tx = tx
			return fn(ctx, o)
		})
		if err != nil {
			_ = good.InTx(ctx, s, func(ctx context.Context, tx helpdesk.Tx) error { return again(ctx, tx, o) })
		}
		return err
	}
}

var (
	leavesJobs   = leaves(func(ctx context.Context, tx helpdesk.Tx, o outbox) error { return tx.Enqueue(ctx, *o.jobs...) })
	leavesEvents = leaves(func(ctx context.Context, tx helpdesk.Tx, o outbox) error { return tx.Emit(ctx, *o.events...) })
)

// torn reads plain nouns as they are now, and the rest as it was.
type torn struct {
	helpdesk.Reader
	now helpdesk.Reader
}

func (t torn) ReadRecords(table *storage.Table) storage.RowReader[storage.Record, []storage.Condition] {
	return t.now.ReadRecords(table)
}

// announcer tells who listens of every transaction.
type announcer struct {
	*memstore.Store
	tell []func(account int64)
}

func (a *announcer) NotifyEvents(fn func(account int64)) (stop func()) {
	a.tell = append(a.tell, fn)
	return a.Store.NotifyEvents(fn)
}

func announcesRollback(m *memstore.Store) storagetest.Backend {
	log := &announcer{Store: m}
	b := inTx(func(ctx context.Context, good helpdesk.Store, s helpdesk.Scope, fn body) error {
		err := good.InTx(ctx, s, fn)
		for _, tell := range log.tell {
			tell(s.AccountID)
		}
		return err
	})(m)
	b.Events = log
	return b
}

// againLog begins with an event that was read before.
type againLog struct{ *memstore.Store }

func (l againLog) Events(ctx context.Context, accountID, after int64, limit int) ([]storage.Event, error) {
	return l.Store.Events(ctx, accountID, max(after-1, 0), limit)
}

// queue is a queue with a mistake.
type queue struct {
	*memstore.Store
	lease   func(now, lease time.Time) time.Time
	attempt func(int) int
	reason  func(string) string
	more    int
	extends bool
}

func jobs(mistake func(*queue)) func(*memstore.Store) storagetest.Backend {
	return func(m *memstore.Store) storagetest.Backend {
		q := &queue{Store: m}
		mistake(q)
		b := whole(m)
		b.Jobs = q
		return b
	}
}

func (q *queue) Claim(ctx context.Context, most map[string]int, now, lease time.Time) ([]storage.ClaimedJob, error) {
	if q.lease != nil {
		lease = q.lease(now, lease)
	}
	wide := map[string]int{}
	for kind, n := range most {
		wide[kind] = n + q.more
	}
	return q.Store.Claim(ctx, wide, now, lease)
}

func (q *queue) Finish(ctx context.Context, jobs ...storage.ClaimedJob) error {
	if q.attempt != nil {
		for _, job := range jobs {
			job.Attempt = q.attempt(job.Attempt)
			if err := q.Store.Finish(ctx, job); err != nil {
				return err
			}
		}
	}
	return q.Store.Finish(ctx, jobs...)
}

func (q *queue) Retry(ctx context.Context, job storage.ClaimedJob, runAt time.Time, reason string) error {
	if q.reason != nil {
		reason = q.reason(reason)
	}
	return q.Store.Retry(ctx, job, runAt, reason)
}

func (q *queue) Fail(ctx context.Context, job storage.ClaimedJob, reason string) error {
	if q.reason != nil {
		reason = q.reason(reason)
	}
	return q.Store.Fail(ctx, job, reason)
}

func (q *queue) Extend(ctx context.Context, job storage.ClaimedJob, lease time.Time) error {
	err := q.Store.Extend(ctx, job, lease)
	if q.extends && fault.Is(err, fault.Conflict) {
		return nil
	}
	return err
}

// shelves is a store of the knowledge base with a mistake.
type shelves struct {
	kb.Store
	commits, live, strays bool
}

func library(mistake func(*shelves)) func(*memstore.Store) storagetest.Backend {
	return func(m *memstore.Store) storagetest.Backend {
		s := &shelves{Store: m.KB()}
		mistake(s)
		b := whole(m)
		b.KB = s
		return b
	}
}

func (s *shelves) Within(of kb.Scope) kb.Reader {
	if s.strays && of.SiteID > 1 {
		of.SiteID--
	}
	return s.Store.Within(of)
}

func (s *shelves) InTx(ctx context.Context, of kb.Scope, fn func(ctx context.Context, tx kb.Tx) error) (failed error) {
	if !s.commits {
		return s.Store.InTx(ctx, of, fn)
	}
	err := s.Store.InTx(ctx, of, func(ctx context.Context, tx kb.Tx) error { failed = fn(ctx, tx); return nil })
	return errors.Join(failed, err)
}

func (s *shelves) InSnapshot(ctx context.Context, fn func(ctx context.Context, within func(kb.Scope) kb.Reader) error) error {
	return s.Store.InSnapshot(ctx, func(ctx context.Context, within func(kb.Scope) kb.Reader) error {
		if s.live {
			within = s.Store.Within
		}
		return fn(ctx, within)
	})
}
