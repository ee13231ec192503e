// Package pattern passes the pattern of the route that serves a request to the code that measures requests. Paths contain
// names and tokens, and their number is unbounded.
package pattern

import "context"

type key struct{}

// With adds a place for the pattern of its route to a request.
func With(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, new(string))
}

// Note records the pattern of the route that serves a request, from the goroutine that serves it. It costs nothing without
// [With]. An empty pattern changes nothing.
func Note(ctx context.Context, p string) {
	if place, ok := ctx.Value(key{}).(*string); ok && p != "" {
		*place = p
	}
}

// Of returns the pattern recorded last, "" if there is none.
func Of(ctx context.Context) string {
	if place, ok := ctx.Value(key{}).(*string); ok {
		return *place
	}
	return ""
}
