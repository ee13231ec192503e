package demo

import (
	"sync"
	"time"
)

// Clock is the time of services while they are given a past. It is safe for
// concurrent use. The zero value tells the time of the system.
type Clock struct {
	mu   sync.Mutex
	at   time.Time // zero: the system's
	step time.Duration
}

// Now tells the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return time.Now()
	}
	now := c.at
	c.at = c.at.Add(c.step)
	return now
}

// Set stops the clock at a time.
func (c *Clock) Set(at time.Time) { c.tick(at, 0) }

// Release lets the clock tell the time of the system again.
func (c *Clock) Release() { c.tick(time.Time{}, 0) }

// tick sets the clock, which goes on by a step whenever somebody looks at it.
func (c *Clock) tick(at time.Time, step time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.step = at, step
}
