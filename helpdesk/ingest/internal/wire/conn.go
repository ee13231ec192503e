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

// slowest is the bytes per second below which a transfer counts as stalled.
const slowest = 16 << 10

// Conn gives each step of a connection a deadline and a byte limit. Client libraries set their own deadlines, but none while
// they wait for a reply to begin; their read deadlines are ignored here.
type Conn struct {
	net.Conn
	Protocol string        // for the errors
	Timeout  time.Duration // longest silence within a step
	// Explain turns an error of a step into one with the reason; cause is the reason for which the connection itself ended, nil
	// if it has not. See [Explain].
	Explain func(err, cause error) error

	mu    sync.Mutex
	armed bool
	quiet time.Duration // longest silence within the step
	until time.Time     // deadline of the step, however active
	left  int64         // remaining byte limit
	cause error         // why reading ended
}

// Watch is called when a step begins, without the folder's name; the function that it returns is called when the step ends.
type Watch func(ctx context.Context, protocol, step string) (ended func(error))

type watchKey struct{}

// Watched returns a context in which watch is called for the steps of any connection.
func Watched(ctx context.Context, watch Watch) context.Context {
	return context.WithValue(ctx, watchKey{}, watch)
}

// idleBytes is how much a server may send between two steps.
const idleBytes = 1 << 20

// Step runs one step of the dialogue. It ends with ctx, after Timeout of silence, after Timeout plus the time that expect
// bytes take at the slowest rate, or when the server sends more than limit bytes. Any error other than a rejection closes
// the connection. Errors are *StepError, or ctx's.
func (c *Conn) Step(ctx context.Context, name string, limit, expect int64, do func() error) error {
	return c.StepWithin(ctx, c.Timeout, name, limit, expect, do)
}

// StepWithin is Step with a different limit of silence.
func (c *Conn) StepWithin(ctx context.Context, quiet time.Duration, name string, limit, expect int64, do func() error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if watch, ok := ctx.Value(watchKey{}).(Watch); ok {
		kind, _, _ := strings.Cut(name, " ")
		ended := watch(ctx, c.Protocol, kind)
		defer func() { ended(err) }()
	}
	c.startStep(quiet, quiet+time.Duration(expect/slowest)*time.Second, limit)
	release := context.AfterFunc(ctx, func() { c.Fail(context.Canceled) })
	err = do()
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

// ReadLine reads up to the end of a line, byte by byte, and returns the line without it. Bytes after a server's consent to
// TLS belong to the handshake: injected plaintext must not become part of the secured dialogue.
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

// startStep starts a step with a limit of silence, a total time and a byte limit.
func (c *Conn) startStep(quiet, whole time.Duration, limit int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.quiet, c.until, c.left = true, quiet, time.Now().Add(whole), limit
	c.extend()
}

// end ends a step. Between steps, silence is unlimited.
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

// Fail closes the connection with a reason.
func (c *Conn) Fail(cause error) {
	c.mu.Lock()
	if c.cause == nil {
		c.cause = cause
	}
	c.mu.Unlock()
	_ = c.Conn.Close()
}

// Why returns the reason for which reading ended, nil if the connection did not cause it.
func (c *Conn) Why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}
