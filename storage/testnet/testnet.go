// Package testnet provides faulty networks and peers for robustness tests: a TCP proxy that freezes, swallows or cuts
// connections, servers that never answer or never stop sending, and clients that disconnect during a request or never read
// the response. Everything listens on 127.0.0.1 and ends with its test.
package testnet

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Listen serves connections on a port of 127.0.0.1 until the test ends; then it closes them and waits for serve to return.
// It returns the address, host:port.
func Listen(t testing.TB, serve func(net.Conn)) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open conns
	open.wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if open.add(conn) {
				open.wait.Go(func() {
					defer open.remove(conn)
					serve(conn)
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		open.close()
	})
	return listener.Addr().String()
}

// Silent starts a server that accepts connections and data but never answers. It returns its address.
func Silent(t testing.TB) (addr string) {
	return Listen(t, func(conn net.Conn) { discard(conn) })
}

// Flood starts a server that sends first to every client, and then again repeatedly until the client disconnects or limit
// bytes are sent; after that it is silent. It does not wait for requests. It returns its address.
func Flood(t testing.TB, first, again string, limit int64) (addr string) {
	return Listen(t, func(conn net.Conn) {
		go discard(conn)
		text := []byte(first)
		block := []byte(again)
		for len(block) > 0 && len(block) < 32<<10 { // saves system calls
			block = append(block, again...)
		}
		for sent := int64(0); sent < limit; {
			text = text[:min(int64(len(text)), limit-sent)]
			n, err := conn.Write(text)
			if err != nil || len(block) == 0 {
				break
			}
			sent += int64(n)
			text = block
		}
		discard(conn)
	})
}

// Drip starts a server that sends first and then again repeatedly to every client, one byte at a time with a pause after
// each, until the client disconnects. It returns its address.
func Drip(t testing.TB, first, again string, pause time.Duration) (addr string) {
	return Listen(t, func(conn net.Conn) {
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			discard(conn)
		}()
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for text := first; ; text = again {
			for i := range len(text) {
				select {
				case <-gone:
					return
				case <-tick.C:
				}
				if _, err := conn.Write([]byte{text[i]}); err != nil {
					return
				}
			}
		}
	})
}

// discard reads until the connection ends.
func discard(conn net.Conn) {
	b := make([]byte, 32<<10)
	for {
		if _, err := conn.Read(b); err != nil {
			return
		}
	}
}

// Reset closes a connection at once with RST: sent data that was not read yet is lost, as when a machine crashes.
func Reset(conn net.Conn) {
	if tcp, ok := conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// conns are the open connections of one server.
type conns struct {
	wait sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]struct{}
}

// add notes a connection; after close it closes it instead.
func (c *conns) add(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = conn.Close()
		return false
	}
	if c.open == nil {
		c.open = map[net.Conn]struct{}{}
	}
	c.open[conn] = struct{}{}
	return true
}

func (c *conns) remove(conn net.Conn) {
	c.mu.Lock()
	delete(c.open, conn)
	c.mu.Unlock()
	_ = conn.Close()
}

func (c *conns) each(fn func(net.Conn)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		fn(conn)
	}
}

func (c *conns) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.each(func(conn net.Conn) { _ = conn.Close() })
	c.wait.Wait()
}
