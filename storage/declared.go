package storage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/fault"
)

// Declared declares a plain noun: everything about its rows is in one table of an account. Stores keep the rows of all plain
// nouns in the same way, so that a new one needs no code in a store. T is the row and F the filter of its lists.
type Declared[T, F any] struct {
	Noun[T]
	// Key names a row in references and archives, as in "saved_reply".
	Key string
	// Plural names the rows in archives and, after "hw_", the table, as in "saved_replies".
	Plural string
	// Columns lists the fields of T that are stored, except those of ID and Account.
	Columns []Column[T]
	// Where returns the conditions of a filter, all of which must hold; nil: lists cannot be filtered.
	Where func(F) []Condition
	// Parts lists other tables whose rows are deleted with a row, and of which there may be too many for one transaction.
	Parts []Part
	// Names calls visit for each id inside the columns of objects, with the noun that it is of, and takes over what visit makes
	// of it. The rows it names may be missing. nil: there are none.
	Names func(row *T, visit func(noun string, id *int64))
}

// Column is a column of a plain noun's table.
type Column[T any] struct {
	Name string
	// Field returns a pointer to the field: *string, *int64, *int, *bool, *time.Time, *[]byte, or a [Value].
	Field func(*T) any
	// Refers is the Key of the noun whose id the column has; "": it has no id. [IDs] columns have ids of rows of that noun.
	Refers string
	// Loose says that the row referred to may be missing.
	Loose bool
	// Limits says that an empty list of ids means all rows: a list whose rows are all gone must not become empty.
	Limits bool
	// Owner is the table of the row that the row belongs to, with which it is deleted; "": none.
	Owner string
	// File says that the column has the key of a blob.
	File bool
}

// Value is a field that is stored as text, such as a list.
type Value interface {
	// Text returns the field as it is stored.
	Text() (string, error)
	// Read sets the field to what is stored.
	Read(text string) error
}

// Condition narrows a list of a plain noun's rows.
type Condition struct {
	Column string
	// In lists the values that the column may have: string, int64 or []byte. Without any, nothing matches, unless Prefix or
	// Contains is set.
	In []any
	// Prefix is what a column of texts must begin with, if it is not empty.
	Prefix string
	// Contains is what a column of texts must contain, if it is not empty. Stores read all rows of the account for it.
	Contains string
	InOrder  bool // see [InOrder]
	// Any lists groups of conditions: all conditions of one of them must hold. Column is not used then. Without any, nothing
	// matches.
	Any [][]Condition
}

// OneOf is the condition that a column has one of some values; without any, nothing matches.
func OneOf[V string | int64](column string, values []V) Condition {
	in := make([]any, len(values))
	for i, v := range values {
		in[i] = v
	}
	return Condition{Column: column, In: in}
}

// Either is the condition that all conditions of one of some groups hold, which many rows meet: lists walk an account in the
// order of its ids. Without any groups, nothing matches.
func Either(groups ...[]Condition) Condition {
	return Condition{Any: append([][]Condition{}, groups...), InOrder: true}
}

// InOrder is the condition that a column has a value, of which an index has the rows in the order of their ids: a long list need
// not be sorted.
func InOrder(column string, value int64) Condition {
	return Condition{Column: column, In: []any{value}, InOrder: true}
}

// AnyOf returns the condition that a column has one of some values, or none without values: everything matches.
func AnyOf[V string | []byte](column string, values []V) []Condition {
	if len(values) == 0 {
		return nil
	}
	in := make([]any, len(values))
	for i, v := range values {
		in[i] = v
	}
	return []Condition{{Column: column, In: in}}
}

// Part declares the rows of another table that belong to a row.
type Part struct {
	Table string // its name
	Of    string // the column with the id of the row they belong to
	Key   string // the column that identifies them; "": id
}

// IDs returns a field with a list of ids as a [Value].
func IDs(field *[]int64) Value { return ids{jsonList[int64]{field}} }

// IDList is a field with a list of ids.
type IDList interface {
	Value
	// IDs returns the field.
	IDs() *[]int64
}

type ids struct{ jsonList[int64] }

// IDs implements [IDList].
func (l ids) IDs() *[]int64 { return l.field }

// Texts returns a field with a list of texts as a [Value].
func Texts[S ~string](field *[]S) Value { return texts[S]{jsonList[S]{field}} }

// Object returns a field with an object as a [Value]: a JSON object. Texts returns its texts.
func Object[T any](field *T, texts func(T) []string) Value { return object[T]{field, texts} }

