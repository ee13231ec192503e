package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

const (
	readyFor   = 3 * time.Second // how long an answer is reused, so that frequent checks cost nothing
	readyLimit = 3 * time.Second // for all checks together
)

// readiness checks whether the server can do its work.
type readiness struct {
	checks []readyCheck

	mu    sync.Mutex // held during a check; concurrent callers wait and share its result
	err   error
	last  time.Time
	asked chan error // the result of checks that took too long; a disk may hang forever
}

type readyCheck struct {
	what string
	ask  func(context.Context) error
}

var errNoAnswer = errors.New("database or files: no answer in time")

// newReadiness makes the checks of everything that the server needs: both the store and the files must accept writes.
func (s *Server) newReadiness() *readiness {
	var all []readyCheck
	if store, ok := s.cfg.Store.(interface{ Ping(context.Context) error }); ok {
		all = append(all, readyCheck{"database", store.Ping})
	}
	all = append(all, readyCheck{"files", func(ctx context.Context) error {
		if s.tie != nil && s.tie.Err() != nil {
			return s.tie.Check(ctx)
		}
		_, err := s.blobs.Put(ctx, "helpwright/probe", strings.NewReader(time.Now().UTC().Format(time.RFC3339)))
		return err
	}})
	if store, ok := s.cfg.Store.(interface{ CheckWrite(context.Context) error }); ok {
		all = append(all, readyCheck{"database", store.CheckWrite})
	}
	return &readiness{checks: all}
}

// check returns nil if the server is ready, as of a moment ago.
func (r *readiness) check(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.last) < readyFor {
		return r.err
	}
	if r.asked == nil {
		r.asked = make(chan error, 1)
		go func(to chan<- error) { to <- r.ask(ctx) }(r.asked)
	}
	timer := time.NewTimer(readyLimit + time.Second)
	defer timer.Stop()
	select {
	case r.err = <-r.asked:
		r.asked = nil
	case <-timer.C:
		r.err = errNoAnswer
	}
	r.last = time.Now()
	return r.err
}

// ask is independent of the caller's context: others get the answer, too.
func (r *readiness) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyLimit)
	defer cancel()
	for _, c := range r.checks {
		if err := c.ask(ctx); err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
	}
	return nil
}

// shownToAll returns the part of an error that may be shown to anyone.
func shownToAll(err error) string {
	what, _, _ := strings.Cut(err.Error(), ":")
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Message != "" {
		return what + ": " + f.Message
	}
	return what
}
