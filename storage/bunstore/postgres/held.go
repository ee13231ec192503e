package postgres

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/helpwright/helpwright/storage/bunstore/internal/trips"
)

const (
	maxNamed   = 200 // texts of held statements that a connection prepares
	maxWaiting = 50  // statements of a transaction that wait
)

// held is a statement that waits for the next one of its transaction.
type held struct {
	text   string
	values []driver.NamedValue
	keep   bool // it is worth preparing
}

// holding are the statements that a connection holds back in its transaction, and how it prepares them.
type holding struct {
	open    bool  // the transaction runs them at the latest with its commit
	begins  bool  // the first of them begins the transaction
	failed  error // the transaction has not begun, and cannot any more
	waiting []held
	named   map[string]*pgconn.StatementDescription
	number  int // of the last name
}

// begin begins a transaction with its first statement, both along with the next one.
func (c *preparingConn) begin(ctx context.Context, first *trips.Statement) driver.Tx {
	first.Ran = true
	c.held.open, c.held.begins, c.held.failed = true, true, nil
	c.held.waiting = append(c.held.waiting[:0], held{text: "begin"}, c.heldOf(c.prepared(first.Query, nil)))
	return begun{ctx, c}
}

// hold holds a statement back if its context and the transaction allow it. In the simple protocol no transaction does.
func (c *preparingConn) hold(ctx context.Context, query string, args []driver.NamedValue) bool {
	if !trips.IsLater(ctx) || !c.held.open || len(args) > 0 || len(c.held.waiting) >= maxWaiting {
		return false
	}
	c.held.waiting = append(c.held.waiting, c.heldOf(c.prepared(query, nil)))
	return true
}

// heldOf turns what prepared returns into a statement of a batch.
func (c *preparingConn) heldOf(text string, values []driver.NamedValue) held {
	if len(values) == 0 {
		return held{text: text}
	}
	return held{text: text, values: values[1:], keep: c.prepares == pgx.QueryExecModeCacheStatement} // the first is the mode of pgx
}

// send sends the statements that were held back and one more, in one round trip. It returns the results of the last; those
// before it have succeeded.
func (c *preparingConn) send(ctx context.Context, last held) (*pgconn.MultiResultReader, error) {
	all := append(c.held.waiting, last)
	c.held.waiting = nil
	var batch pgconn.Batch
	for _, h := range all {
		if err := c.add(ctx, &batch, h); err != nil {
			return nil, c.unbegun(err)
		}
	}
	results := c.Conn().PgConn().ExecBatch(ctx, &batch)
	begins := c.held.begins && last.text != commit
	c.held.begins = false
	for n := range all {
		if !results.NextResult() {
			err := c.dropped(results.Close())
			if err == nil {
				err = fmt.Errorf("postgres: %d statements have %d results", len(all), n)
			}
			return nil, c.unbegun(c.beginning(ctx, begins, err))
		}
		if n < len(all)-1 {
			_, _ = results.ResultReader().Close() // an error ends all results
		}
	}
	return results, nil
}

// commit is the statement that ends a transaction.
const commit = "commit"

// beginning returns the error of statements of which the first begins a transaction and none ends it.
func (c *preparingConn) beginning(ctx context.Context, begins bool, err error) error {
	if begins && c.Conn().IsClosed() && ctx.Err() == nil {
		return errors.Join(trips.ErrNotBegun, err)
	}
	return err
}

// unbegun keeps statements from running outside of the transaction that an error kept from beginning.
func (c *preparingConn) unbegun(err error) error {
	if c.held.open && c.Conn().PgConn().TxStatus() == 'I' {
		c.held.failed, c.held.waiting = err, nil
	}
	return err
}

// dropped drops the prepared statements if an error says that they are outdated.
func (c *preparingConn) dropped(err error) error {
	if outdated(err) {
		c.held.named = nil
	}
	return err
}

// run runs the statements that were held back and one more, until one fails.
func (c *preparingConn) run(ctx context.Context, last held) (pgconn.CommandTag, error) {
	results, err := c.send(ctx, last)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, _ := results.ResultReader().Close() // an error ends all results
	return tag, c.dropped(results.Close())
}

// release runs the statements that were held back.
func (c *preparingConn) release(ctx context.Context) error {
	waiting := c.held.waiting
	if len(waiting) == 0 {
		return nil
	}
	last := waiting[len(waiting)-1]
	c.held.waiting = waiting[:len(waiting)-1]
	_, err := c.run(ctx, last)
	return err
}

// query is run for a statement that returns rows. It returns nil if these have a type that it does not know.
func (c *preparingConn) query(ctx context.Context, last held) (driver.Rows, error) {
	named, err := c.name(ctx, last)
	if err != nil {
		return nil, c.unbegun(err)
	}
	if named == nil || !known(named.Fields) {
		return nil, nil //nolint:nilnil // it has to run by itself
	}
	results, err := c.send(ctx, last)
	if err != nil {
		return nil, err
	}
	return &heldRows{conn: c, results: results, rows: results.ResultReader(), fields: named.Fields}, nil
}