type object[T any] struct {
	field *T
	texts func(T) []string
}

// Text implements [Value]. It refuses what databases do not store.
func (o object[T]) Text() (string, error) {
	if err := storable(o.texts(*o.field)); err != nil {
		return "", err
	}
	text, err := json.Marshal(*o.field)
	return string(text), err
}

// Read implements [Value].
func (o object[T]) Read(text string) error {
	var read T
	*o.field = read
	return json.Unmarshal([]byte(text), o.field)
}

// Objects returns a field with a list of objects as a [Value]: a JSON array of them. Texts returns the texts of an object.
func Objects[T any](field *[]T, texts func(T) []string) Value {
	return objects[T]{jsonList[T]{field}, texts}
}

type objects[T any] struct {
	jsonList[T]
	texts func(T) []string
}

// Text implements [Value]. It refuses what databases do not store.
func (l objects[T]) Text() (string, error) {
	for _, one := range *l.field {
		if err := storable(l.texts(one)); err != nil {
			return "", err
		}
	}
	return l.jsonList.Text()
}

// storable returns an error for texts that databases do not store.
func storable[S ~string](all []S) error {
	for _, text := range all {
		if !utf8.ValidString(string(text)) || strings.Contains(string(text), "\x00") {
			return errors.New("a text contains NUL or is not valid UTF-8")
		}
	}
	return nil
}

type texts[S ~string] struct{ jsonList[S] }

// Text implements [Value]. It refuses what databases do not store.
func (l texts[S]) Text() (string, error) {
	if err := storable(*l.field); err != nil {
		return "", err
	}
	return l.jsonList.Text()
}

// jsonList is a list that is stored as a JSON array, an absent one as an empty array.
type jsonList[T any] struct{ field *[]T }

// Text implements [Value].
func (l jsonList[T]) Text() (string, error) {
	if len(*l.field) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal(*l.field)
	return string(text), err
}

// Read implements [Value].
func (l jsonList[T]) Read(text string) error {
	*l.field = nil
	if text == "[]" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), l.field); err != nil {
		return err
	}
	if len(*l.field) == 0 {
		*l.field = nil
	}
	return nil
}

// Kind is what a column of a [Table] holds.
type Kind string

// The kinds of columns. Times are numbers: microseconds since 1970 in UTC, as time.Time.UnixMicro returns them.
const (
	KindText   Kind = "text"   // string
	KindNumber Kind = "number" // int64
	KindFlag   Kind = "flag"   // bool
	KindBinary Kind = "binary" // []byte
	KindList   Kind = "list"   // string with a JSON array or object
)

// Table is a plain noun as a store sees it.
type Table struct {
	Noun    string // as faults show it
	Name    string // of the table
	Columns []TableColumn
	Unique  []TableUnique
	Parts   []Part
}

// TableColumn is a column of a [Table].
type TableColumn struct {
	Name  string
	Kind  Kind
	Owner string // see [Column.Owner]
	File  bool   // see [Column.File]
}

// TableUnique is a rule that no two rows of an account have equal values in some columns.
type TableUnique struct {
	Code        string
	Index       string // name of the index, such as "hw_saved_replies_key"
	Columns     []string
	Everywhere  bool // see [Unique]
	AccountLast bool // see [Unique]
}

// IndexColumns returns the columns of the rule's index, in order.
func (u TableUnique) IndexColumns() []string {
	switch {
	case u.Everywhere:
		return u.Columns
	case u.AccountLast:
		return append(slices.Clone(u.Columns), "account_id")
	}
	return append([]string{"account_id"}, u.Columns...)
}

// Index returns the position of a column, -1 if there is none.
func (t *Table) Index(column string) int {
	return slices.IndexFunc(t.Columns, func(c TableColumn) bool { return c.Name == column })
}

// Record is a row of a [Table]: its id and the values of its columns. Values are string, int64, bool or []byte as the kinds of
// the columns say. Account is whose it is; stores set it.
type Record struct {
	ID      int64
	Account int64
	Values  []any
}

// Broken reports whether two records violate a rule of uniqueness.
func (t *Table) Broken(u TableUnique, a, b Record) bool {
	for _, column := range u.Columns {
		if i := t.Index(column); !EqualValues(a.Values[i], b.Values[i]) {
			return false
		}
	}
	return true
}

