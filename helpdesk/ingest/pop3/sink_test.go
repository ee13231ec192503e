package pop3_test

import (
	"context"
	"slices"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire/wiretest"
	"github.com/helpwright/helpwright/helpdesk/ingest/pop3"
)

// memorySink keeps its input.
type memorySink struct {
	wiretest.Watched
	mails    []pop3.Mail
	batches  []int // mails of each Take
	asked    int   // calls of Known
	statuses []pop3.Status
	takeErr  error
}

func newSink() *memorySink { return &memorySink{} }

func (s *memorySink) Known(_ context.Context, ids []string) ([]string, error) {
	s.Lock()
	defer s.Unlock()
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
	s.Lock()
	defer s.Unlock()
	if s.takeErr != nil {
		return s.takeErr
	}
	s.mails = append(s.mails, mails...)
	s.batches = append(s.batches, len(mails))
	s.Announce()
	return nil
}

func (s *memorySink) Status(_ context.Context, status pop3.Status) {
	s.Lock()
	defer s.Unlock()
	s.statuses = append(s.statuses, status)
	s.Announce()
}

// wait waits until ok, which is called under the lock after every change, returns true.
func (s *memorySink) wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	s.Wait(t, what, ok, func() any { return s.statuses[max(0, len(s.statuses)-1):] })
}

func (s *memorySink) taken() []pop3.Mail {
	s.Lock()
	defer s.Unlock()
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
