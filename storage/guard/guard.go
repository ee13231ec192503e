// Package guard controls access to a store: a handle asks the guard for a permission, and gets a reader or the right to open
// transactions. A method that skips the check has nothing to read from or write to. The handles of both domains are built on
// it.
package guard

import (
	"context"

	"github.com/helpwright/helpwright/storage/fault"
)

// Begin runs fn in a transaction of type T.
type Begin[T any] func(ctx context.Context, fn func(ctx context.Context, tx T) error) error

// After returns a Begin whose transactions run check before anything else, and end with its error.
func (b Begin[T]) After(check func(ctx context.Context, tx T) error) Begin[T] {
	return func(ctx context.Context, fn func(ctx context.Context, tx T) error) error {
		return b(ctx, func(ctx context.Context, tx T) error {
			if err := check(ctx, tx); err != nil {
				return err
			}
			return fn(ctx, tx)
		})
	}
}

// InPieces runs piece in one transaction after the other until it reports that there is no more to do. Others do their work in
// between.
func InPieces[T any](ctx context.Context, begin Begin[T], piece func(ctx context.Context, tx T) (more bool, err error)) error {
	for more := true; more; {
		err := begin(ctx, func(ctx context.Context, tx T) (err error) {
			more, err = piece(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Guard keeps a reader R and the right to begin transactions T behind a check of permissions P.
type Guard[P ~string, R, T any] struct {
	allows func(P) bool
	reader R
	begin  Begin[T]
	alone  Begin[T]
}

// New returns a guard that hands out reader and begin for the permissions that allows approves.
func New[P ~string, R, T any](allows func(P) bool, reader R, begin Begin[T]) Guard[P, R, T] {
	return Guard[P, R, T]{allows: allows, reader: reader, begin: begin, alone: begin}
}

// WithAlone returns the guard with another way to begin transactions for [Guard.WriteAlone], which have their account to
// themselves.
func (g Guard[P, R, T]) WithAlone(begin Begin[T]) Guard[P, R, T] {
	g.alone = begin
	return g
}

// Deny returns a guard that refuses everything.
func Deny[P ~string, R, T any]() Guard[P, R, T] {
	return Guard[P, R, T]{allows: func(P) bool { return false }}
}

// Read returns the scoped reader if the caller holds p, otherwise a Forbidden fault.
func (g Guard[P, R, T]) Read(p P) (R, error) {
	if !g.Allows(p) {
		var none R
		return none, forbidden(p)
	}
	return g.reader, nil
}

// Write returns the right to open transactions if the caller holds p, otherwise a Forbidden fault.
func (g Guard[P, R, T]) Write(p P) (Begin[T], error) {
	if !g.Allows(p) {
		return nil, forbidden(p)
	}
	return g.begin, nil
}

// WriteAlone is [Guard.Write] for transactions that have their account to themselves, see [Guard.WithAlone].
func (g Guard[P, R, T]) WriteAlone(p P) (Begin[T], error) {
	if !g.Allows(p) {
		return nil, forbidden(p)
	}
	return g.alone, nil
}

// errRehearsed rolls back the changes of a rehearsal.
var errRehearsed = fault.New(fault.Precondition, "Nothing was changed: this was a dry run.")

// Rehearsal returns a guard with the same permissions and reader whose transactions are rolled back at their end, with a
// Precondition fault.
func (g Guard[P, R, T]) Rehearsal() Guard[P, R, T] {
	g.begin, g.alone = rehearsed(g.begin), rehearsed(g.alone)
	return g
}

func rehearsed[T any](begin Begin[T]) Begin[T] {
	return func(ctx context.Context, fn func(ctx context.Context, tx T) error) error {
		return begin(ctx, func(ctx context.Context, tx T) error {
			if failed := fn(ctx, tx); failed != nil {
				return failed
			}
			return errRehearsed
		})
	}
}

// Allows reports whether p is held. The zero guard allows nothing.
func (g Guard[P, R, T]) Allows(p P) bool { return g.allows != nil && g.allows(p) }

func forbidden[P ~string](p P) error {
	if p == "" {
		return fault.New(fault.Forbidden, "You are not allowed to do this.")
	}
	return fault.Newf(fault.Forbidden, "You need the permission %s to do this.", string(p))
}
