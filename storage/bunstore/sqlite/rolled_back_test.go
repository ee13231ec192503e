package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// SQLite rolls back a whole transaction after some errors. Statements that follow fail: they would be transactions of their
// own.
func TestRolledBackTransaction(t *testing.T) {
	t.Parallel()
	exec := func(ctx context.Context, tx *sql.Tx, query string) error {
		_, err := tx.ExecContext(ctx, query)
		return err
	}
	lose := map[string]func(ctx context.Context, tx *sql.Tx) error{
		"an interrupted write": func(ctx context.Context, tx *sql.Tx) error {
			ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			defer cancel()
			return exec(ctx, tx, "INSERT INTO numbers (n) SELECT n FROM "+endless)
		},
		"an interrupted write in a savepoint": func(ctx context.Context, tx *sql.Tx) error {
			if err := exec(ctx, tx, "SAVEPOINT s"); err != nil {
				return nil
			}
			ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			defer cancel()
			return exec(ctx, tx, "INSERT INTO numbers (n) SELECT n FROM "+endless)
		},
		"a full disk": func(ctx context.Context, tx *sql.Tx) error {
			return errors.Join(exec(ctx, tx, "PRAGMA max_page_count = 1"), exec(ctx, tx, "INSERT INTO plain (n) VALUES (zeroblob(1000000))"))
		},
		"OR ROLLBACK": func(ctx context.Context, tx *sql.Tx) error {
			return exec(ctx, tx, "INSERT OR ROLLBACK INTO numbers (n) VALUES (1)")
		},
		"RAISE": func(ctx context.Context, tx *sql.Tx) error {
			return exec(ctx, tx, "INSERT INTO numbers (n) VALUES (-1)")
		},
		"a ROLLBACK": func(ctx context.Context, tx *sql.Tx) error { return errors.Join(exec(ctx, tx, "ROLLBACK"), errLost) },
	}
	follow := map[string]func(ctx context.Context, tx *sql.Tx) error{
		"a write": func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO numbers (n) VALUES (2)")
			return err
		},
		"a write with arguments": func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO numbers (n) VALUES (?)", 2)
			return err
		},
		"a write that returns rows": func(ctx context.Context, tx *sql.Tx) error {
			var n int
			return tx.QueryRowContext(ctx, "INSERT INTO numbers (n) VALUES (2) RETURNING n").Scan(&n)
		},
		"a prepared write": func(ctx context.Context, tx *sql.Tx) error {
			s, err := tx.PrepareContext(ctx, "INSERT INTO numbers (n) VALUES (?)")
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			_, err = s.ExecContext(ctx, 2)
			return err
		},
		"a read": func(ctx context.Context, tx *sql.Tx) error {
			var n int
			return tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM numbers").Scan(&n)
		},
		"a savepoint": func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "SAVEPOINT s")
			return err
		},
		"the commit": func(_ context.Context, tx *sql.Tx) error { return tx.Commit() },
	}
	for how, lose := range lose {
		for name, follow := range follow {
			t.Run(how+", then "+name, func(t *testing.T) {
				t.Parallel()
				db, err := Pool("file:" + filepath.Join(t.TempDir(), "lost.db") + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_txlock=immediate")
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = db.Close() }()
				for _, statement := range []string{
					"CREATE TABLE numbers (n INTEGER UNIQUE)",
					"CREATE TABLE plain (n BLOB)", // without a journal of the statement, which would be rolled back alone
					"CREATE TRIGGER positive BEFORE INSERT ON numbers WHEN NEW.n < 0 BEGIN SELECT RAISE(ROLLBACK, 'negative'); END",
				} {
					if _, err := db.ExecContext(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
				tx, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = tx.Rollback() }()
				if err := exec(t.Context(), tx, "INSERT INTO numbers (n) VALUES (1)"); err != nil {
					t.Fatal(err)
				}
				if err := lose(t.Context(), tx); err == nil {
					t.Fatal("the transaction is not lost")
				}
				if err := follow(t.Context(), tx); !errors.Is(err, sql.ErrTxDone) {
					t.Error(err)
				}
				if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
					t.Error(err)
				}
				var n int
				if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM numbers").Scan(&n); err != nil || n != 0 {
					t.Errorf("%d rows, %v", n, err)
				}
				for _, statement := range []string{"PRAGMA max_page_count = 1000000", "INSERT INTO numbers (n) VALUES (3)"} {
					if _, err := db.ExecContext(t.Context(), statement); err != nil {
						t.Error("the connection is of no use:", err)
					}
				}
			})
		}
	}
}

var errLost = errors.New("lost")
