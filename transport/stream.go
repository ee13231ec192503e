package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/transport/internal/sse"
)

// Stream is an answer that continues until the client disconnects: it writes until ctx ends or there is nothing more to
// send. Its errors are logged; the client reconnects and reports the last event that it has seen.
type Stream func(ctx context.Context, w *EventWriter) error

// EventWriter writes server-sent events (HTML, section 9.2). A client that does not read them is cut off, and resumes when
// it reconnects.
type EventWriter = sse.Writer

// HandleStream adds an operation that answers with server-sent events. fn checks that there is something to follow; its
// errors are answered as such. See [Handle].
func HandleStream[H, In any](t *Table, resolve Resolver[H], op Operation, fn func(ctx context.Context, h H, in In) (Stream, error)) {
	route := newRoute[In](op, Events)
	route.serve = func(w http.ResponseWriter, r *Request) error {
		stream, err := call(r, resolve, fn)
		if err != nil {
			return err
		}
		sse.Start(w.Header())
		if r.http.Method == http.MethodHead {
			w.WriteHeader(http.StatusOK)
			_ = stream(canceled(r.Context()), nil)
			return nil
		}
		if err := stream(r.Context(), sse.New(w)); err != nil && r.Context().Err() == nil {
			t.config.Logger.DebugContext(r.Context(), "a stream ended", "request_id", r.ID(), "error", err)
		}
		return nil
	}
	t.add(route)
}

// canceled is a cancelled context, for a stream that only has to be closed.
func canceled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}
