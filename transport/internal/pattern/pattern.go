// Package pattern lets who measures requests know the pattern of the route that served one. A path has names and tokens
// in it, and there is no end of paths.
package pattern

import "context"

type key struct{}

// With gives a request a place for the pattern of its route.
func With(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, new(string))
}

// Note notes the pattern of the route that serves a request, for the goroutine that serves it. It costs nothing where
// nobody asks. An empty one changes nothing.
func Note(ctx context.Context, p string) {
	if place, ok := ctx.Value(key{}).(*string); ok && p != "" {
		*place = p
	}
}

// Of is what was noted last; "" when nothing was.
func Of(ctx context.Context) string {
	if place, ok := ctx.Value(key{}).(*string); ok {
		return *place
	}
	return ""
}
