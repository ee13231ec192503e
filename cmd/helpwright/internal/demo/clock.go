package demo

import (
	"sync"
	"time"
)

// Clock is the services' clock while a past is created. It is safe for concurrent use. The zero value returns the system's
// time.
type Clock struct {
	mu   sync.Mutex
	at   time.Time // zero: the system's
	step time.Duration
}

// Now returns the time.
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

// Release returns the clock to the system's time.
func (c *Clock) Release() { c.tick(time.Time{}, 0) }

// tick sets the clock, which then advances by a step with each call of Now.
func (c *Clock) tick(at time.Time, step time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.step = at, step
}
