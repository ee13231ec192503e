// Package unwatched hides the end of a context from package sql, which starts a goroutine to wait for it with each query.
// Only a driver that watches the context itself, until the rows are closed, may be used with it.
package unwatched

import (
	"context"
	"database/sql/driver"
	"time"
)

// Driver marks a driver that gets the whole context with [Of].
type Driver struct{ driver.Driver }

// hidden is a context that seems not to end.
type hidden struct{ context.Context } //nolint:containedctx // it is one

type whole struct{}

// Context returns ctx without its end.
func Context(ctx context.Context) context.Context { return hidden{ctx} }

// Deadline implements [context.Context].
func (hidden) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements [context.Context].
func (hidden) Done() <-chan struct{} { return nil }

// Err implements [context.Context].
func (hidden) Err() error { return nil }

// Value implements [context.Context].
func (h hidden) Value(key any) any {
	if key == (whole{}) {
		return h.Context
	}
	return h.Context.Value(key)
}

// Of returns the whole context.
func Of(ctx context.Context) context.Context {
	if ctx, ok := ctx.Value(whole{}).(context.Context); ok {
		return ctx
	}
	return ctx
}
