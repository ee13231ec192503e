package storage

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// Note records that a request was carried out, with the data to answer it again.
type Note struct {
	Key     []byte    // 32 bytes, unique in the store: hash of the caller, the operation and the client's key
	Request []byte    // 32 bytes: hash of the request
	Holder  string    // who writes the note, at most 64 bytes; random
	Until   time.Time // when the note expires
	Answer  []byte    // at most 8 MiB; nil while the request is in progress
	// ConversationID is the conversation whose content the answer has: a help desk forgets the note with it. 0: none.
	ConversationID int64
}

// ErrNoted is the error of [Idempotency.Note] for a key that another holder has noted.
var ErrNoted error = &fault.Error{
	Kind: fault.Conflict, Code: "idempotency_key_noted", Message: "The request with this key has already been processed.",
}

// Idempotency stores notes in the same transaction as the effects of a request, so that a repeated request gets the first
// answer instead of being carried out again. The note exists exactly when the effect does, even if the process dies at any
// moment.
type Idempotency interface {
	Units
	// Noted returns the note of a key whose Until is after now, otherwise a NotFound fault.
	Noted(ctx context.Context, key []byte, now time.Time) (Note, error)
	// Note stores n in the transaction of the context's unit, or in one of its own. It replaces a note of the same Holder and
	// an expired one (Until not after now); any other note is ErrNoted. While an open transaction has noted the key, it waits
	// for that transaction to end.
	Note(ctx context.Context, n Note, now time.Time) error
	// Sweep deletes at most n expired notes (Until not after now) and returns how many it deleted.
	Sweep(ctx context.Context, now time.Time, n int) (int, error)
}

// Once runs fn in one transaction together with a note of its answer. If the note already exists, Once returns the noted
// answer and does not run fn. Applications that embed a service use it to make a call safe to repeat, whatever happened to
// the process or the connection during the first try:
//
//	answer, err := storage.Once(ctx, db, note, now, func(ctx context.Context) ([]byte, error) {
//		customer, err := desk.Customers().Create(ctx, input)
//		return strconv.AppendInt(nil, customer.ID, 10), err
//	})
//
// An error of fn rolls back its changes and leaves no note. An existing note with another Request is a Conflict fault.
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
