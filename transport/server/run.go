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
	// drain limits how long requests may take once the server ends.
	drain = 8 * time.Second
	// beat and quietBeats: before it closes idle connections, a server that leaves waits for ten beats without a request,
	// and at most for mostBeats. It counts beats rather than time: where the machine stalls, so does the count.
	beat       = 25 * time.Millisecond
	quietBeats = 10
	mostBeats  = 100
)

// Serve serves h on l, with time limits that are fit for the internet, until ctx ends. Then it closes l, answers what
// comes on open connections and asks for each to be closed, until none has sent a request for a quarter of a second or 2.5 s
// have passed. Requests under way then have 8 s to finish. The API extends the limit of an answer with each part of it that
// it writes.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error { return serve(ctx, l, h, nil) }

func serve(ctx context.Context, l net.Listener, h http.Handler, kept keptFunc) error {
	var leave leaving
	server := &http.Server{
		Handler: leave.closing(whole(h)), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 5 * time.Minute, IdleTimeout: idleTimeout, MaxHeaderBytes: 64 << 10,
		WriteTimeout: writeTimeout, ConnContext: withConn, ConnState: turned,
		ErrorLog: log.New(exceptHandshakes{log.Default().Writer()}, "", log.LstdFlags),
	}
	done := make(chan error, 1)
	var sending atomic.Int64
	go func() { done <- server.Serve(wholeListener{l, leave.unless(kept), &sending}) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	leave.begun.Store(true)
	_ = l.Close() // clients that connect from now on are refused, and ask another server
	leave.wait()
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

// leaving empties the pools of proxies before a server ends. A proxy that sends a request on a connection just when the
// server closes it must not send it again if it writes something (RFC 9110, section 9.2.2), and fails it. So each connection
// is closed with the next answer that it brings, and the rest when none is used any more.
type leaving struct {
	begun atomic.Bool
	asked atomic.Int64 // requests that began or ended since
}

// closing asks for connections to be closed once the server is leaving.
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

// wait returns when no connection is used any more, or after mostBeats.
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

// unless is kept as long as the server is not leaving: its answers do not ask for a connection to be closed.
func (l *leaving) unless(kept keptFunc) keptFunc {
	if kept == nil {
		return nil
	}
	return func(w http.ResponseWriter, r *http.Request) bool { return !l.begun.Load() && kept(w, r) }
}
