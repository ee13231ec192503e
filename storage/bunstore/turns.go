package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/helpwright/helpwright/storage"
)

// A SQLite database has one writer at a time, and each commit writes the changed pages and waits for the disk. Transactions
// that wait for their turn therefore share a commit with the one before them.
const (
	maxShared = 64 // transactions of a commit
	// A commit takes in up to minShared transactions that wait, and further ones for as long as the last commit took, but none
	// after maxOpen.
	minShared = 8
	maxOpen   = 50 * time.Millisecond
)

// errShared is the error of transactions that are rolled back with another one. They run again.
var errShared = fmt.Errorf("a transaction that shares the commit was rolled back: %w", sql.ErrTxDone)

// turns lets the transactions that write to a SQLite database take turns, first come, first served.
type turns struct {
	pool    *sql.DB
	longest time.Duration // how long a commit takes in others at most

	mu      sync.Mutex
	taken   bool
	waiting []*waiter
	pace    time.Duration // of the last commit
	commits int64
	waits   int64 // how many have waited, and for how long
	waited  time.Duration
}

func newTurns(pool *sql.DB) *turns { return &turns{pool: pool, longest: maxOpen} }

// stats returns those of the pool, with the waits for turns.
func (t *turns) stats() sql.DBStats {
	s := t.pool.Stats()
	t.mu.Lock()
	defer t.mu.Unlock()
	s.WaitCount += t.waits
	s.WaitDuration += t.waited
	return s
}

// waiter waits for its turn.
type waiter struct {
	alone bool         // it shares no commit
	ready chan *shared // receives what it continues; nil: nothing
}

// shared is a transaction of the database, in which transactions run one after the other.
type shared struct {
	tx      databaseTx
	alone   bool
	began   time.Time
	members int // that wait for the commit

	done chan struct{} // closed after the commit, whose error is err
	err  error
}

// begin waits for its turn and begins a transaction, which ends with ctx unless its commit has begun.
func (t *turns) begin(ctx context.Context) (databaseTx, error) {
	alone := storage.IsAlone(ctx)
	in, err := t.take(ctx, alone)
	if err != nil {
		return nil, err
	}
	joins := in != nil
	if joins {
		if _, err = in.tx.ExecContext(context.WithoutCancel(ctx), "SAVEPOINT hw_turn"); err != nil {
			in.fail(err) // a member may have ignored that SQLite rolled the transaction back
			err = errors.Join(errShared, err)
		}
	} else {
		in, err = t.open(ctx, alone)
	}
	if err != nil {
		t.pass(nil)
		return nil, err
	}
	tx := &turn{of: t, ctx: ctx, in: in, joined: joins}
	tx.mu.Lock() // ctx may end at once
	defer tx.mu.Unlock()
	tx.stop = context.AfterFunc(ctx, func() { _ = tx.Rollback() })
	return tx, nil
}

// open begins a transaction of the database, which does not end with ctx once it has begun.
func (t *turns) open(ctx context.Context, alone bool) (*shared, error) {
	lives, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	tx, err := t.pool.BeginTx(lives, nil)
	if !stop() && err == nil {
		_ = tx.Rollback() // if it has not ended yet
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &shared{tx: tx, alone: alone, began: time.Now(), done: make(chan struct{})}, nil
}

// take waits for a turn and returns the transaction that it continues, or nil.
func (t *turns) take(ctx context.Context, alone bool) (*shared, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return nil, nil //nolint:nilnil // it continues nothing
	}
	w := &waiter{alone: alone, ready: make(chan *shared, 1)}
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()
	defer t.count(time.Now())
	select {
	case in := <-w.ready:
		return in, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(t.waiting, w)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 { // its turn came at the same moment
		t.pass(<-w.ready)
	}
	return nil, ctx.Err()
}

// count counts a wait that began at a time.
func (t *turns) count(since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waits++
	t.waited += time.Since(since)
}

// pass ends a turn. The next in line continues in the same transaction if it may; otherwise the transaction is committed.
func (t *turns) pass(in *shared) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if in != nil && !t.joins(in) {
		t.mu.Unlock()
		took := in.commit()
		t.mu.Lock()
		t.pace, in = took, nil
		t.commits++
	}
	if len(t.waiting) == 0 {
		t.taken = false
		return
	}
	t.waiting[0].ready <- in
	t.waiting = slices.Delete(t.waiting, 0, 1)
}

