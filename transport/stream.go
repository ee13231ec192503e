package transport

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"
)

// Stream is what an operation answers with that goes on for as long as the client
// listens: it writes until ctx ends or there is nothing more to come. Its errors are
// logged; the client connects again and says what it has seen.
type Stream func(ctx context.Context, w *EventWriter) error

// EventWriter writes server-sent events (HTML, section 9.2). A client that does not
// read them is cut off, and resumes when it comes back.
type EventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// HandleStream adds an operation that answers with server-sent events. fn finds out
// whether there is anything to follow; its errors are answered. See [Handle].
func HandleStream[H, In any](t *Table, resolve Resolver[H], op Operation, fn func(ctx context.Context, h H, in In) (Stream, error)) {
	route := newRoute[In](op, Events)
	route.serve = func(w http.ResponseWriter, r *Request) error {
		stream, err := call(r, resolve, fn)
		if err != nil {
			return err
		}
		h := w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // nginx holds small answers back otherwise
		if r.http.Method == http.MethodHead {
			w.WriteHeader(http.StatusOK)
			_ = stream(canceled(r.Context()), nil)
			return nil
		}
		out := &EventWriter{w: w, control: http.NewResponseController(w)}
		// What the server allows for reading a request would end the stream.
		_ = out.control.SetReadDeadline(time.Time{})
		w.WriteHeader(http.StatusOK)
		if err := stream(r.Context(), out); err != nil && r.Context().Err() == nil {
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

// Send writes an event: its id if there is one, its name if it is not "message", and
// one line of data. An id alone tells the client where to resume, and shows nothing.
func (w *EventWriter) Send(id, name string, data []byte) error {
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	if data != nil {
		b.WriteString("data: ")
		b.Write(bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: ")))
		b.WriteString("\n")
	}
	b.WriteString("\n")
	return w.write(b.Bytes())
}

// Begin tells the client how long to wait before it connects again.
func (w *EventWriter) Begin(retry time.Duration) error {
	return w.write([]byte("retry: " + strconv.FormatInt(retry.Milliseconds(), 10) + "\n\n"))
}

// Beat shows that the stream is alive.
func (w *EventWriter) Beat() error { return w.write([]byte(": beat\n\n")) }

func (w *EventWriter) write(p []byte) error {
	if _, err := w.w.Write(p); err != nil {
		return err
	}
	return w.control.Flush()
}
