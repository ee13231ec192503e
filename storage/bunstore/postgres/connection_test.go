package postgres_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/postgres"
	"github.com/helpwright/helpwright/storage/testenv"
)

// pool is a pool of one connection.
func pool(t testing.TB, address string) *sql.DB {
	t.Helper()
	return poolOf(t, address, bunstore.Config{MaxConns: 1})
}

func poolOf(t testing.TB, address string, cfg bunstore.Config) *sql.DB {
	t.Helper()
	db, err := postgres.Pool(address, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// with adds a setting to an address.
func with(address, setting string) string {
	if strings.Contains(address, "?") {
		return address + "&" + setting
	}
	return address + "?" + setting
}

// No statement stays prepared, whatever the address asks of pgx: each has its own values in its text.
func TestNothingIsPrepared(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	for name, tc := range map[string]struct {
		setting string
		timeout time.Duration
	}{
		"by default":          {"", 0},
		"kept":                {"default_query_exec_mode=cache_statement", 0},
		"described":           {"default_query_exec_mode=cache_describe", 0},
		"never":               {"default_query_exec_mode=exec", 0},
		"in the old protocol": {"default_query_exec_mode=simple_protocol", 0},
		"for a pooler":        {"", -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := poolOf(t, with(address, tc.setting), bunstore.Config{MaxConns: 1, StatementTimeout: tc.timeout})
			sum := 0
			for i := range 10 {
				var n int
				query := bun.NewDB(db, pgdialect.New()).QueryGen().FormatQuery("SELECT count(*) FROM generate_series(0, ?) AS n WHERE n IN (?)", 100+i, bun.List([]int{2, 3, 50 + i, 90}[:3+i%2]))
				if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
					t.Fatal(err)
				}
				sum += n
				if _, err := db.ExecContext(t.Context(), "SELECT 1 WHERE 'a text' = 'another one'"); err != nil {
					t.Fatal(err)
				}
			}
			if sum != 35 {
				t.Errorf("the sum is %d", sum)
			}
			var kept int
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_prepared_statements").Scan(&kept); err != nil || kept != 0 {
				t.Errorf("%d statements are kept, %v", kept, err)
			}
		})
	}
}

// A migration by another process may change the type of a result column, and sessions may end: callers do not notice.
func TestChangedColumn(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	db, other := pool(t, address), pool(t, address)
	run := func(on *sql.DB, query string) {
		t.Helper()
		if _, err := on.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	type queries interface {
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
	read := func(from queries) (n int, err error) {
		return n, from.QueryRowContext(t.Context(), "SELECT a FROM changing WHERE a = 5").Scan(&n)
	}
	run(other, "CREATE TABLE changing (a INTEGER)")
	run(other, "INSERT INTO changing VALUES (5)")
	look := func(what string) {
		t.Helper()
		if n, err := read(db); err != nil || n != 5 {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
	for range 3 {
		look("at first")
	}
	run(other, "ALTER TABLE changing ALTER a TYPE BIGINT")
	look("after a change")
	var pid int
	if err := db.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	run(db, "DEALLOCATE ALL")
	look("when nothing is known")
	if _, err := other.ExecContext(t.Context(), "SELECT pg_terminate_backend($1)", pid); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := read(db); err != nil { // database/sql decides how it notices the end of a session
			t.Log(err)
		}
	}
	look("in another session")

	run(other, "ALTER TABLE changing ALTER a TYPE INTEGER")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if n, err := read(tx); err != nil || n != 5 {
		t.Errorf("in a transaction: %d, %v", n, err)
	}
}

// A migration by another process may change the type of a column: transactions go on. One runs again if the pool is a program's
// own, and keeps statements prepared.
func TestChangedColumnOfStore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		open func(t *testing.T, address string) *bunstore.DB
		runs int
	}{
		"opened here": {func(t *testing.T, address string) *bunstore.DB {
			db, err := postgres.Open(t.Context(), address, bunstore.Config{MaxConns: 2})
			if err != nil {
				t.Fatal(err)
			}
			return db
		}, 11},
		"a pool of pgx": {func(t *testing.T, address string) *bunstore.DB {
			config, err := pgx.ParseConfig(address)
			if err != nil {
				t.Fatal(err)
			}
			config.DefaultQueryExecMode = pgx.QueryExecModeExec
			plain := stdlib.OpenDB(*config)
			t.Cleanup(func() { _ = plain.Close() })
			return bunstore.New(bun.NewDB(plain, pgdialect.New()), bunstore.Config{})
		}, 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := testenv.Postgres(t)
			db := tc.open(t, address)
			t.Cleanup(func() { _ = db.Close() })
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			account := identity.Account{Name: "Some name"}
			err := db.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &account) })
			if err != nil {
				t.Fatal(err)
			}
			runs := 0
			read := func() {
				t.Helper()
				err := db.InTx(t.Context(), helpdesk.Scope{AccountID: account.ID}, func(ctx context.Context, tx helpdesk.Tx) error {
					runs++
					_, err := tx.Account(ctx)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
			for range 10 {
				read()
			}
			if _, err := pool(t, address).ExecContext(t.Context(), "ALTER TABLE hw_accounts ALTER name TYPE VARCHAR(200)"); err != nil {
				t.Fatal(err)
			}
			read()
			if runs != tc.runs {
				t.Errorf("%d runs, want %d", runs, tc.runs)
			}
		})
	}
}
