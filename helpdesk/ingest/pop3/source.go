package pop3

import (
	"context"
	"errors"
	"log/slog"
	"sync"
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
	cfg  Config
	sink Sink

	mu     sync.Mutex
	status Status
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
	return &Source{cfg: cfg, sink: sink}, nil
}

// Run imports new messages until ctx ends, polling the maildrop every PollInterval. It returns ctx's error.
func (s *Source) Run(ctx context.Context) error {
	known := map[string]bool{}
	for failures := 0; ctx.Err() == nil; {
		before := s.Status().Taken
		w := &worker{Source: s, known: known}
		err := s.cfg.Work(ctx, w.poll)
		known = w.known
		if ctx.Err() != nil {
			break
		}
		if err == nil {
			failures = 0
			wire.Sleep(ctx, max(s.cfg.PollInterval, w.delay))
			continue
		}
		if s.Status().Taken != before {
			failures = 0
		}
		wait := wire.Backoff(s.cfg.BackoffMin, s.cfg.BackoffMax, failures, err, s.cfg.Rand())
		failures++
		s.failed(ctx, err, wait)
		wire.Sleep(ctx, wait)
	}
	s.update(context.WithoutCancel(ctx), func(st *Status) { st.Connected, st.NextTry = false, time.Time{} })
	return ctx.Err()
}

// Once reads the maildrop to its end.
func (s *Source) Once(ctx context.Context) error {
	err := (&worker{Source: s, known: map[string]bool{}}).poll(ctx)
	if err != nil && ctx.Err() == nil {
		s.update(ctx, func(st *Status) { st.LastError, st.LastErrorAt = err, s.now() })
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
func (s *Source) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

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

func (s *Source) failed(ctx context.Context, err error, wait time.Duration) {
	step, why := reason(err)
	s.cfg.Logger.WarnContext(ctx, "pop3: connection failed", "host", s.cfg.Host, "step", step, "reason", why, "wait", wait)
	s.update(ctx, func(st *Status) {
		now := s.now()
		st.Connected, st.LastError, st.LastErrorAt, st.NextTry = false, err, now, now.Add(wait)
	})
}

// update changes the status and passes it to the sink.
func (s *Source) update(ctx context.Context, change func(*Status)) {
	s.mu.Lock()
	change(&s.status)
	s.mu.Unlock()
	s.sink.Status(ctx, s.Status())
}

func (s *Source) now() time.Time { return s.cfg.Now().UTC() }

// reason returns err without text from the server or a message, for a log.
func reason(err error) (step, why string) { return wire.Reason(err, ErrNoUIDL) }

func (s *Source) warn(ctx context.Context, message string, err error) {
	step, why := reason(err)
	s.cfg.Logger.Log(ctx, slog.LevelWarn, message, "host", s.cfg.Host, "step", step, "reason", why)
}
