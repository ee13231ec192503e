package storage

import (
	"bytes"
	"context"
	"math"

	"github.com/helpwright/helpwright/storage/fault"
)

// RowReader reads the rows of one noun within a scope. F filters its lists; it is [NoFilter] for lists that cannot be
// filtered.
type RowReader[T, F any] interface {
	// Get returns a row by its id. A row that is absent or outside the scope is a NotFound fault.
	Get(ctx context.Context, id int64) (T, error)
	// List returns a page of the rows that match a filter, in the noun's order; the default order is by id.
	List(ctx context.Context, filter F, seek Seek) ([]T, error)
	// ByIDs returns the rows with these ids that exist, each once, in any order.
	ByIDs(ctx context.Context, ids []int64) ([]T, error)
}

// Rows reads and writes the rows of one noun within the scope of a transaction. The method that returns the rows documents
// further guarantees of a noun.
type Rows[T, F any] interface {
	RowReader[T, F]
	// Lock is Get that also prevents other transactions from changing or deleting the row until this one ends.
	Lock(ctx context.Context, id int64) (T, error)
	// LockAll locks and returns the rows with these ids that exist, each once, by id. As it locks in that order, two
	// transactions that lock the same rows do not deadlock.
	LockAll(ctx context.Context, ids []int64) ([]T, error)
	// Insert stores all rows or none, and sets their ids in ascending order.
	Insert(ctx context.Context, rows ...*T) error
	// Update writes all fields of existing rows. A row that is absent or outside the scope is a NotFound fault.
	Update(ctx context.Context, rows ...*T) error
	// Delete deletes a row. A row that is absent or outside the scope is a NotFound fault, a row that others still refer to a
	// Conflict fault.
	Delete(ctx context.Context, id int64) error
	// Trim deletes about n of the rows that Delete would delete with a row, if there are more than that, and reports whether it
	// did. The row stays. Once it reports false, Delete is short, so that others do not wait for it long. A store whose Delete
	// is always short reports false. A row that is absent or outside the scope is a NotFound fault.
	Trim(ctx context.Context, id int64, n int) (trimmed bool, err error)
}

// NoFilter is the filter of lists that cannot be filtered.
type NoFilter struct{}

// NoLimit is the Limit of a [Seek] that asks for all rows. It is for lists that are always short, such as the attachments of
// some interactions.
const NoLimit = math.MaxInt

// Noun declares the rows of one noun. All stores and storagetest follow it.
type Noun[T any] struct {
	// Name is the noun as faults show it, as in "There is no such tag."
	Name string
	// ID returns a pointer to the row's id field.
	ID func(*T) *int64
	// Account returns a pointer to the field for the account id, which the store sets; nil: the row has no such field.
	Account func(*T) *int64
	// Site returns a pointer to the field for the site id, which the store sets and filters by; nil: the row has no such field.
	Site func(*T) *int64
	// InMailboxes restricts the rows to the mailboxes of the scope.
	InMailboxes bool
	// Kept copies the fields that Update leaves unchanged, such as counters, from the old row; nil: Update writes all fields.
	Kept func(row, old *T)
	// Unique lists the uniqueness rules that Insert and Update enforce.
	Unique []Unique[T]
}

// Unique is a rule that no two rows have equal values in some fields.
type Unique[T any] struct {
	// Code is the code of the Conflict fault.
	Code string
	// Index is the end of the name of the database's index, as in "key"; only rules of plain nouns have it, see [Declared].
	Index string
	// Fields returns pointers to the fields: *string, *int64, *bool or *[]byte.
	Fields func(*T) []any
	// Optional exempts rows whose last field is empty.
	Optional bool
	// Everywhere extends the rule over all accounts.
	Everywhere bool
	// AccountLast has the database's index end with the account instead of beginning with it, so that rows of all accounts are
	// found by it; only for rules of plain nouns.
	AccountLast bool
}

// Broken reports whether two rows violate the rule.
func (u Unique[T]) Broken(a, b *T) bool {
	of, with := u.Fields(a), u.Fields(b)
	if u.Optional && emptyField(of[len(of)-1]) {
		return false
	}
	for i := range of {
		if !equalFields(of[i], with[i]) {
			return false
		}
	}
	return true
}

// Share copies into row the values of another, so that the two violate the rule.
func (u Unique[T]) Share(row, with *T) {
	to, from := u.Fields(row), u.Fields(with)
	for i := range to {
		switch p := to[i].(type) {
		case *string:
			*p = *from[i].(*string) //nolint:forcetypeassert // the same field of another row
		case *int64:
			*p = *from[i].(*int64) //nolint:forcetypeassert // the same field of another row
		case *bool:
			*p = *from[i].(*bool) //nolint:forcetypeassert // the same field of another row
		case *[]byte:
			*p = bytes.Clone(*from[i].(*[]byte)) //nolint:forcetypeassert // the same field of another row
		}
	}
}

func emptyField(field any) bool {
	switch p := field.(type) {
	case *string:
		return *p == ""
	case *int64:
		return *p == 0
	case *bool:
		return !*p
	case *[]byte:
		return len(*p) == 0
	}
	return false
}

func equalFields(a, b any) bool {
	switch p := a.(type) {
	case *string:
		q, ok := b.(*string)
		return ok && *p == *q
	case *int64:
		q, ok := b.(*int64)
		return ok && *p == *q
	case *bool:
		q, ok := b.(*bool)
		return ok && *p == *q
	case *[]byte:
		q, ok := b.(*[]byte)
		return ok && bytes.Equal(*p, *q)
	}
	return false
}

// CheckRows refuses a reader that returns nil for some noun, as a wrapper may that is older than the noun. It gets what the
// reader returned, by the name of the method; the Invalid fault lists these names.
func CheckRows(rows map[string]any) error {
	var problems fault.Collector
	for name, of := range rows {
		problems.Check(of != nil, "Store", "has no rows of "+name)
	}
	return problems.Err()
}

// Pointers returns pointers to the elements of the slice, as [Rows] takes them; Insert sets the ids in place.
func Pointers[T any](rows []T) []*T {
	all := make([]*T, len(rows))
	for i := range rows {
		all[i] = &rows[i]
	}
	return all
}