// Matches reports whether a record meets all conditions.
func (t *Table) Matches(r Record, where []Condition) bool {
	for _, c := range where {
		if c.Any != nil {
			if !slices.ContainsFunc(c.Any, func(group []Condition) bool { return t.Matches(r, group) }) {
				return false
			}
			continue
		}
		v := r.Values[t.Index(c.Column)]
		if c.Prefix != "" {
			text, ok := v.(string)
			if !ok || !strings.HasPrefix(text, c.Prefix) {
				return false
			}
			if c.In == nil {
				continue
			}
		}
		if c.Contains != "" {
			text, ok := v.(string)
			if !ok || !strings.Contains(text, c.Contains) {
				return false
			}
			if c.In == nil {
				continue
			}
		}
		if !slices.ContainsFunc(c.In, func(in any) bool { return EqualValues(in, v) }) {
			return false
		}
	}
	return true
}

// EqualValues reports whether two values of a column are equal.
func EqualValues(a, b any) bool {
	if p, ok := a.([]byte); ok {
		q, ok := b.([]byte)
		return ok && bytes.Equal(p, q)
	}
	return a == b
}

// RecordReader reads the rows of plain nouns within a scope.
type RecordReader interface {
	ReadRecords(t *Table) RowReader[Record, []Condition]
}

// RecordFinder finds rows of plain nouns in all accounts.
type RecordFinder interface {
	// FindRecords returns the rows of all accounts that meet all conditions, by id. An index should begin with the columns.
	FindRecords(ctx context.Context, t *Table, where []Condition) ([]Record, error)
}

// RecordWriter reads and writes the rows of plain nouns within the scope of a transaction.
type RecordWriter interface {
	Records(t *Table) Rows[Record, []Condition]
}

// PlainNoun is a [Declared] noun of any type.
type PlainNoun interface {
	Table() *Table
}

// Table implements [PlainNoun].
func (d Declared[T, F]) Table() *Table {
	t := &Table{Noun: d.Name, Name: "hw_" + d.Plural, Parts: d.Parts}
	row := new(T)
	names := map[any]string{} // by the field's pointer
	for _, c := range d.Columns {
		field := c.Field(row)
		t.Columns = append(t.Columns, TableColumn{Name: c.Name, Kind: kindOf(field), Owner: c.Owner, File: c.File})
		if _, list := field.(Value); !list {
			names[field] = c.Name
		}
	}
	for _, u := range d.Unique {
		rule := TableUnique{Code: u.Code, Index: "hw_" + d.Plural + "_" + u.Index, Everywhere: u.Everywhere, AccountLast: u.AccountLast}
		for _, field := range u.Fields(row) {
			rule.Columns = append(rule.Columns, names[field])
		}
		t.Unique = append(t.Unique, rule)
	}
	return t
}

func kindOf(field any) Kind {
	switch field.(type) {
	case *string:
		return KindText
	case *int64, *int, *time.Time:
		return KindNumber
	case *bool:
		return KindFlag
	case *[]byte:
		return KindBinary
	case Value:
		return KindList
	}
	return ""
}

// Reader returns the rows of the noun within a scope.
func (d Declared[T, F]) Reader(from RecordReader) RowReader[T, F] {
	return declaredReader[T, F]{&d, from.ReadRecords(d.Table())}
}

// Rows returns the rows of the noun within the scope of a transaction.
func (d Declared[T, F]) Rows(in RecordWriter) Rows[T, F] {
	rows := in.Records(d.Table())
	return declaredRows[T, F]{declaredReader[T, F]{&d, rows}, rows}
}

// Find returns the rows of all accounts that match a filter, by id; none for a filter that selects all.
func (d Declared[T, F]) Find(ctx context.Context, in RecordFinder, filter F) ([]T, error) {
	where := d.Where(filter)
	if len(where) == 0 {
		return nil, nil
	}
	return declaredReader[T, F]{of: &d}.all(in.FindRecords(ctx, d.Table(), where))
}

// Of decodes a record.
func (d Declared[T, F]) Of(r Record) (T, error) {
	var row T
	*d.ID(&row) = r.ID
	if d.Account != nil {
		*d.Account(&row) = r.Account
	}
	for i, c := range d.Columns {
		if err := read(c.Field(&row), r.Values[i]); err != nil {
			return row, &fault.Error{Kind: fault.Internal, Op: d.Plural + "." + c.Name, Resource: d.Name, ID: r.ID, Message: "A stored value cannot be read.", Err: err}
		}
	}
	return row, nil
}

