package imap_test

import (
	"context"
	"slices"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire/wiretest"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// memorySink keeps its input, and checks the contract of Take.
type memorySink struct {
	wiretest.Watched
	cursors  map[string]mailserver.Cursor
	mails    map[string][]imap.Mail
	batches  []int // mails of each Take
	statuses []imap.Status
	faults   []string
	takeErr  error
}

func newSink() *memorySink {
	return &memorySink{cursors: map[string]mailserver.Cursor{}, mails: map[string][]imap.Mail{}}
}

func (s *memorySink) Cursor(_ context.Context, folder string) (mailserver.Cursor, error) {
	s.Lock()
	defer s.Unlock()
	return s.cursors[folder], nil
}

func (s *memorySink) Take(_ context.Context, folder string, mails []imap.Mail, next mailserver.Cursor) error {
	s.Lock()
	defer s.Unlock()
	if s.takeErr != nil {
		return s.takeErr
	}
	last := s.cursors[folder]
	if last.UIDValidity != next.UIDValidity {
		last = mailserver.Cursor{UIDValidity: next.UIDValidity}
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
	s.Announce()
	return nil
}

func (s *memorySink) Status(_ context.Context, status imap.Status) {
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

// taken returns a folder's mails, in the order in which they were taken.
func (s *memorySink) taken(t *testing.T, folder string) []imap.Mail {
	t.Helper()
	s.Lock()
	defer s.Unlock()
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
