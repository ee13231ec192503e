package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type reservationRow struct {
	bun.BaseModel `bun:"table:hw_idempotency,alias:hw_idempotency"`
	Key           []byte `bun:",pk"`
	Request       []byte
	Holder        string
	Until         int64
	Answer        []byte // nil: not answered yet
}

var _ storage.Idempotency = (*DB)(nil)

// Reserve implements [storage.Idempotency].
func (db *DB) Reserve(ctx context.Context, r storage.Reservation, now time.Time) (storage.Reservation, bool, error) {
	// What is in the way may be gone before it is read.
	for range maxAttempts {
		var holder string
		err := db.queue().raw(`INSERT INTO hw_idempotency (key, request, holder, until) VALUES (?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET request = excluded.request, holder = excluded.holder, until = excluded.until,
			answer = NULL WHERE hw_idempotency.until <= ? RETURNING holder`,
			r.Key, r.Request, r.Holder, micros(r.Until), micros(now)).Scan(ctx, &holder)
		if err == nil {
			r.Until, r.Answer = timeOf(micros(r.Until)), nil
			return r, true, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return storage.Reservation{}, false, failure(ctx, err, "idempotency key", 0)
		}
		var there reservationRow
		err = db.queue().selects(&there).Where("key = ? AND until > ?", r.Key, micros(now)).Scan(ctx)
		if err == nil {
			return storage.Reservation{
				Key: there.Key, Request: there.Request, Holder: there.Holder, Until: timeOf(there.Until), Answer: there.Answer,
			}, false, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return storage.Reservation{}, false, failure(ctx, err, "idempotency key", 0)
		}
	}
	return storage.Reservation{}, false, fault.New(fault.Unavailable, "The idempotency key changes hands.")
}

// reserved keeps a statement to a reservation that is still its holder's, and not answered.
const reserved = "key = ? AND holder = ? AND answer IS NULL"

// Answered implements [storage.Idempotency].
func (db *DB) Answered(ctx context.Context, r storage.Reservation) error {
	res, err := db.queue().raw("UPDATE hw_idempotency SET until = ?, answer = ? WHERE "+reserved,
		micros(r.Until), r.Answer, r.Key, r.Holder).Exec(ctx)
	if err := changed(ctx, res, err, "idempotency key", 0); !fault.Is(err, fault.NotFound) {
		return err
	}
	return fault.New(fault.Conflict, "The idempotency key was taken over.")
}

// Release implements [storage.Idempotency].
func (db *DB) Release(ctx context.Context, r storage.Reservation) error {
	_, err := db.queue().raw("DELETE FROM hw_idempotency WHERE "+reserved, r.Key, r.Holder).Exec(ctx)
	return failure(ctx, err, "idempotency key", 0)
}

// Sweep implements [storage.Idempotency].
func (db *DB) Sweep(ctx context.Context, now time.Time, n int) (int, error) {
	res, err := db.queue().raw(`DELETE FROM hw_idempotency WHERE until <= ? AND key IN
		(SELECT key FROM hw_idempotency WHERE until <= ? ORDER BY until LIMIT ?)`, micros(now), micros(now), max(0, n)).Exec(ctx)
	if err != nil {
		return 0, failure(ctx, err, "idempotency key", 0)
	}
	swept, err := res.RowsAffected()
	return int(swept), failure(ctx, err, "idempotency key", 0)
}