// add adds a statement to a batch.
func (c *preparingConn) add(ctx context.Context, batch *pgconn.Batch, h held) error {
	values, formats := make([][]byte, len(h.values)), make([]int16, len(h.values))
	for i, v := range h.values {
		switch v := v.Value.(type) {
		case nil:
		case int64:
			values[i] = strconv.AppendInt(nil, v, 10)
		case float64:
			values[i] = strconv.AppendFloat(nil, v, 'g', -1, 64)
		case bool:
			values[i] = strconv.AppendBool(nil, v)
		case string:
			values[i] = []byte(v)
		case []byte:
			values[i], formats[i] = v, pgx.BinaryFormatCode
		default:
			return fmt.Errorf("postgres: a value is a %T", v)
		}
	}
	named, err := c.name(ctx, h)
	switch {
	case err != nil:
		return err
	case named == nil:
		batch.ExecParams(h.text, values, nil, formats, nil)
	default:
		batch.ExecStatement(named, values, formats, nil)
	}
	return nil
}

// name prepares a statement that is worth it. It returns nil for others, and when enough are prepared.
func (c *preparingConn) name(ctx context.Context, h held) (*pgconn.StatementDescription, error) {
	if !h.keep {
		return nil, nil //nolint:nilnil // it has no name
	}
	named := c.held.named[h.text]
	if named != nil || len(c.held.named) >= maxNamed {
		return named, nil
	}
	c.held.number++
	named, err := c.Conn().PgConn().Prepare(ctx, "held"+strconv.Itoa(c.held.number), h.text, nil)
	if err != nil {
		return nil, c.beginning(ctx, c.held.begins, err)
	}
	if c.held.named == nil {
		c.held.named = map[string]*pgconn.StatementDescription{}
	}
	c.held.named[h.text] = named
	return named, nil
}

// heldRows are the rows of a statement that ran after others.
type heldRows struct {
	conn    *preparingConn
	results *pgconn.MultiResultReader
	rows    *pgconn.ResultReader
	fields  []pgconn.FieldDescription
}

// Columns implements [driver.Rows].
func (r *heldRows) Columns() []string {
	names := make([]string, len(r.fields))
	for i, f := range r.fields {
		names[i] = f.Name
	}
	return names
}

// Close implements [driver.Rows].
func (r *heldRows) Close() error {
	_, _ = r.rows.Close() // an error ends all results
	return r.conn.dropped(r.results.Close())
}

// Next implements [driver.Rows].
func (r *heldRows) Next(into []driver.Value) error {
	if !r.rows.NextRow() {
		if err := r.Close(); err != nil {
			return err
		}
		return io.EOF
	}
	for i, value := range r.rows.Values() {
		var err error
		if into[i], err = valueOf(r.fields[i].DataTypeOID, value); err != nil {
			return err
		}
	}
	return nil
}

// known reports whether values of all columns can be read.
func known(fields []pgconn.FieldDescription) bool {
	for _, f := range fields {
		switch f.DataTypeOID {
		case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.BoolOID, pgtype.TextOID, pgtype.VarcharOID, pgtype.ByteaOID:
		default:
			return false
		}
	}
	return true
}

// valueOf reads a value in text format.
func valueOf(oid uint32, text []byte) (driver.Value, error) {
	if text == nil {
		return nil, nil //nolint:nilnil // NULL
	}
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return strconv.ParseInt(string(text), 10, 64)
	case pgtype.BoolOID:
		return strconv.ParseBool(string(text))
	case pgtype.ByteaOID:
		digits, found := bytes.CutPrefix(text, []byte(`\x`))
		if !found {
			return nil, errors.New("postgres: bytea_output is not hex")
		}
		return hex.AppendDecode([]byte{}, digits)
	}
	return string(text), nil
}

// begun is a transaction whose statements may wait.
type begun struct {
	ctx  context.Context //nolint:containedctx // of the transaction
	conn *preparingConn
}

// Commit implements [driver.Tx].
func (b begun) Commit() error {
	c := b.conn
	c.held.open = false
	if c.held.failed != nil {
		_ = b.Rollback()
		return pgx.ErrTxCommitRollback
	}
	if c.held.begins && len(c.held.waiting) == 2 { // nothing has happened since begin
		c.held.begins, c.held.waiting = false, nil
		return nil
	}
	tag, err := c.run(b.ctx, held{text: commit})
	switch {
	case err != nil:
		_ = b.Rollback() // without an answer it closes the connection
		return err
	case tag.String() == "ROLLBACK":
		return pgx.ErrTxCommitRollback
	}
	return nil
}

// Rollback implements [driver.Tx].
func (b begun) Rollback() error {
	c := b.conn
	c.held.open, c.held.begins, c.held.failed, c.held.waiting = false, false, nil, nil
	if c.Conn().PgConn().TxStatus() == 'I' {
		return nil
	}
	_, err := c.Conn().Exec(b.ctx, "rollback")
	if err != nil {
		_ = c.Conn().Close(b.ctx) // its state is unknown
	}
	return err
}
