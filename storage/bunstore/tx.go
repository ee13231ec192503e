package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// maxAttempts is how often the function of a transaction runs at most. attemptPause is the mean pause before the second
// attempt; it doubles with each further one.
const (
	maxAttempts  = 5
	attemptPause = 4 * time.Millisecond
)

// transaction is the state of a querier that ends with its transaction.
type transaction struct {
	conn  bun.IConn
	own   bool // the store commits it, and then wakes the workers of this process
	ended atomic.Bool
	// The outbox is written just before the commit, events last: the row that counts events stays locked from then on. The log
	// thus has no gaps and follows the order of commits, and other transactions wait only briefly.
	jobs   []jobRow
	asking map[int64][]asking // jobs by account
	events map[int64][]storage.Event
	// accounts records which accounts the transaction has seen to exist or not; others are looked up before an event is
	// emitted.
	accounts map[int64]bool
	// changed are the accounts whose members and roles the transaction may have changed; 0 stands for all accounts, users and
	// tokens.
	changed []int64
}

// asking is a job for accounts that listen to any of some types of events.
type asking struct {
	job    jobRow
	events []string
}

func newTransaction(conn bun.IConn) *transaction {
	return &transaction{conn: conn, asking: map[int64][]asking{}, events: map[int64][]storage.Event{}, accounts: map[int64]bool{}}
}

// own returns a private copy of a scope.
func own(s helpdesk.Scope) helpdesk.Scope {
	s.Mailboxes = slices.Clone(s.Mailboxes)
	return s
}

// Within implements [helpdesk.Store].
func (db *DB) Within(s helpdesk.Scope) helpdesk.Reader {
	return reader{querier: &querier{store: db, db: db.read}, scope: own(s)}
}

// InTx implements [helpdesk.Store]. fn runs up to five times when the database reports a transient conflict. It must use
// only the Tx and nothing else of this store: on SQLite another transaction would deadlock with this one. After a Conflict
// or a failed reference PostgreSQL can only roll the transaction back: return the error.
//
// Until its commit begins, the transaction ends with ctx. After that it waits for the database's answer; without an answer
// the error is an OutcomeUnknown fault.
func (db *DB) InTx(ctx context.Context, s helpdesk.Scope, fn func(ctx context.Context, tx helpdesk.Tx) error) error {
	return db.transact(ctx, entry{s.AccountID, s.Alone}, func(ctx context.Context, q *querier) error {
		q.tx.changed = append(q.tx.changed, s.AccountID)
		return fn(ctx, newWriter(q, s))
	})
}

// InSystemTx implements [helpdesk.Store], see [DB.InTx].
func (db *DB) InSystemTx(ctx context.Context, fn func(ctx context.Context, tx helpdesk.SystemTx) error) error {
	return db.transact(ctx, entry{}, func(ctx context.Context, q *querier) error {
		q.tx.changed = append(q.tx.changed, 0)
		return fn(ctx, systemTx{directory{q}})
	})
}

// entry says which account a transaction works on, 0 for none, and whether it is alone there, see [helpdesk.Scope.Alone].
type entry struct {
	account int64
	alone   bool
}

// transact runs fn in a transaction of its own, or as a part of the transaction of the context's unit.
func (db *DB) transact(ctx context.Context, into entry, fn func(context.Context, *querier) error) error {
	if u := db.unit(ctx); u != nil {
		return u.part(ctx, into, fn)
	}
	if db.cfg.Tracer != nil {
		return db.spanned(ctx, func(ctx context.Context) error { return db.attempts(ctx, into, fn) })
	}
	return db.attempts(ctx, into, fn)
}

// attempts runs fn in a transaction, again after a transient conflict.
func (db *DB) attempts(ctx context.Context, into entry, fn func(context.Context, *querier) error) error {
	return db.again(ctx, func() error { return db.attempt(ctx, into, fn) })
}

