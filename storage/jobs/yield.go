package jobs

import (
	"context"
	"sync"
)

// maxWaiting is how many handlers of a kind may have yielded per worker.
const maxWaiting = 4

// place is the worker slot that a handler occupies.
type place struct {
	lane  *lane
	leave func() // frees the slot for another handler

	mu   sync.Mutex
	left bool
}

type placeKey struct{}

// Yield tells the runner that the handler of ctx waits for something else, perhaps for long: another job of the kind may run
// meanwhile. Once four times as many handlers as workers have yielded, further ones keep their workers. Yield may be called
// at any time and repeatedly; outside of a runner it does nothing.
func Yield(ctx context.Context) {
	if p, ok := ctx.Value(placeKey{}).(*place); ok {
		p.yield()
	}
}

func (p *place) yield() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left {
		return
	}
	if p.lane.waiting.Add(1) > int64(maxWaiting*p.lane.Workers) {
		p.lane.waiting.Add(-1)
		return
	}
	p.left = true
	p.leave()
}

// end is called when the handler has returned.
func (p *place) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left {
		p.lane.waiting.Add(-1)
	}
	p.left = true // a later Yield has no slot to free
	p.leave()
}
