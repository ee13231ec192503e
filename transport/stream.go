package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/transport/internal/sse"
)

// Stream is what an operation answers with that goes on for as long as the client
// listens: it writes until ctx ends or there is nothing more to come. Its errors are
// logged; the client connects again and says what it has seen.
type Stream func(ctx context.Context, w *EventWriter) error

// EventWriter writes server-sent events (HTML, section 9.2). A client that does not
// read them is cut off, and resumes when it comes back.
type EventWriter = sse.Writer

// HandleStream adds an operation that answers with server-sent events. fn finds out
// whether there is anything to follow; its errors are answered. See [Handle].
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

// canceled is a context that has ended, for a stream that is only to be closed.
func canceled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}
