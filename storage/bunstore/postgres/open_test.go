package postgres_test

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/postgres"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/storagetest/testenv"
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

// Sessions of a database that was read-only stay so: the first write that one of them refuses is the last that fails.
func TestReadOnlySessions(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	readOnly := func(value string) {
		if _, err := other.ExecContext(t.Context(), "SET default_transaction_read_only = off"); err != nil {
			t.Fatal(err)
		}
		if _, err := other.ExecContext(t.Context(), "ALTER DATABASE "+u.Path[1:]+" SET default_transaction_read_only = "+value); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.ExecContext(t.Context(), "CREATE TABLE written (n int)"); err != nil {
		t.Fatal(err)
	}
	pool, err := postgres.Pool(address, bunstore.Config{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	readOnly("on")
	var conns []*sql.Conn
	for range 4 {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	readOnly("off")
	failed := 0
	for range 10 {
		if _, err := pool.ExecContext(t.Context(), "INSERT INTO written VALUES (1)"); err != nil {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d of 10 writes failed, want the first", failed)
	}
}
