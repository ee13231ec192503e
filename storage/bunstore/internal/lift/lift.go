// Package lift turns the values that bun has written into a statement back into parameters, so that a database that caches
// statements sees few distinct texts.
package lift

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

const (
	maxValues = 200     // in a statement worth keeping
	maxText   = 8 << 10 // bytes of it
)

// Dialect is how a database writes values and parameters.
type Dialect int

// The dialects.
const (
	SQLite Dialect = iota
	Postgres
)

// Values replaces the values in a statement by parameters, and reports whether the result is worth keeping: a statement that
// reads or writes rows and has not too many values. Values that may match the condition of an index stay, because the
// planner must see them: 0, 1, and short words, including the empty one. A LIMIT stays too: SQLite would recompile the
// statement for each bound value, PostgreSQL would plan for a guess.
func Values(query string, d Dialect) (text string, values []driver.NamedValue, ok bool) {
	text, values, _, ok = parsed(query, d)
	return text, values, ok
}

// parsed is Values, with the places of the values; nil when these are not worth remembering.
func parsed(query string, d Dialect) (text string, values []driver.NamedValue, marks []mark, ok bool) {
	if !liftable(query) {
		return "", nil, nil, false
	}
	l := lifter{query: query, dialect: d, by: -1, marks: []mark{}}
	l.text.Grow(len(query) + len(query)/16)
	for i := 0; i < len(query); {
		if i = l.next(i); i < 0 {
			return "", nil, nil, false
		}
	}
	l.text.WriteString(query[l.done:])
	if l.lists || len(l.marks) > maxGaps {
		l.marks = nil
	}
	return l.text.String(), l.values, l.marks, len(l.values) <= maxValues && l.text.Len() <= maxText
}

// lifter processes one statement.
type lifter struct {
	query   string
	dialect Dialect
	text    strings.Builder
	done    int // length of the query processed into text
	values  []driver.NamedValue
	marks   []mark // of the values, unless there are lists
	lists   bool

	last  string // preceding token: a name in lower case, "'" for a value or a closing parenthesis, "" for other characters
	depth int    // of parentheses
	by    int    // depth of an ORDER BY or GROUP BY; -1: none
}

// next lifts the value at i, if there is one, and returns the end of the token. It returns -1 if the statement is not
// understood or not written by bun: it has comments, parameters or further statements.
func (l *lifter) next(i int) int {
	query, ch, next := l.query, l.query[i], byte(0)
	if i+1 < len(query) {
		next = query[i+1]
	}
	switch {
	case isSpace(ch):
		return i + 1
	case isSign(ch):
		l.sign(ch)
		return i + 1
	case ch == '\'':
		return l.string(i)
	case ch == '"', ch == '`':
		_, end := quoted(query, i)
		l.last = "'"
		return end
	case inName(ch) && ch > '9' && next != '\'':
		return l.name(i)
	case (ch == 'x' || ch == 'X') && next == '\'' && l.dialect == SQLite:
		return l.blob(i)
	case ch >= '0' && ch <= '9':
		return l.number(i)
	case ch == '-' && next >= '0' && next <= '9' && l.dialect == Postgres && l.expects():
		return l.number(i) // PostgreSQL cannot infer the type of "- $1"
	case inName(ch):
		return l.name(i)
	case foreign(ch, next, l.dialect):
		return -1
	}
	l.sign(ch)
	return i + 1
}

func isSpace(ch byte) bool { return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n' }

// isSign reports whether a character is punctuation that occurs often.
func isSign(ch byte) bool { return ch == '.' || ch == ',' || ch == '=' || ch == '(' || ch == ')' }

// foreign reports whether a character is none of a statement that bun writes: it begins a comment, a parameter or another
// statement.
func foreign(ch, next byte, d Dialect) bool {
	if d == Postgres && (ch == '@' || ch == '[' && next == ']') { // a @@ b, text[]
		return false
	}
	return strings.IndexByte(";?[$@#", ch) >= 0 || ch == '-' && next == '-' || ch == '/' && next == '*'
}

// sign records a punctuation character.
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

// expects reports whether a value may come next. After a name that is not a keyword it may be part
// of a literal, as in interval '1 day', or an operand.
func (l *lifter) expects() bool {
	switch l.last {
	case "", "and", "or", "not", "in", "like", "ilike", "between", "when", "then", "else", "case", "where", "on", "having",
		"select", "distinct", "values", "set", "returning", "from", "escape", "by", "all", "any":
		return true
	}
	return false
}

// string lifts a quoted text.
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
		l.put(i, end, s, textual)
	}
	l.last = "'"
	return end
}

// blob lifts a SQLite blob.
func (l *lifter) blob(i int) int {
	s, end := quoted(l.query, i+1)
	blob, err := hex.DecodeString(s)
	if err != nil {
		return -1
	}
	l.put(i, end, blob, binary)
	l.last = "'"
	return end
}

// number lifts a whole number other than 0 and 1. After ORDER BY a number stands for a column.
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
		l.put(i, end, n, whole)
		return end
	}
	switch before {
	case "offset", "first", "next":
		return end
	}
	l.put(i, end, n, kindOf(n, l.dialect))
	return end
}

// kind is how a value is written.
type kind int

const (
	textual kind = iota
	binary
	whole     // a number of SQLite
	fourBytes // numbers of PostgreSQL
	eightBytes
)

// kindOf returns the kind of a number.
func kindOf(n int64, d Dialect) kind {
	switch {
	case d == SQLite:
		return whole
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return fourBytes
	}
	return eightBytes
}

// cast is the cast to the type of a literal; PostgreSQL takes a bare parameter for text.
func (k kind) cast() string {
	switch k {
	case fourBytes:
		return "::int4"
	case eightBytes:
		return "::int8"
	}
	return ""
}

