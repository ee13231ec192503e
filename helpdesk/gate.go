package helpdesk

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

const (
	hashesAtOnce  = 2   // passwords that are hashed at a time, each in 64 MiB
	hashesWaiting = 128 // further ones wait; above these they are refused for now
)

// gate bounds what hashing passwords takes of the memory, whoever asks for how much of it.
type gate struct {
	slots   chan struct{}
	waiting atomic.Int64
}

func newGate() *gate { return &gate{slots: make(chan struct{}, hashesAtOnce)} }

// pass does work when it is its turn. Who goes away does not wait on.
func (g *gate) pass(ctx context.Context, work func()) error {
	if g.waiting.Add(1) > hashesAtOnce+hashesWaiting {
		g.waiting.Add(-1)
		return &fault.Error{
			Kind: fault.RateLimited, Code: "busy", Err: retryLater(2 * time.Second),
			Message: "Very many are signing in just now. Try again in a moment.",
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
