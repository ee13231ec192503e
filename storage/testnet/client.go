package testnet

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// Deaf connects to a server, sends a request and never reads the response. The connection stays open until the test ends or
// the caller closes it. Its receive buffer is as small as the system allows, so that a response of some tens of kilobytes
// blocks the server.
func Deaf(t testing.TB, addr, request string) net.Conn {
	t.Helper()
	conn := dial(t, addr)
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(1)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatalf("send a request: %v", err)
	}
	return conn
}

// Idle connects to a server and does nothing. The connection stays open until the test ends or the caller closes it.
func Idle(t testing.TB, addr string) net.Conn {
	t.Helper()
	return dial(t, addr)
}

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Cutter opens connections that break: each is reset after sending the number of bytes set when it was opened. The zero
// value breaks none.
type Cutter struct {
	after atomic.Int64 // bytes; 0: never
}

// After sets how many bytes connections opened from now on may send; 0 means no limit.
func (c *Cutter) After(bytes int64) { c.after.Store(bytes) }

// DialContext connects like [net.Dialer.DialContext].
func (c *Cutter) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if after := c.after.Load(); after > 0 {
		return &cutConn{Conn: conn, left: after}, nil
	}
	return conn, nil
}

// Client returns an HTTP client that uses such a connection for every request.
func (c *Cutter) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: c.DialContext, DisableKeepAlives: true}}
}

// cutConn resets itself after a number of bytes written.
type cutConn struct {
	net.Conn
	left int64 // used by one writer at a time
}

// Write implements net.Conn.
func (c *cutConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	if c.left == 0 && err == nil {
		Reset(c.Conn)
		if n < len(b) {
			return n, net.ErrClosed
		}
	}
	return n, err
}
