package bunstore

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
)

// SystemTxWithoutHook is InSystemTx, without asking whether there is a tracer.
func SystemTxWithoutHook(ctx context.Context, db *DB, fn func(ctx context.Context, tx helpdesk.SystemTx) error) error {
	return db.attempts(ctx, entry{}, func(ctx context.Context, q *querier) error {
		q.tx.changed = append(q.tx.changed, 0)
		return fn(ctx, systemTx{directory{q}})
	})
}

// ExecIn runs a statement in a transaction of [DB.InSystemTx].
func ExecIn(ctx context.Context, tx helpdesk.SystemTx, query string) error {
	q := tx.(systemTx).querier //nolint:forcetypeassert // of this package
	_, err := q.tx.conn.ExecContext(ctx, query)
	return failure(ctx, err, "test", 0)
}

// Die simulates a killed process: its locks are free, its lock file remains, and its connections are closed.
func Die(db *DB) {
	h := &db.holder
	h.mu.Lock()
	if h.file != nil {
		_ = h.file.Close()
	}
	if h.conn != nil {
		_ = h.conn.Close()
	}
	h.mu.Unlock()
	_ = db.write.Close()
	if db.read != db.write {
		_ = db.read.Close()
	}
}

// BlobColumns returns blobColumns, sorted, as table.column.
func BlobColumns() []string {
	var all []string
	for _, c := range blobColumns {
		all = append(all, c.table+"."+c.column)
	}
	slices.Sort(all)
	return all
}

// Exec runs a statement on the connection that writes.
func Exec(ctx context.Context, db *DB, query string) error {
	_, err := db.write.DB.ExecContext(ctx, query)
	return err
}

// QueryRow runs a query on the connection that writes.
func QueryRow(ctx context.Context, db *DB, query string) *sql.Row {
	return db.write.DB.QueryRowContext(ctx, query)
}

// Tables are the names of all tables of a database of SQLite.
func Tables(ctx context.Context, db *DB) (all []string, err error) {
	err = db.read.NewRaw("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").Scan(ctx, &all)
	return all, err
}

// Plain is the pool that writes, and whether it is PostgreSQL's.
func Plain(db *DB) (pool *sql.DB, postgres bool) { return db.write.DB, db.postgres }

// MakePartitions makes the partitions of n months from a time's on.
func MakePartitions(ctx context.Context, db *DB, at time.Time, n int) error {
	return db.makePartitions(ctx, at, n)
}

// DropPartitions is DropPeriods without making the partitions of the next months.
func DropPartitions(ctx context.Context, db *DB, before helpdesk.Periods) (int, error) {
	return db.dropPartitions(ctx, before)
}

// Target is what scans a column into a field.
var Target = target

// Announced waits until other processes were told about what was committed.
func Announced(db *DB) { db.announcements.wait() }
