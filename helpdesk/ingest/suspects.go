package ingest

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/wire"
	"github.com/helpwright/helpwright/storage/fault"
)

// suspects has the mailboxes at which a process has died fetched one at a time: then the
// next death shows which of them it was.
type suspects struct {
	turn  chan struct{} // holds a value while one is fetched
	pause time.Duration // between two looks whether a mailbox is still parked
}

func newSuspects(pause time.Duration) suspects {
	return suspects{turn: make(chan struct{}, 1), pause: pause}
}

// patience is how long a suspect waits for its turn: a slow server must not keep the
// others waiting for ever.
const patience = time.Minute

// wait waits for a turn. What it returns ends it.
func (s *suspects) wait(ctx context.Context) (end func()) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }
	case <-ctx.Done():
	case <-time.After(patience):
	}
	return func() {}
}

// work implements [imap.Config].Work and [pop3.Config].Work: the mailbox has a note that
// this process is at work on it. One that is parked waits until it is not.
func (l *ledger) work(ctx context.Context, do func(context.Context) error) error {
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

// noted does work that the mailbox has a note of.
func (l *ledger) noted(ctx context.Context, do func(context.Context) error) error {
	done := false
	defer func() { // also after a panic: the process goes on
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err := l.intake.EndFetch(ctx, l.accountID, l.mailboxID, done)
		if err != nil && !fault.Is(err, fault.NotFound) { // the mailbox may just have been deleted
			l.log.WarnContext(ctx, "the end of work on the mailbox was not noted", "error", err)
		}
	}()
	err := do(ctx)
	done = err == nil
	return err
}
