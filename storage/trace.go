package storage

import (
	"context"
	"log/slog"
)

// Tracer is told of work when it begins and ends, so that traces can be made of it, as those of OpenTelemetry are. Fields of
// Configs hold one; where it is nil nothing is traced, and nothing is done for it. Names and attributes have no contents,
// addresses or secrets.
type Tracer interface {
	// Join is a context whose spans belong to the trace of another program, which a traceparent names (W3C Trace Context). One
	// that is none is ignored.
	Join(ctx context.Context, traceparent string) context.Context
	// Link is a context whose next span begins a trace of its own, with a link to the span that a traceparent names: to what
	// ordered the work, which may have ended long ago. A traceparent that is none is ignored.
	Link(ctx context.Context, traceparent string) context.Context
	// Start begins a span within the one that ctx belongs to, if any. The context is for what is done within it, and names the
	// span by [WithTraceparent], so that jobs which are enqueued there can be linked to it.
	Start(ctx context.Context, name string, kind SpanKind, attrs ...slog.Attr) (context.Context, Span)
}

// Span is work that has begun.
type Span interface {
	// SetName gives it a name that was not known when it began.
	SetName(name string)
	// TraceID is 32 hexadecimal digits, by which logs name the trace.
	TraceID() string
	// End ends it. Of an error the kind may be kept (see package fault), but not the text, which may quote what people wrote.
	End(err error, attrs ...slog.Attr)
}

// SpanKind says between whom the work is done.
type SpanKind int

// The kinds of spans.
const (
	SpanInternal SpanKind = iota
	SpanServer            // answers a request
	SpanClient            // waits for another program
	SpanConsumer          // does a job that was put into a queue
)

// MaxTraceparent is the longest traceparent that is kept, in bytes. Those of version 00 have 55.
const MaxTraceparent = 64

type traceparentKey struct{}

// WithTraceparent is a context within a span that traceparent names, or "" for one that is not recorded. A [Tracer] calls
// it, and traceparent only runs when somebody asks.
func WithTraceparent(ctx context.Context, traceparent func() string) context.Context {
	return context.WithValue(ctx, traceparentKey{}, traceparent)
}

// Traceparent names the span that a context belongs to (W3C Trace Context); "": none that is recorded. Backends keep it with
// jobs, see [Job.Trace].
func Traceparent(ctx context.Context) string {
	name, ok := ctx.Value(traceparentKey{}).(func() string)
	if !ok {
		return ""
	}
	if text := name(); len(text) <= MaxTraceparent {
		return text
	}
	return ""
}
