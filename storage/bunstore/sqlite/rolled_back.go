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
func (c *conn) lost() error {
	if c.inTx && c.rolledBack {
		return errRolledBack
	}
	return nil
}

// BeginTx implements [driver.ConnBeginTx].
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.sqliteConn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	c.inTx, c.rolledBack = true, false
	return transaction{tx, c}, nil
}

// transaction is a transaction that can be lost.
type transaction struct {
	driver.Tx
	conn *conn
}

// Commit implements [driver.Tx].
func (t transaction) Commit() error {
	err := t.conn.lost()
	t.conn.inTx = false
	if err != nil {
		return err
	}
	return t.Tx.Commit()
}

// Rollback implements [driver.Tx].
func (t transaction) Rollback() error {
	err := t.conn.lost()
	t.conn.inTx = false
	if err != nil {
		return nil //nolint:nilerr // SQLite has done it
	}
	return t.Tx.Rollback()
}
