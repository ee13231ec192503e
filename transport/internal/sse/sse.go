// Package sse writes server-sent events (HTML, section 9.2).
package sse

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// Writer writes events. A client that does not read them is cut off, and resumes when it reconnects.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
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

// Send writes an event: its id if there is one, its name if it is not "message", and one line of data. An id alone tells the
// client where to resume, and shows nothing.
func (w *Writer) Send(id, name string, data []byte) error {
	var b bytes.Buffer
	b.Grow(len("id: \nevent: \ndata: \n\n") + len(id) + len(name) + len(data))
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	if data != nil {
		b.WriteString("data: ")
		if bytes.IndexByte(data, '\n') >= 0 {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: "))
		}
		b.Write(data)
		b.WriteString("\n")
	}
	b.WriteString("\n")
	return w.write(b.Bytes())
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
