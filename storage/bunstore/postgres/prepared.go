package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"hash/maphash"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/helpwright/helpwright/storage/bunstore/internal/lift"
	"github.com/helpwright/helpwright/storage/bunstore/internal/metered"
)

// bun writes values into the statements, so each has a text of its own, and PostgreSQL would parse and plan every one of
// them, which takes longer than most take to run. The connections of a [Pool] turn the values into parameters again and
// have pgx keep what was prepared.

// maxSeen is how many texts a connection remembers, to tell those that come again.
const maxSeen = 1024

// connector makes connections to PostgreSQL that keep statements, and whose rows can be counted.
type connector struct {
	driver.Connector
	prepares pgx.QueryExecMode
}

// Connect implements [driver.Connector].
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if plain, ok := conn.(*stdlib.Conn); ok && err == nil {
		return &preparingConn{pgxConn: plain, prepares: c.prepares, seed: maphash.MakeSeed()}, nil
	}
	return conn, err
}

// pgxConn has another name than its method Conn, which is to be had.
type pgxConn = stdlib.Conn

// preparingConn prepares what it is asked for the second time.
type preparingConn struct {
	*pgxConn
	prepares pgx.QueryExecMode
	seed     maphash.Seed
	seen     [maxSeen]uint64 // hashes of texts, each where it belongs
}

// QueryContext implements [driver.QueryerContext].
func (c *preparingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	text, values := c.prepared(query, args)
	rows, err := c.pgxConn.QueryContext(ctx, text, values)
	if c.again(err) {
		rows, err = c.pgxConn.QueryContext(ctx, text, values)
	}
	return metered.Rows(ctx, rows, err)
}

// ExecContext implements [driver.ExecerContext].
func (c *preparingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	text, values := c.prepared(query, args)
	result, err := c.pgxConn.ExecContext(ctx, text, values)
	if c.again(err) {
		result, err = c.pgxConn.ExecContext(ctx, text, values)
	}
	return result, err
}

// again reports whether a statement failed because what was prepared is outdated, since a migration by another process for
// instance: pgx has forgotten it now. In a transaction, which has failed, all of it has to run again.
func (c *preparingConn) again(err error) bool {
	return err != nil && outdated(err) && c.Conn().PgConn().TxStatus() == 'I'
}

// outdated reports that what was prepared cannot be run any more: a migration has changed the type of a column, or the
// session has forgotten it.
func outdated(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "0A000" && e.Routine == "RevalidateCachedQuery" || e.Code == "26000")
}

// prepared is a statement as it is to be run: with parameters, if it has come before and is worth keeping.
func (c *preparingConn) prepared(query string, args []driver.NamedValue) (string, []driver.NamedValue) {
	if len(args) > 0 || c.prepares == pgx.QueryExecModeExec || c.prepares == pgx.QueryExecModeSimpleProtocol {
		return query, args
	}
	text, values, ok := lift.Values(query, lift.Postgres)
	if !ok {
		return query, nil
	}
	hash := maphash.String(c.seed, text)
	if at := &c.seen[hash%maxSeen]; *at != hash {
		*at = hash
		return query, nil
	}
	return text, append([]driver.NamedValue{{Value: c.prepares}}, values...)
}
