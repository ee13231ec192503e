package sqlite

import (
	"errors"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/internal/lift"
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

// A statement returns the same whether or not its values are lifted.
func FuzzLift(f *testing.F) {
	for _, s := range []string{"", "it's", `a"b`, "x'00'", "5", "'; DROP TABLE t; --", "customer", "é\x00", "?1 $a @b :c"} {
		f.Add(s, int64(len(s)))
	}
	db := migrated(f)
	f.Fuzz(func(t *testing.T, s string, n int64) {
		query := db.QueryGen().FormatQuery("SELECT ? AS s, ? AS n, ? AS b, typeof(?) AS kind, 'posted' AS word, 1.5 AS f", s, n, []byte(s), s)
		type row struct {
			S, Kind, Word string
			N             int64
			B             []byte
			F             float64
		}
		var plain, prepared row
		read := func(into *row, query string) error {
			return db.DB.QueryRowContext(t.Context(), query).Scan(&into.S, &into.N, &into.B, &into.Kind, &into.Word, &into.F)
		}
		plainErr := read(&plain, "/* as it is */ "+query)
		preparedErr := read(&prepared, query)
		if (plainErr == nil) != (preparedErr == nil) {
			t.Fatalf("%q, %d: %v and %v", s, n, plainErr, preparedErr)
		}
		if diff := cmp.Diff(plain, prepared); diff != "" {
			t.Errorf("%s", diff)
		}
	})
}

// The conditions of indexes contain nothing that would become a parameter: SQLite would not use such indexes.
func TestConditionsOfIndexesStay(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	var all []string
	if err := db.NewRaw("SELECT sql FROM sqlite_master WHERE type = 'index' AND instr(sql, ' WHERE ') > 0").Scan(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("there are %d indexes with a condition", len(all))
	}
	for _, index := range all {
		if _, values, ok := lift.Values("SELECT "+index, lift.SQLite); !ok || len(values) > 0 {
			t.Errorf("%v is lifted from %s", values, index)
		}
	}
}

// Run more statements than are kept, and nest two with the same text.
func TestPreparedStatements(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	for round := range 3 {
		for i := range maxPrepared + 50 {
			var got int
			query := "SELECT " + string(rune('a'+i%26)) + "0 + 7 FROM (SELECT " + strconv.Itoa(round) + " AS " + string(rune('a'+i%26)) + "0) AS t" + strconv.Itoa(i)
			if err := db.DB.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != round+7 {
				t.Fatalf("%s: %d, %v", query, got, err)
			}
		}
	}
	tx, err := db.DB.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	outer, err := tx.QueryContext(t.Context(), "SELECT v FROM (SELECT 20 AS v UNION ALL SELECT 30) AS t WHERE v > 10")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = outer.Close() }()
	var sum int
	for outer.Next() {
		var v, w int
		if err := outer.Scan(&v); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRowContext(t.Context(), "SELECT v FROM (SELECT 20 AS v UNION ALL SELECT 30) AS t WHERE v > 25").Scan(&w); err != nil {
			t.Fatal(err)
		}
		sum += v + w
	}
	if outer.Err() != nil || sum != 20+30+30+30 {
		t.Errorf("the sum is %d, %v", sum, outer.Err())
	}
}
