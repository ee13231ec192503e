package lift

import (
	"database/sql/driver"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lifted is the result for a query; a text of "" means that it runs unchanged.
type lifted struct {
	query, text string
	values      []driver.Value
}

func check(t *testing.T, d Dialect, cases map[string]lifted) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, values, ok := Values(tc.query, d)
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

func TestSQLite(t *testing.T) {
	t.Parallel()
	check(t, SQLite, map[string]lifted{
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
		"a column's number":   {`SELECT a, b FROM t GROUP BY a, 2`, "", nil},
	})
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	check(t, Postgres, map[string]lifted{
		"arrays":              {`SELECT * FROM unnest('{1,2}'::int8[], '{"a b"}'::text[]) WHERE x = 5`, `SELECT * FROM unnest($1::int8[], $2::text[]) WHERE x = $3::int4`, []driver.Value{"{1,2}", `{"a b"}`, int64(5)}},
		"values":              {`INSERT INTO "t" ("a", "b") VALUES (12, 'It''s')`, `INSERT INTO "t" ("a", "b") VALUES ($1::int4, $2)`, []driver.Value{int64(12), "It's"}},
		"large numbers":       {`SELECT * FROM t WHERE a > 1700000000000000 AND b = 2147483647 AND c = 2147483648`, `SELECT * FROM t WHERE a > $1::int8 AND b = $2::int4 AND c = $3::int8`, []driver.Value{int64(1700000000000000), int64(2147483647), int64(2147483648)}},
		"below zero":          {`UPDATE t SET a = -62135596800000000, b = (-5) WHERE c IN (-5)`, `UPDATE t SET a = $1::int8, b = ($2::int4) WHERE c IN ($3::int4)`, []driver.Value{int64(-62135596800000000), int64(-5), int64(-5)}},
		"differences":         {`SELECT a -5, b - 5, c-5, count(*) -5 FROM t`, `SELECT a -$1::int4, b - $2::int4, c-$3::int4, count(*) -$4::int4 FROM t`, []driver.Value{int64(5), int64(5), int64(5), int64(5)}},
		"words stay":          {`SELECT * FROM t WHERE type = 'customer' AND p <> '' AND q > 0 AND r = 1 AND s IN ('posted', 'pending')`, `SELECT * FROM t WHERE type = 'customer' AND p <> '' AND q > 0 AND r = 1 AND s IN ('posted', 'pending')`, nil},
		"lists":               {`DELETE FROM t WHERE a IN (2, 3, -4) AND b IN ('a@b', 'x"\y') AND c IN (7)`, `DELETE FROM t WHERE a IN ($1::int4, $2::int4, $3::int4, $4::int4) AND b IN ($5, $6) AND c IN ($7::int4)`, []driver.Value{int64(2), int64(3), int64(-4), int64(-4), "a@b", `x"\y`, int64(7)}},
		"long lists":          {`DELETE FROM t WHERE a IN (2, 3, -4, 5, 6, 7, 8, 9, 10) AND b IN ('a@b', 'x"\y', '', 'c', 'd', 'e', 'f', 'g', 'h')`, `DELETE FROM t WHERE a = ANY($1) AND b = ANY($2)`, []driver.Value{`{"2","3","-4","5","6","7","8","9","10"}`, `{"a@b","x\"\\y","","c","d","e","f","g","h"}`}},
		"large ones in lists": {`SELECT a FROM t WHERE a IN (2, 2147483648)`, `SELECT a FROM t WHERE a IN ($1::int8, $2::int8)`, []driver.Value{int64(2), int64(2147483648)}},
		"mixed lists":         {`SELECT a FROM t WHERE a IN ('x y', 2)`, `SELECT a FROM t WHERE a IN ($1, $2::int4)`, []driver.Value{"x y", int64(2)}},
		"other lists":         {`SELECT * FROM t WHERE (a, b) IN ((2, 3), (4, 5)) AND c NOT IN (6, 7) AND d IN (SELECT 8)`, `SELECT * FROM t WHERE (a, b) IN (($1::int4, $2::int4), ($3::int4, $4::int4)) AND c NOT IN ($5::int4, $6::int4) AND d IN (SELECT $7::int4)`, []driver.Value{int64(2), int64(3), int64(4), int64(5), int64(6), int64(7), int64(8)}},
		"limits stay":         {`SELECT * FROM t WHERE a > 5 ORDER BY b LIMIT 26 OFFSET 512`, `SELECT * FROM t WHERE a > $1::int4 ORDER BY b LIMIT 26 OFFSET 512`, []driver.Value{int64(5)}},
		"so does FETCH":       {`SELECT * FROM t FETCH FIRST 5 ROWS ONLY`, `SELECT * FROM t FETCH FIRST 5 ROWS ONLY`, nil},
		"search":              {`SELECT to_tsvector('simple', a) @@ to_tsquery('simple', 'a:* & b')`, `SELECT to_tsvector('simple', a) @@ to_tsquery('simple', $1)`, []driver.Value{"a:* & b"}},
		"bytes":               {`SELECT * FROM t WHERE a = '\x00ff'::bytea`, `SELECT * FROM t WHERE a = $1::bytea`, []driver.Value{`\x00ff`}},
		"names of types":      {`SELECT interval '1 day', date '2026-01-02', a AT TIME ZONE 'Europe/Berlin' FROM t WHERE b LIKE 'x%'`, `SELECT interval '1 day', date '2026-01-02', a AT TIME ZONE 'Europe/Berlin' FROM t WHERE b LIKE $1`, []driver.Value{"x%"}},
		"sizes of types":      {`SELECT CAST(a AS numeric(10, 2)), b::varchar(20), c::timestamp(3)`, `SELECT CAST(a AS numeric(10, 2)), b::varchar(20), c::timestamp(3)`, nil},
		"a column's number":   {`SELECT a, b FROM t ORDER BY a, 2`, "", nil},
		"the first one's":     {`SELECT a FROM t GROUP BY 2`, "", nil},
		"after a GROUP BY":    {`SELECT a, SUM(b) FROM t GROUP BY a HAVING SUM(b) <> 5 UNION ALL SELECT -2 AS a, 0, 5 FROM u`, `SELECT a, SUM(b) FROM t GROUP BY a HAVING SUM(b) <> $1::int4 UNION ALL SELECT $2::int4 AS a, 0, $3::int4 FROM u`, []driver.Value{int64(5), int64(-2), int64(5)}},
		"another number":      {`SELECT a FROM (SELECT b FROM t ORDER BY coalesce(b, 5), c) AS s WHERE a IN (SELECT 5)`, `SELECT a FROM (SELECT b FROM t ORDER BY coalesce(b, $1::int4), c) AS s WHERE a IN (SELECT $2::int4)`, []driver.Value{int64(5), int64(5)}},
		"an escaped text":     {`SELECT E'\'; DROP TABLE t; --'`, "", nil},
		"Unicode escapes":     {`SELECT U&'d\0061ta here'`, "", nil},
		"a text in two parts": {"SELECT 'two words'\n'and more'", "", nil},
		"dollars":             {`SELECT $$it$$`, "", nil},
		"a subscript":         {`SELECT a[2] FROM t`, "", nil},
		"several":             {`DELETE FROM t WHERE a = 5; DELETE FROM u`, "", nil},
		"a comment":           {`SELECT 5 /* no */`, "", nil},
	})
}

// Lists of different lengths share a few texts.
func TestLists(t *testing.T) {
	t.Parallel()
	texts, ids := map[string]bool{}, []string{"1"}
	for n := 2; n < 5000; n++ {
		ids = append(ids, strconv.Itoa(n))
		text, values, ok := Values("SELECT a FROM t WHERE id IN ("+strings.Join(ids, ", ")+") AND b = 'x y'", Postgres)
		if !ok || len(values) > 2 && len(values) != strings.Count(text, "$") {
			t.Errorf("%d ids: %v, %d values", n, ok, len(values))
		}
		texts[text] = true
	}
	if len(texts) != 4 {
		t.Errorf("there are %d texts", len(texts))
	}
}

// The rest of the query is unchanged, and there are as many parameters as values.
func FuzzValues(f *testing.F) {
	for _, s := range []string{"it's", `a"b`, "x'00'", "5", "'; DROP TABLE t; --", "IN (2, 3)", "- -5", "E'\\''", "$1", "BY 2, 'a' 'b'", "varchar(2", "IN ('a b', "} {
		f.Add("SELECT "+s, s)
	}
	f.Fuzz(func(t *testing.T, query, value string) {
		if len(query) > 10_000 {
			return
		}
		for _, d := range []Dialect{SQLite, Postgres} {
			text, values, ok := Values(query, d)
			if ok && len(values) == 0 && text != query {
				t.Errorf("%q became %q", query, text)
			}
			if mark := map[Dialect]string{SQLite: "?", Postgres: "$"}[d]; ok && strings.Count(outside(text), mark) != len(values) {
				t.Errorf("%q has %d values", text, len(values))
			}
			text, values, ok = Values("SELECT a FROM t WHERE b = '"+strings.ReplaceAll(value, "'", "''")+"' AND c = 'two words'", d)
			if isWord(value) || len(value) > maxText/2 {
				continue
			}
			if want := map[Dialect]string{SQLite: "? AND c = ?", Postgres: "$1 AND c = $2"}[d]; !ok || text != "SELECT a FROM t WHERE b = "+want || values[0].Value != value {
				t.Errorf("%q became %q with %d values", value, text, len(values))
			}
		}
	})
}

// outside returns a statement without its quoted parts.
func outside(query string) string {
	var b strings.Builder
	for i := 0; i < len(query); i++ {
		if strings.IndexByte("'\"`", query[i]) >= 0 {
			if _, end := quoted(query, i); end > 0 {
				i = end - 1
				continue
			}
		}
		b.WriteByte(query[i])
	}
	return b.String()
}

// BenchmarkValues lifts the values of statements. The floor is to copy them.
func BenchmarkValues(b *testing.B) {
	for name, query := range map[string]string{
		"Insert": "INSERT INTO t (a, b) VALUES " + strings.Repeat("(12345, 'a text of some words', 1700000000000000), ", 60),
		"Select": `SELECT ` + strings.Repeat(`"hw_conversations"."customer_email", "hw_conversations"."id", `, 10) + `COALESCE((SELECT r.at FROM hw_seen AS r
			WHERE r.account_id = "hw_conversations".account_id AND r.conversation_id = "hw_conversations".id AND r.user_id = 17), 0) AS seen
			FROM "hw_conversations" WHERE ("hw_conversations".account_id = 12) AND ("hw_conversations".id IN (123456)) ORDER BY "hw_conversations"."id" LIMIT 26`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(query)))
			for b.Loop() {
				Values(query, Postgres)
			}
		})
		b.Run(name+"Again", func(b *testing.B) {
			var memo Memo
			b.SetBytes(int64(len(query)))
			for b.Loop() {
				memo.Values(query, Postgres)
			}
		})
		b.Run(name+"Floor", func(b *testing.B) {
			b.SetBytes(int64(len(query)))
			for b.Loop() {
				_ = strings.Clone(query)
			}
		})
	}
}

