package imap

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// Mail is a message as stored on the server.
type Mail struct {
	Folder           string // as in Config.Folders, INBOX in capitals
	UIDValidity, UID uint32
	Raw              []byte    // the whole message, except with Oversize or Problem; the sink may keep it
	Size             int64     // RFC822.SIZE as reported by the server; of a whole message the length of Raw
	Arrived          time.Time // INTERNALDATE: when the server received it; zero if unknown
	Oversize         bool      // larger than Config.MaxMessage: Raw contains only the header, at most 1 MiB
	Problem          string    // why it could not be fetched completely; Raw contains the header or nothing. "": complete
}

// Sink takes the messages. A Source calls Cursor and Take from one goroutine at a time.
type Sink interface {
	// Cursor returns the cursor stored by the folder's last Take, or the zero Cursor.
	Cursor(ctx context.Context, folder string) (mailserver.Cursor, error)
	// Take makes a batch of one folder, in ascending order of UID, durable together with the cursor after it, before it
	// returns. mails may be empty if the messages up to the cursor no longer exist. After an error the same messages come
	// again. When the server renumbers the folder, all messages come again under another UIDVALIDITY; the sink must recognize
	// those already taken.
	Take(ctx context.Context, folder string, mails []Mail, next mailserver.Cursor) error
	// Status is called with every change. ctx may have ended.
	Status(ctx context.Context, s Status)
}

// Status is the state of a Source. Connected means that Run is logged in; the last success is when all folders were last
// read to their end.
type Status struct {
	wire.Status
	Folders []FolderStatus
}

// FolderStatus is the state of one folder. The counts are since New.
type FolderStatus struct {
	Name        string
	Exists      uint32 // messages on the server
	Cursor      mailserver.Cursor
	LastSuccess time.Time
	LastError   error  // nil after a success
	Taken       uint64 // all messages that the sink has taken
	Oversize    uint64 // of these, with only a header because of their size
	Problems    uint64 // of these, with a Problem
}

// Source reads the folders of one mailbox. Its methods may be called concurrently; only one of them reads a folder at a
// time.
type Source struct {
	cfg     Config
	sink    Sink
	reading chan struct{} // holds a value while a folder is read
	report  *wire.Reporter[Status]
}

// New returns a source, which does not connect yet. Its error lists all problems of the configuration.
func New(cfg Config, sink Sink) (*Source, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if sink == nil {
		return nil, errors.New("imap: no sink")
	}
	var status Status
	for _, name := range cfg.Folders {
		status.Folders = append(status.Folders, FolderStatus{Name: name})
	}
	report := wire.NewReporter(wire.ReporterConfig[Status]{
		Protocol: protocol, Host: cfg.Host, Sink: sink.Status, Known: []error{ErrNoUIDs},
		Common:     func(st *Status) *wire.Status { return &st.Status },
		Copy:       func(st Status) Status { st.Folders = slices.Clone(st.Folders); return st },
		BackoffMin: cfg.BackoffMin, BackoffMax: cfg.BackoffMax, Now: cfg.Now, Rand: cfg.Rand, Logger: cfg.Logger,
	}, status)
	return &Source{cfg: cfg, sink: sink, reading: make(chan struct{}, 1), report: report}, nil
}

// Run imports new messages until ctx ends, and reconnects after each failure. It returns ctx's error, after everything it
// started has ended.
func (s *Source) Run(ctx context.Context) error {
	return s.report.Repeat(ctx, func(ctx context.Context) (pause time.Duration, progress bool, err error) {
		w := &worker{Source: s, running: true}
		defer w.abort()
		rounds, err := w.serve(ctx)
		return s.cfg.BackoffMin, rounds > 0, err
	})
}

// Once reads every folder to its end, over a separate connection. It returns the errors of the folders that could not be
// read; the others were read.
func (s *Source) Once(ctx context.Context) error {
	w := &worker{Source: s}
	err := w.all(ctx)
	if w.sess != nil && ctx.Err() == nil {
		w.sess.logOut(ctx)
	}
	w.abort()
	if err != nil {
		s.report.Failed(ctx, err)
	}
	return err
}

// Fetch fetches one message again, such as one delivered with a Problem, over a separate connection and without the sink.
// The message is named by its folder and position; [ErrGone] if it no longer exists.
func (s *Source) Fetch(ctx context.Context, folder string, at mailserver.Cursor) (Mail, error) {
	w := &worker{Source: s}
	defer w.abort()
	f, err := w.open(ctx, folder)
	if err != nil {
		return Mail{}, err
	}
	if f.validity != at.UIDValidity {
		return Mail{}, stepError(StepSelect+" "+folder, ErrGone)
	}
	mail, err := (&batch{worker: w, folder: f}).alone(ctx, at.UID)
	if err != nil {
		return Mail{}, err
	}
	mail.Folder, mail.UIDValidity = folder, f.validity
	return mail, nil
}

// Status returns the current state.
func (s *Source) Status() Status { return s.report.Status() }

// Test tests a configuration: it connects, logs in and opens each folder. Its error is that of the configuration, a
// *StepError with the failed step, or ctx's.
func Test(ctx context.Context, cfg Config) error {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return err
	}
	sess, err := connect(ctx, &cfg)
	if err != nil {
		return err
	}
	defer sess.abort()
	for _, name := range cfg.Folders {
		if _, err := sess.examine(ctx, name); err != nil {
			return err
		}
	}
	sess.logOut(ctx)
	return nil
}

func (s *Source) updateFolder(ctx context.Context, name string, change func(*FolderStatus)) {
	s.report.Update(ctx, func(st *Status) {
		i := slices.IndexFunc(st.Folders, func(f FolderStatus) bool { return f.Name == name })
		change(&st.Folders[i])
	})
}

// lock waits until no other goroutine reads a folder.
func (s *Source) lock(ctx context.Context) error {
	select {
	case s.reading <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Source) unlock() { <-s.reading }

func (s *Source) now() time.Time { return s.cfg.Now().UTC() }
