package postgres

import (
	"slices"
	"sync"
	"time"
)

// cleanupLimit is how long closing a pool waits for cleanups.
const cleanupLimit = 2 * time.Second

// cleanups are the closed connections of a pool that still cancel a query at the server. If the process ended meanwhile, the
// query would go on, and PgBouncer 1.18 ends itself when the sender of a cancel request is gone.
type cleanups struct {
	mu      sync.Mutex
	pending []chan struct{} // closed at the end of a cleanup
}

func (c *cleanups) add(done chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = slices.DeleteFunc(append(c.pending, done), func(done chan struct{}) bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}

// wait waits for the cleanups that have begun.
func (c *cleanups) wait(limit time.Duration) {
	c.mu.Lock()
	pending := slices.Clone(c.pending)
	c.mu.Unlock()
	end := time.NewTimer(limit)
	defer end.Stop()
	for _, done := range pending {
		select {
		case <-done:
		case <-end.C:
			return
		}
	}
}
