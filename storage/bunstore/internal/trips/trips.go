// Package trips saves round trips to a database: a driver runs some statements of a transaction along with others.
package trips

import (
	"context"
	"errors"
)

// Statement is the first statement of a transaction. It returns nothing.
type Statement struct {
	Query string
	Ran   bool // the driver runs it, with BEGIN and the statement after it
}

// ErrNotBegun says that the connection was lost with the statement that was to begin a transaction: nothing has happened.
var ErrNotBegun = errors.New("trips: the transaction has not begun")

type firstKey struct{}

// WithFirst returns the context for beginning a transaction whose first statement is s.
func WithFirst(ctx context.Context, s *Statement) context.Context {
	return context.WithValue(ctx, firstKey{}, s)
}

// First returns the first statement of the transaction that ctx begins, or nil.
func First(ctx context.Context) *Statement {
	s, _ := ctx.Value(firstKey{}).(*Statement)
	return s
}

type laterKey struct{}

// Later returns the context for a statement that a driver may hold back, and run along with the next one of its transaction
// or with its commit. If it fails, that one fails with its error instead. It counts as having changed a row.
func Later(ctx context.Context) context.Context { return context.WithValue(ctx, laterKey{}, true) }

// IsLater reports whether ctx comes from [Later].
func IsLater(ctx context.Context) bool { return ctx.Value(laterKey{}) != nil }
