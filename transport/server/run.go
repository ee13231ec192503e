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

// ground is what all other parts stand on.
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

// peers is the part by which other servers know that this one runs.
func (s *Server) peers() []part { return []part{{"other servers", s.stay}} }

// doors are where work comes in. The hub is among them because streams of events that are open must end before the HTTP
// server can.
func (s *Server) doors() []part {
	all := []part{{"events", s.hub.Run}, {"fetching", s.fetcher.Run}}
	for _, intake := range s.intakes {
		all = append(all, part{"intake at " + intake.Addr().String(), intake.Run})
	}
	if l := s.cfg.Listener; l != nil {
		all = append(all, part{"http", func(ctx context.Context) error { return serve(ctx, l, s.handler, s.kept()) }})
	}
	for name, run := range s.cfg.Doors {
		all = append(all, part{name, run})
	}
	return all
}

// refuseLostStore is an error when the store is new and the blobs are another's. Whatever else is wrong with the blobs
// may pass, and who needs them waits.
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

// runStages starts stages one after the other. When ctx ends, or a part of one does, it ends them in the opposite order,
// each when the later ones have ended.
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

// stage is parts that run at the same time.
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

// exceptHandshakes leaves out what anybody can cause who connects: it tells their address, and a host that they make up.
type exceptHandshakes struct{ to io.Writer }

// Write implements [io.Writer].
func (e exceptHandshakes) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("http: TLS handshake error")) {
		return len(line), nil
	}
	return e.to.Write(line)
}

const (
	// drain is how long requests may take when the server is to end.
	drain = 8 * time.Second
	// farewell is how long the server goes on before, without new connections: with each answer it asks for the connection
	// to be closed. A proxy that keeps connections then has none left in use when they are closed, where a request could be lost.
	farewell = 250 * time.Millisecond
)

// Serve serves h on l, with time limits that are fit for the internet, until ctx ends. Then it closes l, asks for open
// connections to be closed for a quarter of a second, and lets requests finish for 8 s. The API extends the limit of an
// answer with each part of it that it writes.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error { return serve(ctx, l, h, nil) }

func serve(ctx context.Context, l net.Listener, h http.Handler, kept keptFunc) error {
	var leaving atomic.Bool
	server := &http.Server{
		Handler: closing(whole(h), &leaving), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 5 * time.Minute, IdleTimeout: idleTimeout, MaxHeaderBytes: 64 << 10,
		WriteTimeout: writeTimeout, ConnContext: withConn, ConnState: turned,
		ErrorLog: log.New(exceptHandshakes{log.Default().Writer()}, "", log.LstdFlags),
	}
	done := make(chan error, 1)
	var sending atomic.Int64
	go func() { done <- server.Serve(wholeListener{l, unless(&leaving, kept), &sending}) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	_ = l.Close() // who connects from now on is refused, and asks another server
	leaving.Store(true)
	time.Sleep(farewell)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		_ = server.Close()
	}
	for sending.Load() > 0 && grace.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// closing asks for connections to be closed while the server is leaving.
func closing(h http.Handler, leaving *atomic.Bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// unless is kept as long as the server is not leaving: its answers do not ask for a connection to be closed.
func unless(leaving *atomic.Bool, kept keptFunc) keptFunc {
	if kept == nil {
		return nil
	}
	return func(w http.ResponseWriter, r *http.Request) bool { return !leaving.Load() && kept(w, r) }
}
