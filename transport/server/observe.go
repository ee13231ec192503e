package server

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/pattern"
	"github.com/helpwright/helpwright/transport/internal/trace"
	"github.com/helpwright/helpwright/transport/site"
)

// Request is a request that has been answered.
type Request struct {
	Method string // "other" for methods unknown to HTTP
	// Route is the pattern of the address, such as "/api/v1/accounts/{account_id}/customers", so the number of values is fixed
	// by the program. It is "" if nothing was found at the address.
	Route  string
	Status int // 499 if the client disconnected before the answer; 500 also for an answer that was cut off
	Took   time.Duration
	Stream bool // it stays open until the client disconnects
}

// statusClientGone is the status of a request whose client disconnected before the answer.
const statusClientGone = 499

// observed reports the requests that a handler answers to Config.Observe and Config.Tracer.
func (s *Server) observed(next http.Handler) http.Handler {
	if s.cfg.Observe == nil && s.cfg.Tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := s.cfg.Now()
		ctx, span := s.startSpan(pattern.With(r.Context()), r)
		r = r.WithContext(ctx)
		answer := &answered{ResponseWriter: w}
		ended := false
		defer func() { // even if a panic cuts the answer off
			done := Request{Method: methodOf(r.Method), Route: routeOf(r), Status: answer.status, Took: s.cfg.Now().Sub(began)}
			done.Stream = strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream")
			switch {
			case !ended:
				done.Status = http.StatusInternalServerError
			case done.Status == 0 && r.Context().Err() != nil:
				done.Status = statusClientGone
			case done.Status == 0:
				done.Status = http.StatusOK
			}
			if s.cfg.Observe != nil {
				s.cfg.Observe(done)
			}
			if span != nil {
				finish(span, done)
			}
		}()
		next.ServeHTTP(answer, r)
		ended = true
	})
}

// startSpan begins the span of a request, and adds its trace to log entries. The span is nil without a tracer.
func (s *Server) startSpan(ctx context.Context, r *http.Request) (context.Context, storage.Span) {
	if s.cfg.Tracer == nil {
		return ctx, nil
	}
	method := methodOf(r.Method)
	ctx, span := s.cfg.Tracer.Start(s.cfg.Tracer.Join(ctx, r.Header.Get("Traceparent")), method, storage.SpanServer, slog.String("http.request.method", method))
	return trace.With(ctx, trace.IDs{Request: trace.Of(ctx).Request, Trace: span.TraceID()}), span
}

// finish ends the span of a request. The span has the pattern and not the address, which may contain names of people and
// tokens.
func finish(span storage.Span, done Request) {
	attrs := []slog.Attr{slog.Int("http.response.status_code", done.Status)}
	if done.Route != "" {
		span.SetName(done.Method + " " + done.Route)
		attrs = append(attrs, slog.String("http.route", done.Route))
	}
	var err error
	if done.Status >= http.StatusInternalServerError {
		err = fault.New(fault.Internal, "")
	}
	span.End(err, attrs...)
}

// routeOf returns the recorded route, or the pattern of the mux without its method.
func routeOf(r *http.Request) string {
	if p := pattern.Of(r.Context()); p != "" {
		return p
	}
	if _, path, ok := strings.Cut(r.Pattern, " "); ok {
		return path
	}
	return r.Pattern
}

func methodOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// answered records the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *answered) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *answered) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the server's own writer.
func (w *answered) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// SiteCache returns statistics of the page caches of help centres; false if there are no help centres.
func (s *Server) SiteCache() (site.CacheStats, bool) {
	if s.sites == nil {
		return site.CacheStats{}, false
	}
	return s.sites.CacheStats(), true
}
