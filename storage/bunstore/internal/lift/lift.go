// Package lift turns the values that bun has written into a statement into parameters again, so that a database that keeps
// statements sees few texts.
package lift

import (
	"database/sql/driver"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

const (
	maxValues = 200     // of a statement that is worth keeping
	maxText   = 8 << 10 // bytes of it
)

// Dialect is a database's way to write values and parameters.
type Dialect int

// The dialects.
const (
	SQLite Dialect = iota
	Postgres
)

// Values puts parameters in the place of the values in a statement, and reports whether the statement is worth keeping then:
// one that reads or writes rows, and has not too many values. What may stand in the condition of an index stays, as
// the planner has to see it there: 0, 1, and short words, the empty one too. So does a LIMIT: SQLite plans for its value
// and would compile the statement anew whenever it is bound to one, PostgreSQL would plan for a guess.
func Values(query string, d Dialect) (text string, values []driver.NamedValue, ok bool) {
	if !liftable(query) {
		return "", nil, false
	}
	l := lifter{query: query, dialect: d, by: -1}
	for i := 0; i < len(query); {
		if i = l.next(i); i < 0 {
			return "", nil, false
		}
	}
	l.text.WriteString(query[l.done:])
	return l.text.String(), l.values, len(l.values) <= maxValues && l.text.Len() <= maxText
}

// lifter is at work on a statement.
type lifter struct {
	query   string
	dialect Dialect
	text    strings.Builder
	done    int // of query is in text
	values  []driver.NamedValue

	last  string // what stands before: a name in lower case, "'" for a value or an end of parentheses, "" for a sign
	depth int    // of parentheses
	by    int    // the depth of an ORDER BY or GROUP BY; -1: there is none
}

// next lifts the value that begins at i, if there is one, and returns where what stands there ends; -1: the statement is
// not understood, or is none of bun's: it has comments, parameters or others behind it.
func (l *lifter) next(i int) int {
	query, ch, next := l.query, l.query[i], byte(0)
	if i+1 < len(query) {
		next = query[i+1]
	}
	switch {
	case ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n':
		return i + 1
	case ch == '\'':
		return l.string(i)
	case ch == '"', ch == '`':
		_, end := quoted(query, i)
		l.last = "'"
		return end
	case (ch == 'x' || ch == 'X') && next == '\'' && l.dialect == SQLite:
		return l.blob(i)
	case ch >= '0' && ch <= '9':
		return l.number(i)
	case ch == '-' && next >= '0' && next <= '9' && l.dialect == Postgres && l.expects():
		return l.number(i) // of "- $1" PostgreSQL knows no type
	case inName(ch):
		return l.name(i)
	case ch == '@' && l.dialect == Postgres:
	case strings.IndexByte(";?[$@#", ch) >= 0, ch == '-' && next == '-', ch == '/' && next == '*':
		return -1
	}
	l.sign(ch)
	return i + 1
}

// sign notes a sign that was read.
func (l *lifter) sign(ch byte) {
	l.last = ""
	switch ch {
	case '(':
		l.depth++
	case ')':
		l.depth--
		l.last = "'"
		if l.depth < l.by {
			l.by = -1
		}
	}
}

// expects reports whether a value may stand next as what it is. Behind a name that is no keyword it may be a part of a
// literal, as in interval '1 day', or an operand.
func (l *lifter) expects() bool {
	switch l.last {
	case "", "and", "or", "not", "in", "like", "ilike", "between", "when", "then", "else", "case", "where", "on", "having",
		"select", "distinct", "values", "set", "returning", "from", "escape", "by", "all", "any":
		return true
	}
	return false
}

// string lifts a text in quotes.
func (l *lifter) string(i int) int {
	s, end := quoted(l.query, i)
	kept := isWord(s)
	if l.dialect == Postgres && end > 0 {
		if l.last == "'" || l.query[i-1] == '&' { // 'a' 'b', U&'a'
			return -1
		}
		kept = kept || !l.expects()
	}
	if end > 0 && !kept {
		l.put(i, end, s, "", "")
	}
	l.last = "'"
	return end
}

// blob lifts bytes of SQLite.
func (l *lifter) blob(i int) int {
	s, end := quoted(l.query, i+1)
	blob, err := hex.DecodeString(s)
	if err != nil {
		return -1
	}
	l.put(i, end, blob, "", "")
	l.last = "'"
	return end
}

// number lifts a number; 0, 1 and all that are no whole numbers stay. One behind ORDER BY stands for a column.
func (l *lifter) number(i int) int {
	if l.by == l.depth && (l.last == "by" || l.last == "" && strings.HasSuffix(strings.TrimRight(l.query[:i], " \t\r\n"), ",")) {
		return -1
	}
	before := l.last
	l.last = "'"
	end := i + 1
	for end < len(l.query) && (inName(l.query[end]) || l.query[end] == '.') {
		end++
	}
	n, err := strconv.ParseInt(l.query[i:end], 10, 64)
	if err != nil || n == 0 || n == 1 || before == "limit" {
		return end
	}
	if l.dialect == SQLite {
		l.put(i, end, n, "", "")
		return end
	}
	switch before {
	case "offset", "first", "next":
		return end
	}
	kind := "::int8" // as of the literal; PostgreSQL takes a bare parameter for a text
	if n >= math.MinInt32 && n <= math.MaxInt32 {
		kind = "::int4"
	}
	l.put(i, end, n, "", kind)
	return end
}

// name reads a keyword or a name, and what must not be lifted behind it.
func (l *lifter) name(i int) int {
	query, end := l.query, i
	for end < len(query) && inName(query[end]) {
		end++
	}
	name := strings.ToLower(query[i:end])
	if l.dialect == Postgres {
		if end < len(query) && query[end] == '\'' { // E'a'
			return -1
		}
		if name == "in" && l.last != "not" {
			if list, after := inList(query, end); after > 0 {
				l.put(i, after, list, "= ANY(", ")")
				l.last = "'"
				return after
			}
		}
		if hasModifier(name) && end < len(query) && query[end] == '(' { // varchar(20)
			if size := strings.IndexByte(query[end:], ')'); size > 0 {
				l.last = "'"
				return end + size + 1
			}
		}
	}
	if name == "by" {
		l.by = l.depth
	}
	l.last = name
	return end
}

// hasModifier reports whether numbers in parentheses behind a name may belong to a type.
func hasModifier(name string) bool {
	switch name {
	case "varchar", "varying", "char", "character", "bpchar", "bit", "varbit", "numeric", "decimal", "dec", "float", "time", "timestamp", "timestamptz", "timetz", "interval":
		return true
	}
	return false
}

// put writes a parameter in the place of what stands from i to end.
func (l *lifter) put(i, end int, value driver.Value, prefix, suffix string) {
	l.values = append(l.values, driver.NamedValue{Ordinal: len(l.values) + 1, Value: value})
	l.text.WriteString(l.query[l.done:i])
	l.text.WriteString(prefix)
	if l.dialect == Postgres {
		l.text.WriteByte('$')
		l.text.WriteString(strconv.Itoa(len(l.values)))
	} else {
		l.text.WriteByte('?')
	}
	l.text.WriteString(suffix)
	l.done = end
}

// inList reads the list behind an IN that is to be one array, so that its length does not make another text: of several
// numbers, or of several texts that are not all words. The end is 0 if there is none at i.
func inList(query string, i int) (array string, end int) {
	at, open := i+2, " ("
	if !strings.HasPrefix(query[i:], open) {
		return "", 0
	}
	var b strings.Builder
	b.WriteByte('{')
	for n, data := 0, false; at < len(query); n++ {
		element, next := element(query, at)
		if next < 0 {
			return "", 0
		}
		data = data || element != "" && (query[at] != '\'' || !isWord(element))
		if n > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		_, _ = inArray.WriteString(&b, element)
		b.WriteByte('"')
		switch rest := query[next:]; {
		case strings.HasPrefix(rest, ", "):
			at = next + 2
		case strings.HasPrefix(rest, ")") && n > 0 && data:
			b.WriteByte('}')
			return b.String(), next + 1
		default:
			return "", 0
		}
	}
	return "", 0
}

// element reads a text or a number of a list; an end of -1: it is something else.
func element(query string, i int) (s string, end int) {
	if query[i] == '\'' {
		return quoted(query, i)
	}
	for end = i; end < len(query) && (query[end] >= '0' && query[end] <= '9' || end == i && query[end] == '-'); end++ {
	}
	if _, err := strconv.ParseInt(query[i:end], 10, 64); err != nil {
		return "", -1
	}
	return query[i:end], end
}

// inArray writes the element of an array within its quotes.
var inArray = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// liftable reports whether a statement reads or writes rows: what changes the schema has no parameters.
func liftable(query string) bool {
	query = strings.TrimLeft(query, " \t\r\n")
	for _, verb := range []string{"SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH ", "EXPLAIN QUERY PLAN SELECT ", "EXPLAIN QUERY PLAN WITH "} {
		if len(query) > len(verb) && strings.EqualFold(query[:len(verb)], verb) {
			return true
		}
	}
	return false
}

// quoted reads what stands in quotes from i on and returns where it ends, -1 if it does not.
func quoted(query string, i int) (s string, end int) {
	quote := query[i]
	doubled := false
	for end = i + 1; end < len(query); end++ {
		if query[end] != quote {
			continue
		}
		if end+1 == len(query) || query[end+1] != quote {
			s = query[i+1 : end]
			if doubled {
				s = strings.ReplaceAll(s, string([]byte{quote, quote}), string(quote))
			}
			return s, end + 1
		}
		doubled = true
		end++
	}
	return "", -1
}

// isWord reports whether a text may be a word of ours, as in a condition, and is no data: it is short, and in one case.
// The empty list is one, too.
func isWord(s string) bool {
	if s == "[]" {
		return true
	}
	if len(s) > 20 || strings.ToLower(s) != s && strings.ToUpper(s) != s {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') })
}

// inName reports a byte of a keyword, a name or a number.
func inName(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || b >= 0x80
}
