package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
)

// errRolledBack is the error of statements whose transaction SQLite itself has rolled back, as it does when a write is
// interrupted, and sometimes when the disk is full. Without this error, each statement would be a transaction of its own.
var errRolledBack = fmt.Errorf("sqlite: an earlier error rolled back the transaction: %w", sql.ErrTxDone)

// lost returns errRolledBack if the connection's transaction is no longer open.
func (c *preparedConn) lost() error {
	if c.inTx && c.rolledBack {
		return errRolledBack
	}
	return nil
}

// BeginTx implements [driver.ConnBeginTx].
func (c *preparedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.sqliteConn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	c.inTx, c.rolledBack = true, false
	return preparedTx{tx, c}, nil
}

// preparedTx is a transaction that can be lost.
type preparedTx struct {
	driver.Tx
	conn *preparedConn
}

// Commit implements [driver.Tx].
func (t preparedTx) Commit() error {
	err := t.conn.lost()
	t.conn.inTx = false
	if err != nil {
		return err
	}
	return t.Tx.Commit()
}

// Rollback implements [driver.Tx].
func (t preparedTx) Rollback() error {
	err := t.conn.lost()
	t.conn.inTx = false
	if err != nil {
		return nil //nolint:nilerr // SQLite has done it
	}
	return t.Tx.Rollback()
}

// PrepareContext implements [driver.ConnPrepareContext].
func (c *preparedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return preparedStmt{s, c}, nil
}

// preparedStmt is a statement that its user prepared.
type preparedStmt struct {
	statement
	conn *preparedConn
}

// ExecContext implements [driver.StmtExecContext].
func (s preparedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.conn.lost(); err != nil {
		return nil, err
	}
	return s.statement.ExecContext(ctx, args)
}

// QueryContext implements [driver.StmtQueryContext].
func (s preparedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.conn.lost(); err != nil {
		return nil, err
	}
	return s.statement.QueryContext(ctx, args)
}
