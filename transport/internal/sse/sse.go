// Package sse writes server-sent events (HTML, section 9.2).
package sse

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Writer writes events. A client that does not read them is cut off, and resumes when it reconnects.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	waiting []byte // events for Flush
}

// Start sets the header of an answer that is a stream of events.
func Start(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // otherwise nginx buffers small answers
}

// New begins a stream after [Start] has set its header.
func New(w http.ResponseWriter) *Writer {
	out := &Writer{w: w, control: http.NewResponseController(w)}
	// The server's deadline for reading a request would end the stream.
	_ = out.control.SetReadDeadline(time.Time{})
	w.WriteHeader(http.StatusOK)
	return out
}

// mostWaiting is how many bytes wait for Flush.
const mostWaiting = 16 << 10

// Add collects an event for the next Flush: its id if there is one, its name if it is not "message", and one line of data. An id
// alone tells the client where to resume, and shows nothing. What becomes too long is written at once.
func (w *Writer) Add(id, name string, data []byte) error {
	b := slices.Grow(w.waiting, len("id: \nevent: \ndata: \n\n")+len(id)+len(name)+len(data))
	if id != "" {
		b = append(append(append(b, "id: "...), id...), '\n')
	}
	if name != "" {
		b = append(append(append(b, "event: "...), name...), '\n')
	}
	if data != nil {
		if bytes.IndexByte(data, '\n') >= 0 {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: "))
		}
		b = append(append(append(b, "data: "...), data...), '\n')
	}
	w.waiting = append(b, '\n')
	if len(w.waiting) < mostWaiting {
		return nil
	}
	return w.Flush()
}

// Flush writes the events that were added, together.
func (w *Writer) Flush() error {
	all := w.waiting
	w.waiting = nil // thousands of streams are idle most of the time
	if len(all) == 0 {
		return nil
	}
	return w.write(all)
}

// Send adds an event and flushes.
func (w *Writer) Send(id, name string, data []byte) error {
	if err := w.Add(id, name, data); err != nil {
		return err
	}
	return w.Flush()
}

// Begin sets how long the client waits before it reconnects.
func (w *Writer) Begin(retry time.Duration) error {
	return w.write([]byte("retry: " + strconv.FormatInt(retry.Milliseconds(), 10) + "\n\n"))
}

// Beat writes a heartbeat.
func (w *Writer) Beat() error { return w.write([]byte(": beat\n\n")) }

func (w *Writer) write(p []byte) error {
	if _, err := w.w.Write(p); err != nil {
		return err
	}
	return w.control.Flush()
}
