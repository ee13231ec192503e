// Package spans records spans for tests.
package spans

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/helpwright/helpwright/storage"
)

// Span is one that has ended. Names stand for spans: tests give each its own.
type Span struct {
	Name, Within, Link string // the last two: names of other spans, "" for none
	Failed             bool
}

// Recorder is a [storage.Tracer]. Its zero value is ready.
type Recorder struct {
	mu  sync.Mutex
	all []Span
}

type key struct{}
type linkKey struct{}

// Join implements [storage.Tracer].
func (r *Recorder) Join(ctx context.Context, _ string) context.Context { return ctx }

// Link implements [storage.Tracer].
func (r *Recorder) Link(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, linkKey{}, traceparent)
}

// Start implements [storage.Tracer]. The traceparent of a span is its name.
func (r *Recorder) Start(ctx context.Context, name string, _ storage.SpanKind, _ ...slog.Attr) (context.Context, storage.Span) {
	s := &span{of: r}
	s.Name = name
	s.Within, _ = ctx.Value(key{}).(string)
	if s.Link, _ = ctx.Value(linkKey{}).(string); s.Link != "" {
		s.Within, ctx = "", context.WithValue(ctx, linkKey{}, "")
	}
	ctx = context.WithValue(ctx, key{}, name)
	return storage.WithTraceparent(ctx, func() string { return name }), s
}

// Ended are the spans that have ended, in this order.
func (r *Recorder) Ended() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

type span struct {
	Span
	of *Recorder
}

// SetName implements [storage.Span].
func (s *span) SetName(name string) { s.Name = name }

// TraceID implements [storage.Span].
func (s *span) TraceID() string { return "00000000000000000000000000000001" }

// End implements [storage.Span].
func (s *span) End(err error, _ ...slog.Attr) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.Failed = err != nil
	s.of.all = append(s.of.all, s.Span)
}
