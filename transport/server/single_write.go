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

// net/http writes through a buffer of 4 KiB: an answer that does not fit is sent in two system calls, the header with the
// beginning of the body and then the rest. Most pages are a little larger than that, and these calls are most of the cost of
// a kept page. The code here sends an answer that a handler writes at once in a single call.

// Bounds of answers that are sent in one piece: shorter ones are anyway, and for longer ones it makes no difference.
const (
	minWhole = 2 << 10
	maxWhole = 64 << 10
)

// wholeListener accepts connections that can send answers in one piece. TLS connections are returned unchanged.
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

// wholeConn collects written bytes while it is held. Only the goroutine that writes an answer holds it, and for no longer
// than one call of Write.
type wholeConn struct {
	*net.TCPConn
	held *[]byte // nil if nothing is held back
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

// release sends the bytes held back. A connection that did not take all of them is closed, as net/http assumes they were
// sent.
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

// withConn adds the connection to the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(*wholeConn); ok {
		return context.WithValue(ctx, wholeKey{}, c)
	}
	return ctx
}

// whole sends answers that h writes at once in one piece.
func whole(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(wholeKey{}).(*wholeConn); ok {
			w = &wholeWriter{ResponseWriter: w, conn: c}
		}
		h.ServeHTTP(w, r)
	})
}

// wholeWriter recognises by Content-Length that a single write has the whole answer.
type wholeWriter struct {
	http.ResponseWriter
	conn  *wholeConn
	begun bool
}

func (w *wholeWriter) Write(p []byte) (int, error) {
	first := !w.begun
	w.begun = true
	if !first || len(p) < minWhole || len(p) > maxWhole || !w.announces(len(p)) {
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

// announces reports whether Content-Length is n.
func (w *wholeWriter) announces(n int) bool {
	var digits [20]byte
	given := w.Header()["Content-Length"]
	return len(given) == 1 && given[0] == string(strconv.AppendInt(digits[:0], int64(n), 10))
}

// The optional methods of net/http's writer.

func (w *wholeWriter) FlushError() error {
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *wholeWriter) Flush() { _ = w.FlushError() } // http.Flusher returns no error

func (w *wholeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

func (w *wholeWriter) ReadFrom(r io.Reader) (int64, error) {
	w.begun = true
	return io.Copy(w.ResponseWriter, r)
}

// Unwrap lets http.ResponseController reach the server's own writer.
func (w *wholeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
