package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"

	"modernc.org/sqlite"

	"github.com/helpwright/helpwright/storage/bunstore/internal/metered"
)

// connector opens the connections of a database.
type connector struct {
	dsn string
	of  driver.Driver
}

// Pool is sql.Open for SQLite, with connections that notice when SQLite has rolled back their transaction, and whose rows can be
// counted. A program that has its own tables in the same pool as those of package bunstore creates the pool here, and passes it
// to [bunstore.New] in a bun.DB. The address is that of the driver modernc.org/sqlite, and must set foreign_keys and a
// busy_timeout: "file:shop.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_txlock=immediate".
//
// Statements after an error for which SQLite has rolled back their transaction return [sql.ErrTxDone]. The driver interrupts a
// statement whose context ends, until it has its first row; between further rows it does not check, and package sql closes the
// rows with the next one.
func Pool(dsn string) (*sql.DB, error) {
	dsn = withSettings(dsn)
	plain, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	of := plain.Driver()
	return sql.OpenDB(connector{dsn: dsn, of: of}), plain.Close()
}

// withSettings adds what an address does not set. The timeout comes first, because switching to WAL may already have to wait.
func withSettings(dsn string) string {
	name, query, _ := strings.Cut(dsn, "?")
	lower := strings.ToLower(query)
	var settings []string
	for _, pragma := range []string{"busy_timeout(5000)", "journal_mode(WAL)", "foreign_keys(1)"} {
		key, _, _ := strings.Cut(pragma, "(")
		if !strings.Contains(lower, key) {
			settings = append(settings, "_pragma="+pragma)
		}
	}
	if !strings.Contains(lower, "_txlock") {
		settings = append(settings, "_txlock=immediate")
	}
	if query != "" {
		settings = append(settings, query)
	}
	return name + "?" + strings.Join(settings, "&")
}

// Driver implements [driver.Connector].
func (c connector) Driver() driver.Driver { return c.of }

// Connect implements [driver.Connector].
func (c connector) Connect(context.Context) (driver.Conn, error) {
	opened, err := c.of.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	all, ok := opened.(sqliteConn)
	if !ok {
		_ = opened.Close()
		return nil, fmt.Errorf("sqlite: the connection is a %T, which cannot be used", opened)
	}
	own := &conn{sqliteConn: all, immediate: strings.Contains(c.dsn, "_txlock=immediate")}
	own.RegisterRollbackHook(func() { own.rolledBack = true })
	return own, nil
}

// sqliteConn is what the driver documents of a connection.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	sqlite.HookRegisterer
}

// conn is a connection of the pool. Like every connection it is used by one goroutine at a time.
type conn struct {
	sqliteConn
	immediate  bool // transactions take the lock for writing when they begin
	inTx       bool // a transaction was begun
	rolledBack bool // SQLite has rolled it back
}

// BeginsImmediate reports whether transactions take the lock for writing when they begin, see [bunstore.DB.Ping].
func (c *conn) BeginsImmediate() bool { return c.immediate }

// Close implements [driver.Conn].
func (c *conn) Close() error {
	c.RegisterRollbackHook(nil)
	return c.sqliteConn.Close()
}

// ExecContext implements [driver.ExecerContext].
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.lost(); err != nil {
		return nil, err
	}
	return c.sqliteConn.ExecContext(ctx, query, args)
}

// QueryContext implements [driver.QueryerContext].
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.lost(); err != nil {
		return nil, err
	}
	rows, err := c.sqliteConn.QueryContext(ctx, query, args)
	return metered.Rows(ctx, rows, err)
}

// PrepareContext implements [driver.ConnPrepareContext].
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.sqliteConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	all, ok := s.(sqliteStmt)
	if !ok {
		_ = s.Close()
		return nil, fmt.Errorf("sqlite: the statement is a %T, which cannot be used", s)
	}
	return stmt{all, c}, nil
}

// sqliteStmt is what the driver documents of a statement.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// stmt is a statement that its user prepared.
type stmt struct {
	sqliteStmt
	conn *conn
}

// ExecContext implements [driver.StmtExecContext].
func (s stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.conn.lost(); err != nil {
		return nil, err
	}
	return s.sqliteStmt.ExecContext(ctx, args)
}

// QueryContext implements [driver.StmtQueryContext].
func (s stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.conn.lost(); err != nil {
		return nil, err
	}
	rows, err := s.sqliteStmt.QueryContext(ctx, args)
	return metered.Rows(ctx, rows, err)
}