// A remembered statement gives what it would give for the first time, whatever its values are.
func TestMemo(t *testing.T) {
	t.Parallel()
	values := []string{"0", "1", "2", "-2", "- 2", "70000000000", "-70000000000", "007", "5.5", "5x", "99999999999999999999", "''", "'word'", "'two words'", "'it''s'", "'a' 'b'",
		"'[]'", "x'00ff'", "X'00'", "x'0'", "x''", "NULL", "(2)", "2, 3", "'two words', 'a b'", "$1", "?", "a", "\"a\"", "'", ""}
	forms := []string{
		"SELECT a FROM t WHERE b = %s", "SELECT a FROM t WHERE b = %s AND c = %s", "SELECT a FROM t WHERE b IN (%s)", "SELECT a FROM t WHERE b IN (%s, %s)",
		"SELECT a FROM t WHERE b NOT IN (%s) ORDER BY a LIMIT %s", "SELECT a FROM t ORDER BY %s", "SELECT a FROM t ORDER BY b, %s", "SELECT a FROM t LIMIT 2 OFFSET %s",
		"UPDATE t SET a = %s, b = a - %s WHERE c >= %s", "INSERT INTO t (a, b) VALUES (%s, %s)", "SELECT interval %s", "SELECT E%s", "SELECT a%s", "SELECT a FROM t WHERE b = %sc", "SELECT a -%s",
	}
	for _, d := range []Dialect{SQLite, Postgres} {
		var memo Memo
		for range 2 {
			for _, f := range forms {
				for i := range len(values) * len(values) {
					args := []any{values[i%len(values)], values[i/len(values)], values[i%len(values)]}
					same(t, &memo, fmt.Sprintf(f, args[:strings.Count(f, "%s")]...), d)
				}
			}
		}
		if memo.count == 0 || memo.count > maxForms {
			t.Errorf("%d forms are remembered", memo.count)
		}
	}
}

