package storage

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// Note says that a request was done, and holds what its answer needs.
type Note struct {
	Key     []byte    // 32 bytes, unique in the store: who asks, for what, and the client's key, hashed
	Request []byte    // 32 bytes: hash of the request
	Holder  string    // who notes it, at most 64 bytes; random
	Until   time.Time // when it may be forgotten
	Answer  []byte    // at most 8 MiB; nil while the request is at work
}

// ErrNoted is what [Idempotency.Note] answers for a key that somebody else has noted.
var ErrNoted error = &fault.Error{
	Kind: fault.Conflict, Code: "idempotency_key_noted", Message: "The request with this key was done before.",
}

// Idempotency notes that requests were done in the transactions that do them, so
// that one that comes again is answered again instead of being done again. A note
// is there exactly if its effect is, whenever the process dies.
type Idempotency interface {
	Units
	// Noted returns the note of a key whose Until is after now, else a NotFound fault.
	Noted(ctx context.Context, key []byte, now time.Time) (Note, error)
	// Note keeps n in the transaction of the context's unit, or in one of its own. It
	// replaces a note of the same Holder, and one whose Until is not after now; any
	// other means ErrNoted. While the key is noted in a transaction that is still
	// open, it waits for its end.
	Note(ctx context.Context, n Note, now time.Time) error
	// Sweep removes at most n notes whose Until is not after now and returns how many
	// there were.
	Sweep(ctx context.Context, now time.Time, n int) (int, error)
}

// Once runs fn in one transaction with a note of its answer, unless the note is
// there: then it returns the answer that was noted. Who embeds a service makes a
// call safe to repeat with it, whatever the process or the connection did to the
// first try:
//
//	answer, err := storage.Once(ctx, db, note, now, func(ctx context.Context) ([]byte, error) {
//		customer, err := desk.CreateCustomer(ctx, input)
//		return strconv.AppendInt(nil, customer.ID, 10), err
//	})
//
// An error of fn undoes what fn did, and nothing is noted. A note of another Request
// is a Conflict fault.
func Once(ctx context.Context, store Idempotency, note Note, now time.Time, fn func(ctx context.Context) ([]byte, error)) ([]byte, error) {
	there, err := store.Noted(ctx, note.Key, now)
	if fault.Is(err, fault.NotFound) {
		note.Answer = nil
		var answer []byte
		inner, unit := store.Begin(ctx, func(ctx context.Context) error { return store.Note(ctx, note, now) })
		defer unit.Rollback()
		if answer, err = fn(inner); err == nil {
			done := note
			done.Answer = append([]byte{}, answer...)
			err = unit.Commit(inner, func(ctx context.Context) error { return store.Note(ctx, done, now) })
		}
		if err != ErrNoted { //nolint:errorlint // Note returns it as it is
			return answer, err
		}
		unit.Rollback()
		there, err = store.Noted(ctx, note.Key, now)
	}
	switch {
	case err != nil:
		return nil, err
	case string(there.Request) != string(note.Request):
		return nil, fault.New(fault.Conflict, "The key was used for another request.")
	}
	return there.Answer, nil
}
