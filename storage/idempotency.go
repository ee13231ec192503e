package storage

import (
	"context"
	"time"
)

// Reservation is what a store knows about an idempotency key.
type Reservation struct {
	Key     []byte    // 32 bytes, unique in the store: the transport hashes into it who asks, for what, and the client's key
	Request []byte    // 32 bytes: hash of the request
	Holder  string    // who reserved it, at most 64 bytes; also the fence
	Until   time.Time // while unanswered the end of the lease, then when the answer may be forgotten
	Answer  []byte    // at most 128 KiB; nil: the request has not been answered yet
}

// Idempotency keeps the answers to requests, so that one that comes again is
// answered again instead of being done again. It works outside of any transaction,
// for several processes.
type Idempotency interface {
	// Reserve stores r and returns true, unless there is a reservation of its key
	// whose Until is after now: that is returned with false. Of many who reserve a
	// key at once one succeeds.
	Reserve(ctx context.Context, r Reservation, now time.Time) (Reservation, bool, error)
	// Answered stores the answer of a reservation. One that another Holder has taken
	// over meanwhile, or that is gone, is a Conflict fault.
	Answered(ctx context.Context, r Reservation) error
	// Release removes a reservation that has no answer; one that another Holder has
	// taken over is left alone.
	Release(ctx context.Context, r Reservation) error
	// Sweep removes at most n reservations whose Until is not after now and returns
	// how many there were.
	Sweep(ctx context.Context, now time.Time, n int) (int, error)
}
