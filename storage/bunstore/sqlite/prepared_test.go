package sqlite

import (
	"database/sql/driver"
	"errors"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/helpwright/helpwright/storage/bunstore"
)

// migrated is a pool of a database that has the tables.
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

func TestLift(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		query, text string // text "": it runs as it is
		values      []driver.Value
	}{
		"values":              {`INSERT INTO "t" ("a", "b") VALUES (12, 'It''s')`, `INSERT INTO "t" ("a", "b") VALUES (?, ?)`, []driver.Value{int64(12), "It's"}},
		"a blob":              {`SELECT * FROM t WHERE x = X'00ff' AND xx = x''`, `SELECT * FROM t WHERE x = ? AND xx = ?`, []driver.Value{[]byte{0, 0xff}, []byte{}}},
		"words stay":          {`SELECT * FROM t WHERE type = 'customer' AND p <> '' AND q > 0 AND r = 1`, `SELECT * FROM t WHERE type = 'customer' AND p <> '' AND q > 0 AND r = 1`, nil},
		"data does not":       {`SELECT * FROM t WHERE e = 'a@b' AND f = 'Word' AND g = 'two words'`, `SELECT * FROM t WHERE e = ? AND f = ? AND g = ?`, []driver.Value{"a@b", "Word", "two words"}},
		"numbers":             {`UPDATE t2 SET n = -5, f = 1.5, e = 1e9, h = 0x10, big = 92233720368547758070 WHERE id IN (2, 3)`, `UPDATE t2 SET n = -?, f = 1.5, e = 1e9, h = 0x10, big = 92233720368547758070 WHERE id IN (?, ?)`, []driver.Value{int64(5), int64(2), int64(3)}},
		"names with digits":   {`SELECT a1.b22 AS "it's 33", é44 FROM a1`, `SELECT a1.b22 AS "it's 33", é44 FROM a1`, nil},
		"a name that says \"": {`SELECT "a""55" FROM t WHERE b = 'A"B'`, `SELECT "a""55" FROM t WHERE b = ?`, []driver.Value{`A"B`}},
		"signs in a text":     {`DELETE FROM t WHERE a = 'x; -- ? /* $1'`, `DELETE FROM t WHERE a = ?`, []driver.Value{"x; -- ? /* $1"}},
		"limits stay":         {`SELECT * FROM t WHERE id IN (SELECT id FROM u limit 5) AND t_limit > 5 LIMIT 26`, `SELECT * FROM t WHERE id IN (SELECT id FROM u limit 5) AND t_limit > ? LIMIT 26`, []driver.Value{int64(5)}},
		"several":             {`DELETE FROM t WHERE a = 5; DELETE FROM u`, "", nil},
		"a comment":           {`SELECT 5 -- no`, "", nil},
		"a parameter":         {`SELECT ?`, "", nil},
		"a schema":            {`CREATE TABLE t (a DEFAULT 5)`, "", nil},
		"a pragma":            {`PRAGMA user_version = 5`, "", nil},
		"no end":              {`SELECT 'x`, "", nil},
		"no blob":             {`SELECT x'0'`, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, values, ok := lift(tc.query)
			if ok != (tc.text != "") || ok && text != tc.text {
				t.Errorf("%v: %s", ok, text)
			}
			var got []driver.Value
			for i, v := range values {
				got = append(got, v.Value)
				if v.Ordinal != i+1 {
					t.Errorf("value %d has the number %d", i+1, v.Ordinal)
				}
			}
			if diff := cmp.Diff(tc.values, got); ok && diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A statement gives the same, whether its values are lifted or not.
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

// The conditions of indexes hold nothing that would become a parameter: SQLite would not use them.
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
		if _, values, ok := lift("SELECT " + index); !ok || len(values) > 0 {
			t.Errorf("%v is lifted from %s", values, index)
		}
	}
}

// More statements than are kept, and one in another of the same text.
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
