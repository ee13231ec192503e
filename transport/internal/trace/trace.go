// Package trace keeps the ids of a request in its context.
package trace

import "context"

// IDs are the ids of a request.
type IDs struct{ Request, Trace string }

type key struct{}

// With returns a context with the ids.
func With(ctx context.Context, ids IDs) context.Context { return context.WithValue(ctx, key{}, &ids) }

// Of returns the ids in a context, zero if there are none.
func Of(ctx context.Context) IDs {
	if ids, _ := ctx.Value(key{}).(*IDs); ids != nil {
		return *ids
	}
	return IDs{}
}
