package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/postgres"
	"github.com/helpwright/helpwright/storage/storagetest/testenv"
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

// Repeated statements are prepared, once for all values, if the address allows it.
func TestPrepared(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	for name, tc := range map[string]struct {
		setting string
		timeout time.Duration
		want    int
	}{
		"by default":          {"", 0, 2},
		"kept":                {"default_query_exec_mode=cache_statement", 0, 2},
		"described":           {"default_query_exec_mode=cache_describe", 0, 0},
		"never":               {"default_query_exec_mode=exec", 0, 0},
		"in the old protocol": {"default_query_exec_mode=simple_protocol", 0, 0},
		"for a pooler":        {"", -1, 0},
		"for one that keeps":  {"default_query_exec_mode=cache_statement", -1, 2},
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
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_prepared_statements").Scan(&kept); err != nil || kept != tc.want {
				t.Errorf("%d statements are kept, want %d; %v", kept, tc.want, err)
			}
		})
	}
}

// However many statements take turns, each is prepared when it comes again.
func TestPreparedInTurns(t *testing.T) {
	t.Parallel()
	db := pool(t, testenv.Postgres(t))
	const texts = 400
	for range 3 {
		for i := range texts {
			if _, err := db.ExecContext(t.Context(), fmt.Sprintf("SELECT 1 WHERE 'a text' = 'another one'%*s", i, "")); err != nil {
				t.Fatal(err)
			}
		}
	}
	var kept int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_prepared_statements").Scan(&kept); err != nil || kept != texts {
		t.Errorf("%d statements are kept, want %d; %v", kept, texts, err)
	}
}

// A migration by another process may change the type of a result column, and sessions may end: outside a transaction callers
// do not notice.
func TestOutdated(t *testing.T) {
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

	// In a transaction it is an error, and the next transaction succeeds.
	run(other, "ALTER TABLE changing ALTER a TYPE INTEGER")
	failed := false
	for range 2 {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := read(tx)
		e, is := errors.AsType[*pgconn.PgError](err)
		failed = failed || is && e.Routine == "RevalidateCachedQuery"
		if err != nil && !is || err == nil && n != 5 {
			t.Errorf("%d, %v", n, err)
		}
		_ = tx.Rollback()
	}
	if !failed {
		t.Error("nothing was outdated in the transaction")
	}
	look("after the transaction")
}

// A store's transaction runs again when one of its prepared statements is outdated.
func TestOutdatedStore(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	db, err := postgres.Open(t.Context(), address, bunstore.Config{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	account := identity.Account{Name: "Some name"}
	err = db.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &account) })
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
	if runs != 12 {
		t.Errorf("%d runs, want one more than transactions", runs)
	}
}

// A statement returns the same whether or not it is prepared.
func FuzzPrepared(f *testing.F) {
	for _, s := range []string{"", "it's", `a"b`, `\x00`, `\`, `{"a": 5}`, "5", "'; DROP TABLE t; --", "customer", "é😀", "?1 $a @b :c", "{a,b}", "NULL"} {
		f.Add(s, int64(len(s)))
	}
	address := testenv.Postgres(f)
	prepared, plain := pool(f, address), pool(f, with(address, "default_query_exec_mode=exec"))
	gen := bun.NewDB(plain, pgdialect.New()).QueryGen()
	f.Fuzz(func(t *testing.T, s string, n int64) {
		query := gen.FormatQuery(`SELECT ? AS s, ? AS n, ?::bytea AS b, pg_typeof(?)::text AS kind, ? = ? AS same, to_jsonb(?::text)::text AS j,
			? IN (?) AS one, ? IN (?) AS other, ? - 5 AS less, 'posted' AS word, 1.5::float8 AS f`,
			s, n, []byte(s), n, s, s, s, n, bun.List([]int64{n, 2}), s, bun.List([]string{s + " ", "two words"}), n/2)
		type row struct {
			S, Kind, J, Word string
			N, Less          int64
			B                []byte
			Same, One, Other bool
			F                float64
		}
		read := func(from *sql.DB) (r row, err error) {
			return r, from.QueryRowContext(t.Context(), query).Scan(&r.S, &r.N, &r.B, &r.Kind, &r.Same, &r.J, &r.One, &r.Other, &r.Less, &r.Word, &r.F)
		}
		want, wantErr := read(plain)
		for range 2 { // it is prepared the second time
			got, err := read(prepared)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%q, %d: %v and %v", s, n, err, wantErr)
			}
			if diff := cmp.Diff(want, got); err == nil && diff != "" {
				t.Error(diff)
			}
		}
	})
}
