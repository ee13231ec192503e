package wire_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
)

const mib = 1 << 20

// Many sources never hold more than there is room for, a larger mail waits for all of it, and all of them get on.
func TestRoom(t *testing.T) {
	t.Parallel()
	room := wire.NewRoom(10 * mib)
	var held, most, delivered atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			var h wire.Hold
			own := int64(0)
			free := func(context.Context) error {
				delivered.Add(1)
				held.Add(-own)
				own = 0
				return nil
			}
			for step := range 50 {
				size := []int64{3 * mib, 7 * mib, 30 * mib}[(i+step)%3]
				if err := h.Grow(t.Context(), room, size, free); err != nil {
					t.Error(err)
					return
				}
				own += min(size, 10*mib)
				if now := held.Add(min(size, 10*mib)); now > most.Load() {
					most.Store(now)
				}
			}
			_ = free(t.Context())
			h.Free(room)
		})
	}
	all.Wait()
	if most.Load() > 10*mib || held.Load() != 0 || delivered.Load() == 0 {
		t.Errorf("%d bytes were held, %d are left, %d deliveries", most.Load(), held.Load(), delivered.Load())
	}
}

// Small fetches, and sources without a room, do not wait. Waiting ends with the context, and a failed delivery is reported.
func TestRoomIsTaken(t *testing.T) {
	t.Parallel()
	room := wire.NewRoom(2 * mib)
	nothing := func(context.Context) error { return nil }
	var first, second wire.Hold
	for _, err := range []error{
		first.Grow(t.Context(), room, 2*mib, nothing), second.Grow(t.Context(), room, mib, nothing), second.Grow(t.Context(), nil, 9*mib, nothing),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := second.Grow(ctx, room, 2*mib, nothing); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who waits in vain gets %v", err)
	}
	broken := errors.New("broken")
	if err := second.Grow(t.Context(), room, 2*mib, func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("what cannot be delivered: %v", err)
	}
	first.Free(room)
	first.Free(room)
	if err := second.Grow(t.Context(), room, 2*mib, nothing); err != nil {
		t.Error(err)
	}
}
