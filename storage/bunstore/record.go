package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// records implements [storage.Rows] for the rows of a plain noun.
type records struct {
	writer
	t *storage.Table
}

// ReadRecords implements [storage.RecordReader].
func (r reader) ReadRecords(t *storage.Table) storage.RowReader[storage.Record, []storage.Condition] {
	return records{r.placed(), t}
}

// Records implements [storage.RecordWriter].
func (w writer) Records(t *storage.Table) storage.Rows[storage.Record, []storage.Condition] {
	return records{w, t}
}

// recordScan is the [bun.Model] that collects the records of a query.
type recordScan struct {
	t   *storage.Table
	all []storage.Record
}

// Value implements [bun.Model].
func (s *recordScan) Value() any { return nil }

// ScanRows implements [bun.Model].
func (s *recordScan) ScanRows(_ context.Context, rows *sql.Rows) (int, error) {
	for rows.Next() {
		r := storage.Record{Values: make([]any, len(s.t.Columns))}
		fields := make([]any, len(s.t.Columns))
		for i, c := range s.t.Columns {
			switch c.Kind {
			case storage.KindNumber:
				fields[i] = new(number)
			case storage.KindFlag:
				fields[i] = new(flag)
			case storage.KindBinary:
				fields[i] = new(binary)
			default:
				fields[i] = new(text)
			}
		}
		if err := rows.Scan(append([]any{(*number)(&r.ID), (*number)(&r.Account)}, fields...)...); err != nil {
			return len(s.all), err
		}
		for i, field := range fields {
			r.Values[i] = scannedValue(field)
		}
		s.all = append(s.all, r)
	}
	return len(s.all), rows.Err()
}

func scannedValue(field any) any {
	switch field := field.(type) {
	case *number:
		return int64(*field)
	case *flag:
		return bool(*field)
	case *binary:
		return []byte(*field)
	case *text:
		return string(*field)
	}
	return nil
}

// columnNames returns the names of all columns, separated by commas.
func columnNames(t *storage.Table) bun.Safe {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return bun.Safe(strings.Join(names, ", "))
}

// FindRecords implements [storage.RecordFinder].
func (d directory) FindRecords(ctx context.Context, t *storage.Table, where []storage.Condition) ([]storage.Record, error) {
	conditions, some, err := d.conditions(where)
	if err != nil || !some {
		return nil, firstError(err, d.state())
	}
	found := recordScan{t: t}
	err = d.raw("SELECT id, account_id, ? FROM ? WHERE ?", columnNames(t), bun.Safe(t.Name), conditions).Scan(ctx, &found)
	slices.SortFunc(found.all, func(a, b storage.Record) int { return cmp.Compare(a.ID, b.ID) })
	return found.all, failure(ctx, err, t.Noun, 0)
}

// list reads the records that meet a condition. The rest of the statement follows the condition.
func (s records) list(ctx context.Context, from string, where *bun.RawQuery, rest string, args ...any) ([]storage.Record, error) {
	found := recordScan{t: s.t}
	args = append([]any{columnNames(s.t), bun.Safe(from), s.scope.AccountID, where}, args...)
	err := s.raw("SELECT id, account_id, ? FROM ? WHERE account_id = ? AND ? "+rest, args...).Scan(ctx, &found)
	return found.all, failure(ctx, err, s.t.Noun, 0)
}

// locking is the end of a statement that locks what it reads: SQLite has one writer at a time.
func (s records) locking() string {
	if s.store.postgres {
		return " FOR UPDATE"
	}
	return ""
}

func (s records) get(ctx context.Context, id int64, rest string) (storage.Record, error) {
	found, err := s.list(ctx, s.t.Name, s.raw("id = ?", id), rest)
	if err == nil && len(found) == 0 {
		err = fault.Missing(s.t.Noun, id)
	}
	if err != nil {
		return storage.Record{}, err
	}
	return found[0], nil
}

