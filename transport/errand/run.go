package errand

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

const (
	// atOnce is how many errands a server runs at the same time.
	atOnce = 2
	// maxTries is how often a step begins: an errand that ends its servers must not do so forever.
	maxTries = 10
	// tidying is how often a server tidies up, and beat how often it notes how far an errand is.
	tidying = 10 * time.Minute
	beat    = time.Second
	// parting is how long a server that ends takes to note the end of an errand.
	parting = 10 * time.Second
)

// Why the context of a Work ended, if the server does not end.
var (
	errStopped = errors.New("errand: it was stopped")
	errLost    = errors.New("errand: another server has taken it over, or it is gone")
)

// errSame is the error of a change that changes nothing.
var errSame = errors.New("errand: nothing changes")

// Run runs errands until ctx ends.
func (o *Office) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	room := make(chan struct{}, atOnce)
	poll, tidy := time.NewTicker(o.cfg.Poll), time.NewTicker(tidying)
	defer poll.Stop()
	defer tidy.Stop()
	for {
		if err := o.look(ctx, &running, room); err != nil && ctx.Err() == nil {
			o.cfg.Logger.WarnContext(ctx, "cannot look for errands", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-o.wake:
		case <-poll.C:
		case <-tidy.C:
			if err := o.Tidy(ctx); err != nil && ctx.Err() == nil {
				o.cfg.Logger.WarnContext(ctx, "cannot remove old errands", "error", err)
			}
		}
	}
}

// look starts the errands that are due, as far as there is room.
func (o *Office) look(ctx context.Context, running *sync.WaitGroup, room chan struct{}) error {
	items, err := o.cfg.Vault.Items(ctx, due)
	if err != nil {
		return err
	}
	for _, item := range items {
		account, kind, ok := parseKey(item.Key, due)
		if !ok || o.cfg.Works[kind] == nil {
			continue // of a later version
		}
		h, err := o.hold(ctx, account, kind)
		if err != nil {
			return err
		}
		if h == nil {
			continue // another server, or this one, runs it
		}
		select {
		case room <- struct{}{}:
		default:
			h.free(ctx)
			return nil
		}
		running.Go(func() {
			defer func() { <-room }()
			if err := o.run(ctx, h); err != nil && ctx.Err() == nil {
				o.cfg.Logger.WarnContext(ctx, "an errand waits", "account", account, "kind", kind, "error", err)
			}
		})
	}
	return nil
}

// held is the lock of an errand: whoever has it begins, runs or removes it.
type held struct {
	office       *Office
	account      int64
	kind, holder string
	late         time.Time // when it ends
	left         bool      // it ends by itself
}

// hold takes the lock of an errand, nil if somebody else has it.
func (o *Office) hold(ctx context.Context, account int64, kind string) (*held, error) {
	h := &held{office: o, account: account, kind: kind, holder: rand.Text()}
	mine, err := h.extend(ctx)
	if err != nil || !mine {
		return nil, err
	}
	return h, nil
}

func (h *held) name() string { return states + "/" + key(h.account, h.kind) }

// extend prolongs the lock, and reports whether it is still there.
func (h *held) extend(ctx context.Context) (bool, error) {
	now := h.office.cfg.Now()
	late := now.Add(h.office.cfg.Lease)
	mine, err := h.office.cfg.Vault.TakeLock(ctx, h.name(), h.holder, now, late)
	if err == nil && mine {
		h.late = late
	}
	return mine, err
}

