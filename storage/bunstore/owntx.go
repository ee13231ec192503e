package bunstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/storage/bunstore/internal/unwatched"
)

// databaseTx is a transaction of the database.
type databaseTx interface {
	bun.IConn
	Commit() error
	Rollback() error
}

// beginTx begins a transaction, which ends with the context lives unless it has committed.
func beginTx(ctx, lives context.Context, pool *sql.DB) (databaseTx, error) {
	if !watches(pool) {
		return pool.BeginTx(lives, nil)
	}
	for last := false; ; {
		tx, err := beginOwnTx(ctx, lives, pool)
		switch {
		case err == nil:
			return tx, nil
		case last || !errors.Is(err, driver.ErrBadConn):
			return nil, err
		}
		last = pool.Stats().Idle == 0 // then the next connection is a new one
	}
}

// ownTx does what sql.Tx does, which starts a goroutine for itself and one for each query to wait for the end of their
// contexts. It is for drivers that watch the contexts of queries.
type ownTx struct {
	ctx  context.Context //nolint:containedctx // of the transaction
	conn *sql.Conn
	tx   driver.Tx
	stop func() bool // ends the watch of ctx

	mu   sync.Mutex // held while it ends
	done bool
}

func beginOwnTx(ctx, lives context.Context, pool *sql.DB) (*ownTx, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	t := &ownTx{ctx: lives, conn: conn}
	err = conn.Raw(func(c any) (err error) {
		begins, ok := c.(driver.ConnBeginTx)
		if !ok {
			return errors.ErrUnsupported
		}
		t.tx, err = begins.BeginTx(ctx, driver.TxOptions{})
		return err
	})
	if err != nil {
		return nil, errors.Join(err, ignoreDone(conn.Close()))
	}
	t.mu.Lock() // it may end at once
	defer t.mu.Unlock()
	t.stop = context.AfterFunc(lives, func() { _ = t.Rollback() })
	return t, nil
}

// ignoreDone returns an error unless it says that a connection is closed already.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}

// Commit returns [sql.ErrTxDone] if the transaction has ended before.
func (t *ownTx) Commit() error { return t.end(func() error { return t.tx.Commit() }) }

// Rollback returns [sql.ErrTxDone] if the transaction has ended before.
func (t *ownTx) Rollback() error { return t.end(func() error { return t.tx.Rollback() }) }

func (t *ownTx) end(do func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return sql.ErrTxDone
	}
	t.done = true
	t.stop()
	err := txDone(t.conn.Raw(func(any) error { return do() })) // the connection may have been lost
	return errors.Join(err, ignoreDone(t.conn.Close()))
}

// QueryContext implements [bun.IConn].
func (t *ownTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	rows, err := t.conn.QueryContext(unwatched.Context(ctx), query, args...)
	return rows, txDone(err)
}

// ExecContext implements [bun.IConn].
func (t *ownTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	result, err := t.conn.ExecContext(ctx, query, args...)
	return result, txDone(err)
}

// txDone returns sql's error for a transaction that has ended.
func txDone(err error) error {
	if errors.Is(err, sql.ErrConnDone) {
		return errors.Join(sql.ErrTxDone, err)
	}
	return err
}

// QueryRowContext implements [bun.IConn].
func (t *ownTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if t.ctx.Err() != nil {
		ctx = t.ctx
	}
	return t.conn.QueryRowContext(unwatched.Context(ctx), query, args...)
}
