package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/helpwright/helpwright/storage/bunstore"
)

// migrated returns a pool of a migrated database.
func migrated(t testing.TB) *bun.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := Open(t.Context(), path, bunstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Migrate(t.Context()), db.Close()); err != nil {
		t.Fatal(err)
	}
	pool, err := Pool("file:" + path + "?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	pool.SetMaxOpenConns(1)
	return bun.NewDB(pool, sqlitedialect.New())
}

const endless = "(WITH RECURSIVE c(n) AS (SELECT 5 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c)"

// Statements end with their contexts, whatever they are doing, and the connection is good for others.
func TestStatementsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	db := migrated(t).DB
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE numbers (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	inTx := func(do func(tx *sql.Tx) error) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return errors.Join(do(tx), tx.Rollback())
	}
	count := func(rows *sql.Rows, err error) error {
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
		}
		return rows.Err()
	}
	for name, run := range map[string]func(ctx context.Context) error{
		"before the first row": func(ctx context.Context) error {
			rows, err := db.QueryContext(ctx, "SELECT n FROM "+endless+" WHERE n < 3")
			return count(rows, err)
		},
		"between rows": func(ctx context.Context) error {
			rows, err := db.QueryContext(ctx, "SELECT n FROM "+endless)
			return count(rows, err)
		},
		"one row": func(ctx context.Context) error {
			var n int
			return db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+endless).Scan(&n)
		},
		"a write": func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, "INSERT INTO numbers (n) SELECT n FROM "+endless)
			return err
		},
		"a write in a transaction": func(ctx context.Context) error {
			return inTx(func(tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO numbers (n) SELECT n FROM "+endless)
				return err
			})
		},
		"a read in a transaction": func(ctx context.Context) error {
			return inTx(func(tx *sql.Tx) error {
				rows, err := tx.QueryContext(ctx, "SELECT n FROM "+endless+" WHERE n < 3")
				return count(rows, err)
			})
		},
	} {
		for _, ends := range []struct {
			how  func(context.Context) (context.Context, context.CancelFunc)
			want error
		}{
			{func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 30*time.Millisecond)
			}, context.DeadlineExceeded},
			{func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(30*time.Millisecond, cancel)
				return ctx, cancel
			}, context.Canceled},
			{func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx, cancel
			}, context.Canceled},
		} {
			ctx, cancel := ends.how(t.Context())
			if err := run(ctx); !errors.Is(err, ends.want) {
				t.Errorf("%s: %v, not %v", name, err, ends.want)
			}
			cancel()
			var n int
			if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM numbers").Scan(&n); err != nil || n != 0 {
				t.Fatalf("%s: %d rows afterwards, %v", name, n, err)
			}
		}
	}
}

// A context that ends after its statement interrupts no other.
func TestLateEnds(t *testing.T) {
	t.Parallel()
	db := migrated(t).DB
	for i := range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		var n int
		if err := db.QueryRowContext(ctx, "SELECT n FROM (SELECT 7 AS n) AS t").Scan(&n); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err := db.QueryRowContext(t.Context(), "SELECT n FROM (SELECT 8 AS n) AS t").Scan(&n); err != nil || n != 8 {
			t.Fatalf("statement %d: %d, %v", i, n, err)
		}
	}
}
