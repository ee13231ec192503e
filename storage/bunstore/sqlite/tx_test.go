package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"
)

// SQLite rolls back a whole transaction when a write in it is interrupted. Statements that follow fail, although they have
// time left: they would be transactions of their own.
func TestRolledBackTransaction(t *testing.T) {
	t.Parallel()
	for name, follow := range map[string]func(ctx context.Context, tx *sql.Tx) error{
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := migrated(t).DB
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE numbers (n INTEGER)"); err != nil {
				t.Fatal(err)
			}
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO numbers (n) VALUES (1)"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			defer cancel()
			if _, err := tx.ExecContext(ctx, "INSERT INTO numbers (n) SELECT n FROM "+endless); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			if err := follow(t.Context(), tx); err == nil {
				t.Error("it succeeds")
			}
			_ = tx.Rollback() // SQLite has done so
			var n int
			if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM numbers").Scan(&n); err != nil || n != 0 {
				t.Errorf("%d rows, %v", n, err)
			}
			if _, err := db.ExecContext(t.Context(), "INSERT INTO numbers (n) VALUES (3)"); err != nil {
				t.Error("the connection is of no use:", err)
			}
		})
	}
}
