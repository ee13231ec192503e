// Package testnet has the networks and the peers that tests of robustness need: a TCP proxy that freezes, swallows or
// cuts connections, servers that say nothing or never stop talking, and clients that go away in the middle of a request
// or never read the answer. All of it listens on 127.0.0.1 and ends with its test.
package testnet

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Listen serves connections to a port of 127.0.0.1 until the test ends: then it closes them and waits for serve. It
// returns the address, host:port.
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

// Silent is the address of a server that takes connections and what is sent on them, and never answers.
func Silent(t testing.TB) (addr string) {
	return Listen(t, func(conn net.Conn) { discard(conn) })
}

// Flood is the address of a server that says first to everyone who connects, and then again and again until the client
// goes away or limit bytes are sent; afterwards it is silent. It never waits to be asked.
func Flood(t testing.TB, first, again string, limit int64) (addr string) {
	return Listen(t, func(conn net.Conn) {
		go discard(conn)
		text := []byte(first)
		block := []byte(again)
		for len(block) > 0 && len(block) < 32<<10 { // few system calls
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

// Drip is the address of a server that says a text over and over, a byte at a time with a pause after each, to everyone
// who connects and until they go away.
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

// Reset closes a connection at once with RST: what was sent and not yet read is lost, as when a machine dies.
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