// Get implements [storage.RowReader].
func (s records) Get(ctx context.Context, id int64) (storage.Record, error) {
	if storage.IsLocking(ctx) {
		return s.get(ctx, id, s.locking())
	}
	return s.get(ctx, id, "")
}

// Lock implements [storage.Rows].
func (s records) Lock(ctx context.Context, id int64) (storage.Record, error) {
	found, err := s.get(ctx, id, s.locking())
	if err == nil {
		s.foundAccount()
	}
	return found, err
}

// List implements [storage.RowReader].
func (s records) List(ctx context.Context, where []storage.Condition, seek storage.Seek) ([]storage.Record, error) {
	conditions, some, err := s.conditions(where)
	if err != nil || !some || seek.Limit <= 0 {
		return nil, firstError(err, s.state())
	}
	id, order, beyond := "id", " ASC", ">"
	if ordered := len(where) == 1 && where[0].InOrder; len(where) > 0 && !ordered {
		id = "+id" // few rows match: SQLite would walk all of the account in order
	}
	if seek.Desc {
		order, beyond = " DESC", "<"
	}
	rest := "ORDER BY " + id + order
	var args []any
	if seek.From != nil {
		rest, args = "AND "+id+" "+beyond+" ? "+rest, append(args, seek.From.ID)
	}
	if seek.Limit != storage.NoLimit {
		rest, args = rest+" LIMIT ?", append(args, seek.Limit)
	}
	return s.list(ctx, s.t.Name, conditions, rest, args...)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// conditions returns the condition of a list; some is false if nothing can match.
func (s *querier) conditions(where []storage.Condition) (all *bun.RawQuery, some bool, err error) {
	all = s.raw("TRUE")
	for _, c := range where {
		if c.Any != nil {
			any, some, problem := s.anyOf(c.Any)
			if problem != nil || !some {
				return nil, false, problem
			}
			all = s.raw("? AND ?", all, any)
			continue
		}
		column := bun.Ident(c.Column)
		if c.Prefix != "" {
			all = s.raw("? AND substr(?, 1, ?) = ?", all, column, utf8.RuneCountInString(c.Prefix), c.Prefix)
			err = firstError(err, checkText(c.Prefix))
		}
		if c.Contains != "" {
			all = s.raw("? AND ?(?, ?) > 0", all, s.position(), column, c.Contains)
			err = firstError(err, checkText(c.Contains))
		}
		if c.In == nil && c.Prefix+c.Contains != "" {
			continue
		}
		if len(c.In) == 0 {
			return nil, false, nil
		}
		if len(c.In) == 1 { // which keeps the order of an index
			all = s.raw("? AND ? = ?", all, column, c.In[0])
		} else {
			all = s.raw("? AND ? IN (?)", all, column, bun.List(c.In))
		}
		err = firstError(err, checkText(c.In...))
	}
	return all, true, err
}

// anyOf returns the condition that one of some groups of conditions holds; some is false if nothing can match.
func (s *querier) anyOf(groups [][]storage.Condition) (any *bun.RawQuery, some bool, err error) {
	any = s.raw("FALSE")
	for _, group := range groups {
		all, matches, err := s.conditions(group)
		if err != nil {
			return nil, false, err
		}
		if matches {
			any, some = s.raw("? OR ?", any, all), true
		}
	}
	return s.raw("(?)", any), some, nil
}

// position is the function that finds a text in another.
func (s *querier) position() bun.Safe {
	if s.store.postgres {
		return "strpos"
	}
	return "instr"
}

// ByIDs implements [storage.RowReader].
func (s records) ByIDs(ctx context.Context, ids []int64) ([]storage.Record, error) {
	return s.byIDs(ctx, ids, "")
}

// LockAll implements [storage.Rows].
func (s records) LockAll(ctx context.Context, ids []int64) ([]storage.Record, error) {
	found, err := s.byIDs(ctx, ids, s.locking())
	if err == nil && len(found) > 0 {
		s.foundAccount()
	}
	return found, err
}

func (s records) byIDs(ctx context.Context, ids []int64, rest string) ([]storage.Record, error) {
	if len(ids) == 0 {
		return nil, s.state()
	}
	from := s.t.Name
	if !s.store.postgres {
		from += " NOT INDEXED" // see byID
	}
	return s.list(ctx, from, s.raw("id IN (?)", bun.List(ids)), "ORDER BY id"+rest)
}

// Insert implements [storage.Rows].
func (s records) Insert(ctx context.Context, rows ...*storage.Record) error {
	const batch = 500 // rows per statement
	if len(rows) == 0 {
		return s.requireAccount(ctx)
	}
	for from := 0; from < len(rows); from += batch {
		if err := s.insert(ctx, rows[from:min(from+batch, len(rows))]); err != nil {
			return err
		}
	}
	s.foundAccount()
	return nil
}

// insert stores rows with one statement. Databases number them in order, but may return the numbers in another one.
func (s records) insert(ctx context.Context, rows []*storage.Record) error {
	var lines []string
	args := []any{bun.Ident(s.t.Name), columnNames(s.t)}
	for _, r := range rows {
		lines = append(lines, "(?"+strings.Repeat(", ?", len(r.Values))+")")
		args = append(append(args, s.scope.AccountID), r.Values...)
	}
	var ids []int64
	err := s.raw("INSERT INTO ? (account_id, ?) VALUES "+strings.Join(lines, ", ")+" RETURNING id", args...).Scan(ctx, &ids)
	if err != nil {
		return s.refused(ctx, err, 0)
	}
	slices.Sort(ids)
	for i, id := range ids {
		rows[i].ID, rows[i].Account = id, s.scope.AccountID
	}
	return nil
}

// refused is failure with the code of the rule that the noun declares.
func (s records) refused(ctx context.Context, err error, id int64) error {
	index, broken := uniqueViolation(err)
	err = failure(ctx, err, s.t.Noun, id)
	if f, ok := errors.AsType[*fault.Error](err); ok && broken {
		for _, u := range s.t.Unique {
			columns := s.t.Name + "." + strings.Join(u.IndexColumns(), ", "+s.t.Name+".") // SQLite names these
			if index == u.Index || index == columns {
				f.Code = u.Code
			}
		}
	}
	return err
}

// Update implements [storage.Rows].
func (s records) Update(ctx context.Context, rows ...*storage.Record) error {
	if len(rows) == 0 {
		return s.state()
	}
	var sets []string
	for _, c := range s.t.Columns {
		sets = append(sets, c.Name+" = ?")
	}
	for _, r := range rows {
		args := append([]any{bun.Ident(s.t.Name)}, r.Values...)
		args = append(args, s.scope.AccountID, r.ID)
		res, err := s.raw("UPDATE ? SET "+strings.Join(sets, ", ")+" WHERE account_id = ? AND id = ?", args...).Exec(ctx)
		if err != nil {
			return s.refused(ctx, err, r.ID)
		}
		if err := changed(ctx, res, nil, s.t.Noun, r.ID); err != nil {
			return err
		}
	}
	s.foundAccount()
	return nil
}

// Delete implements [storage.Rows].
func (s records) Delete(ctx context.Context, id int64) error {
	res, err := s.raw("DELETE FROM ? WHERE account_id = ? AND id = ?", bun.Ident(s.t.Name), s.scope.AccountID, id).Exec(ctx)
	return removed(ctx, res, err, s.t.Noun, id)
}

// Trim implements [storage.Rows].
func (s records) Trim(ctx context.Context, id int64, n int) (trimmed bool, err error) {
	if _, err := s.Lock(ctx, id); err != nil {
		return false, err
	}
	parts := make([]dependent, len(s.t.Parts))
	for i, p := range s.t.Parts {
		parts[i] = dependent{table: p.Table, of: p.Of, key: p.Key}
	}
	return s.trim(ctx, s.scope.AccountID, id, n, parts)
}
