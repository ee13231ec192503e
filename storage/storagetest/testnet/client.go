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

// Deaf connects to a server and sends a request, and never reads a byte of the answer. The connection is open until the
// test ends or its owner closes it. Its receive buffer is as small as the system allows, so that an answer of some tens
// of kilobytes cannot be written to the end.
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

// Idle connects to a server and does nothing. The connection is open until the test ends or its owner closes it.
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

// Cutter makes connections that break: each is reset once it has sent the number of bytes given at its beginning. The
// zero value breaks none.
type Cutter struct {
	after atomic.Int64 // bytes; 0: never
}

// After sets the bytes that connections made from now on may send; 0 lets them live.
func (c *Cutter) After(bytes int64) { c.after.Store(bytes) }

// DialContext connects, as [net.Dialer.DialContext] does.
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

// Client is an HTTP client of such connections, a new one for every request.
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
