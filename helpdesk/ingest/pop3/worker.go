package pop3

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
)

const (
	tries    = 3   // single requests for a message before it is delivered with a Problem
	question = 500 // ids per call of Known
)

// worker reads the maildrop once, over one connection at a time.
type worker struct {
	*Source
	sess  *session
	known map[string]bool // ids of taken messages; afterwards those of the messages on the server
	delay time.Duration   // the server's minimum time between two logins
	later error           // why a message is left for the next poll

	mails []Mail
	bytes int64
	hold  wire.Hold // for fetched messages
}

// poll delivers the unknown messages.
func (w *worker) poll(ctx context.Context) error {
	defer w.close(ctx)
	defer func() { w.hold.Free(w.cfg.Room) }()
	sess, err := w.open(ctx)
	if err != nil {
		return err
	}
	w.delay = sess.loginDelay()
	w.report.Update(ctx, func(st *Status) { st.Connected, st.NextTry, st.Exists = true, time.Time{}, len(sess.number) })
	fresh, err := w.unknown(ctx, sess)
	if err != nil {
		return err
	}
	if len(fresh) > 0 {
		if err := w.fetch(ctx, fresh); err != nil {
			return err
		}
	}
	if w.later != nil {
		return w.later
	}
	w.report.Succeeded(ctx)
	return nil
}

// unknown returns the ids not taken yet, in the server's order. It forgets those that no longer exist.
func (w *worker) unknown(ctx context.Context, sess *session) ([]string, error) {
	var asked []string
	here := make(map[string]bool, len(sess.number))
	for _, e := range sess.entries {
		if w.known[e.id] {
			here[e.id] = true
		} else if e.id != "" {
			asked = append(asked, e.id)
		}
	}
	w.known = here
	for rest := asked; len(rest) > 0; {
		some := rest[:min(question, len(rest))]
		rest = rest[len(some):]
		taken, err := w.sink.Known(ctx, some)
		if err != nil {
			return nil, &wire.StepError{Protocol: protocol, Step: StepKnown, Err: err}
		}
		for _, id := range taken {
			w.known[id] = true
		}
	}
	var fresh []string
	for _, id := range asked {
		if !w.known[id] {
			fresh = append(fresh, id)
		}
	}
	return fresh, nil
}

// fetch delivers messages, and continues over another connection if one ends.
func (w *worker) fetch(ctx context.Context, ids []string) error {
	if err := w.sess.sizes(ctx); err != nil {
		return err
	}
	for len(ids) > 0 {
		count, bytes, err := w.together(ctx, ids)
		switch {
		case err != nil:
			return err
		case count == 0:
			err, count = w.one(ctx, ids[0]), 1
		default:
			err = w.several(ctx, ids[:count], bytes)
		}
		if err != nil {
			return err
		}
		ids = ids[count:]
	}
	return w.flush(ctx)
}

// entry returns a message's entry in the current connection; false: it no longer exists.
func (w *worker) entry(id string) (entry, bool) {
	number := w.sess.number[id]
	if number == 0 {
		return entry{}, false
	}
	return w.sess.entries[number-1], true
}

// together returns how many messages from the start to fetch in one step, and their bytes; 0: the first must be fetched
// alone, because it is too large or its size is unknown.
func (w *worker) together(ctx context.Context, ids []string) (count int, bytes int64, err error) {
	if err := w.reopen(ctx, 0, nil); err != nil {
		return 0, 0, err
	}
	for _, id := range ids {
		e, here := w.entry(id)
		if !here || e.size < 0 || e.size > w.cfg.MaxMessage || count > 0 && bytes+e.size > w.cfg.BatchBytes || count == w.cfg.BatchSize {
			break
		}
		count++
		bytes += e.size
	}
	return count, bytes, nil
}

