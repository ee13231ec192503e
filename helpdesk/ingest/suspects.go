package ingest

import (
	"context"
	"log/slog"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// suspects fetches mailboxes suspected of crashes one at a time, so that the next crash identifies the cause.
type suspects struct {
	turn  chan struct{} // holds a value during a fetch
	pause time.Duration // interval of checking whether a mailbox is still parked
}

func newSuspects(pause time.Duration) suspects {
	return suspects{turn: make(chan struct{}, 1), pause: pause}
}

// patience is how long a suspect waits for its turn, so that a slow server does not block the others forever.
const patience = time.Minute

// wait waits for a turn, which end ends.
func (s *suspects) wait(ctx context.Context) (end func()) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }
	case <-ctx.Done():
	case <-time.After(patience):
	}
	return func() {}
}

// work implements [imap.Config].Work and [pop3.Config].Work: it records that this process works on the mailbox, and waits
// while the mailbox is parked.
func (l *mailboxLedger) work(ctx context.Context, do func(context.Context) error) error {
	alone := false
	for {
		leave, err := l.intake.BeginFetch(ctx, l.accountID, l.mailboxID, alone)
		switch {
		case err != nil:
			return err
		case leave.Parked:
			wire.Sleep(ctx, l.suspects.pause)
		case leave.Suspect && !alone:
			defer l.suspects.wait(ctx)()
			alone = true
		default:
			return l.noted(ctx, do)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// noted does the work between BeginFetch and EndFetch.
func (l *mailboxLedger) noted(ctx context.Context, do func(context.Context) error) (err error) {
	done := false
	if l.tracer != nil {
		var span storage.Span
		ctx, span = l.tracer.Start(ctx, "fetch mails", storage.SpanInternal, slog.Int64("helpwright.mailbox.id", l.mailboxID))
		defer func() { span.End(err) }()
		ctx = wire.Watched(ctx, func(ctx context.Context, protocol, step string) func(error) {
			_, span := l.tracer.Start(ctx, protocol+" "+step, storage.SpanClient)
			return func(err error) { span.End(err) }
		})
	}
	defer func() { // also after a panic, which does not end the process
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err := l.intake.EndFetch(ctx, l.accountID, l.mailboxID, done)
		if err != nil && !fault.Is(err, fault.NotFound) { // the mailbox may have been deleted
			l.log.WarnContext(ctx, "the end of work on the mailbox was not noted", "error", err)
		}
	}()
	err = do(ctx)
	done = err == nil
	return err
}
