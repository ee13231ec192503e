package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"
)

// errSlow is why something ended that the database gave no answer to in time.
var errSlow = errors.New("the database does not answer")

// grace is how much longer than the server we wait for a statement that the server itself ends in time.
const grace = 5 * time.Second

// bounded limits a statement on our side: a server that is gone, or behind a network that swallows everything, never
// says that a statement took too long.
func (db *DB) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, db.patience)
}

// bounding is a hook that limits every statement of bun, see bounded.
type bounding struct{ patience time.Duration }

// limited is the context of a statement.
type limited struct {
	context.Context //nolint:containedctx // it is one
	cancel          context.CancelFunc
}

type limitKey struct{}

// Value finds the context itself under the contexts that other hooks make of it.
func (l *limited) Value(key any) any {
	if key == (limitKey{}) {
		return l
	}
	return l.Context.Value(key)
}

// outlasting marks the context of a statement whose rows are read after the hook: it is limited by who reads them.
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

// lifetime is how long a transaction may live: as long as the request that it belongs to, until it is committed. The
// commit has a limit of its own, since who interrupts it does not know what became of it.
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

// within runs one statement of the transaction itself, and ends the transaction when it takes too long.
func (l *lifetime) within(fn func() error) error {
	timer := time.AfterFunc(l.patience, func() { l.cancel(errSlow) })
	defer timer.Stop()
	err := fn()
	if err != nil && errors.Is(context.Cause(l.ctx), errSlow) {
		return errors.Join(errSlow, err)
	}
	return err
}

func (l *lifetime) begin(db *sql.DB) (tx *sql.Tx, err error) {
	err = l.within(func() error {
		tx, err = db.BeginTx(l.ctx, nil)
		return err
	})
	return tx, err
}

// detach lets the transaction outlive its request, unless that has ended.
func (l *lifetime) detach() bool { return l.stop() && l.ctx.Err() == nil }

func (l *lifetime) commit(tx *sql.Tx) error { return l.within(tx.Commit) }

func (l *lifetime) rollback(tx *sql.Tx) {
	l.stop() // a rollback that is interrupted costs the connection
	_ = l.within(tx.Rollback)
}

func (l *lifetime) end() {
	l.stop()
	l.cancel(nil)
}
