// Package begin lets a driver run the first statement of a transaction along with its BEGIN, which saves a round trip.
package begin

import "context"

// Statement is the first statement of a transaction. It returns nothing.
type Statement struct {
	Query string
	Ran   bool // the driver ran it
}

type key struct{}

// With returns the context for beginning a transaction whose first statement is s.
func With(ctx context.Context, s *Statement) context.Context { return context.WithValue(ctx, key{}, s) }

// First returns the first statement of the transaction that ctx begins, or nil.
func First(ctx context.Context) *Statement {
	s, _ := ctx.Value(key{}).(*Statement)
	return s
}