func read(field, value any) error {
	text, _ := value.(string)
	number, _ := value.(int64)
	switch field := field.(type) {
	case *string:
		*field = text
	case *int64:
		*field = number
	case *int:
		*field = int(number)
	case *time.Time:
		*field = time.UnixMicro(number).UTC()
	case *bool:
		*field, _ = value.(bool)
	case *[]byte:
		*field = nil
		if b, _ := value.([]byte); len(b) > 0 {
			*field = bytes.Clone(b)
		}
	case Value:
		return field.Read(cmp.Or(text, "[]"))
	}
	return nil
}

// Record encodes a row.
func (d Declared[T, F]) Record(row *T) (Record, error) {
	r := Record{ID: *d.ID(row), Values: make([]any, len(d.Columns))}
	for i, c := range d.Columns {
		switch field := c.Field(row).(type) {
		case *string:
			r.Values[i] = *field
		case *int64:
			r.Values[i] = *field
		case *int:
			r.Values[i] = int64(*field)
		case *time.Time:
			r.Values[i] = field.UnixMicro()
		case *bool:
			r.Values[i] = *field
		case *[]byte:
			r.Values[i] = append([]byte{}, *field...)
		case Value:
			text, err := field.Text()
			if err != nil {
				return r, &fault.Error{Kind: fault.Invalid, Op: d.Plural + "." + c.Name, Resource: d.Name, ID: r.ID, Message: "A value cannot be stored.", Err: err}
			}
			r.Values[i] = text
		}
	}
	return r, nil
}

type declaredReader[T, F any] struct {
	of   *Declared[T, F]
	rows RowReader[Record, []Condition]
}

func (d declaredReader[T, F]) all(records []Record, err error) ([]T, error) {
	if err != nil || records == nil {
		return nil, err
	}
	rows := make([]T, len(records))
	for i, r := range records {
		if rows[i], err = d.of.Of(r); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (d declaredReader[T, F]) one(r Record, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return d.of.Of(r)
}

// Get implements [RowReader].
func (d declaredReader[T, F]) Get(ctx context.Context, id int64) (T, error) {
	return d.one(d.rows.Get(ctx, id))
}

// List implements [RowReader].
func (d declaredReader[T, F]) List(ctx context.Context, filter F, seek Seek) ([]T, error) {
	var where []Condition
	if d.of.Where != nil {
		where = d.of.Where(filter)
	}
	return d.all(d.rows.List(ctx, where, seek))
}

// ByIDs implements [RowReader].
func (d declaredReader[T, F]) ByIDs(ctx context.Context, ids []int64) ([]T, error) {
	return d.all(d.rows.ByIDs(ctx, ids))
}

type declaredRows[T, F any] struct {
	declaredReader[T, F]
	rows Rows[Record, []Condition]
}

// Lock implements [Rows].
func (d declaredRows[T, F]) Lock(ctx context.Context, id int64) (T, error) {
	return d.one(d.rows.Lock(ctx, id))
}

// LockAll implements [Rows].
func (d declaredRows[T, F]) LockAll(ctx context.Context, ids []int64) ([]T, error) {
	return d.all(d.rows.LockAll(ctx, ids))
}

func (d declaredRows[T, F]) records(rows []*T) ([]Record, []*Record, error) {
	all := make([]Record, len(rows))
	for i, row := range rows {
		var err error
		if all[i], err = d.of.Record(row); err != nil {
			return nil, nil, err
		}
	}
	return all, Pointers(all), nil
}

// Insert implements [Rows].
func (d declaredRows[T, F]) Insert(ctx context.Context, rows ...*T) error {
	all, those, err := d.records(rows)
	if err != nil {
		return err
	}
	if err := d.rows.Insert(ctx, those...); err != nil {
		return err
	}
	for i, row := range rows {
		*d.of.ID(row) = all[i].ID
		if d.of.Account != nil {
			*d.of.Account(row) = all[i].Account
		}
	}
	return nil
}

// Update implements [Rows].
func (d declaredRows[T, F]) Update(ctx context.Context, rows ...*T) error {
	_, those, err := d.records(rows)
	if err != nil {
		return err
	}
	return d.rows.Update(ctx, those...)
}

// Delete implements [Rows].
func (d declaredRows[T, F]) Delete(ctx context.Context, id int64) error {
	return d.rows.Delete(ctx, id)
}

// Trim implements [Rows].
func (d declaredRows[T, F]) Trim(ctx context.Context, id int64, n int) (bool, error) {
	return d.rows.Trim(ctx, id, n)
}
