package sqlite

import (
	lru "container/list"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/storage/bunstore/internal/metered"
)

// bun writes values into the statements, so each has a text of its own, and SQLite would compile every one of them,
// which takes longer than most take to run. The connections of a [Pool] turn the values into parameters again and keep
// what was compiled.
const (
	maxPrepared = 200     // statements of a connection
	maxLifted   = 200     // values of one that is kept
	maxKept     = 8 << 10 // bytes of its text
)

// preparing makes the connections of a database.
type preparing struct {
	dsn string
	of  driver.Driver
}

// Pool is sql.Open for SQLite, with connections that keep compiled statements: a program that has its own tables and those
// of package bunstore in one pool makes it here, and gives it to [bunstore.New] in a bun.DB. The address is that of the
// driver modernc.org/sqlite, and has to ask for foreign_keys and a busy_timeout:
// "file:shop.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_txlock=immediate".
func Pool(dsn string) (*sql.DB, error) {
	plain, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	of := plain.Driver()
	return sql.OpenDB(preparing{dsn: dsn, of: of}), plain.Close()
}

// Driver implements [driver.Connector].
func (p preparing) Driver() driver.Driver { return p.of }

// Connect implements [driver.Connector].
func (p preparing) Connect(context.Context) (driver.Conn, error) {
	conn, err := p.of.Open(p.dsn)
	if err != nil {
		return nil, err
	}
	all, ok := conn.(sqliteConn)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("sqlite: the connection is a %T, which cannot be used", conn)
	}
	return &preparedConn{sqliteConn: all, kept: map[string]*lru.Element{}, latest: lru.New()}, nil
}

// sqliteConn is what database/sql uses of a connection to SQLite.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// preparedConn keeps the statements that it used last. Like every connection it is one goroutine's at a time.
type preparedConn struct {
	sqliteConn
	kept   map[string]*lru.Element // by their texts
	latest *lru.List               // of *compiled, the one used last in front
}

// compiled is a statement that is kept.
type compiled struct {
	text string
	stmt interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
	busy bool // its rows are being read
}

// Close implements [driver.Conn].
func (c *preparedConn) Close() error {
	for e := c.latest.Front(); e != nil; e = e.Next() {
		if s, ok := e.Value.(*compiled); ok {
			_ = s.stmt.Close()
		}
	}
	return c.sqliteConn.Close()
}

// ExecContext implements [driver.ExecerContext].
func (c *preparedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, values, err := c.compiled(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	return s.stmt.ExecContext(ctx, values)
}

// QueryContext implements [driver.QueryerContext].
func (c *preparedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, values, err := c.compiled(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if s == nil {
		rows, err := c.sqliteConn.QueryContext(ctx, query, args)
		return metered.Rows(ctx, rows, err)
	}
	rows, err := s.stmt.QueryContext(ctx, values)
	if err != nil {
		return nil, err
	}
	s.busy = true
	return metered.Rows(ctx, &preparedRows{rows, s}, nil)
}

// preparedRows are rows of a statement that is busy until they are closed.
type preparedRows struct {
	driver.Rows
	of *compiled
}

// Close implements [driver.Rows].
func (r *preparedRows) Close() error {
	r.of.busy = false
	return r.Rows.Close()
}

// compiled gives the statement and the values of a query; nil for one that is to be run as it is.
func (c *preparedConn) compiled(ctx context.Context, query string, args []driver.NamedValue) (*compiled, []driver.NamedValue, error) {
	if len(args) > 0 {
		return nil, nil, nil
	}
	text, values, ok := lift(query)
	if !ok {
		return nil, nil, nil
	}
	if e := c.kept[text]; e != nil {
		s, ok := e.Value.(*compiled)
		if !ok || s.busy {
			return nil, nil, nil
		}
		c.latest.MoveToFront(e)
		return s, values, nil
	}
	stmt, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	s := &compiled{text: text}
	if s.stmt, ok = stmt.(interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}); !ok {
		return nil, nil, stmt.Close()
	}
	c.kept[text] = c.latest.PushFront(s)
	return s, values, c.forget()
}

// forget closes the statement that was not used for longest, when there are too many.
func (c *preparedConn) forget() error {
	if c.latest.Len() <= maxPrepared {
		return nil
	}
	for e := c.latest.Back(); e != nil; e = e.Prev() {
		if s, ok := e.Value.(*compiled); ok && !s.busy {
			c.latest.Remove(e)
			delete(c.kept, s.text)
			return s.stmt.Close()
		}
	}
	return nil
}

// lift puts parameters in the place of the values in a statement, and tells whether that makes sense. What may stand in
// the condition of an index stays, as SQLite has to see it there: 0, 1, and short words, the empty one too. So does a
// LIMIT: SQLite plans for its value, and would compile the statement anew whenever it is bound to one.
func lift(query string) (text string, values []driver.NamedValue, ok bool) {
	if !liftable(query) {
		return "", nil, false
	}
	var b strings.Builder
	done := 0 // of query is in b
	for i := 0; i < len(query); {
		value, end := token(query, i)
		if end < 0 {
			return "", nil, false
		}
		if value != nil && !afterLimit(query[:i]) {
			b.WriteString(query[done:i])
			b.WriteByte('?')
			done = end
			values = append(values, driver.NamedValue{Ordinal: len(values) + 1, Value: value})
		}
		i = end
	}
	b.WriteString(query[done:])
	return b.String(), values, len(values) <= maxLifted && b.Len() <= maxKept
}

// afterLimit reports whether a statement ends in LIMIT.
func afterLimit(query string) bool {
	const limit = "LIMIT "
	return len(query) > len(limit) && strings.EqualFold(query[len(query)-len(limit):], limit)
}

// token reads what stands in a statement from i on: a value to be lifted, or something else, which is nil. An end of -1
// means that the statement is not understood, or is none of bun's: it has comments, parameters or others behind it.
func token(query string, i int) (value driver.Value, end int) {
	next := byte(0)
	if i+1 < len(query) {
		next = query[i+1]
	}
	switch ch := query[i]; {
	case ch == '\'':
		s, end := quoted(query, i)
		if isWord(s) {
			return nil, end
		}
		return s, end
	case ch == '"', ch == '`':
		_, end := quoted(query, i)
		return nil, end
	case (ch == 'x' || ch == 'X') && next == '\'':
		s, end := quoted(query, i+1)
		blob, err := hex.DecodeString(s)
		if err != nil {
			return nil, -1
		}
		return blob, end
	case ch >= '0' && ch <= '9':
		return number(query, i)
	case inName(ch):
		for i < len(query) && inName(query[i]) {
			i++
		}
		return nil, i
	case strings.IndexByte(";?[$@#", ch) >= 0, ch == '-' && next == '-', ch == '/' && next == '*':
		return nil, -1
	}
	return nil, i + 1
}

// number reads a number; 0, 1 and all that are no whole numbers stay.
func number(query string, i int) (value driver.Value, end int) {
	for end = i; end < len(query) && (inName(query[end]) || query[end] == '.'); end++ {
	}
	if n, err := strconv.ParseInt(query[i:end], 10, 64); err == nil && n > 1 {
		return n, end
	}
	return nil, end
}

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
