package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/transport/server"
)

// notes writes notes, first on an idle server and then while mails are imported.
func notes(ctx context.Context, w *world) ([]time.Duration, error) {
	ids, err := w.some(ctx, 1000)
	if err != nil {
		return nil, err
	}
	write := func(n int) error {
		_, err := w.at.desk.Interactions().Create(ctx, ids[n%len(ids)], helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: someText})
		return err
	}
	quiet, err := atOnce(ctx, w.cfg.Time, 1, write)
	if err != nil {
		return nil, err
	}
	during, stop := context.WithCancel(ctx)
	imported := make(chan error, 1)
	go func() {
		for during.Err() == nil {
			if err := w.file(ctx, w.at, w.fresh(w.batch())); err != nil {
				imported <- err
				return
			}
		}
		imported <- nil
	}()
	busy, err := atOnce(ctx, w.cfg.Time, 1, write)
	stop()
	if err := errors.Join(err, <-imported); err != nil {
		return nil, err
	}
	return []time.Duration{quantile(quiet, 0.5), quantile(busy, 0.5)}, nil
}

// reader reads a stream of events and counts them.
type reader struct {
	header http.Header
	events *atomic.Int64
	begun  func()
}

// Header implements [http.ResponseWriter].
func (r *reader) Header() http.Header { return r.header }

// WriteHeader implements [http.ResponseWriter].
func (r *reader) WriteHeader(int) {}

// Write implements [http.ResponseWriter].
func (r *reader) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("retry:")) {
		r.begun()
	}
	r.events.Add(int64(bytes.Count(p, []byte("\ndata: "))))
	return len(p), nil
}

// Flush implements [http.Flusher].
func (r *reader) Flush() {}

// eventsAtOnce is the number of events with which a stream is measured.
const eventsAtOnce = 100

// stream sends events to many readers at once, and returns the processor time of an event for all of them.
func stream(ctx context.Context, w *world) ([]time.Duration, error) {
	var work time.Duration
	err := w.running(ctx, func(ctx context.Context) error {
		ctx, leave := context.WithCancel(ctx)
		defer leave()
		var all, begun sync.WaitGroup
		defer all.Wait()
		defer leave()
		var seen atomic.Int64
		for i := range w.cfg.Readers {
			begun.Add(1)
			all.Go(func() {
				token := w.at.tokens[i%len(w.at.tokens)]
				err := w.follow(ctx, token, &reader{header: http.Header{}, events: &seen, begun: begun.Done})
				if ctx.Err() == nil || err != nil {
					leave() // otherwise all would wait for the events that it does not read
				}
			})
		}
		if err := waited(ctx, &begun); err != nil {
			return err
		}
		ids, err := w.some(ctx, eventsAtOnce)
		if err != nil {
			return err
		}
		before := cpu()
		for _, id := range ids {
			if _, err := w.at.desk.Conversations().SetTags(ctx, id, w.at.tags[:1]); err != nil {
				return err
			}
			if _, err := w.at.desk.Conversations().SetTags(ctx, id, nil); err != nil {
				return err
			}
		}
		events := int64(len(ids)) // at least one of the two changes something
		err = until(ctx, func() (bool, error) { return seen.Load() >= events*int64(w.cfg.Readers), nil })
		time.Sleep(50 * time.Millisecond) // for more events than that
		work = (cpu() - before) / time.Duration(max(1, seen.Load()/int64(w.cfg.Readers)))
		return err
	})
	return []time.Duration{work}, err
}

// waited waits for a group, or for the end of ctx.
func waited(ctx context.Context, group *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// follow reads the event stream of the measured account until ctx ends.
func (w *world) follow(ctx context.Context, token string, to http.ResponseWriter) error {
	target := fmt.Sprintf("http://desk.example.org%s/realtime?channel=accounts.%d", server.APIBase, w.at.id)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	req.RequestURI, req.RemoteAddr = req.URL.RequestURI(), "127.0.0.1:9"
	req.Header.Set("Authorization", "Bearer "+token)
	w.srv.Handler().ServeHTTP(to, req)
	return nil
}