// name reads a keyword or a name, and what follows it but must not be lifted.
func (l *lifter) name(i int) int {
	query, end := l.query, i
	for end < len(query) && inName(query[end]) {
		end++
	}
	name := keyword(query[i:end])
	if l.dialect == Postgres {
		if end < len(query) && query[end] == '\'' { // E'a'
			return -1
		}
		if name == "in" && l.last != "not" {
			if list, after := inList(query, end); after > 0 {
				l.list(i, after, list)
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
	switch {
	case name == "by":
		l.by = l.depth
	case l.by == l.depth && (name == "having" || name == "union"): // end of a GROUP BY
		l.by = -1
	}
	l.last = name
	return end
}

// keywords are the names that the lifter knows.
var keywords = func() map[string]string {
	all := map[string]string{}
	for name := range strings.FieldsSeq(`all and any between by case distinct else escape first from having ilike in like limit next not offset on or
		returning select set then union values when where
		bit bpchar char character dec decimal float interval numeric time timestamp timestamptz timetz varbit varchar varying`) {
		all[name] = name
	}
	return all
}()

// keyword returns a keyword in lower case, or any longer or other name as it is.
func keyword(name string) string {
	const longest = len("timestamptz")
	if len(name) > longest {
		return name
	}
	var lower [longest]byte
	upper := false
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c, upper = c+'a'-'A', true
		}
		lower[i] = c
	}
	if !upper {
		return name
	}
	if known, ok := keywords[string(lower[:len(name)])]; ok {
		return known
	}
	return name
}

// hasModifier reports whether numbers in parentheses after a name may belong to a type.
func hasModifier(name string) bool {
	switch name {
	case "varchar", "varying", "char", "character", "bpchar", "bit", "varbit", "numeric", "decimal", "dec", "float", "time", "timestamp", "timestamptz", "timetz", "interval":
		return true
	}
	return false
}

// put writes a parameter in place of a value from i to end.
func (l *lifter) put(i, end int, value driver.Value, k kind) {
	begin := l.text.Len() + i - l.done
	l.write(i, end, value, "", k.cast())
	l.marks = append(l.marks, mark{begin, l.text.Len(), k, l.query[i] == '-'})
}

// write writes a parameter in place of the text from i to end.
func (l *lifter) write(i, end int, value driver.Value, prefix, suffix string) {
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

// fewValues is the maximum length of a list with a parameter for each value. PostgreSQL takes an array in a parameter for
// ten values, so that a plan for all values looks dearer than a new one each time.
const fewValues = 8

// list lifts the list of an IN, so that lists of different lengths share a text: few values as two, four or eight
// parameters, the last of them repeated; more as one array.
func (l *lifter) list(i, end int, of []driver.Value) {
	l.lists = true
	if len(of) > fewValues {
		l.write(i, end, array(of), "= ANY(", ")")
		return
	}
	size := 2
	for size < len(of) {
		size *= 2
	}
	common := textual // one kind for all, or there would be many texts
	for _, value := range of {
		if n, ok := value.(int64); ok {
			common = max(common, kindOf(n, l.dialect))
		}
	}
	l.text.WriteString(l.query[l.done:i] + "IN ")
	l.done = i
	for n := range size {
		before := ", "
		if n == 0 {
			before = "("
		}
		l.write(i, i, of[min(n, len(of)-1)], before, common.cast())
	}
	l.text.WriteByte(')')
	l.done = end
}

// inList reads the list of an IN that may become parameters: several numbers, or several texts that are not all words. The
// end is 0 when there is none at i.
func inList(query string, i int) (list []driver.Value, end int) {
	at, open := i+2, " ("
	if !strings.HasPrefix(query[i:], open) {
		return nil, 0
	}
	for data := false; at < len(query); {
		element, next := element(query, at)
		if next < 0 {
			return nil, 0
		}
		data = data || element != "" && (query[at] != '\'' || !isWord(element))
		var value driver.Value = element
		if query[at] != '\'' {
			value, _ = strconv.ParseInt(element, 10, 64) // see element
		}
		if list = append(list, value); reflect.TypeOf(value) != reflect.TypeOf(list[0]) {
			return nil, 0
		}
		switch rest := query[next:]; {
		case strings.HasPrefix(rest, ", "):
			at = next + 2
		case strings.HasPrefix(rest, ")") && len(list) > 1 && data:
			return list, next + 1
		default:
			return nil, 0
		}
	}
	return nil, 0
}

// element reads a text or a number of a list; end is -1 for anything else.
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

// array writes a list as PostgreSQL does.
func array(of []driver.Value) string {
	var b strings.Builder
	b.WriteByte('{')
	for n, value := range of {
		if n > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		_, _ = inArray.WriteString(&b, fmt.Sprint(value))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

// inArray escapes an element of an array within its quotes.
var inArray = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// liftable reports whether a statement reads or writes rows: schema changes take no parameters.
func liftable(query string) bool {
	query = strings.TrimLeft(query, " \t\r\n")
	for _, verb := range []string{"SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH ", "EXPLAIN QUERY PLAN SELECT ", "EXPLAIN QUERY PLAN WITH "} {
		if len(query) > len(verb) && strings.EqualFold(query[:len(verb)], verb) {
			return true
		}
	}
	return false
}

// quoted reads the quoted text at i and returns its end, or -1 if it has none.
func quoted(query string, i int) (s string, end int) {
	quote := query[i]
	doubled := false
	for end = i + 1; end < len(query); end++ {
		next := strings.IndexByte(query[end:], quote)
		if next < 0 {
			return "", -1
		}
		end += next
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

// isWord reports whether a text may be one of our constants, as in a condition, rather than data:
// it is short, and in one case. The empty list is one, too.
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
