package storage

import (
	"bytes"
	"context"
	"math"
	"reflect"

	"github.com/helpwright/helpwright/storage/fault"
)

// RowReader reads the rows of one noun within a scope. F narrows its lists;
// [NoFilter] where nothing does.
type RowReader[T, F any] interface {
	// Get returns the row with an id. One that is absent or outside the scope is a
	// NotFound fault.
	Get(ctx context.Context, id int64) (T, error)
	// List returns a page of the rows that match a filter, in the noun's order; by id
	// where its declaration names no other.
	List(ctx context.Context, filter F, seek Seek) ([]T, error)
	// ByIDs returns those of the rows that are there, in any order, each once.
	ByIDs(ctx context.Context, ids []int64) ([]T, error)
}

// Rows reads and writes the rows of one noun within the scope of a transaction. What
// else a method promises for a noun is said where the transaction offers the rows.
type Rows[T, F any] interface {
	RowReader[T, F]
	// Lock is Get, and keeps others from changing or removing the row until the
	// transaction ends.
	Lock(ctx context.Context, id int64) (T, error)
	// Insert stores rows, all of them or none, and sets their ids in their order.
	Insert(ctx context.Context, rows ...*T) error
	// Update writes all fields of rows that are there; one that is absent or outside the
	// scope is a NotFound fault.
	Update(ctx context.Context, rows ...*T) error
	// Delete removes a row. One that is absent or outside the scope is a NotFound fault,
	// one that is still needed a Conflict fault.
	Delete(ctx context.Context, id int64) error
}

// NoFilter is the filter of lists that cannot be narrowed.
type NoFilter struct{}

// NoLimit is the Limit of a [Seek] that asks for all there is. It is for lists that
// are short by nature, such as the attachments of some interactions.
const NoLimit = math.MaxInt

// Noun declares the rows of one noun: what every store and storagetest go by.
type Noun[T any] struct {
	// Name is the noun in faults, as in "There is no such tag."
	Name string
	// ID returns where a row keeps its id.
	ID func(*T) *int64
	// Account returns where a row keeps its account, which the store sets; nil: nowhere.
	Account func(*T) *int64
	// Site returns where a row keeps its site, which the store sets and which limits the
	// rows of a scope; nil: nowhere.
	Site func(*T) *int64
	// InMailboxes says that the mailboxes of a scope limit the rows.
	InMailboxes bool
	// Kept gives a row the fields of an older one that Update leaves as they are, such as
	// counters; nil: Update writes all fields.
	Kept func(row, old *T)
	// Unique are the rules that Insert and Update keep.
	Unique []Unique[T]
}

// Unique is a rule that no two rows have the same values in some fields.
type Unique[T any] struct {
	// Code is that of the Conflict fault.
	Code string
	// Fields returns pointers to the fields: *string, *int64, *bool or *[]byte.
	Fields func(*T) []any
	// Optional says that rows are free of the rule whose last field is empty.
	Optional bool
	// Everywhere says that the rule holds over all accounts.
	Everywhere bool
}

// Broken reports whether two rows may not stand beside each other.
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

// Share gives a row the values of another, so that the two break the rule.
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

// CheckRows refuses a reader that gives no rows of a noun, as one of a store may that wraps
// a store from before the noun was added. The Invalid fault names the nouns.
func CheckRows(reader any) error {
	var problems fault.Collector
	r := reflect.ValueOf(reader)
	for i := range r.NumMethod() {
		method := r.Method(i)
		if of := method.Type(); of.NumIn() == 0 && of.NumOut() == 1 && of.Out(0).Kind() == reflect.Interface {
			problems.Check(!method.Call(nil)[0].IsNil(), "Store", "has no rows of "+r.Type().Method(i).Name)
		}
	}
	return problems.Err()
}

// Pointers returns pointers to values, as [Rows] take them: to the elements of the
// slice, which get the ids.
func Pointers[T any](rows []T) []*T {
	all := make([]*T, len(rows))
	for i := range rows {
		all[i] = &rows[i]
	}
	return all
}
