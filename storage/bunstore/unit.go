package bunstore

import (
	"context"
	"database/sql"
	"maps"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"

	"github.com/helpwright/helpwright/storage"
)

// unit implements [storage.Unit]: the transaction of everything that happens under one context.
type unit struct {
	db    *DB
	ctx   context.Context //nolint:containedctx // the transaction lives as long as it, not as long as the context of its first part
	first func(ctx context.Context) error

	outer *opened
	whole *transaction // the outbox of all parts; nil: no transaction is open
	ended bool
}

// unitOf marks the contexts that carry a unit of a database.
type unitOf struct{ *DB }

// Begin implements [storage.Units].
func (db *DB) Begin(ctx context.Context, first func(ctx context.Context) error) (context.Context, storage.Unit) {
	u := &unit{db: db, first: first}
	u.ctx = context.WithValue(ctx, unitOf{db}, u)
	return u.ctx, u
}

// unit returns the open unit of a context, or nil.
func (db *DB) unit(ctx context.Context) *unit {
	if u, ok := ctx.Value(unitOf{db}).(*unit); ok && !u.ended {
		return u
	}
	return nil
}

// pooled is the connection for statements outside of a transaction of their own: the transaction of the context's unit if it
// is open, otherwise the pool.
type pooled struct {
	db   *bun.DB
	unit func(context.Context) *unit
	seen func(context.Context) bun.IConn // the context's snapshot, see [DB.InSnapshot]; nil: it has none
}

var _ bun.IConn = pooled{}

func (p pooled) conn(ctx context.Context) bun.IConn {
	if u := p.unit(ctx); u != nil && u.whole != nil {
		return u.whole.conn
	}
	return p.db.DB
}

// reads is where statements go that only read.
func (p pooled) reads(ctx context.Context) bun.IConn {
	if seen := p.seen(ctx); seen != nil {
		return seen
	}
	return p.conn(ctx)
}

func (p pooled) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.reads(ctx).QueryContext(ctx, query, args...)
}

func (p pooled) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return p.conn(ctx).ExecContext(ctx, query, args...)
}

func (p pooled) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return p.reads(ctx).QueryRowContext(ctx, query, args...)
}

// part runs fn as one part of the unit's transaction.
func (u *unit) part(ctx context.Context, into entry, fn func(context.Context, *querier) error) error {
	if u.whole != nil {
		return u.db.savepoint(ctx, u.whole.conn, func(q *querier) error {
			if err := u.db.enter(ctx, u.whole.conn, into); err != nil {
				return err
			}
			return u.run(ctx, q, fn)
		})
	}
	return u.db.again(ctx, func() error {
		return u.open(ctx, into, func() error {
			return u.run(ctx, &querier{store: u.db, db: u.db.write, tx: newTransaction(u.outer.tx)}, fn)
		})
	})
}

// run runs a part and keeps its outbox entries.
func (u *unit) run(ctx context.Context, q *querier, fn func(context.Context, *querier) error) error {
	defer q.tx.ended.Store(true)
	if err := fn(ctx, q); err != nil {
		return err
	}
	u.whole.changed = append(u.whole.changed, q.tx.changed...)
	u.whole.jobs = append(u.whole.jobs, q.tx.jobs...)
	for account, jobs := range q.tx.asking {
		u.whole.asking[account] = append(u.whole.asking[account], jobs...)
	}
	for account, events := range q.tx.events {
		u.whole.events[account] = append(u.whole.events[account], events...)
	}
	maps.Copy(u.whole.accounts, q.tx.accounts)
	q.tx.jobs, q.tx.asking, q.tx.events = nil, nil, nil
	return nil
}

// open begins the transaction and runs fn in it. On failure it leaves no transaction open.
func (u *unit) open(ctx context.Context, into entry, fn func() error) error {
	outer, err := u.db.begin(u.ctx, into) // as its first part needs it: a later one would wait with rows locked
	if err != nil {
		return err
	}
	u.outer, u.whole = outer, newTransaction(outer.tx)
	u.whole.own = true
	opened := false
	defer func() { // also when fn panics
		if !opened {
			u.close()
		}
	}()
	if u.first != nil {
		if err := u.first(context.WithValue(ctx, unitOf{u.db}, u)); err != nil {
			return err
		}
	}
	if err := fn(); err != nil {
		return err
	}
	opened = true
	return nil
}

// close rolls back the open transaction.
func (u *unit) close() {
	if u.whole != nil {
		u.whole = nil
		u.outer.close()
	}
}

// Commit implements [storage.Unit].
func (u *unit) Commit(ctx context.Context, last func(ctx context.Context) error) error {
	if u.ended {
		return errEnded
	}
	defer u.Rollback()
	if u.whole == nil {
		if last == nil {
			return nil
		}
		err := u.db.again(ctx, func() error { return u.open(ctx, entry{}, func() error { return nil }) })
		if err != nil {
			return err
		}
	}
	if last != nil {
		if err := last(context.WithValue(ctx, unitOf{u.db}, u)); err != nil {
			return err
		}
	}
	return u.db.commit(ctx, u.outer, &querier{store: u.db, db: u.db.write, tx: u.whole})
}

// Rollback implements [storage.Unit].
func (u *unit) Rollback() {
	u.close()
	u.ended = true
}

// locked locks the rows of q if ctx asks for it and they can be locked.
func locked(ctx context.Context, q *bun.SelectQuery) *bun.SelectQuery {
	if storage.IsLocking(ctx) && q.DB().Dialect().Name() == dialect.PG {
		q.For("UPDATE OF ?TableAlias")
	}
	return q
}
