package main

import (
	"context"

	"github.com/helpwright/helpwright/storage"
)

// unit is a unit of work (see [storage.Units]): several transactions, its parts, that commit as one. Supporting units is
// optional; a server needs them for requests that are safe to repeat.
//
// Memstore begins and ends the transaction. The unit follows the contract of Units: first runs at each beginning, and a part
// that fails while it is the only one rolls back everything.
type unit struct {
	other storage.Unit // memstore's
	draft draft
	open  bool // a transaction is open
	parts int  // number of parts that have succeeded in it
	ended bool
}

// unitOf marks the contexts that carry a unit of a store.
type unitOf struct{ *mapStore }

// Begin implements [storage.Units].
func (s *mapStore) Begin(ctx context.Context, first func(ctx context.Context) error) (context.Context, storage.Unit) {
	u := &unit{draft: draft{store: s}}
	ctx, u.other = s.Store.Begin(ctx, func(ctx context.Context) error { return u.begin(ctx, first) })
	return u.carried(ctx), u
}

func (u *unit) carried(ctx context.Context) context.Context {
	return context.WithValue(ctx, unitOf{u.draft.store}, u)
}

// unit returns the unit of a context, or nil.
func (s *mapStore) unit(ctx context.Context) *unit {
	if u, ok := ctx.Value(unitOf{s}).(*unit); ok && !u.ended {
		return u
	}
	return nil
}

// begin runs when memstore has begun the transaction, perhaps again.
func (u *unit) begin(ctx context.Context, first func(ctx context.Context) error) error {
	u.draft.begin()
	u.open = true
	u.parts = 1 // so that a failing part of first undoes only itself
	begun := false
	defer func() { u.open, u.parts = begun, 0 }() // even if first panics
	if first != nil {
		if err := first(u.carried(ctx)); err != nil {
			return err
		}
	}
	begun = true
	return nil
}

// Commit implements [storage.Unit].
func (u *unit) Commit(ctx context.Context, last func(ctx context.Context) error) error {
	committed := false
	defer func() { u.finish(committed) }()
	sealing := func(ctx context.Context) error {
		u.parts++ // so that a failing part of last undoes only itself
		if last != nil {
			if err := last(u.carried(ctx)); err != nil {
				return err
			}
		}
		u.draft.seal()
		return nil
	}
	if last == nil && !u.open {
		sealing = nil // nothing has happened: memstore would begin a transaction for it
	}
	err := u.other.Commit(ctx, sealing)
	committed = err == nil
	return err
}

// Rollback implements [storage.Unit].
func (u *unit) Rollback() {
	u.other.Rollback()
	u.finish(false)
}

func (u *unit) finish(committed bool) {
	u.draft.end(committed)
	u.ended = true
}
