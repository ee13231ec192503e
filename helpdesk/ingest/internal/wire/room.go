package wire

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Room limits the mail that several sources together hold in memory. nil means no limit.
type Room struct {
	size int64
	sem  *semaphore.Weighted
}

// NewRoom returns a room for a number of bytes. A larger message occupies it alone.
func NewRoom(bytes int64) *Room { return &Room{bytes, semaphore.NewWeighted(bytes)} }

// small is the size up to which a fetch is not counted, so that new mail, which is usually small, does not wait for large
// messages on slow servers.
const small = 1 << 20

// Hold is one source's share of a room. Its zero value holds nothing.
type Hold struct{ bytes int64 }

// Grow reserves room for the next fetch. If there is none at once, it calls deliver to pass on what the source holds, and
// waits while holding nothing, which prevents deadlocks between sources.
func (h *Hold) Grow(ctx context.Context, r *Room, bytes int64, deliver func(context.Context) error) error {
	if r == nil || bytes <= small {
		return nil
	}
	bytes = min(bytes, r.size)
	if !r.sem.TryAcquire(bytes) {
		if err := deliver(ctx); err != nil {
			return err
		}
		h.Free(r)
		if err := r.sem.Acquire(ctx, bytes); err != nil {
			return err
		}
	}
	h.bytes += bytes
	return nil
}

// Free releases everything held.
func (h *Hold) Free(r *Room) {
	if h.bytes > 0 {
		r.sem.Release(h.bytes)
		h.bytes = 0
	}
}
