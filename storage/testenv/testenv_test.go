package testenv_test

import (
	"database/sql"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

func TestPostgresIsNewAndEmpty(t *testing.T) {
	t.Parallel()
	first, second := testenv.Postgres(t), testenv.Postgres(t)
	if first == second {
		t.Fatalf("the same database twice: %s", first)
	}
	db, err := sql.Open("pgx", first)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	var encoding string
	var tables int
	if err := db.QueryRowContext(t.Context(), `SHOW server_encoding`).Scan(&encoding); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRowContext(t.Context(),
		`SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'`).Scan(&tables); err != nil {
		t.Fatal(err)
	}
	if encoding != "UTF8" || tables != 0 {
		t.Errorf("encoding %s, %d tables; want UTF8 and none", encoding, tables)
	}
}

func TestPostgresIsDropped(t *testing.T) {
	t.Parallel()
	var gone string
	t.Run("test with a database", func(t *testing.T) {
		gone = testenv.Postgres(t)
		db, err := sql.Open("pgx", gone)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.PingContext(t.Context()); err != nil { // keeps a connection open while the database is dropped
			t.Fatal(err)
		}
	})
	if gone == "" {
		testenv.Skip(t, "no PostgreSQL: the test above says why")
	}
	db, err := sql.Open("pgx", gone)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("ping after the test: %v, want: does not exist", err)
	}
}

func TestDovecotAnswers(t *testing.T) {
	t.Parallel()
	d := testenv.Dovecot(t)
	for _, addr := range []string{d.Addr, d.TLSAddr} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	own := testenv.OwnDovecot(t)
	if own.Addr == d.Addr {
		t.Error("the Dovecot of the run was handed out as a test's own")
	}
	if _, err := os.Stat(own.CAFile); err != nil {
		t.Error(err)
	}
}

func TestNameIsUnique(t *testing.T) {
	t.Parallel()
	if a, b := testenv.Name("x"), testenv.Name("x"); a == b || !strings.HasPrefix(a, "x_") {
		t.Errorf("names %q and %q", a, b)
	}
}
