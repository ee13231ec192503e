package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// slowest is the number of bytes per second below which a mail is taken to hang.
const slowest = 16 << 10

// Conn gives each step of a connection a deadline and a limit of bytes. Client libraries set deadlines of their own, but
// none while they wait for an answer to begin; those for reading are ignored here.
type Conn struct {
	net.Conn
	Protocol string        // for the errors
	Timeout  time.Duration // longest silence within a step
	// Explain turns an error of a step into one that says why; cause is what the connection knows about its own end, nil
	// if it has not ended. See [Explain].
	Explain func(err, cause error) error

	mu    sync.Mutex
	armed bool
	quiet time.Duration // longest silence within the step
	until time.Time     // end of the step, however busy
	left  int64         // bytes that may still come
	cause error         // why reading ended
}

// idleBytes is what a server may say between two steps.
const idleBytes = 1 << 20

// Step does one thing with the connection: it ends with ctx, after Timeout of silence, after Timeout and the time that
// expect bytes take at the slowest, or when the server sends more than limit bytes. After any error but a refusal the
// connection is of no more use, and closed. Errors are *StepError, or ctx's.
func (c *Conn) Step(ctx context.Context, name string, limit, expect int64, do func() error) error {
	return c.StepWithin(ctx, c.Timeout, name, limit, expect, do)
}

// StepWithin is Step with another longest silence.
func (c *Conn) StepWithin(ctx context.Context, quiet time.Duration, name string, limit, expect int64, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.begin(quiet, quiet+time.Duration(expect/slowest)*time.Second, limit)
	release := context.AfterFunc(ctx, func() { c.Fail(context.Canceled) })
	err := do()
	release()
	c.end()
	if ctx.Err() != nil {
		c.Fail(context.Canceled)
		return ctx.Err()
	}
	if err == nil {
		return nil
	}
	err = c.Explain(err, c.Why())
	var reply *ReplyError
	if !errors.As(err, &reply) || reply.Status == "BYE" {
		c.Fail(err)
	}
	return &StepError{Protocol: c.Protocol, Step: name, Err: err}
}

// ReadLine reads up to the end of a line, byte by byte, and returns it without. What follows a server's consent to TLS
// belongs to the handshake: nothing that was slipped in before must be taken for a part of the secured dialogue.
func ReadLine(conn net.Conn) (string, error) {
	line := make([]byte, 0, 128)
	for b := make([]byte, 1); ; {
		if _, err := io.ReadFull(conn, b); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		if line = append(line, b[0]); len(line) > 1<<16 {
			return "", ErrTooMuch
		}
	}
}

// begin starts a step that may be silent for quiet, last for whole and receive limit bytes.
func (c *Conn) begin(quiet, whole time.Duration, limit int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.quiet, c.until, c.left = true, quiet, time.Now().Add(whole), limit
	c.extend()
}

// end ends a step: the connection may be silent for as long as it likes.
func (c *Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.left = false, idleBytes
	_ = c.Conn.SetReadDeadline(time.Time{})
}

func (c *Conn) extend() {
	deadline := time.Now().Add(c.quiet)
	if deadline.After(c.until) {
		deadline = c.until
	}
	_ = c.Conn.SetReadDeadline(deadline)
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
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
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.Fail(ErrTimeout)
	}
	return n, err
}

// SetReadDeadline implements net.Conn. It does nothing: see begin.
func (c *Conn) SetReadDeadline(time.Time) error { return nil }

// SetDeadline implements net.Conn, for writing only.
func (c *Conn) SetDeadline(t time.Time) error { return c.SetWriteDeadline(t) }

// Fail closes the connection for a reason.
func (c *Conn) Fail(cause error) {
	c.mu.Lock()
	if c.cause == nil {
		c.cause = cause
	}
	c.mu.Unlock()
	_ = c.Conn.Close()
}

// Why returns the reason for which reading ended, nil if it was not the connection that ended it.
func (c *Conn) Why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}