// free ends the lock, in the transaction of ctx if there is one, even if ctx has ended.
func (h *held) free(ctx context.Context) {
	if h.left {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
	defer cancel()
	_ = h.office.cfg.Vault.FreeLock(ctx, h.name(), h.holder) // it ends by itself
}

// run runs an errand that is due.
func (o *Office) run(ctx context.Context, h *held) error {
	defer h.free(ctx)
	e, err := o.Find(ctx, h.account, h.kind)
	if fault.Is(err, fault.NotFound) {
		return o.forgetDue(ctx, h)
	}
	if err == nil {
		e, err = o.change(ctx, h.account, h.kind, e.ID, o.startErrand)
	}
	if err != nil {
		return err
	}
	if e.State == Running {
		if err := o.work(ctx, h, e); err != nil {
			return err
		}
	}
	return o.forgetDue(ctx, h)
}

// startErrand is the change of an errand that begins.
func (o *Office) startErrand(e *Errand) error {
	switch {
	case e.State == Stopping:
		e.State, e.Changed = Stopped, o.cfg.Now().UTC()
	case !e.State.Active():
	case e.Tries >= maxTries:
		e.State, e.Reason, e.Changed = Failed, "It was interrupted too often.", o.cfg.Now().UTC()
	default:
		e.State, e.Tries = Running, e.Tries+1
	}
	return nil
}

// forgetDue forgets that an errand is due, unless it is again.
func (o *Office) forgetDue(ctx context.Context, h *held) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
	defer cancel()
	if err := o.cfg.Vault.DeleteItems(ctx, due+"/"+key(h.account, h.kind)); err != nil {
		return err
	}
	e, err := o.Find(ctx, h.account, h.kind)
	if err == nil && e.State.Active() {
		return o.call(ctx, e)
	}
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// work does the work of an errand, and notes how it ended. An error means that a server begins it again later.
func (o *Office) work(ctx context.Context, h *held, e Errand) error {
	during, cancel := context.WithCancelCause(ctx)
	t := &Task{Errand: e, office: o}
	var beating sync.WaitGroup
	beating.Go(func() { o.watch(during, h, t, cancel) })
	err := o.attempt(during, t)
	if err == nil {
		err = t.keepReport(during)
	}
	cause := context.Cause(during)
	cancel(nil)
	beating.Wait()
	switch {
	case err == nil:
		return o.end(ctx, t, Done, nil)
	case errors.Is(cause, errStopped):
		return o.end(ctx, t, Stopped, nil)
	case errors.Is(cause, errLost), ctx.Err() != nil:
		return err
	case fault.Is(err, fault.Unavailable), fault.Is(err, fault.OutcomeUnknown):
		h.left = true // so that it does not begin again at once
		return err
	}
	o.cfg.Logger.ErrorContext(ctx, "an errand failed", "account", e.AccountID, "kind", e.Kind, "step", e.Step, "error", err)
	return o.end(ctx, t, Failed, err)
}

// attempt runs the Work.
func (o *Office) attempt(ctx context.Context, t *Task) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Wrap(fault.Internal, "errand", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
		t.removeFolder()
	}()
	return o.cfg.Works[t.Kind](ctx, t)
}

// end notes how a step ended.
func (o *Office) end(ctx context.Context, t *Task, state State, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
	defer cancel()
	_, err := o.change(ctx, t.AccountID, t.Kind, t.ID, func(e *Errand) error {
		e.State, e.Reason, e.Progress, e.Changed = state, reason(why), t.progress(), o.cfg.Now().UTC()
		if state == Done {
			e.Report = t.report()
		}
		if t.size > 0 {
			e.Size = t.size
		}
		return nil
	})
	if err == nil && state == Done && t.spent {
		_ = o.cfg.Blobs.Delete(ctx, blobKey(t.Errand, Uploaded)) // it goes with the errand otherwise
	}
	return err
}

// reason is what members read of an error.
func reason(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case err == nil:
		return ""
	case ok && f.Kind != fault.Internal && f.Text() != "":
		return f.Text()
	}
	return "Something went wrong on the server. Its log has the reason."
}

// watch keeps the lock, notes how far the work is, and ends it when it is stopped.
func (o *Office) watch(ctx context.Context, h *held, t *Task, end context.CancelCauseFunc) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		_, err := o.change(ctx, t.AccountID, t.Kind, t.ID, func(e *Errand) error {
			p := t.progress()
			switch {
			case e.State == Stopping:
				return errStopped
			case e.Progress == p:
				return errSame
			}
			e.Progress = p
			return nil
		})
		switch {
		case errors.Is(err, errStopped):
			end(errStopped)
		case fault.Is(err, fault.NotFound):
			end(errLost)
		}
		now := o.cfg.Now()
		if h.late.Sub(now) > o.cfg.Lease*2/3 {
			continue
		}
		if mine, err := h.extend(ctx); err == nil && !mine || !now.Before(h.late) {
			end(errLost)
		}
	}
}
