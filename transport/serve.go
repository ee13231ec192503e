package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/helpwright/helpwright/transport/internal/pattern"
)

// statusClientGone is logged when the client disconnected before the answer.
const statusClientGone = 499

// Handler serves the table. It may be mounted under any mux, also below http.StripPrefix; paths outside the table's base are
// answered with 404.
func (t *Table) Handler() http.Handler {
	return shared(t.config.Origins, http.HandlerFunc(t.serveHTTP))
}

func (t *Table) serveHTTP(inner http.ResponseWriter, hr *http.Request) {
	start := t.config.Now()
	hr = traced(hr, t.config.Rand)
	r := &Request{http: hr, writer: inner, table: t, id: TraceOf(hr.Context()).RequestID}
	r.share = &share{of: t.room, client: r.ClientKey}
	w := &response{ResponseWriter: inner, head: hr.Method == http.MethodHead, share: r.share}
	t.common(w.Header(), r)
	defer func() { // even if a panic cuts the answer off
		for _, undo := range r.cleanup {
			undo()
		}
		r.share.end()
		t.config.Logger.LogAttrs(hr.Context(), slog.LevelInfo, "request",
			slog.String("method", hr.Method), slog.String("route", r.pattern()), slog.Int("status", w.status),
			slog.Duration("duration", t.config.Now().Sub(start)), slog.String("request_id", r.id))
	}()
	if err := t.guarded(w, r); err != nil {
		t.fail(w, r, t.refused(w.Header(), r, err))
	}
}

// common sets the header fields of all answers.
func (t *Table) common(h http.Header, r *Request) {
	h.Set("X-Request-Id", r.id)
	h.Set("X-Content-Type-Options", "nosniff")
}

// pattern is the path of the route for the log: the client's own path may contain names or tokens.
func (r *Request) pattern() string {
	if r.route == nil {
		return "(none)"
	}
	return r.table.config.Base + r.route.Path
}

// panicked is a panic as an error.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// guarded serves the request and turns a panic into an error.
func (t *Table) guarded(w *response, r *Request) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares the value too
			panic(v)
		}
		err = &panicked{value: v, stack: debug.Stack()}
	}()
	return t.dispatch(w, r)
}

func (t *Table) dispatch(w *response, r *Request) error {
	path, ok := strings.CutPrefix(r.http.URL.EscapedPath(), t.config.Base+"/")
	if !ok {
		path = ""
	}
	return t.router.serve(w, r, path)
}

// arrived answers a request at its entry, nil if there is none.
func (t *Table) arrived(a *arrival, e *entry) error {
	w, r := a.w, a.r
	lost := r.setRoute(w.Header(), a.segments, e)
	if err := t.limit(w.Header(), r); err != nil {
		return err
	}
	switch {
	case lost != nil && r.http.Method == http.MethodOptions && w.Header().Get("Allow") != "":
		w.WriteHeader(http.StatusNoContent)
		return nil
	case lost != nil:
		return lost
	}
	var err error
	if r.united, err = t.unite(r); err != nil {
		return err
	}
	if r.united != nil {
		return t.serveUnited(w, r)
	}
	read := r.http.Method == http.MethodGet || r.http.Method == http.MethodHead
	r.metered = read && r.route.Shape != Events // a stream never keeps much in memory
	return r.route.serve(w, r)
}

// setRoute sets the route and the parameters of a request.
func (r *Request) setRoute(h http.Header, segments []string, e *entry) error {
	if e == nil || len(e.methods) == 0 {
		return errNoAddress
	}
	values, ok := e.values(segments)
	if !ok {
		return errNoAddress
	}
	method := r.http.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	route, ok := e.methods[method]
	if !ok {
		h.Set("Allow", e.allow())
		return errMethod
	}
	r.route, r.values = route, values
	pattern.Note(r.http.Context(), r.pattern())
	return nil
}

// fail answers with err and logs the details that the answer leaves out.
func (t *Table) fail(w *response, r *Request, err error) {
	ctx := r.http.Context()
	if errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled) {
		w.status = statusClientGone
		return
	}
	p := problemOf(err, r.id)
	if p.Status >= http.StatusInternalServerError {
		attrs := []slog.Attr{slog.String("route", r.pattern()), slog.String("request_id", r.id), slog.Any("error", err)}
		if p, ok := errors.AsType[*panicked](err); ok {
			attrs = append(attrs, slog.String("stack", string(p.stack)))
		}
		t.config.Logger.LogAttrs(ctx, slog.LevelError, "request failed", attrs...)
	}
	if w.status != 0 { // the status is sent already; the client can only notice a cut connection
		panic(http.ErrAbortHandler)
	}
	writeProblem(w, r.http, err, p)
}

// response records the status and suppresses the body of an answer to HEAD. A client that does not read is cut off:
// otherwise it would keep the answer in memory forever.
type response struct {
	http.ResponseWriter
	status int
	head   bool
	share  *share    // of the memory
	holds  int       // bytes of the whole answer, which stay in memory until all is written, however small the pieces
	given  time.Time // when the client was last given more time
}

// A client may take answerWait to accept each answerPiece of an answer, however large the whole is.
const (
	answerWait  = 30 * time.Second
	answerPiece = 64 << 10
)

// patience gives the client time for the next piece, unless it was given some recently. A writer without deadlines, as in
// tests, has no limit.
func (w *response) patience() {
	now := time.Now()
	if now.Sub(w.given) < time.Second {
		return
	}
	w.given = now
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(now.Add(answerWait))
}

// cut ends the writing of an answer.
func (w *response) cut() {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Unix(1, 0))
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.patience()
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if w.head {
		return len(p), nil
	}
	w.share.shrinkTo(max(len(p), w.holds), w.cut)
	written := 0
	for {
		if err := w.share.next(w.patience); err != nil {
			return written, err
		}
		n, err := w.ResponseWriter.Write(p[written:min(len(p), written+answerPiece)])
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}

// Unwrap lets http.ResponseController reach the server's own writer.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
