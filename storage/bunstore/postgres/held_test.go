package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/helpwright/helpwright/storage/bunstore/internal/trips"
	"github.com/helpwright/helpwright/storage/storagetest/testenv"
)

// notes is a table, and a pool of one connection for it.
func notes(t *testing.T, setting string) *sql.DB {
	t.Helper()
	db := pool(t, with(testenv.Postgres(t), setting))
	run(t, db, "CREATE TABLE notes (id BIGINT PRIMARY KEY, text TEXT NOT NULL)")
	return db
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func run(t *testing.T, db execer, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// later runs a statement that may be held back.
func later(t *testing.T, tx execer, query string) {
	t.Helper()
	if _, err := tx.ExecContext(trips.Later(t.Context()), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	first := &trips.Statement{Query: "SELECT pg_advisory_xact_lock_shared(1000, 2000)"}
	tx, err := db.BeginTx(trips.WithFirst(t.Context(), first), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func allNotes(t *testing.T, db *sql.DB) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT text FROM notes ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	return all
}

// Statements that wait run in their order, before whatever comes next in their transaction, with all settings of pgx.
func TestHeld(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{
		"", "default_query_exec_mode=cache_describe", "default_query_exec_mode=describe_exec", "default_query_exec_mode=exec", "default_query_exec_mode=simple_protocol",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			db := notes(t, setting)
			for i := range 4 { // the third is prepared
				tx := begin(t, db)
				later(t, tx, fmt.Sprintf("INSERT INTO notes (id, text) VALUES (%d, 'made')", 100+i))
				later(t, tx, fmt.Sprintf("UPDATE notes SET text = text || ', changed' WHERE id = %d", 100+i))
				var text string
				if err := tx.QueryRowContext(t.Context(), fmt.Sprintf("SELECT text FROM notes WHERE id = %d", 100+i)).Scan(&text); err != nil || text != "made, changed" {
					t.Fatalf("a query finds %q, %v", text, err)
				}
				later(t, tx, fmt.Sprintf("UPDATE notes SET text = text || ', again' WHERE id = %d", 100+i))
				result, err := tx.ExecContext(t.Context(), "UPDATE notes SET text = text || '.'")
				if err != nil {
					t.Fatal(err)
				}
				if n, err := result.RowsAffected(); err != nil || n != int64(i+1) {
					t.Fatalf("a statement after a held one changed %d rows, %v; want %d", n, err, i+1)
				}
				later(t, tx, fmt.Sprintf("UPDATE notes SET text = text || ' Last' WHERE id = %d", 100+i))
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			want := []string{"made, changed, again. Last...", "made, changed, again. Last..", "made, changed, again. Last.", "made, changed, again. Last"}
			if diff := cmp.Diff(want, allNotes(t, db)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// The error of a statement that waited is that of what comes next, and then nothing is written. The connection stays usable.
func TestHeldFailure(t *testing.T) {
	t.Parallel()
	duplicate := func(t *testing.T, tx execer) {
		t.Helper()
		later(t, tx, "INSERT INTO notes (id, text) VALUES (200, 'new')")
		later(t, tx, "INSERT INTO notes (id, text) VALUES (100, 'twice')")
	}
	for name, next := range map[string]func(ctx context.Context, tx *sql.Tx) error{
		"the commit": func(_ context.Context, tx *sql.Tx) error { return tx.Commit() },
		"a statement": func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE notes SET text = 'changed'")
			return err
		},
		"a query": func(ctx context.Context, tx *sql.Tx) error {
			var text string
			return tx.QueryRowContext(ctx, "SELECT text FROM notes WHERE id = 100").Scan(&text)
		},
		"a query with arguments": func(ctx context.Context, tx *sql.Tx) error {
			var text string
			return tx.QueryRowContext(ctx, "SELECT text FROM notes WHERE id = $1", 100).Scan(&text)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := notes(t, "")
			run(t, db, "INSERT INTO notes (id, text) VALUES (100, 'first')")
			for range 4 {
				tx := begin(t, db)
				duplicate(t, tx)
				err := next(t.Context(), tx)
				if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.ConstraintName != "notes_pkey" {
					t.Fatalf("the error is %v", err)
				}
				if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{"first"}, allNotes(t, db)); diff != "" {
					t.Fatalf("notes (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A transaction whose first statement fails before it has begun runs no other: nothing may be written outside of it.
func TestHeldNotBegun(t *testing.T) {
	t.Parallel()
	db := notes(t, "")
	for i := range 5 { // the statement is prepared, and refused, from the second time on
		tx := begin(t, db)
		var text string
		err := tx.QueryRowContext(t.Context(), "SELECT text FROM nothing WHERE id = 1000").Scan(&text)
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "42P01" {
			t.Fatalf("the error is %v", err)
		}
		if err := tx.QueryRowContext(t.Context(), "SELECT text FROM notes WHERE id = 1000").Scan(&text); err == nil || errors.Is(err, sql.ErrNoRows) {
			t.Errorf("in round %d a query runs: %v", i, err)
		}
		if _, err := tx.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO notes (id, text) VALUES (%d, 'outside')", 100+i)); err == nil {
			t.Errorf("in round %d a statement runs", i)
		}
		_, _ = tx.ExecContext(trips.Later(t.Context()), fmt.Sprintf("INSERT INTO notes (id, text) VALUES (%d, 'outside')", 200+i)) // it may wait in vain
		if err := tx.Commit(); err == nil {
			t.Errorf("in round %d the transaction commits", i)
		}
	}
	if got := allNotes(t, db); got != nil {
		t.Errorf("there are notes: %v", got)
	}
	tx := begin(t, db)
	later(t, tx, "INSERT INTO notes (id, text) VALUES (100, 'inside')")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"inside"}, allNotes(t, db)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// A rollback forgets the statements that wait.
func TestHeldRollback(t *testing.T) {
	t.Parallel()
	db := notes(t, "")
	tx := begin(t, db)
	later(t, tx, "INSERT INTO notes (id, text) VALUES (100, 'undone')")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	later(t, db, "INSERT INTO notes (id, text) VALUES (101, 'at once')") // without a transaction nothing waits
	tx = begin(t, db)
	run(t, tx, "INSERT INTO notes (id, text) VALUES (102, 'done')")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"at once", "done"}, allNotes(t, db)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// Rows are read as pgx reads them, also those of a query that runs along with a statement that waited.
func TestHeldRows(t *testing.T) {
	t.Parallel()
	db := notes(t, "")
	for _, column := range []string{
		"1::int2", "-2::int4", "9000000000000000000::int8", "true", "false", "'a text'::text", "'ä'::varchar", "''::text",
		`'\x00ff41'::bytea`, `'\x'::bytea`, "NULL::int8", "NULL::bytea", "1.5::float8", "'{}'::jsonb", "2.5::numeric", "'{a,b}'::text[]",
		"'2026-11-28 12:00:00Z'::timestamptz", `n`,
	} {
		query := "SELECT " + column + " FROM (VALUES (100), (200)) AS v (n) WHERE n >= 100 ORDER BY n"
		read := func(held bool) (all []any) {
			tx := begin(t, db)
			if held {
				later(t, tx, "UPDATE notes SET text = ''")
			}
			rows, err := tx.QueryContext(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				var value any
				if err := rows.Scan(&value); err != nil {
					t.Fatal(err)
				}
				all = append(all, value)
			}
			if err := errors.Join(rows.Err(), rows.Close(), tx.Commit()); err != nil {
				t.Fatal(err)
			}
			return all
		}
		for range 3 {
			if diff := cmp.Diff(read(false), read(true)); diff != "" {
				t.Errorf("%s (-pgx +held):\n%s", column, diff)
			}
		}
	}
}

// An error among the rows of a query is not lost, and neither is the connection.
func TestHeldRowsFailure(t *testing.T) {
	t.Parallel()
	db := notes(t, "")
	for range 4 {
		tx := begin(t, db)
		later(t, tx, "INSERT INTO notes (id, text) VALUES (100, 'undone')")
		rows, err := tx.QueryContext(t.Context(), "SELECT 100 / (150 - n) FROM generate_series(100, 200) AS n")
		for err == nil && rows.Next() {
			continue
		}
		if err == nil {
			err = errors.Join(rows.Err(), rows.Close())
		}
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "22012" {
			t.Fatalf("the error is %v", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	if got := allNotes(t, db); got != nil {
		t.Errorf("there are notes: %v", got)
	}
}

// Rows that are not read to their end leave the transaction usable.
func TestHeldRowsLeft(t *testing.T) {
	t.Parallel()
	db := notes(t, "")
	for i := range 4 {
		tx := begin(t, db)
		later(t, tx, fmt.Sprintf("INSERT INTO notes (id, text) VALUES (%d, 'made')", 100+i))
		var n int
		if err := tx.QueryRowContext(t.Context(), "SELECT n FROM generate_series(100, 20000) AS n").Scan(&n); err != nil || n != 100 {
			t.Fatal(n, err)
		}
		run(t, tx, "UPDATE notes SET text = 'changed'")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"changed", "changed", "changed", "changed"}, allNotes(t, db)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// A statement that waits too long for a lock fails with the commit that it ran with, which then is known not to have happened.
func TestHeldLocked(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	db, other := pool(t, with(address, "lock_timeout=100")), pool(t, address)
	run(t, db, "CREATE TABLE notes (id BIGINT PRIMARY KEY, text TEXT NOT NULL)")
	run(t, db, "INSERT INTO notes (id, text) VALUES (100, 'first')")
	lock := begin(t, other)
	run(t, lock, "UPDATE notes SET text = 'locked'")
	tx := begin(t, db)
	later(t, tx, "UPDATE notes SET text = 'changed' WHERE id = 100")
	err := tx.Commit()
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "55P03" {
		t.Fatalf("the error of the commit is %v", err)
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"first"}, allNotes(t, db)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// heldStatements returns how many statements that may wait a connection has prepared.
func heldStatements(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'held%'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A connection prepares many texts, but not any number.
func TestHeldPrepared(t *testing.T) {
	t.Parallel()
	db := notes(t, "")
	for range 3 {
		tx := begin(t, db)
		for i := range 300 {
			later(t, tx, fmt.Sprintf("UPDATE notes SET text = 'a longer text' WHERE id = 1000 AND text <> 'longer'%*s", i, ""))
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if n := heldStatements(t, db); n != 200 {
		t.Errorf("%d statements are prepared", n)
	}
}

// A statement whose prepared form is gone or outdated fails once, and is then prepared anew.
func TestHeldOutdated(t *testing.T) {
	t.Parallel()
	db := notes(t, "")
	change := func() error {
		tx := begin(t, db)
		later(t, tx, "UPDATE notes SET text = 'a longer text' WHERE id = 1000")
		return tx.Commit()
	}
	prepare := func() {
		t.Helper()
		for range 3 {
			if err := change(); err != nil {
				t.Fatal(err)
			}
		}
		if n := heldStatements(t, db); n != 2 { // the first of the transaction is one, too
			t.Fatalf("%d statements are prepared", n)
		}
	}
	prepare()
	run(t, db, "DEALLOCATE ALL")
	err := change()
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "26000" {
		t.Fatalf("the error of a session without the statement is %v", err)
	}
	prepare()
}
