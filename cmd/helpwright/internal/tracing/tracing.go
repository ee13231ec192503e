// Package tracing sends traces by OTLP over HTTP, with the SDK of OpenTelemetry, which no other package links.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Tracer is a [storage.Tracer] over OpenTelemetry.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

var _ storage.Tracer = (*Tracer)(nil)

// Wanted reports whether the standard environment variables request traces: OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT names a receiver, and neither OTEL_SDK_DISABLED nor OTEL_TRACES_EXPORTER=none disables
// them. An unsupported value, such as gRPC, is an error.
func Wanted(getenv func(string) string) (bool, error) {
	if getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" || getenv("OTEL_SDK_DISABLED") == "true" {
		return false, nil
	}
	switch exporter := getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return false, nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER must be otlp or none, not %q", exporter)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := getenv(name); protocol != "" && protocol != "http/protobuf" {
			return false, fmt.Errorf("%s must be http/protobuf, not %q: send traces to the receiver's HTTP port, usually 4318", name, protocol)
		}
	}
	return true, nil
}

// New makes a tracer configured by the standard variables OTEL_*: the receiver and its headers, certificates and timeouts,
// the service's name and attributes, the sampler and the sizes of batches. Nothing is sent before there is a span, and a
// receiver that does not answer delays nothing: errors are passed to failed, which may be nil. The SDK keeps one such
// function per process.
func New(ctx context.Context, version string, failed func(error)) (*Tracer, error) {
	if failed != nil {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(failed))
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "helpwright"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err), exporter.Shutdown(ctx))
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return &Tracer{provider, provider.Tracer("github.com/helpwright/helpwright")}, nil
}

// Close sends the remaining spans, for five seconds at most.
func (t *Tracer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// TraceID returns the id of the trace to which a context belongs, "" if there is none.
func TraceID(ctx context.Context) string {
	if of := trace.SpanContextFromContext(ctx); of.HasTraceID() {
		return of.TraceID().String()
	}
	return ""
}

// Join implements [storage.Tracer].
func (t *Tracer) Join(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}

type linkKey struct{}

// Link implements [storage.Tracer].
func (t *Tracer) Link(ctx context.Context, traceparent string) context.Context {
	to := trace.SpanContextFromContext(t.Join(context.Background(), traceparent))
	if !to.IsValid() {
		return ctx
	}
	return context.WithValue(ctx, linkKey{}, to)
}

// traceparent returns the traceparent of a context's span, if it is recorded.
func traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// Start implements [storage.Tracer].
func (t *Tracer) Start(ctx context.Context, name string, kind storage.SpanKind, attrs ...slog.Attr) (context.Context, storage.Span) {
	kinds := map[storage.SpanKind]trace.SpanKind{
		storage.SpanInternal: trace.SpanKindInternal, storage.SpanServer: trace.SpanKindServer,
		storage.SpanClient: trace.SpanKindClient, storage.SpanConsumer: trace.SpanKindConsumer,
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(kinds[kind]), trace.WithAttributes(converted(attrs)...)}
	if to, linked := ctx.Value(linkKey{}).(trace.SpanContext); linked && to.IsValid() {
		options = append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: to}))
		ctx = context.WithValue(ctx, linkKey{}, trace.SpanContext{}) // spans within it have a parent
	}
	ctx, s := t.tracer.Start(ctx, name, options...)
	return storage.WithTraceparent(ctx, func() string { return traceparent(ctx) }), span{s}
}

type span struct{ of trace.Span }

// SetName implements [storage.Span].
func (s span) SetName(name string) { s.of.SetName(name) }

// TraceID implements [storage.Span].
func (s span) TraceID() string { return s.of.SpanContext().TraceID().String() }

// End implements [storage.Span]. It records only the kind of an error.
func (s span) End(err error, attrs ...slog.Attr) {
	if err != nil {
		s.of.SetStatus(codes.Error, "")
		s.of.SetAttributes(attribute.String("error.type", fault.Of(err).String()))
	}
	s.of.SetAttributes(converted(attrs)...)
	s.of.End()
}

func converted(attrs []slog.Attr) []attribute.KeyValue {
	all := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		if a.Value.Kind() == slog.KindInt64 {
			all[i] = attribute.Int64(a.Key, a.Value.Int64())
		} else {
			all[i] = attribute.String(a.Key, a.Value.String())
		}
	}
	return all
}
