package outbound

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// togetherTime limits one common call.
const togetherTime = recordTime

// errNoAnswer is the error of callers whose common call panicked.
var errNoAnswer = errors.New("outbound: a call that was made for several mails ended early")

// maxTogether is how many calls become one at most.
const maxTogether = 64

// together combines calls for the same account: those that arrive while an earlier one is under way are made as one. A call
// without another under way is made at once, so no call waits to be combined.
type together[In, Out any] struct {
	// all makes one call for several. Its error applies to each.
	all func(ctx context.Context, account int64, in []In) ([]Out, error)

	mu    sync.Mutex
	lines map[int64]*line[In, Out] // by account, while calls are under way
}

// line has the calls that wait for the one under way.
type line[In, Out any] struct{ waiting []*call[In, Out] }

type call[In, Out any] struct {
	ctx  context.Context //nolint:containedctx // of the caller, whom others do not make wait for longer
	in   In
	lead chan struct{} // closed when this caller must make the next common call
	done chan struct{} // closed when there is an answer
	out  Out
	err  error
}

// do returns the common call's result for in, or the error of ctx if that ends first. The call may still be made in that
// case.
func (t *together[In, Out]) do(ctx context.Context, account int64, in In) (Out, error) {
	c := &call[In, Out]{ctx: ctx, in: in, lead: make(chan struct{}), done: make(chan struct{})}
	if !t.enter(account, c) {
		select {
		case <-c.done:
			return c.out, c.err
		case <-c.lead:
		case <-ctx.Done():
			if !t.leave(account, c) {
				var none Out
				return none, ctx.Err()
			}
		}
	}
	t.make(account)
	<-c.done
	return c.out, c.err
}

// enter adds a call, and reports whether none is under way.
func (t *together[In, Out]) enter(account int64, c *call[In, Out]) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines == nil {
		t.lines = map[int64]*line[In, Out]{}
	}
	l, busy := t.lines[account]
	if !busy {
		l = &line[In, Out]{}
		t.lines[account] = l
	}
	l.waiting = append(l.waiting, c)
	return !busy
}

// leave withdraws a waiting call, and reports whether its caller must lead because it was chosen in the meantime.
func (t *together[In, Out]) leave(account int64, c *call[In, Out]) (leads bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-c.lead:
		return true
	default:
	}
	if l := t.lines[account]; l != nil {
		l.waiting = slices.DeleteFunc(l.waiting, func(w *call[In, Out]) bool { return w == c })
	}
	return false
}

// make makes one call for all that wait, and then lets the first of those that have arrived meanwhile make the next one.
func (t *together[In, Out]) make(account int64) {
	t.mu.Lock()
	l := t.lines[account]
	n := min(len(l.waiting), maxTogether)
	calls := slices.Clone(l.waiting[:n])
	l.waiting = slices.Clone(l.waiting[n:])
	t.mu.Unlock()
	defer func() { // even if the call panics
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, c := range calls {
			close(c.done)
		}
		if len(l.waiting) > 0 {
			close(l.waiting[0].lead)
		} else {
			delete(t.lines, account)
		}
	}()
	t.answer(account, calls)
}

// answer makes the common call. Its context ends when the contexts of all callers have ended.
func (t *together[In, Out]) answer(account int64, calls []*call[In, Out]) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(calls[0].ctx), togetherTime)
	defer cancel()
	var left atomic.Int64
	left.Store(int64(len(calls)))
	in := make([]In, len(calls))
	for i, c := range calls {
		in[i], c.err = c.in, errNoAnswer
		defer context.AfterFunc(c.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})()
	}
	out, err := t.all(ctx, account, in)
	for i, c := range calls {
		if c.err = err; err == nil {
			c.out = out[i]
		}
	}
}
