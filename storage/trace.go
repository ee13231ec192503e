package storage

import (
	"context"
	"log/slog"
)

// Tracer is told of work when it begins and ends, so that traces can be made of it, as those of OpenTelemetry are. Fields of Configs
// hold one; where it is nil nothing is traced, and nothing is done for it. Names and attributes have no contents, addresses or
// secrets.
type Tracer interface {
	// Join is a context whose spans belong to the trace of another program, which a traceparent names (W3C Trace Context). One that
	// is none is ignored.
	Join(ctx context.Context, traceparent string) context.Context
	// Start begins a span within the one that ctx belongs to, if any. The context is for what is done within it.
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