// enter admits a PostgreSQL transaction to an account before it locks anything there: many at once, or one alone, see
// [helpdesk.Scope.Alone]. Without it, a transaction that deletes rows that many refer to would deadlock again and again with those
// that wait for it while holding some of these rows. Later transactions queue behind the waiting lock.
func (db *DB) enter(ctx context.Context, conn bun.IConn, into entry) error {
	if !db.postgres || into.account == 0 {
		return nil
	}
	lock := "pg_advisory_xact_lock_shared"
	if into.alone {
		lock = "pg_advisory_xact_lock"
	}
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	_, err := conn.ExecContext(ctx, fmt.Sprintf("SELECT %s(%d, %d)", lock, accountLocks, int32(into.account))) // two accounts may share a lock
	return failure(ctx, err, "transaction", 0)
}

// accountLocks is the first key of the locks of enter.
const accountLocks = 0x68770001

// again runs fn until it meets no transient conflict.
func (db *DB) again(ctx context.Context, fn func() error) error {
	for attempt := 1; ; attempt++ {
		err := fn()
		if err == nil || attempt == maxAttempts || !passing(err) {
			return err
		}
		mean := attemptPause << (attempt - 1)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(mean/2 + rand.N(mean)):
		}
	}
}

// opened is a transaction of its own with its lifetime.
type opened struct {
	*lifetime
	tx         *sql.Tx
	committing bool
}

// begin begins a writing transaction, and enters an account, see enter.
func (db *DB) begin(ctx context.Context, into entry) (*opened, error) {
	o := &opened{lifetime: db.newLifetime(ctx)}
	var err error
	if o.tx, err = o.lifetime.begin(db); err != nil {
		o.end()
		return nil, failure(ctx, err, "transaction", 0)
	}
	if err := db.enter(ctx, o.tx, into); err != nil {
		o.close()
		return nil, err
	}
	if db.deferred {
		// On SQLite a transaction that reads first and writes later may fail at once; one that begins with a write, even an empty
		// one, waits for its turn.
		if _, err := o.tx.ExecContext(ctx, "DELETE FROM hw_accounts WHERE FALSE"); err != nil {
			o.close()
			return nil, failure(ctx, err, "transaction", 0)
		}
	}
	return o, nil
}

// close rolls back an uncommitted transaction.
func (o *opened) close() {
	if !o.committing {
		o.rollback(o.tx)
	}
	o.end()
}

// attempt runs fn in a transaction of its own.
func (db *DB) attempt(ctx context.Context, into entry, fn func(context.Context, *querier) error) error {
	outer, err := db.begin(ctx, into)
	if err != nil {
		return err
	}
	s := &querier{store: db, db: db.write, tx: newTransaction(outer.tx)}
	s.tx.own = true
	defer func() { // also when fn panics
		s.tx.ended.Store(true)
		outer.close()
	}()
	if err := fn(ctx, s); err != nil {
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil { // the end of the request is why the transaction is over
			return failure(ctx, ctx.Err(), "transaction", 0)
		}
		return err
	}
	return db.commit(ctx, outer, s)
}

// commit writes the outbox of s, commits its transaction and wakes those who wait for that.
func (db *DB) commit(ctx context.Context, outer *opened, s *querier) error {
	queued, err := s.flush(ctx)
	if err != nil {
		return err
	}
	if !outer.detach() {
		return failure(ctx, ctx.Err(), "transaction", 0)
	}
	outer.committing = true
	err = outer.lifetime.commit(outer.tx)
	db.replica.wrote(s.tx.changed...) // also when nobody knows whether it is committed
	if err != nil && notCommitted(err) {
		return commitFailure(ctx, err)
	}
	db.committed(s.tx, queued) // as far as anybody knows
	if err != nil {
		return commitFailure(ctx, err)
	}
	return nil
}

// Bound is a store in a transaction of its caller: see [DB.Bind].
type Bound struct {
	directory
}

var _ helpdesk.Store = (*Bound)(nil)

// Bind returns a store that reads and writes in tx and never ends it. InTx runs its function once, in a savepoint: an error
// undoes only what the function did. A SQLite transaction should have begun immediate.
//
// A Bound is for one goroutine, like its transaction. Jobs become visible with the caller's commit; call [DB.WakeWorkers]
// after it to start them without delay.
func (db *DB) Bind(tx bun.Tx) *Bound { return db.BindSQL(tx.Tx) }

