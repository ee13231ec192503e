package imap_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
)

// memorySink keeps what it is given, and checks what every Take has to keep to.
type memorySink struct {
	mu       sync.Mutex
	cursors  map[string]imap.Cursor
	mails    map[string][]imap.Mail
	batches  []int // mails of each Take
	statuses []imap.Status
	faults   []string
	changed  chan struct{} // closed at the next change
	takeErr  error
}

func newSink() *memorySink {
	return &memorySink{cursors: map[string]imap.Cursor{}, mails: map[string][]imap.Mail{}, changed: make(chan struct{})}
}

func (s *memorySink) Cursor(_ context.Context, folder string) (imap.Cursor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cursors[folder], nil
}

func (s *memorySink) Take(_ context.Context, folder string, mails []imap.Mail, next imap.Cursor) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.takeErr != nil {
		return s.takeErr
	}
	last := s.cursors[folder]
	if last.UIDValidity != next.UIDValidity {
		last = imap.Cursor{UIDValidity: next.UIDValidity}
	}
	if next.UID <= last.UID {
		s.faults = append(s.faults, "the cursor does not move forward")
	}
	for _, mail := range mails {
		if mail.UID <= last.UID || mail.UID > next.UID || mail.UIDValidity != next.UIDValidity || mail.Folder != folder {
			s.faults = append(s.faults, "a mail is not between the cursors")
		}
		last.UID = mail.UID
	}
	s.mails[folder] = append(s.mails[folder], mails...)
	s.batches = append(s.batches, len(mails))
	s.cursors[folder] = next
	s.announce()
	return nil
}

func (s *memorySink) Status(_ context.Context, status imap.Status) {
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
			s.mu.Lock()
			defer s.mu.Unlock()
			var last imap.Status
			if len(s.statuses) > 0 {
				last = s.statuses[len(s.statuses)-1]
			}
			t.Fatalf("waited in vain for %s; the last status: %+v", what, last)
		}
	}
}

// taken returns what a folder's mails are, in the order in which they were taken.
func (s *memorySink) taken(t *testing.T, folder string) []imap.Mail {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fault := range s.faults {
		t.Errorf("Take: %s", fault)
	}
	return slices.Clone(s.mails[folder])
}

// texts returns the bytes of mails.
func texts(mails []imap.Mail) []string {
	var texts []string
	for _, mail := range mails {
		texts = append(texts, string(mail.Raw))
	}
	return texts
}

func newSource(t *testing.T, cfg imap.Config, sink imap.Sink) *imap.Source {
	t.Helper()
	source, err := imap.New(cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// run runs a source until the test or the returned function ends it.
func run(t *testing.T, source *imap.Source) (stop func()) {
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
