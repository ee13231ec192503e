package wire

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Room bounds the mail that several sources hold in memory together. nil bounds nothing.
type Room struct {
	size int64
	sem  *semaphore.Weighted
}

// NewRoom makes room for a number of bytes. A larger mail has it alone.
func NewRoom(bytes int64) *Room { return &Room{bytes, semaphore.NewWeighted(bytes)} }

// small is what a fetch may bring that takes no room: new mail, which is small as a rule, does not wait for large mails
// on slow servers.
const small = 1 << 20

// Hold is the part of a room that one source has. Its zero value has none.
type Hold struct{ bytes int64 }

// Grow takes room for what is about to be fetched. Where there is none at once, deliver hands over what the source has
// fetched before, and Grow waits with empty hands, so that no two sources wait for each other.
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

// Free gives back all that is held.
func (h *Hold) Free(r *Room) {
	if h.bytes > 0 {
		r.sem.Release(h.bytes)
		h.bytes = 0
	}
}
