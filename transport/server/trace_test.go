package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/storage/testenv/spans"
)

// Without a tracer, requests and the relay are not wrapped, so tracing costs nothing.
func TestTracingOff(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	if got := (&Server{}).observed(mux); got != http.Handler(mux) {
		t.Errorf("requests go through %T", got)
	}
	spool, err := outbound.NewSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := outbound.Traced(spool, nil); got != outbound.Transport(spool) {
		t.Errorf("mails go through %T", got)
	}
}

// Where requests are measured but not traced, asking for a tracer allocates nothing.
func TestTracingOffAllocates(t *testing.T) { //nolint:paralleltest // it measures
	s := &Server{cfg: Config{Observe: func(Request) {}, Now: time.Now}}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if n := testing.AllocsPerRun(1000, func() {
		if ctx, span := s.startSpan(r.Context(), r); span != nil || ctx != r.Context() {
			t.Error("a span")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkTracing compares a request to a handler alone, to one with tracing off, and to one with a tracer that only records.
func BenchmarkTracing(b *testing.B) {
	next := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for _, c := range []struct {
		name    string
		handler http.Handler
	}{
		{"no hook", next},
		{"off", (&Server{}).observed(next)},
		{"on", (&Server{cfg: Config{Tracer: new(spans.Recorder), Now: time.Now}}).observed(next)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
			for b.Loop() {
				c.handler.ServeHTTP(w, r)
			}
		})
	}
}
