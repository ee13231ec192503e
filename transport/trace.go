package transport

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/helpwright/helpwright/transport/internal/trace"
)

// Trace identifies a request in logs.
type Trace struct {
	RequestID string // of X-Request-Id: the client's own if it is well-formed, or a random one
	TraceID   string // of traceparent (W3C Trace Context), 32 hexadecimal digits; "" without one
}

// TraceOf returns the trace of the request to which a context belongs, the zero Trace if there is none. An [slog.Handler]
// that adds its Attrs correlates the log entries of services and stores with requests.
func TraceOf(ctx context.Context) Trace {
	ids := trace.Of(ctx)
	return Trace{RequestID: ids.Request, TraceID: ids.Trace}
}

// Attrs returns request_id and trace_id, if they are known.
func (t Trace) Attrs() []slog.Attr {
	var attrs []slog.Attr
	if t.RequestID != "" {
		attrs = append(attrs, slog.String("request_id", t.RequestID))
	}
	if t.TraceID != "" {
		attrs = append(attrs, slog.String("trace_id", t.TraceID))
	}
	return attrs
}

// Traced adds a Trace to the context of each request, for all handlers below it. The API does so by itself.
func Traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, traced(r, rand.Reader)) })
}

// traced returns the request with a Trace.
func traced(r *http.Request, random io.Reader) *http.Request {
	if TraceOf(r.Context()).RequestID != "" {
		return r
	}
	ids := trace.IDs{Request: requestID(r, random), Trace: traceID(r.Header.Get("Traceparent"))}
	return r.WithContext(trace.With(r.Context(), ids))
}

// traceID returns the trace id of a traceparent: version, trace, parent and flags in hexadecimal digits. The trace id must
// not be all zeros.
func traceID(parent string) string {
	const id, zeros = 32, "00000000000000000000000000000000"
	parts := strings.SplitN(parent, "-", 5)
	if len(parent) > 256 || len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || len(parts[1]) != id || len(parts[2]) != 16 || len(parts[3]) != 2 ||
		parts[0] == "00" && len(parts) > 4 || parts[1] == zeros || parts[2] == zeros[:16] {
		return ""
	}
	for _, part := range parts[:4] {
		if strings.Trim(part, "0123456789abcdef") != "" {
			return ""
		}
	}
	return parts[1]
}
