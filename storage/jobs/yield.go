package jobs

import (
	"context"
	"sync"
)

// maxWaiting is how many handlers of a kind may have left their places, for each of its workers.
const maxWaiting = 4

// place is a worker's, as its handler sees it.
type place struct {
	lane  *lane
	leave func() // for another handler

	mu   sync.Mutex
	left bool
}

type placeKey struct{}

// Yield tells the runner that the handler to which ctx belongs waits for somebody else,
// and may do so for long: another job of the kind may run meanwhile. Once four times as
// many as there are workers wait so, the others keep their workers. Yield may be called
// at any time and again; outside of a runner it does nothing.
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

// end is called when the handler has ended.
func (p *place) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left {
		p.lane.waiting.Add(-1)
	}
	p.left = true // whoever yields later has no place to leave
	p.leave()
}
