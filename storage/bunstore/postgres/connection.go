package postgres

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/helpwright/helpwright/storage/bunstore/internal/metered"
)

// connector opens PostgreSQL connections that are given up when they are of no use any more, and whose rows can be counted.
type connector struct {
	driver.Connector
	refused  *refusals
	cleanups *cleanups
}

// Connect implements [driver.Connector].
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	began := time.Now()
	opened, err := c.Connector.Connect(ctx)
	if plain, ok := opened.(*stdlib.Conn); ok && err == nil {
		return &conn{pgxConn: plain, refused: c.refused, cleanups: c.cleanups, opened: began}, nil
	}
	return opened, err
}

// Close implements [io.Closer]: the pool calls it when it has closed its connections.
func (c connector) Close() error {
	c.cleanups.wait(cleanupLimit)
	return nil
}

// pgxConn is an alias, because the embedded field must not hide the method Conn.
type pgxConn = stdlib.Conn

// conn is a connection of the pool.
type conn struct {
	*pgxConn
	refused  *refusals
	cleanups *cleanups
	opened   time.Time
}

// QueryContext implements [driver.QueryerContext].
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.pgxConn.QueryContext(ctx, query, args)
	return metered.Rows(ctx, rows, err)
}

// BeginTx implements [driver.ConnBeginTx]. A connection that is lost with BEGIN has changed nothing: package sql takes another one.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.pgxConn.BeginTx(ctx, opts)
	if err != nil && c.Conn().IsClosed() && ctx.Err() == nil {
		return nil, driver.ErrBadConn
	}
	return tx, err
}

// Close implements [driver.Conn].
func (c *conn) Close() error {
	err := c.pgxConn.Close()
	c.cleanups.add(c.Conn().PgConn().CleanupDone())
	return err
}
