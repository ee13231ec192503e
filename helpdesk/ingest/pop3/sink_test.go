package pop3_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/pop3"
)

// memorySink keeps what it is given.
type memorySink struct {
	mu       sync.Mutex
	mails    []pop3.Mail
	batches  []int // mails of each Take
	asked    int   // calls of Known
	statuses []pop3.Status
	changed  chan struct{} // closed at the next change
	takeErr  error
}

func newSink() *memorySink { return &memorySink{changed: make(chan struct{})} }

func (s *memorySink) Known(_ context.Context, ids []string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	var known []string
	for _, m := range s.mails {
		if slices.Contains(ids, m.ID) {
			known = append(known, m.ID)
		}
	}
	return known, nil
}

func (s *memorySink) Take(_ context.Context, mails []pop3.Mail) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.takeErr != nil {
		return s.takeErr
	}
	s.mails = append(s.mails, mails...)
	s.batches = append(s.batches, len(mails))
	s.announce()
	return nil
}

func (s *memorySink) Status(_ context.Context, status pop3.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses = append(s.statuses, status)
	s.announce()
}

func (s *memorySink) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait waits until ok is true; it is asked, under the lock, after every change.
func (s *memorySink) wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	timeout := time.After(60 * time.Second)
	for {
		s.mu.Lock()
		done, changed := ok(), s.changed
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (s *memorySink) taken() []pop3.Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// texts returns the bytes of mails.
func texts(mails []pop3.Mail) []string {
	var texts []string
	for _, mail := range mails {
		texts = append(texts, string(mail.Raw))
	}
	return texts
}

func newSource(t testing.TB, cfg pop3.Config, sink pop3.Sink) *pop3.Source {
	t.Helper()
	source, err := pop3.New(cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func once(t *testing.T, source *pop3.Source) {
	t.Helper()
	if err := source.Once(t.Context()); err != nil {
		t.Fatalf("Once: %v", err)
	}
}

// run runs a source until the test or the returned function ends it.
func run(t *testing.T, source *pop3.Source) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- source.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("Run: %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Error("Run does not end")
			}
		})
	}
	t.Cleanup(stop)
	return stop
}