// BindSQL is [DB.Bind] for a transaction that was not begun by bun.
func (db *DB) BindSQL(tx *sql.Tx) *Bound {
	return &Bound{directory{&querier{store: db, db: db.write, tx: newTransaction(tx)}}}
}

// Within implements [helpdesk.Store]; it reads in the transaction.
func (b *Bound) Within(s helpdesk.Scope) helpdesk.Reader {
	return reader{querier: b.querier, scope: own(s)}
}

// InTx implements [helpdesk.Store] with a savepoint.
func (b *Bound) InTx(ctx context.Context, s helpdesk.Scope, fn func(ctx context.Context, tx helpdesk.Tx) error) error {
	return b.savepoint(ctx, func(q *querier) error {
		return fn(ctx, newWriter(q, s))
	})
}

// InSystemTx implements [helpdesk.Store] with a savepoint.
func (b *Bound) InSystemTx(ctx context.Context, fn func(ctx context.Context, tx helpdesk.SystemTx) error) error {
	return b.savepoint(ctx, func(q *querier) error { return fn(ctx, systemTx{directory{q}}) })
}

func (b *Bound) savepoint(ctx context.Context, fn func(*querier) error) error {
	return b.store.savepoint(ctx, b.tx.conn, func(s *querier) error {
		if err := fn(s); err != nil {
			return err
		}
		_, err := s.flush(ctx)
		return err
	})
}

// savepoint runs fn in a savepoint on conn, which an error rolls back.
func (db *DB) savepoint(ctx context.Context, conn bun.IConn, fn func(*querier) error) error {
	if _, err := conn.ExecContext(ctx, "SAVEPOINT helpwright"); err != nil {
		return failure(ctx, err, "transaction", 0)
	}
	tx := newTransaction(conn)
	released := false
	defer func() { // also when fn panics
		tx.ended.Store(true)
		if !released {
			after, cancel := db.bounded(context.WithoutCancel(ctx))
			defer cancel()
			_, _ = conn.ExecContext(after, "ROLLBACK TO SAVEPOINT helpwright")
			_, _ = conn.ExecContext(after, "RELEASE SAVEPOINT helpwright")
		}
	}()
	if err := fn(&querier{store: db, db: db.write, tx: tx}); err != nil {
		return err
	}
	// Not under ctx: an interrupted statement may still have taken effect.
	release, cancel := db.bounded(context.WithoutCancel(ctx))
	defer cancel()
	if _, err := conn.ExecContext(release, "RELEASE SAVEPOINT helpwright"); err != nil {
		return failure(ctx, err, "transaction", 0)
	}
	released = true
	return nil
}

// systemTx implements [helpdesk.SystemTx].
type systemTx struct{ directory }

var _ helpdesk.SystemTx = systemTx{}

// Within implements [helpdesk.SystemTx].
func (t systemTx) Within(s helpdesk.Scope) helpdesk.Tx {
	t.tx.changed = append(t.tx.changed, s.AccountID)
	return newWriter(t.querier, s)
}

// flush writes the outbox and reports whether there may be new jobs. It writes accounts in id order, so that transactions with
// events of the same accounts do not deadlock.
func (s *querier) flush(ctx context.Context) (queued bool, err error) {
	for _, account := range slices.Sorted(maps.Keys(s.tx.asking)) {
		if len(s.tx.events[account]) == 0 {
			if err := s.answerAsking(ctx, account); err != nil {
				return false, err
			}
		}
	}
	jobs, accounts := s.tx.jobs, slices.Sorted(maps.Keys(s.tx.events))
	accounts = slices.DeleteFunc(accounts, func(id int64) bool { return !s.tx.accounts[id] }) // deleted since, together with their logs
	if s.store.postgres && len(accounts) > 0 {
		for _, account := range accounts {
			new, listens, err := s.insertOutbox(ctx, jobs, account, s.tx.events[account])
			if err != nil {
				return false, err
			}
			more, err := s.insertAsking(ctx, account, listens)
			if err != nil {
				return false, err
			}
			queued, jobs = queued || new || more, nil
		}
		return queued, nil
	}
	if len(jobs) > 0 {
		if queued, err = s.insertJobs(ctx, jobs); err != nil {
			return false, err
		}
	}
	for _, account := range accounts {
		listens, err := s.insertEvents(ctx, account, s.tx.events[account])
		if err != nil {
			return false, err
		}
		more, err := s.insertAsking(ctx, account, listens)
		if err != nil {
			return false, err
		}
		queued = queued || more
	}
	return queued, nil
}

