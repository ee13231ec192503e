package bunstore

import (
	"context"
	"database/sql"
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

// maxAttempts is how often the function of a transaction runs at most, and attemptPause the mean pause before the
// second time; it doubles from then on.
const (
	maxAttempts  = 5
	attemptPause = 4 * time.Millisecond
)

// transaction is the part of a querier that ends.
type transaction struct {
	conn  bun.IConn
	ended atomic.Bool
	// What goes to the outbox is written right before the commit, the events last: the row that counts them is locked
	// from then on, so the log is without gaps and in the order of the commits, and others wait for a moment only.
	jobs   []jobRow
	events map[int64][]storage.Event
	// accounts says of those that the transaction had to do with whether they are there: others are asked for before
	// an event is emitted.
	accounts map[int64]bool
}

func newTransaction(conn bun.IConn) *transaction {
	return &transaction{conn: conn, events: map[int64][]storage.Event{}, accounts: map[int64]bool{}}
}

// own is a copy of a scope, which nobody changes afterwards.
func own(s helpdesk.Scope) helpdesk.Scope {
	s.Mailboxes = slices.Clone(s.Mailboxes)
	return s
}

// Within implements [helpdesk.Store].
func (db *DB) Within(s helpdesk.Scope) helpdesk.Reader {
	return reader{querier: &querier{store: db, db: db.read}, scope: own(s)}
}

// InTx implements [helpdesk.Store]. fn runs up to five times when the database reports a passing conflict. It must use
// the Tx and nothing else of this store: on SQLite another transaction would wait for this one, and this one for it.
// After a Conflict or a failed reference the transaction can only be rolled back on PostgreSQL: return the error.
//
// The end of ctx ends the transaction until its commit begins, and no longer: what was asked of the database by then is
// waited for. When its answer does not come, the error is an OutcomeUnknown fault.
func (db *DB) InTx(ctx context.Context, s helpdesk.Scope, fn func(ctx context.Context, tx helpdesk.Tx) error) error {
	return db.transact(ctx, s.AccountID, func(ctx context.Context, q *querier) error {
		return fn(ctx, newWriter(q, s))
	})
}

// InSystemTx implements [helpdesk.Store], see [DB.InTx].
func (db *DB) InSystemTx(ctx context.Context, fn func(ctx context.Context, tx helpdesk.SystemTx) error) error {
	return db.transact(ctx, 0, func(ctx context.Context, q *querier) error {
		return fn(ctx, systemTx{directory{q}})
	})
}

// transact runs fn in a transaction of its own, or as a part of the one of the context's unit. The account is that of
// all it does, 0 when it is of none.
func (db *DB) transact(ctx context.Context, account int64, fn func(context.Context, *querier) error) error {
	if u := db.unit(ctx); u != nil {
		return u.part(ctx, account, fn)
	}
	return db.again(ctx, func() error { return db.attempt(ctx, account, fn) })
}

// enter lets a transaction of PostgreSQL into an account, before it locks anything there: many at once, or one alone,
// see [storage.Alone]. Without it one that removes what many refer to, and so needs their rows, and who waits for that
// one while holding some would end each other again and again. The lock is one that lets nobody pass who comes later.
func (db *DB) enter(ctx context.Context, conn bun.IConn, account int64) error {
	if !db.postgres || account == 0 {
		return nil
	}
	lock := "pg_advisory_xact_lock_shared"
	if storage.IsAlone(ctx) {
		lock = "pg_advisory_xact_lock"
	}
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	_, err := conn.ExecContext(ctx, fmt.Sprintf("SELECT %s(%d, %d)", lock, accountLocks, int32(account))) //nolint:gosec // two accounts may share a lock
	return failure(ctx, err, "transaction", 0)
}

// accountLocks is the first key of the locks of enter.
const accountLocks = 0x68770001

// again runs fn until it does not meet a passing conflict.
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

// opened is a transaction of its own and how long it lives.
type opened struct {
	*lifetime
	tx         *sql.Tx
	committing bool
}

// begin begins a transaction that writes.
func (db *DB) begin(ctx context.Context) (*opened, error) {
	o := &opened{lifetime: db.newLifetime(ctx)}
	var err error
	if o.tx, err = o.lifetime.begin(db.write.DB); err != nil {
		o.end()
		return nil, failure(ctx, err, "transaction", 0)
	}
	if db.deferred {
		// A transaction that reads first and writes later may fail at once on SQLite; one that begins with a write,
		// even of nothing, waits for its turn.
		if _, err := o.tx.ExecContext(ctx, "DELETE FROM hw_accounts WHERE FALSE"); err != nil {
			o.close()
			return nil, failure(ctx, err, "transaction", 0)
		}
	}
	return o, nil
}

// close rolls back what was not committed.
func (o *opened) close() {
	if !o.committing {
		o.rollback(o.tx)
	}
	o.end()
}

// attempt runs fn in a transaction of its own.
func (db *DB) attempt(ctx context.Context, account int64, fn func(context.Context, *querier) error) error {
	outer, err := db.begin(ctx)
	if err != nil {
		return err
	}
	s := &querier{store: db, db: db.write, tx: newTransaction(outer.tx)}
	defer func() { // also when fn panics
		s.tx.ended.Store(true)
		outer.close()
	}()
	if err := db.enter(ctx, outer.tx, account); err != nil {
		return err
	}
	if err := fn(ctx, s); err != nil {
		return err
	}
	return db.commit(ctx, outer, s)
}

// commit writes the outbox of s, commits its transaction and tells who waits for that.
func (db *DB) commit(ctx context.Context, outer *opened, s *querier) error {
	queued, err := s.flush(ctx)
	if err != nil {
		return err
	}
	if !outer.detach() {
		return failure(ctx, ctx.Err(), "transaction", 0)
	}
	outer.committing = true
	if err := outer.lifetime.commit(outer.tx); err != nil {
		return commitFailure(ctx, err)
	}
	if queued {
		db.wakeUp()
	}
	for account := range s.tx.events {
		db.watchers.Notify(account)
	}
	return nil
}

// Bound is a store that lives in a transaction of its caller: see [DB.Bind].
type Bound struct {
	directory
}

var _ helpdesk.Store = (*Bound)(nil)

// Bind returns a store that reads and writes in tx and never ends it. InTx runs its function once, within a savepoint:
// an error undoes what the function did, and nothing else. The transaction of SQLite should have begun immediate.
//
// A Bound is for one goroutine, as the transaction is. Jobs become visible with the caller's commit; call
// [DB.WakeWorkers] after it to have them started without delay.
func (db *DB) Bind(tx bun.Tx) *Bound { return db.BindSQL(tx.Tx) }

// BindSQL is [DB.Bind] for a transaction that bun has not begun.
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

// savepoint runs fn in a part of the transaction of conn that an error undoes.
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
	// Not under ctx: interrupted, it may have happened all the same.
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
	return newWriter(t.querier, s)
}

