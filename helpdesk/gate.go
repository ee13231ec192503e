package helpdesk

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

const (
	hashesAtOnce  = 2   // concurrent password hashes, each using 64 MiB
	hashesWaiting = 128 // further ones wait; above this they are rejected
)

// gate limits the memory used for hashing passwords.
type gate struct {
	slots   chan struct{}
	waiting atomic.Int64
	cost    passwordCost // of a new hash
}

func newGate() *gate { return &gate{slots: make(chan struct{}, hashesAtOnce), cost: recommendedCost()} }

// pass runs work when it is its turn, or returns when ctx is done.
func (g *gate) pass(ctx context.Context, work func()) error {
	if g.waiting.Add(1) > hashesAtOnce+hashesWaiting {
		g.waiting.Add(-1)
		return &fault.Error{
			Kind: fault.RateLimited, Code: "busy", Err: retryLater(2 * time.Second),
			Message: "Too many people are signing in right now. Try again in a moment.",
		}
	}
	defer g.waiting.Add(-1)
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-g.slots }()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	work()
	return nil
}
