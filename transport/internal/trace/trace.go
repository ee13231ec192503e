// Package trace keeps the names of a request in its context.
package trace

import "context"

// IDs are the names of a request.
type IDs struct{ Request, Trace string }

type key struct{}

// With is a context with the names.
func With(ctx context.Context, ids IDs) context.Context { return context.WithValue(ctx, key{}, &ids) }

// Of are the names in a context, none where it has none.
func Of(ctx context.Context) IDs {
	if ids, _ := ctx.Value(key{}).(*IDs); ids != nil {
		return *ids
	}
	return IDs{}
}
