package memstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// reservations are the idempotency keys. They belong to no transaction.
type reservations struct {
	mu    sync.Mutex
	byKey map[string]storage.Reservation
}

var _ storage.Idempotency = (*Store)(nil)

func ownReservation(r storage.Reservation) storage.Reservation {
	r.Key, r.Request, r.Answer = slices.Clone(r.Key), slices.Clone(r.Request), slices.Clone(r.Answer)
	return r
}

// Reserve implements storage.Idempotency.
func (k *reservations) Reserve(ctx context.Context, r storage.Reservation, now time.Time) (storage.Reservation, bool, error) {
	if err := ctx.Err(); err != nil {
		return storage.Reservation{}, false, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if there, ok := k.byKey[string(r.Key)]; ok && there.Until.After(now) {
		return ownReservation(there), false, nil
	}
	if k.byKey == nil {
		k.byKey = map[string]storage.Reservation{}
	}
	r = ownReservation(r)
	r.Answer = nil
	k.byKey[string(r.Key)] = r
	return ownReservation(r), true, nil
}

// Answered implements storage.Idempotency.
func (k *reservations) Answered(ctx context.Context, r storage.Reservation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if there, ok := k.byKey[string(r.Key)]; !ok || there.Holder != r.Holder || there.Answer != nil {
		return fault.New(fault.Conflict, "The idempotency key was taken over.")
	}
	k.byKey[string(r.Key)] = ownReservation(r)
	return nil
}

// Release implements storage.Idempotency.
func (k *reservations) Release(ctx context.Context, r storage.Reservation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if there, ok := k.byKey[string(r.Key)]; ok && there.Holder == r.Holder && there.Answer == nil {
		delete(k.byKey, string(r.Key))
	}
	return nil
}

// Sweep implements storage.Idempotency.
func (k *reservations) Sweep(ctx context.Context, now time.Time, n int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	swept := 0
	for key, r := range k.byKey {
		if swept < n && !r.Until.After(now) {
			delete(k.byKey, key)
			swept++
		}
	}
	return swept, nil
}
