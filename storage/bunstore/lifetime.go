package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"
)

// errSlow is the cause when something ended because the database did not answer in time.
var errSlow = errors.New("the database does not answer")

// grace is how much longer we wait than the server, which normally ends a slow statement itself.
const grace = 5 * time.Second

// bounded limits a statement on our side: a server that is gone, or behind a network that drops everything, never reports
// that a statement took too long.
func (db *DB) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, db.patience)
}

// bounding is a hook that limits every statement of bun: see bounded.
type bounding struct{ patience time.Duration }

// limited is the context of a statement.
type limited struct {
	context.Context //nolint:containedctx // it is one
	cancel          context.CancelFunc
}

type limitKey struct{}

// Value returns the context itself, even below contexts that other hooks derive from it.
func (l *limited) Value(key any) any {
	if key == (limitKey{}) {
		return l
	}
	return l.Context.Value(key)
}

// outlasting marks the context of a statement whose rows are read after the hook; the reader limits it then.
type outlasting struct{}

// BeforeQuery implements [bun.QueryHook].
func (b bounding) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context {
	if ctx.Value(outlasting{}) != nil {
		return ctx
	}
	inner, cancel := context.WithTimeout(ctx, b.patience)
	return &limited{inner, cancel}
}

// AfterQuery implements [bun.QueryHook].
func (bounding) AfterQuery(ctx context.Context, _ *bun.QueryEvent) {
	if l, ok := ctx.Value(limitKey{}).(*limited); ok {
		l.cancel()
	}
}

// lifetime limits a transaction: it lives as long as its request, until the commit begins. The commit has a limit of its
// own, because interrupting it leaves its outcome unknown.
type lifetime struct {
	ctx      context.Context //nolint:containedctx // of the transaction
	cancel   context.CancelCauseFunc
	stop     func() bool // detaches it from the request
	patience time.Duration
}

func (db *DB) newLifetime(request context.Context) *lifetime {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(request))
	l := &lifetime{ctx: ctx, cancel: cancel, patience: db.patience}
	l.stop = context.AfterFunc(request, func() { cancel(request.Err()) })
	return l
}

// within runs one statement of the transaction, and ends the transaction when it takes too long.
func (l *lifetime) within(fn func() error) error {
	timer := time.AfterFunc(l.patience, func() { l.cancel(errSlow) })
	defer timer.Stop()
	err := fn()
	if err != nil && errors.Is(context.Cause(l.ctx), errSlow) {
		return errors.Join(errSlow, err)
	}
	return err
}

// begin begins the transaction.
func (l *lifetime) begin(db *DB) (tx *sql.Tx, err error) {
	err = l.within(func() error {
		tx, err = db.write.DB.BeginTx(l.ctx, nil)
		return err
	})
	return tx, err
}

// detach lets the transaction outlive its request, unless the request has ended.
func (l *lifetime) detach() bool { return l.stop() && l.ctx.Err() == nil }

func (l *lifetime) commit(tx *sql.Tx) error { return l.within(tx.Commit) }

func (l *lifetime) rollback(tx *sql.Tx) {
	l.stop() // interrupting a rollback costs the connection
	_ = l.within(tx.Rollback)
}

func (l *lifetime) end() {
	l.stop()
	l.cancel(nil)
}