func (w *worker) several(ctx context.Context, ids []string, size int64) error {
	if len(w.mails)+len(ids) > w.cfg.BatchSize || w.bytes > 0 && w.bytes+size > w.cfg.BatchBytes {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	entries := make([]entry, len(ids))
	for i, id := range ids {
		entries[i], _ = w.entry(id)
	}
	if err := w.hold.Grow(ctx, w.cfg.Room, size, w.flush); err != nil {
		return err
	}
	got, err := w.sess.retrieve(ctx, entries, size)
	if err != nil && !mailsFault(err) {
		return err
	}
	for _, id := range ids {
		raw, ok := got[id]
		delete(got, id)
		if ok {
			err = w.add(ctx, Mail{ID: id, Raw: raw, Size: int64(len(raw))})
		} else {
			err = w.one(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// one fetches a message alone, and retries over another connection. Messages before it do not wait for that.
func (w *worker) one(ctx context.Context, id string) error {
	var last error
	for try := range tries {
		if err := w.reopen(ctx, try, last); err != nil {
			return err
		}
		e, here := w.entry(id)
		if !here {
			return nil
		}
		mail, err := w.alone(ctx, e)
		if err == nil {
			return w.add(ctx, mail)
		}
		if !mailsFault(err) {
			return err
		}
		if temporary(err) {
			w.later = err
			return nil
		}
		last = err
	}
	return w.problem(ctx, id, last)
}

// reopen delivers the batch and reconnects, if the connection has ended or is not the one to retry with.
func (w *worker) reopen(ctx context.Context, try int, last error) error {
	if w.sess != nil && w.sess.alive() && try == 0 {
		return nil
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	understood := !errors.Is(last, wire.ErrProtocol) && !errors.Is(last, wire.ErrTooMuch)
	if try > 0 && !w.sess.alive() && understood { // perhaps a temporary network failure
		wire.Sleep(ctx, wire.Backoff(w.cfg.BackoffMin, w.cfg.BackoffMax, try-1, nil, w.cfg.Rand()))
	}
	if w.sess != nil && w.sess.alive() {
		return nil // a rejection: only a retry can help
	}
	sess, err := w.open(ctx)
	if err != nil {
		return err
	}
	return sess.sizes(ctx)
}

// alone fetches a mail, or the header of one that is too large.
func (w *worker) alone(ctx context.Context, e entry) (Mail, error) {
	if e.size > w.cfg.MaxMessage {
		return w.oversize(ctx, e)
	}
	size := e.size
	if size < 0 {
		size = w.cfg.MaxMessage
	}
	if err := w.hold.Grow(ctx, w.cfg.Room, size, w.flush); err != nil {
		return Mail{}, err
	}
	raw, err := w.sess.alone(ctx, e)
	if errors.Is(err, wire.ErrTooMuch) { // larger than its size: the connection is closed
		sess, openErr := w.open(ctx)
		if openErr != nil {
			return Mail{}, openErr
		}
		e.size = -1
		if sess.number[e.id] == 0 {
			return Mail{}, err
		}
		return w.oversize(ctx, e)
	}
	return Mail{ID: e.id, Raw: raw, Size: int64(len(raw))}, err
}

func (w *worker) oversize(ctx context.Context, e entry) (Mail, error) {
	header, err := w.sess.header(ctx, e)
	if err != nil && !mailsFault(err) {
		return Mail{}, err
	}
	return Mail{ID: e.id, Raw: header, Size: e.size, Oversize: true}, nil
}

// problem delivers a message that cannot be fetched, with its header if possible.
func (w *worker) problem(ctx context.Context, id string, cause error) error {
	if err := w.reopen(ctx, 0, nil); err != nil {
		return err
	}
	e, here := w.entry(id)
	if !here {
		return nil
	}
	w.report.Log(ctx, slog.LevelWarn, "pop3: mail not fetched", cause)
	header, err := w.sess.header(ctx, e)
	if err != nil && !mailsFault(err) {
		return err
	}
	return w.add(ctx, Mail{ID: id, Raw: header, Size: e.size, Problem: cause.Error()})
}

// mailsFault reports whether one message can be the cause of a failed step: not if the context ended or no connection is
// available.
func mailsFault(err error) bool {
	var step *wire.StepError
	return errors.As(err, &step) && step.Step == StepFetch
}

// temporary reports whether the server says that the failure is temporary.
func temporary(err error) bool {
	var reply *wire.ReplyError
	return errors.As(err, &reply) && reply.Temporary
}

// add adds a message to the batch, and flushes the batch when it is full.
func (w *worker) add(ctx context.Context, mail Mail) error {
	w.mails = append(w.mails, mail)
	w.bytes += int64(len(mail.Raw))
	if w.bytes >= w.cfg.BatchBytes || len(w.mails) >= w.cfg.BatchSize {
		return w.flush(ctx)
	}
	return nil
}

// flush passes the messages to the sink.
func (w *worker) flush(ctx context.Context) error {
	if len(w.mails) == 0 {
		return nil
	}
	if err := w.sink.Take(ctx, w.mails); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &wire.StepError{Protocol: protocol, Step: StepTake, Err: err}
	}
	w.report.Update(ctx, func(st *Status) {
		st.Taken += uint64(len(w.mails))
		for _, mail := range w.mails {
			w.known[mail.ID] = true
			if mail.Oversize {
				st.Oversize++
			}
			if mail.Problem != "" {
				st.Problems++
			}
		}
	})
	w.mails, w.bytes = nil, 0
	w.hold.Free(w.cfg.Room)
	return nil
}

// open returns a connection that has listed the messages, a new one if there is none.
func (w *worker) open(ctx context.Context) (*session, error) {
	if w.sess != nil && w.sess.alive() {
		return w.sess, nil
	}
	w.abort()
	sess, err := connect(ctx, &w.cfg)
	if err != nil {
		return nil, err
	}
	w.sess = sess
	return sess, sess.list(ctx)
}

func (w *worker) abort() {
	if w.sess != nil {
		w.sess.abort()
		w.sess = nil
	}
}

// close ends the connection, properly if time allows.
func (w *worker) close(ctx context.Context) {
	if w.sess != nil && ctx.Err() == nil {
		w.sess.quit(ctx)
	}
	w.abort()
}