// flush writes the outbox and reports whether there are new jobs. Accounts come in the order of their ids, so that
// two transactions with events of the same accounts do not wait for each other.
func (s *querier) flush(ctx context.Context) (queued bool, err error) {
	if len(s.tx.jobs) > 0 {
		if queued, err = s.insertJobs(ctx, s.tx.jobs); err != nil {
			return false, err
		}
	}
	for _, account := range slices.Sorted(maps.Keys(s.tx.events)) {
		if !s.tx.accounts[account] {
			continue // removed since, and its log with it
		}
		if err := s.insertEvents(ctx, account, s.tx.events[account]); err != nil {
			return false, err
		}
	}
	return queued, nil
}

// outbox implements [storage.Outbox] for the transactions of both domains.
type outbox struct {
	into *querier
	of   int64
}

// Enqueue implements [storage.Outbox].
func (o outbox) Enqueue(_ context.Context, jobs ...storage.Job) error {
	if err := o.into.state(); err != nil {
		return err
	}
	rows := make([]jobRow, len(jobs))
	for i, j := range jobs {
		if j.Kind == "" || len(j.Kind) > maxKind {
			return fault.Field("kind", "must have from 1 to 64 bytes")
		}
		if len(j.Payload) > maxPayload {
			return fault.Field("payload", "must have at most 64 KiB")
		}
		rows[i] = jobRowOf(j)
	}
	if err := checkText(rows); err != nil {
		return err
	}
	o.into.tx.jobs = append(o.into.tx.jobs, rows...)
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

// requireAccount refuses an account that is not there, and asks the database only when the transaction does not know.
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

// foundAccount notes that a statement could not have succeeded without the account.
func (o outbox) foundAccount() { o.into.tx.accounts[o.of] = true }
