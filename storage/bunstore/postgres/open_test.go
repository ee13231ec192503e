package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/postgres"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/testenv"
)

// Behind a pooler a database is brought up to date, twice, and opened again, also by an address that names another pooler, which
// is down. Another mode of the pooler is refused.
func TestPoolMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"session", "statement", ""} {
		if _, err := postgres.Open(t.Context(), "postgres://127.0.0.1:1/x?pool_mode="+mode, bunstore.Config{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", mode, err)
		}
	}
	address := testenv.PgBouncer(t)
	for _, address := range []string{address, strings.Replace(address, "@", "@[::1]:1,", 1)} {
		db, err := postgres.Open(t.Context(), address, bunstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := db.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Sessions of a database that was read-only stay so: the first write that one of them refuses is the last that fails, in whatever
// way it is sent.
func TestReadOnlySessions(t *testing.T) {
	t.Parallel()
	const insert = "INSERT INTO written VALUES (1)"
	for name, write := range map[string]func(ctx context.Context, pool *sql.DB) error{
		"statement": func(ctx context.Context, pool *sql.DB) error { _, err := pool.ExecContext(ctx, insert); return err },
		"returning": func(ctx context.Context, pool *sql.DB) error {
			var n int
			return pool.QueryRowContext(ctx, insert+" RETURNING n").Scan(&n)
		},
		"locking": func(ctx context.Context, pool *sql.DB) error {
			rows, err := pool.QueryContext(ctx, "SELECT n FROM written FOR UPDATE")
			if err == nil {
				err = errors.Join(rows.Err(), rows.Close())
			}
			return err
		},
		"transaction": func(ctx context.Context, pool *sql.DB) error {
			tx, err := pool.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, insert); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := readOnlyBefore(t, 4)
			failed := 0
			for range 10 {
				if write(t.Context(), pool) != nil {
					failed++
				}
			}
			if failed != 1 {
				t.Errorf("%d of 10 writes failed, want the first", failed)
			}
		})
	}
}

// readOnlyBefore returns a pool with sessions that began while the database was read-only, which it no longer is.
func readOnlyBefore(t *testing.T, sessions int) *sql.DB {
	t.Helper()
	address := testenv.Postgres(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := postgres.Pool(address, bunstore.Config{MaxConns: sessions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	other, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	run := func(statement string) {
		t.Helper()
		if _, err := other.ExecContext(t.Context(), "SET default_transaction_read_only = off; "+statement); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE TABLE written (n int)")
	run("ALTER DATABASE " + u.Path[1:] + " SET default_transaction_read_only = on")
	testenv.OpenConnections(t, pool, sessions)
	run("ALTER DATABASE " + u.Path[1:] + " SET default_transaction_read_only = off")
	return pool
}
