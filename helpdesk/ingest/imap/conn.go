package imap

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// conn gives each step of a connection a deadline and a limit of bytes. The client library sets deadlines of its own,
// but none while it waits for an answer to begin; those for reading are ignored here.
type conn struct {
	net.Conn

	mu    sync.Mutex
	armed bool
	quiet time.Duration // longest silence within the step
	until time.Time     // end of the step, however busy
	left  int64         // bytes that may still come
	cause error         // why reading ended
}

// idleBytes is what a server may say between two steps.
const idleBytes = 1 << 20

// begin starts a step that may be silent for quiet, last for whole and receive limit bytes.
func (c *conn) begin(quiet, whole time.Duration, limit int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.quiet, c.until, c.left = true, quiet, time.Now().Add(whole), limit
	c.extend()
}

// end ends a step: the connection may be silent for as long as it likes.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.left = false, idleBytes
	_ = c.Conn.SetReadDeadline(time.Time{})
}

func (c *conn) extend() {
	deadline := time.Now().Add(c.quiet)
	if deadline.After(c.until) {
		deadline = c.until
	}
	_ = c.Conn.SetReadDeadline(deadline)
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left -= int64(n)
	switch {
	case err != nil:
		if c.cause == nil {
			c.cause = err
		}
	case c.left < 0:
		c.cause = ErrTooMuch
		return 0, ErrTooMuch
	case c.armed:
		c.extend()
	}
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.fail(ErrTimeout)
	}
	return n, err
}

// SetReadDeadline implements net.Conn. It does nothing: see begin.
func (c *conn) SetReadDeadline(time.Time) error { return nil }

// SetDeadline implements net.Conn, for writing only.
func (c *conn) SetDeadline(t time.Time) error { return c.SetWriteDeadline(t) }

// fail closes the connection for a reason.
func (c *conn) fail(cause error) {
	c.mu.Lock()
	if c.cause == nil {
		c.cause = cause
	}
	c.mu.Unlock()
	_ = c.Conn.Close()
}

// why returns the reason for which reading ended, nil if it was not the connection that ended it.
func (c *conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}
