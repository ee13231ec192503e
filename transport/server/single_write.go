package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
)

// net/http writes through a buffer of 4 KiB: an answer that does not fit goes out in two calls of the system, the header
// with the beginning of the body and then the rest. Most pages are a little larger than that, and these calls are most
// of what a kept one costs. What is here makes one call of an answer that a handler writes at once.

// Bounds of answers that are sent in one piece: shorter ones are without help, and for longer ones it does not matter.
const (
	minWhole = 2 << 10
	maxWhole = 64 << 10
)

// wholeListener accepts connections that can send answers in one piece. Those of TLS are left as they are.
type wholeListener struct {
	net.Listener
	kept    keptFunc
	sending *atomic.Int64
}

func (l wholeListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		return &wholeConn{TCPConn: tcp, turn: turn{kept: l.kept, between: true, sending: l.sending}}, err
	}
	return c, err
}

// wholeConn collects what is written while it holds. Only the goroutine that writes an answer lets it hold, and for no
// longer than one call of Write.
type wholeConn struct {
	*net.TCPConn
	held *[]byte // nil: it holds nothing back
	turn
}

// pieces are buffers for answers with their headers.
var pieces = sync.Pool{New: func() any { b := make([]byte, 0, 16<<10); return &b }}

func (c *wholeConn) Write(p []byte) (int, error) {
	if c.held == nil {
		return c.TCPConn.Write(p)
	}
	*c.held = append(*c.held, p...)
	return len(p), nil
}

func (c *wholeConn) hold() { c.held, _ = pieces.Get().(*[]byte) }

// release sends what was held back. A connection that did not take all of it is closed, as net/http takes it for sent.
func (c *wholeConn) release() error {
	held := c.held
	c.held = nil
	_, err := c.TCPConn.Write(*held)
	if err != nil {
		_ = c.Close()
	}
	*held = (*held)[:0]
	pieces.Put(held)
	return err
}

type wholeKey struct{}

// withConn lets handlers find the connection of a request.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(*wholeConn); ok {
		return context.WithValue(ctx, wholeKey{}, c)
	}
	return ctx
}

// whole sends answers in one piece that h writes at once.
func whole(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(wholeKey{}).(*wholeConn); ok {
			w = &wholeWriter{ResponseWriter: w, conn: c}
		}
		h.ServeHTTP(w, r)
	})
}

// wholeWriter knows by Content-Length that what is written is the whole answer.
type wholeWriter struct {
	http.ResponseWriter
	conn  *wholeConn
	begun bool
}

func (w *wholeWriter) Write(p []byte) (int, error) {
	first := !w.begun
	w.begun = true
	if !first || len(p) < minWhole || len(p) > maxWhole || !w.says(len(p)) {
		return w.ResponseWriter.Write(p)
	}
	w.conn.hold()
	n, err := w.ResponseWriter.Write(p)
	if flushed := w.FlushError(); err == nil {
		err = flushed
	}
	if sent := w.conn.release(); err == nil {
		err = sent
	}
	return n, err
}

// says reports whether the header announces so many bytes.
func (w *wholeWriter) says(n int) bool {
	var digits [20]byte
	given := w.Header()["Content-Length"]
	return len(given) == 1 && given[0] == string(strconv.AppendInt(digits[:0], int64(n), 10))
}

// What handlers may find in the writer of net/http.

func (w *wholeWriter) FlushError() error {
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *wholeWriter) Flush() { _ = w.FlushError() } // an http.Flusher cannot tell

func (w *wholeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

func (w *wholeWriter) ReadFrom(r io.Reader) (int64, error) {
	w.begun = true
	return io.Copy(w.ResponseWriter, r)
}

// Unwrap lets http.ResponseController reach the server's own writer.
func (w *wholeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
