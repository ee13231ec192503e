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

// Request is one that has been answered.
type Request struct {
	Method string // "other" for what HTTP does not know
	// Route is the pattern of the address, such as "/api/v1/accounts/{account_id}/customers": there are no more of them
	// than the program has. "" where nothing was at the address.
	Route  string
	Status int // 499: the client left before the answer; 500 also for an answer that was cut off
	Took   time.Duration
	Stream bool // it stays open until the client leaves
}

// statusClientGone is the status of a request whose client left before the answer.
const statusClientGone = 499

// observed tells Config.Observe and Config.Tracer of the requests that a handler answers.
func (s *Server) observed(next http.Handler) http.Handler {
	if s.cfg.Observe == nil && s.cfg.Tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := s.cfg.Now()
		ctx, span := s.begin(pattern.With(r.Context()), r)
		r = r.WithContext(ctx)
		answer := &answered{ResponseWriter: w}
		ended := false
		defer func() { // also when the answer is cut off by a panic
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

// begin begins the span of a request, and has logs name its trace. The span is nil where nothing is traced.
func (s *Server) begin(ctx context.Context, r *http.Request) (context.Context, storage.Span) {
	if s.cfg.Tracer == nil {
		return ctx, nil
	}
	method := methodOf(r.Method)
	ctx, span := s.cfg.Tracer.Start(s.cfg.Tracer.Join(ctx, r.Header.Get("Traceparent")), method, storage.SpanServer, slog.String("http.request.method", method))
	return trace.With(ctx, trace.IDs{Request: trace.Of(ctx).Request, Trace: span.TraceID()}), span
}

// finish ends the span of a request. Its address is not told, which may have names of people and tokens in it, but its pattern is.
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

// routeOf is what was noted, or the pattern of the mux without its method.
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

// answered knows the status of an answer.
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

// SiteCache tells what the kept pages of help centres are worth; false where there are no help centres.
func (s *Server) SiteCache() (site.CacheStats, bool) {
	if s.sites == nil {
		return site.CacheStats{}, false
	}
	return s.sites.CacheStats(), true
}
