// Package unwatched hides the end of a context from package sql, which starts a goroutine to wait for it with each query.
// Only a driver that watches the context itself, until the rows are closed, may be used with it.
package unwatched

import (
	"context"
	"database/sql/driver"
)

// Driver marks a driver that calls [Watched].
type Driver struct{ driver.Driver }

// hidden is a context that seems not to end once a driver watches it. Package sql asks for its end in the goroutine of the
// query: before the driver has it, to wait for a connection, and afterwards, to start a goroutine.
type hidden struct {
	context.Context //nolint:containedctx // it is one
	watched         bool
}

type self struct{}

// Context returns ctx without its end once a driver watches it. It is for one query.
func Context(ctx context.Context) context.Context { return &hidden{Context: ctx} }

// Done implements [context.Context].
func (h *hidden) Done() <-chan struct{} {
	if h.watched {
		return nil
	}
	return h.Context.Done()
}

// Value implements [context.Context].
func (h *hidden) Value(key any) any {
	if key == (self{}) {
		return h
	}
	return h.Context.Value(key)
}

// Of returns the whole context, which is all that a driver may keep or hand to another goroutine.
func Of(ctx context.Context) context.Context {
	if h, ok := ctx.Value(self{}).(*hidden); ok {
		return h.Context
	}
	return ctx
}

// Watched tells package sql that a driver has begun a query, and watches its context until the rows are closed.
func Watched(ctx context.Context) {
	if h, ok := ctx.Value(self{}).(*hidden); ok {
		h.watched = true
	}
}
