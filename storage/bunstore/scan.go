package bunstore

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"reflect"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// scanned is a [bun.Model] that passes on each row of a query. bun's own looks up the field of each column and sets it by
// reflection, in each row.
type scanned[R any] struct {
	table *schema.Table
	each  func(*R) // keeps nothing of the row but values
	n     int
}

// scanInto returns the model for a query's rows.
func scanInto[R any](db *bun.DB, each func(*R)) *scanned[R] {
	return &scanned[R]{table: db.Table(reflect.TypeFor[R]()), each: each}
}

// Value implements [bun.Model].
func (s *scanned[R]) Value() any { return nil }

// ScanRows implements [bun.Model].
func (s *scanned[R]) ScanRows(_ context.Context, rows *sql.Rows) (int, error) {
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	row := new(R)
	into, at := make([]any, len(columns)), reflect.ValueOf(row).Elem()
	for i, column := range columns {
		field := s.table.FieldMap[column]
		if field == nil {
			return 0, fmt.Errorf("bunstore: %s has no column %s", s.table.TypeName, column)
		}
		if into[i] = target(field.Value(at).Addr().Interface()); into[i] == nil {
			return 0, fmt.Errorf("bunstore: column %s is a %s", column, field.IndirectType)
		}
	}
	for ; rows.Next(); s.n++ {
		if err := rows.Scan(into...); err != nil {
			return s.n, err
		}
		s.each(row)
	}
	return s.n, rows.Err()
}

// target returns what scans a column into a field, such that NULL is the zero value; nil for a field of another type.
func target(field any) any {
	switch field := field.(type) {
	case *int64:
		return (*number)(field)
	case *string:
		return (*text)(field)
	case *bool:
		return (*flag)(field)
	case *[]byte:
		return (*binary)(field)
	case *int:
		return (*size)(field)
	case sql.Scanner:
		return field
	}
	return nil
}

type (
	number int64
	size   int
	text   string
	flag   bool
	binary []byte
)

// Scan implements [sql.Scanner].
func (n *number) Scan(src any) error {
	switch src := src.(type) {
	case int64:
		*n = number(src)
	case nil:
		*n = 0
	default:
		return fmt.Errorf("a column of numbers holds a %T", src)
	}
	return nil
}

// Scan implements [sql.Scanner].
func (n *size) Scan(src any) error {
	var wide number
	err := wide.Scan(src)
	*n = size(wide)
	return err
}

// Scan implements [sql.Scanner].
func (t *text) Scan(src any) error {
	switch src := src.(type) {
	case string:
		*t = text(src)
	case []byte:
		*t = text(src)
	case nil:
		*t = ""
	default:
		return fmt.Errorf("a column of texts holds a %T", src)
	}
	return nil
}

// Scan implements [sql.Scanner].
func (f *flag) Scan(src any) error {
	switch src := src.(type) {
	case bool:
		*f = flag(src)
	case int64:
		*f = src != 0
	case nil:
		*f = false
	default:
		return fmt.Errorf("a column of booleans holds a %T", src)
	}
	return nil
}

// Scan implements [sql.Scanner].
func (b *binary) Scan(src any) error {
	switch src := src.(type) {
	case []byte:
		*b = bytes.Clone(src)
	case string:
		*b = binary(src)
	case nil:
		*b = nil
	default:
		return fmt.Errorf("a column of bytes holds a %T", src)
	}
	return nil
}
