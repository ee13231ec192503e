package testnet

import (
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// Proxy passes TCP connections on to a server, until it is told otherwise. Its methods may be called at any time, from
// any goroutine.
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
}

type state int

const (
	passing    state = iota
	frozen           // nothing is read, connections stay open
	swallowing       // what comes from either side is read and thrown away
	refusing         // new connections are closed at once, and old ones with them
	mute             // what the server says is thrown away
)

// NewProxy starts a proxy to a server, host:port; it ends with the test.
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

// Addr is where the proxy listens, host:port.
func (p *Proxy) Addr() string { return p.addr }

// URL is a server's URL with the proxy in place of the host and port, such as a database's.
func (p *Proxy) URL(t testing.TB, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal("not a URL") // err would show the password
	}
	u.Host = p.addr
	return u.String()
}

// Freeze stops all traffic and closes nothing, as a network does whose cable is pulled: writes succeed until buffers are
// full, reads wait. New connections are accepted, and frozen too.
func (p *Proxy) Freeze() { p.set(frozen) }

// Swallow takes everything and passes nothing on, so that writes succeed for ever and no answer comes.
func (p *Proxy) Swallow() { p.set(swallowing) }

// Mute passes on what clients send and throws away what the server answers, so that it does what nobody hears of.
func (p *Proxy) Mute() { p.set(mute) }

// Refuse cuts all connections, and each new one, until Pass.
func (p *Proxy) Refuse() {
	p.set(refusing)
	p.Cut()
}

// Pass lets traffic through again: what a Freeze held up goes on, what was swallowed is lost.
func (p *Proxy) Pass() { p.set(passing) }

// Cut resets the connections that are open now; new ones are not affected.
func (p *Proxy) Cut() { p.open.each(Reset) }

// Count is how many connections were made so far.
func (p *Proxy) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// Passed is how many bytes went to the server and came back so far.
func (p *Proxy) Passed() (toward, back int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.toward, p.back
}

func (p *Proxy) set(s state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
	close(p.changed)
	p.changed = make(chan struct{})
}

// now is the present state, and a channel that is closed when it changes.
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
	both.Go(func() { p.pass(server, client, &p.toward, passing, mute) })
	both.Go(func() { p.pass(client, server, &p.back, passing) })
	both.Wait()
}

// pass copies one direction in the states that let it through; its end is the other side's end too.
func (p *Proxy) pass(to, from net.Conn, passed *int64, open ...state) {
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
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
			p.mu.Lock()
			*passed += int64(n)
			p.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// thawed waits until nothing is frozen, and returns the state that is then.
func (p *Proxy) thawed() state {
	for {
		s, changed := p.now()
		if s != frozen {
			return s
		}
		<-changed
	}
}