// joins reports whether the next that waits may join a transaction.
func (t *turns) joins(in *shared) bool {
	if len(t.waiting) == 0 || t.waiting[0].alone || in.alone || in.members >= maxShared {
		return false
	}
	open := t.longest
	if in.members >= minShared {
		open = min(t.pace, open)
	}
	return time.Since(in.began) < open
}

// commit commits the members. It returns how long that took.
func (s *shared) commit() time.Duration {
	began := time.Now()
	s.err = s.tx.Commit()
	if s.members > 1 && errors.Is(s.err, sql.ErrTxDone) {
		s.err = errors.Join(errShared, s.err)
	}
	close(s.done)
	return time.Since(began)
}

// fail rolls the members back because of an error of another one.
func (s *shared) fail(err error) {
	s.err = errors.Join(errShared, err, s.tx.Rollback())
	close(s.done)
}

// turn is a transaction that may share its commit with others.
type turn struct {
	of     *turns
	ctx    context.Context //nolint:containedctx // of the transaction
	in     *shared
	joined bool        // in a savepoint of in
	stop   func() bool // ends the watch of ctx

	mu    sync.RWMutex // held for reading by each statement
	ended bool
}

// end marks the transaction as ended once its running statement has ended, and reports whether it was not.
func (t *turn) end() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return false
	}
	t.ended = true
	t.stop()
	return true
}

// Commit returns [sql.ErrTxDone] if the transaction has ended before. If ctx ends, nobody knows whether it is committed.
func (t *turn) Commit() error {
	if !t.end() {
		return sql.ErrTxDone
	}
	if t.joined {
		if err := t.do("RELEASE SAVEPOINT hw_turn"); err != nil {
			t.in.fail(err)
			t.of.pass(nil)
			return errors.Join(errShared, err)
		}
	}
	t.in.members++
	t.of.pass(t.in)
	select {
	case <-t.in.done:
		return t.in.err
	case <-t.ctx.Done():
		return t.ctx.Err()
	}
}

// Rollback returns [sql.ErrTxDone] if the transaction has ended before.
func (t *turn) Rollback() error {
	if !t.end() {
		return sql.ErrTxDone
	}
	if !t.joined {
		err := t.in.tx.Rollback()
		t.of.pass(nil)
		return err
	}
	err := t.do("ROLLBACK TO SAVEPOINT hw_turn")
	if err == nil {
		err = t.do("RELEASE SAVEPOINT hw_turn")
	}
	if err != nil {
		t.in.fail(err)
		t.of.pass(nil)
		return err
	}
	t.of.pass(t.in)
	return nil
}

func (t *turn) do(query string) error {
	_, err := t.in.tx.ExecContext(context.WithoutCancel(t.ctx), query)
	return err
}

// statement begins a statement, and returns the context to run it with. Without an error, t.mu.RUnlock must follow. SQLite
// rolls back the whole transaction when a write is interrupted, so nothing interrupts statements once members wait for the
// commit.
func (t *turn) statement(ctx context.Context) (context.Context, error) {
	if err := errors.Join(t.ctx.Err(), ctx.Err()); err != nil {
		return nil, err
	}
	t.mu.RLock()
	if t.ended {
		t.mu.RUnlock()
		return nil, sql.ErrTxDone
	}
	if t.joined {
		return context.WithoutCancel(ctx), nil
	}
	return ctx, nil
}

// QueryContext implements [bun.IConn].
func (t *turn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, err := t.statement(ctx)
	if err != nil {
		return nil, err
	}
	defer t.mu.RUnlock()
	return t.in.tx.QueryContext(ctx, query, args...)
}

// ExecContext implements [bun.IConn].
func (t *turn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, err := t.statement(ctx)
	if err != nil {
		return nil, err
	}
	defer t.mu.RUnlock()
	return t.in.tx.ExecContext(ctx, query, args...)
}

// QueryRowContext implements [bun.IConn].
func (t *turn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	inner, err := t.statement(ctx)
	if err != nil { // only package sql can make a row with an error
		ended, cancel := context.WithCancel(ctx)
		cancel()
		return t.in.tx.QueryRowContext(ended, query, args...)
	}
	defer t.mu.RUnlock()
	return t.in.tx.QueryRowContext(inner, query, args...)
}
