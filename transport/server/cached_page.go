package server

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Most of the cost of a kept page is net/http: the goroutines, contexts and headers of a request whose answer needs none of
// them. The code here answers such requests before net/http reads them. It takes only requests that it understands to the
// last byte, one GET without a body, and only while net/http waits for the next request of the connection. Everything else
// reaches net/http unchanged.

// keptFunc answers a request from the kept pages. If it returns false, it has written nothing.
type keptFunc func(w http.ResponseWriter, r *http.Request) bool

// kept returns a function that answers with the kept pages of help centres, nil if there are no help centres.
func (s *Server) kept() keptFunc {
	if s.sites == nil {
		return nil
	}
	return func(w http.ResponseWriter, r *http.Request) bool {
		if s.cfg.Observe == nil {
			_, ok := s.sites.ServeKept(w, r)
			return ok
		}
		began, answer := s.cfg.Now(), answered{ResponseWriter: w}
		route, ok := s.sites.ServeKept(&answer, r)
		if ok {
			s.cfg.Observe(Request{Method: r.Method, Route: route, Status: answer.status, Took: s.cfg.Now().Sub(began)})
		}
		return ok
	}
}

// turn tracks who reads the next bytes of a connection: the code here or net/http.
type turn struct {
	kept keptFunc // if nil, net/http reads everything
	// between means that all requests so far were read completely, and nothing of the next one. served means that there was at
	// least one: net/http sets the time limits of the first when the connection is made. Only the goroutine that serves the
	// connection uses both.
	between, served bool
	// lost means that net/http has read bytes that may end anywhere in a request. It reads everything from then on.
	lost    atomic.Bool
	renewed time.Time // when the time limits were last set here; zero if net/http has set them since

	mu      sync.Mutex
	busy    bool          // an answer is being sent
	closing bool          // close after the answer
	sending *atomic.Int64 // number of answers being sent on all connections
}

// turned tracks the states of a connection.
func turned(c net.Conn, state http.ConnState) {
	if c, ok := c.(*wholeConn); ok && state == http.StateIdle {
		c.between, c.served = true, true
		c.renewed = time.Time{} // net/http has just reset the time limit for answers
	}
}

// Read returns the bytes for net/http.
func (c *wholeConn) Read(p []byte) (int, error) {
	if c.kept == nil || c.lost.Load() {
		return c.TCPConn.Read(p)
	}
	if len(p) == 1 || !c.between { // reads of one byte are net/http's check, in another goroutine, that the client is still connected
		n, err := c.TCPConn.Read(p)
		if n > 0 {
			c.lost.Store(true)
		}
		return n, err
	}
	for {
		n, err := c.TCPConn.Read(p)
		if n == 0 || err != nil {
			return n, err
		}
		r, whole := parseGet(p[:n])
		if r == nil || !c.served || !c.answer(r) {
			c.between = false
			c.lost.Store(!whole)
			return n, err
		}
	}
}

// Time limits of connections. net/http sets those of the next request itself, unless the last one was answered here.
const (
	idleTimeout  = 2 * time.Minute
	writeTimeout = time.Minute
)

// renew sets the time limits of a connection again, at most once a second.
func (c *wholeConn) renew(now time.Time) error {
	if now.Sub(c.renewed) < time.Second {
		return nil
	}
	c.renewed = now
	if err := c.SetWriteDeadline(now.Add(writeTimeout)); err != nil {
		return err
	}
	return c.SetReadDeadline(now.Add(idleTimeout))
}

// answer answers a request if its page is kept. A connection that does not take all of the answer is closed.
func (c *wholeConn) answer(r *http.Request) bool {
	w := keptAnswers.Get().(*keptAnswer) //nolint:forcetypeassert,errcheck // there is nothing else in it
	defer w.free()
	if !c.begin() {
		return false
	}
	defer c.end()
	if !c.kept(w, r) {
		return false
	}
	now := time.Now()
	err := c.renew(now)
	if err == nil {
		err = w.send(c.TCPConn, now)
	}
	if err != nil {
		_ = c.TCPConn.Close() // the next Read returns the error
	}
	return true
}

func (c *wholeConn) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.busy = true
	c.sending.Add(1)
	return true
}

func (c *wholeConn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	c.sending.Add(-1)
	if c.closing {
		_ = c.TCPConn.Close()
	}
}

// Close closes the connection after its answer is sent. At shutdown net/http closes idle connections, and it believes this
// one to be idle.
func (c *wholeConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	if c.busy {
		return c.SetDeadline(time.Now().Add(drain))
	}
	return c.TCPConn.Close()
}

// keptAnswer is a [http.ResponseWriter] for answers written at once.
type keptAnswer struct {
	header http.Header
	status int
	body   []byte // owned by the writer, not changed here
	head   []byte
}

var keptAnswers = sync.Pool{New: func() any { return &keptAnswer{header: http.Header{}} }}

func (w *keptAnswer) free() {
	clear(w.header)
	w.status, w.body, w.head = 0, nil, w.head[:0]
	keptAnswers.Put(w)
}

func (w *keptAnswer) Header() http.Header { return w.header }

func (w *keptAnswer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *keptAnswer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = p
	return len(p), nil
}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// send sends the answer in one system call.
func (w *keptAnswer) send(to io.Writer, now time.Time) error {
	b := append(w.head, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(w.status), 10)
	b = append(append(append(b, ' '), http.StatusText(w.status)...), "\r\nDate: "...)
	b = now.UTC().AppendFormat(b, http.TimeFormat)
	for name, values := range w.header {
		for _, v := range values {
			b = append(append(b, "\r\n"...), name...)
			b = append(append(b, ": "...), oneLine.Replace(v)...)
		}
	}
	w.head = append(b, "\r\n\r\n"...)
	both := net.Buffers{w.head, w.body}
	_, err := both.WriteTo(to)
	return err
}