// answerAsking adds to the jobs those that want events to which an account listens, in a transaction that has no event of it.
func (s *querier) answerAsking(ctx context.Context, account int64) error {
	var listens list[string]
	err := s.raw("SELECT listens FROM hw_accounts WHERE id = ?", account).Scan(ctx, &listens)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return failure(ctx, err, "account", account)
	}
	s.tx.jobs = append(s.tx.jobs, s.wanted(account, listens)...)
	return nil
}

// wanted takes those jobs that want events to which an account listens.
func (s *querier) wanted(account int64, listens []string) (jobs []jobRow) {
	for _, a := range s.tx.asking[account] {
		if slices.ContainsFunc(a.events, func(kind string) bool { return slices.Contains(listens, kind) }) {
			jobs = append(jobs, a.job)
		}
	}
	delete(s.tx.asking, account)
	return jobs
}

// insertAsking queues those jobs that want events to which the account listens. They have no UniqueKey, for which
// transactions would wait while they hold the account.
func (s *querier) insertAsking(ctx context.Context, account int64, listens []string) (bool, error) {
	jobs := s.wanted(account, listens)
	if len(jobs) == 0 {
		return false, nil
	}
	s.tx.jobs = append(s.tx.jobs, jobs...)
	return s.insertJobs(ctx, jobs)
}

// outbox implements [storage.Outbox] for the transactions of both domains.
type outbox struct {
	into *querier
	of   int64
}

// Enqueue implements [storage.Outbox].
func (o outbox) Enqueue(ctx context.Context, jobs ...storage.Job) error {
	if err := o.into.state(); err != nil {
		return err
	}
	trace, rows := storage.Traceparent(ctx), make([]jobRow, len(jobs))
	for i, j := range jobs {
		if j.Kind == "" || len(j.Kind) > maxKind {
			return fault.Field("kind", "must have from 1 to 64 bytes")
		}
		if len(j.Payload) > maxPayload {
			return fault.Field("payload", "must have at most 64 KiB")
		}
		if len(j.Trace) > storage.MaxTraceparent {
			return fault.Field("trace", "must have at most 64 bytes")
		}
		j.Trace = cmp.Or(j.Trace, trace)
		rows[i] = jobRowOf(j)
	}
	if err := checkText(rows); err != nil {
		return err
	}
	for i, j := range jobs {
		if j.Listens == nil {
			o.into.tx.jobs = append(o.into.tx.jobs, rows[i])
			continue
		}
		if j.UniqueKey != "" || j.AccountID == 0 {
			return fault.Field("listens", "is only for jobs of an account without a key")
		}
		o.into.tx.asking[j.AccountID] = append(o.into.tx.asking[j.AccountID], asking{rows[i], j.Listens})
	}
	return nil
}

// Emit implements [storage.Outbox].
func (o outbox) Emit(ctx context.Context, events ...storage.Event) error {
	if err := o.requireAccount(ctx); err != nil {
		return err
	}
	for _, e := range events {
		if err := checkText(e.Type); err != nil {
			return err
		}
	}
	for _, e := range events {
		e.Data = slices.Clone(e.Data)
		o.into.tx.events[o.of] = append(o.into.tx.events[o.of], e)
	}
	return nil
}

// requireAccount refuses a missing account. It queries the database only when the transaction has not seen the account.
func (o outbox) requireAccount(ctx context.Context) error {
	if err := o.into.state(); err != nil {
		return err
	}
	there, known := o.into.tx.accounts[o.of]
	if !known {
		var err error
		there, err = o.into.selects((*accountRow)(nil)).Where("id = ?", o.of).Exists(ctx)
		if err != nil {
			return failure(ctx, err, "account", o.of)
		}
		o.into.tx.accounts[o.of] = there
	}
	if !there {
		return fault.Missing("account", o.of)
	}
	return nil
}

// foundAccount records that the account exists, because a statement succeeded that needs it.
func (o outbox) foundAccount() { o.into.tx.accounts[o.of] = true }
