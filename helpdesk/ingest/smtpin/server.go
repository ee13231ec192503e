package smtpin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Server receives mail. Create it with [New] and start it with [Server.Run].
type Server struct {
	cfg      Config
	listener net.Listener
	buffered atomic.Int64  // bytes of messages in memory
	large    chan struct{} // semaphore for storing large messages

	mu       sync.Mutex
	sessions map[*session]struct{}
	perPeer  map[netip.Prefix]int // sessions by client
}

// New creates a server and starts listening; connections wait until [Server.Run]. A missing required field of cfg is an
// Invalid fault; a failure to listen is the error of package net.
func New(cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	listener := cfg.Listener
	if listener == nil {
		var err error
		if listener, err = listen(cfg.Listen); err != nil {
			return nil, fmt.Errorf("smtpin: %w", err)
		}
	}
	return &Server{cfg: cfg, listener: listener, sessions: map[*session]struct{}{}, perPeer: map[netip.Prefix]int{},
		large: make(chan struct{}, 1)}, nil
}

// listen listens on a TCP address or a socket. It removes a socket left by a crash, if nothing listens on it.
func listen(address string) (net.Listener, error) {
	path, isSocket := strings.CutPrefix(address, "unix:")
	if !isSocket {
		return net.Listen("tcp", address)
	}
	listener, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		conn, dialErr := net.Dial("unix", path)
		if dialErr == nil {
			_ = conn.Close()
			return nil, err
		}
		if errors.Is(dialErr, syscall.ECONNREFUSED) && os.Remove(path) == nil {
			listener, err = net.Listen("unix", path)
		}
	}
	if err != nil {
		return nil, err
	}
	// The mail server in front runs as another user, usually in the same group.
	return listener, os.Chmod(path, 0o660)
}

// Addr is the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops listening. It is for a server whose Run was never called.
func (s *Server) Close() error { return s.listener.Close() }

// Run receives mail until ctx ends or the listener fails. It then completes messages in transfer within Config.Drain and
// closes all other connections at once. It returns when the last one ended, with the error of ctx or of the listener. A
// server runs only once.
func (s *Server) Run(ctx context.Context) error {
	work, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	stop := context.AfterFunc(ctx, func() { s.listener.Close() })
	defer stop()

	var running sync.WaitGroup
	err := s.accept(ctx, work, &running)
	s.listener.Close()
	s.interrupt()
	ended := make(chan struct{})
	go func() {
		running.Wait()
		close(ended)
	}()
	patience := time.NewTimer(s.cfg.Drain)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
		abort()
		s.abortAll()
		<-ended
	}
	return err
}

// accept starts a session for every connection.
func (s *Server) accept(ctx, work context.Context, running *sync.WaitGroup) error {
	pause := time.Duration(0)
	for {
		conn, err := s.listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return ctx.Err()
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("smtpin: %w", err)
		case err != nil:
			// For example no more file descriptors, which is temporary.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.cfg.Logger.WarnContext(ctx, "smtp: accepting a connection failed", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			continue
		}
		pause = 0
		ss := newSession(s, conn)
		if !s.add(ss) {
			_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = fmt.Fprintf(conn, "421 4.3.2 %s has too many connections, try again later\r\n", s.cfg.Domain)
			conn.Close()
			s.cfg.Logger.WarnContext(ctx, "smtp: too many connections", "max", s.cfg.MaxConnections, "max_per_peer", s.cfg.MaxPerPeer)
			continue
		}
		running.Go(func() {
			defer s.remove(ss)
			ss.run(work)
		})
	}
}

func (s *Server) add(ss *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ss.bounded && s.perPeer[ss.client] >= s.cfg.MaxPerPeer || len(s.sessions) >= s.cfg.MaxConnections && !s.makeRoom() {
		return false
	}
	s.sessions[ss] = struct{}{}
	s.perPeer[ss.client]++
	return true
}

// remove forgets a session before it closes its connection, so that a client that saw the end can connect again at once.
func (s *Server) remove(ss *session) {
	defer ss.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(ss)
}

// forget removes a session. The caller holds the lock.
func (s *Server) forget(ss *session) {
	if _, known := s.sessions[ss]; !known {
		return
	}
	delete(s.sessions, ss)
	if s.perPeer[ss.client]--; s.perPeer[ss.client] == 0 {
		delete(s.perPeer, ss.client)
	}
}

// makeRoom closes the session of the busiest client that has waited longest for a command, so that idle connections do not
// keep others out. The caller holds the lock.
func (s *Server) makeRoom() bool {
	var chosen *session
	var since time.Time
	for ss := range s.sessions {
		at, waits := ss.waits()
		if !waits {
			continue
		}
		more := 1
		if chosen != nil {
			more = s.perPeer[ss.client] - s.perPeer[chosen.client]
		}
		if more > 0 || more == 0 && at.Before(since) {
			chosen, since = ss, at
		}
	}
	if chosen == nil {
		return false
	}
	chosen.interrupt()
	s.forget(chosen)
	return true
}

// interrupt closes the sessions that are not receiving data.
func (s *Server) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ss := range s.sessions {
		ss.interrupt()
	}
}

func (s *Server) abortAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ss := range s.sessions {
		ss.abort()
	}
}

// reserve reserves memory for n bytes of mail.
func (s *Server) reserve(n int64) bool {
	if s.buffered.Add(n) <= s.cfg.MaxBuffered {
		return true
	}
	s.buffered.Add(-n)
	return false
}

func (s *Server) release(n int64) { s.buffered.Add(-n) }
