package transport

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestTraceID(t *testing.T) {
	t.Parallel()
	const good = "4bf92f3577b34da6a3ce929d0e0e4736"
	for parent, want := range map[string]string{
		"00-" + good + "-00f067aa0ba902b7-01":                     good,
		"cc-" + good + "-00f067aa0ba902b7-01":                     good,
		"cc-" + good + "-00f067aa0ba902b7-01-more":                good,
		"00-" + good + "-00f067aa0ba902b7-01-more":                "",
		"ff-" + good + "-00f067aa0ba902b7-01":                     "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
		"00-" + good + "-0000000000000000-01":                     "",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01": "",
		"00-" + good[:31] + "\n-00f067aa0ba902b7-01":              "",
		"00-" + good: "",
		"":           "",
	} {
		if got := traceID(parent); got != want {
			t.Errorf("%q: %q, want %q", parent, got, want)
		}
	}
}

// One name for a request, whatever handles it.
func TestTraced(t *testing.T) {
	t.Parallel()
	var outer, inner Trace
	h := Traced(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		outer = TraceOf(r.Context())
		Traced(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { inner = TraceOf(r.Context()) })).ServeHTTP(w, r)
	}))
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	h.ServeHTTP(httptest.NewRecorder(), r)
	if outer != inner || len(outer.RequestID) != 32 || outer.TraceID != "" || len(outer.Attrs()) != 1 {
		t.Error(outer, inner)
	}
	r.Header.Set("X-Request-Id", "from-the-client")
	r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if want := (Trace{"from-the-client", "4bf92f3577b34da6a3ce929d0e0e4736"}); outer != want || inner != want || len(outer.Attrs()) != 2 {
		t.Error(outer, inner)
	}
	if (TraceOf(t.Context()) != Trace{}) {
		t.Error("a context of no request has a trace")
	}
}
