package main

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
	readyFor   = 3 * time.Second // how long an answer stands, so that asking often costs nothing
	readyLimit = 3 * time.Second // for all checks together
)

// readiness is whether the server can do its work.
type readiness struct {
	checks []readyCheck

	mu    sync.Mutex // one asks at a time, others wait for its answer
	err   error
	last  time.Time
	asked chan error // the answer of checks that took too long; a disk may hang for ever
}

type readyCheck struct {
	what string
	ask  func(context.Context) error
}

var errNoAnswer = errors.New("database or files: no answer in time")

// newReadiness has what the server's work needs checked: both the database and the files have to take what is written.
func (a *app) newReadiness() *readiness {
	return &readiness{checks: []readyCheck{
		{"database", a.db.Ping},
		{"files", func(ctx context.Context) error {
			if a.blobs.Err() != nil {
				return a.blobs.Check(ctx)
			}
			_, err := a.blobs.Put(ctx, "helpwright/probe", strings.NewReader(time.Now().UTC().Format(time.RFC3339)))
			return err
		}},
		{"database", a.db.CheckWrite},
	}}
}

// check is nil when the server is ready, as of a moment ago.
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

// ask does not end with who asks: others get the answer, too.
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

// shownToAll is the text of an error for anybody who asks.
func shownToAll(err error) string {
	what, _, _ := strings.Cut(err.Error(), ":")
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Message != "" {
		return what + ": " + f.Message
	}
	return what
}
