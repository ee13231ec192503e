package pop3

import (
	"context"
	"errors"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
)

// Mail is a message as stored on the server.
type Mail struct {
	ID       string // the server's unique id; a second message with the same id has the suffix " 2"
	Raw      []byte // the whole message, except with Oversize or Problem; the sink may keep it
	Size     int64  // as reported by the server, -1 if unknown; of a whole message the length of Raw
	Oversize bool   // larger than Config.MaxMessage: Raw contains only the header, at most 1 MiB, or nothing
	Problem  string // why it could not be fetched completely; Raw contains the header or nothing. "": complete
}

// Sink takes the messages. A Source calls Known and Take from one goroutine at a time.
type Sink interface {
	// Known returns those of the ids, at most 500, whose messages Take has stored.
	Known(ctx context.Context, ids []string) ([]string, error)
	// Take makes a batch durable before it returns. After an error the same messages come again.
	Take(ctx context.Context, mails []Mail) error
	// Status is called with every change. ctx may have ended.
	Status(ctx context.Context, s Status)
}

// Status is the state of a Source. Connected means that the last poll succeeded; there is no connection between polls. The
// counts are since New.
type Status struct {
	wire.Status
	Exists   int    // messages on the server
	Taken    uint64 // all messages that the sink has taken
	Oversize uint64 // of these, with only a header because of their size
	Problems uint64 // of these, with a Problem
}

// Source reads one maildrop. Its methods may be called concurrently; the server admits one at a time.
type Source struct {
	cfg    Config
	sink   Sink
	report *wire.Reporter[Status]
}

// New returns a source, which does not connect yet. Its error lists all problems of the configuration.
func New(cfg Config, sink Sink) (*Source, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if sink == nil {
		return nil, errors.New("pop3: no sink")
	}
	report := wire.NewReporter(wire.ReporterConfig[Status]{
		Protocol: protocol, Host: cfg.Host, Sink: sink.Status, Known: []error{ErrNoUIDL},
		Common:     func(st *Status) *wire.Status { return &st.Status },
		Copy:       func(st Status) Status { return st },
		BackoffMin: cfg.BackoffMin, BackoffMax: cfg.BackoffMax, Now: cfg.Now, Rand: cfg.Rand, Logger: cfg.Logger,
	}, Status{})
	return &Source{cfg: cfg, sink: sink, report: report}, nil
}

// Run imports new messages until ctx ends, polling the maildrop every PollInterval. It returns ctx's error.
func (s *Source) Run(ctx context.Context) error {
	known := map[string]bool{}
	return s.report.Repeat(ctx, func(ctx context.Context) (pause time.Duration, progress bool, err error) {
		before := s.Status().Taken
		w := &worker{Source: s, known: known}
		err = s.cfg.Work(ctx, w.poll)
		known = w.known
		return max(s.cfg.PollInterval, w.delay), s.Status().Taken != before, err
	})
}

// Once reads the maildrop to its end.
func (s *Source) Once(ctx context.Context) error {
	err := (&worker{Source: s, known: map[string]bool{}}).poll(ctx)
	if err != nil && ctx.Err() == nil {
		s.report.Failed(ctx, err)
	}
	return err
}

// Fetch fetches one message again, such as one delivered with a Problem, without the sink. [wire.ErrGone] if it no longer
// exists.
func (s *Source) Fetch(ctx context.Context, id string) (Mail, error) {
	w := &worker{Source: s}
	defer w.close(ctx)
	sess, err := w.open(ctx)
	if err != nil {
		return Mail{}, err
	}
	number := sess.number[id]
	if number == 0 {
		return Mail{}, &wire.StepError{Protocol: protocol, Step: StepFetch, Err: wire.ErrGone}
	}
	if err := sess.sizes(ctx); err != nil {
		return Mail{}, err
	}
	return w.alone(ctx, sess.entries[number-1])
}

// List returns the ids of all messages on the server.
func (s *Source) List(ctx context.Context) ([]string, error) {
	w := &worker{Source: s}
	defer w.close(ctx)
	sess, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(sess.number))
	for _, e := range sess.entries {
		if e.id != "" {
			ids = append(ids, e.id)
		}
	}
	return ids, nil
}

// Status returns the current state.
func (s *Source) Status() Status { return s.report.Status() }

// Test tests a configuration: it connects, logs in and lists the messages. Its error is that of the configuration, a
// *wire.StepError with the failed step, or ctx's.
func Test(ctx context.Context, cfg Config) error {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return err
	}
	sess, err := connect(ctx, &cfg)
	if err != nil {
		return err
	}
	if err := sess.list(ctx); err != nil {
		sess.abort()
		return err
	}
	sess.quit(ctx)
	return nil
}