// same compares a memo with Values.
func same(t *testing.T, memo *Memo, query string, d Dialect) {
	t.Helper()
	wantText, wantValues, wantOK := Values(query, d)
	text, values, ok := memo.Values(query, d)
	if ok != wantOK || ok && (text != wantText || len(values) != len(wantValues) || len(values) > 0 && !reflect.DeepEqual(values, wantValues)) {
		t.Errorf("%q: %q %v %t, want %q %v %t", query, text, values, ok, wantText, wantValues, wantOK)
	}
}

func FuzzMemo(f *testing.F) {
	f.Add("SELECT a FROM t WHERE b = 5 AND c = 'two words'", "SELECT a FROM t WHERE b = 5 AND c = 'word'")
	f.Add("SELECT a FROM t WHERE b = -5", "SELECT a FROM t WHERE b = - 5")
	f.Add("SELECT x'00', 5", "SELECT x'0', 5x")
	f.Add("SELECT a FROM t ORDER BY 'a b', 5", "SELECT a FROM t ORDER BY 'a b')")
	f.Fuzz(func(t *testing.T, one, other string) {
		for _, d := range []Dialect{SQLite, Postgres} {
			var memo Memo
			for _, query := range []string{one, other, one, other + one} {
				same(t, &memo, query, d)
			}
		}
	})
}

// Keywords are known in any case.
func TestKeywords(t *testing.T) {
	t.Parallel()
	for name := range keywords {
		for _, written := range []string{name, strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:]} {
			if got := keyword(written); got != name {
				t.Errorf("%s is taken for %s", written, got)
			}
		}
	}
}
