package testnet

import (
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// Proxy forwards TCP connections to a server, until a method changes that. It is safe for concurrent use.
type Proxy struct {
	addr   string
	target string
	open   conns // both ends of every connection

	mu      sync.Mutex
	state   state
	changed chan struct{} // closed at the next change of state
	count   int
	toward  int64 // bytes passed to the server
	back    int64 // bytes passed to clients
	trips   int
}

type state int

const (
	passing    state = iota
	frozen           // nothing is read, connections stay open
	swallowing       // data from either side is read and discarded
	refusing         // all connections are closed, new ones at once
	mute             // data from the server is discarded
)

// NewProxy starts a proxy to a server, host:port. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{target: target, changed: make(chan struct{})}
	p.addr = Listen(t, p.serve)
	t.Cleanup(func() { // before Listen's, which waits for serve
		p.set(passing)
		p.open.close()
	})
	return p
}

// Addr returns the address the proxy listens on, host:port.
func (p *Proxy) Addr() string { return p.addr }

// ProxyTo starts a proxy to a server with a URL, such as a database, and returns the URL of the proxy.
func ProxyTo(t testing.TB, server string) (p *Proxy, through string) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal("not a URL") // err would show the password
	}
	p = NewProxy(t, u.Host)
	u.Host = p.addr
	return p, u.String()
}

// Freeze stops all traffic without closing connections, like a pulled network cable: writes succeed until buffers are full,
// reads block. New connections are accepted and frozen too.
func (p *Proxy) Freeze() { p.set(frozen) }

// Swallow discards all data, so that writes always succeed and no response arrives.
func (p *Proxy) Swallow() { p.set(swallowing) }

// Mute forwards what clients send and discards the server's responses, so that the server acts but clients never learn of
// it.
func (p *Proxy) Mute() { p.set(mute) }

// Refuse cuts all connections, and each new one, until Pass.
func (p *Proxy) Refuse() {
	p.set(refusing)
	p.Cut()
}

// Pass forwards traffic again: frozen data continues, swallowed data is lost.
func (p *Proxy) Pass() { p.set(passing) }

// Cut resets all open connections; new ones are not affected.
func (p *Proxy) Cut() { p.open.each(Reset) }

// Count returns how many connections were made so far.
func (p *Proxy) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// Passed returns how many bytes went to the server and back so far.
func (p *Proxy) Passed() (toward, back int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.toward, p.back
}

// Trips returns how many round trips there were so far: how often a client sent something after it had heard from the
// server, or first of all.
func (p *Proxy) Trips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips
}

func (p *Proxy) set(s state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
	close(p.changed)
	p.changed = make(chan struct{})
}

// now returns the current state, and a channel that is closed when it changes.
func (p *Proxy) now() (state, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state, p.changed
}

func (p *Proxy) serve(client net.Conn) {
	p.mu.Lock()
	p.count++
	s := p.state
	p.mu.Unlock()
	if s == refusing || !p.open.add(client) {
		Reset(client)
		return
	}
	defer p.open.remove(client)
	server, err := net.Dial("tcp", p.target)
	if err != nil || !p.open.add(server) {
		Reset(client)
		return
	}
	defer p.open.remove(server)
	var both sync.WaitGroup
	asked := false // and the server has not responded
	both.Go(func() {
		p.pass(server, client, func(n int) {
			p.toward += int64(n)
			if !asked {
				p.trips++
			}
			asked = true
		}, passing, mute)
	})
	both.Go(func() {
		p.pass(client, server, func(n int) { p.back, asked = p.back+int64(n), false }, passing)
	})
	both.Wait()
}

// pass copies one direction while the state allows it, and counts before each write, under the lock. At its end it closes the
// write side of to.
func (p *Proxy) pass(to, from net.Conn, count func(n int), open ...state) {
	defer func() {
		p.thawed()
		if tcp, ok := to.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	}()
	b := make([]byte, 32<<10)
	for {
		p.thawed()
		n, err := from.Read(b)
		if s := p.thawed(); slices.Contains(open, s) && n > 0 {
			p.mu.Lock()
			count(n)
			p.mu.Unlock()
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// thawed waits until the proxy is not frozen, and returns its state.
func (p *Proxy) thawed() state {
	for {
		s, changed := p.now()
		if s != frozen {
			return s
		}
		<-changed
	}
}
