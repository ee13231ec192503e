package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fault"
)

// part is something that runs until its context ends.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// ground starts the parts that all others depend on.
func (s *Server) ground() []part {
	var all []part
	if store, ok := s.cfg.Store.(interface{ Run(context.Context) error }); ok {
		all = append(all, part{"store", store.Run})
	}
	if s.tie != nil {
		all = append(all, part{"files", s.tie.Run})
	}
	return all
}

// peers is the part that publishes this server to the others on the store.
func (s *Server) peers() []part { return []part{{"other servers", s.stay}} }

// doors are the parts that receive work from outside. The hub is among them because open streams of events must end before
// the HTTP server can.
func (s *Server) doors() []part {
	all := []part{{"events", s.hub.Run}, {"fetching", s.fetcher.Run}}
	for _, intake := range s.intakes {
		all = append(all, part{"intake at " + intake.Addr().String(), intake.Run})
	}
	if l := s.cfg.Listener; l != nil {
		all = append(all, part{"http", func(ctx context.Context) error { return Serve(ctx, l, s.handler) }})
	}
	for name, run := range s.cfg.Doors {
		all = append(all, part{name, run})
	}
	return all
}

// refuseLostStore returns an error if the store is new and the blobs belong to another one. Other errors of the blobs may be
// temporary, and whatever needs the blobs waits.
func (s *Server) refuseLostStore(ctx context.Context) error {
	if s.tie == nil {
		return nil
	}
	err := s.tie.Check(ctx)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == blobs.CodeNewDatabase {
		return err
	}
	return nil
}

// refuseWrongStore returns an error if the store cannot be correct with its settings. A store that does not answer may do so
// later.
func (s *Server) refuseWrongStore(ctx context.Context) error {
	if store, ok := s.cfg.Store.(interface{ Ping(context.Context) error }); ok {
		if err := store.Ping(ctx); fault.Is(err, fault.Disabled) {
			return err
		}
	}
	return nil
}

// runStages starts stages one after the other. When ctx or a part ends, it ends them in the opposite order, each after all
// later ones have ended.
func runStages(ctx context.Context, stages ...[]part) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running := make([]*stage, len(stages))
	for i, parts := range stages {
		running[i] = start(context.WithoutCancel(ctx), parts, cancel)
	}
	<-ctx.Done()
	var err error
	for _, s := range slices.Backward(running) {
		err = errors.Join(err, s.stop())
	}
	return err
}

// stage is a set of parts that run at the same time.
type stage struct {
	cancel context.CancelFunc
	wait   sync.WaitGroup
	errs   []error
}

// start runs parts, and calls ended when one of them ends.
func start(ctx context.Context, parts []part, ended func()) *stage {
	ctx, cancel := context.WithCancel(ctx)
	s := &stage{cancel: cancel, errs: make([]error, len(parts))}
	for i, p := range parts {
		s.wait.Go(func() {
			defer ended()
			if err := p.run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				s.errs[i] = fmt.Errorf("%s: %w", p.name, err)
			}
		})
	}
	return s
}

// stop ends the parts and returns their errors.
func (s *stage) stop() error {
	s.cancel()
	s.wait.Wait()
	return errors.Join(s.errs...)
}

// exceptHandshakes drops log lines that any client can cause: they contain its address and a host that it can choose.
type exceptHandshakes struct{ to io.Writer }

// Write implements [io.Writer].
func (e exceptHandshakes) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("http: TLS handshake error")) {
		return len(line), nil
	}
	return e.to.Write(line)
}

const (
	// drain is how long requests may still take after the server begins to shut down.
	drain = 8 * time.Second
	// beat and quietBeats: before it closes idle connections, a server that shuts down waits for ten beats without a request,
	// and for at most mostBeats. It counts beats rather than time: if the machine stalls, so does the count.
	beat       = 25 * time.Millisecond
	quietBeats = 10
	mostBeats  = 100
)

// Serve serves h on l, with time limits that are fit for the internet, until ctx ends. Then it closes l and continues to
// answer requests on open connections, asking for each connection to be closed, until there was no request for a quarter of
// a second or 2.5 s have passed. Requests under way then have 8 s to finish. The API extends the limit of an answer with
// each part of it that it writes.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	var leave leaving
	server := &http.Server{
		Handler: leave.closing(h), MaxHeaderBytes: 64 << 10,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 5 * time.Minute, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		ErrorLog: log.New(exceptHandshakes{log.Default().Writer()}, "", log.LstdFlags),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	leave.begun.Store(true)
	_ = l.Close() // clients that connect from now on are refused, and try another server
	leave.wait()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		_ = server.Close()
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// leaving empties the connection pools of proxies before a server ends. If the server closes a connection just when a proxy
// sends a request on it, the proxy must not repeat the request unless it is idempotent (RFC 9110, section 9.2.2), and so it
// fails. Therefore each connection is closed with its next answer, and the rest once no connection is in use.
type leaving struct {
	begun atomic.Bool
	asked atomic.Int64 // requests that began or ended since begun
}

// closing asks clients to close their connections once the server shuts down.
func (l *leaving) closing(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.begun.Load() {
			w.Header().Set("Connection", "close")
			l.asked.Add(1)
		}
		h.ServeHTTP(w, r)
		if l.begun.Load() {
			l.asked.Add(1)
		}
	})
}

// wait returns when no connection is in use, or after mostBeats.
func (l *leaving) wait() {
	quiet := 0
	for n, asked := 0, l.asked.Load(); n < mostBeats && quiet < quietBeats; n++ {
		time.Sleep(beat)
		quiet++
		if now := l.asked.Load(); now != asked {
			quiet, asked = 0, now
		}
	}
}
