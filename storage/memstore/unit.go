package memstore

import (
	"context"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// unit implements [storage.Unit]. It holds the store's lock from its first transaction on.
type unit struct {
	store *store
	first func(ctx context.Context) error
	open  *session // nil: no transaction is open
	parts int      // how many have succeeded
	ended bool
}

// unitOf marks the contexts that carry a unit of a store.
type unitOf struct{ *store }

// Begin implements [storage.Units].
func (s *store) Begin(ctx context.Context, first func(ctx context.Context) error) (context.Context, storage.Unit) {
	u := &unit{store: s, first: first}
	return context.WithValue(ctx, unitOf{s}, u), u
}

// unit returns the open unit of a context, or nil.
func (s *store) unit(ctx context.Context) *unit {
	if u, ok := ctx.Value(unitOf{s}).(*unit); ok && !u.ended {
		return u
	}
	return nil
}

// part runs fn as one part of the unit's transaction.
func (u *unit) part(ctx context.Context, fn func(context.Context, *session) error) error {
	if u.open == nil {
		if err := u.begin(ctx); err != nil {
			return err
		}
	}
	db := u.store.db
	mark, done := len(db.undo), false
	part := &session{db: db}
	defer func() { // also when fn panics
		part.close()
		switch {
		case !done && u.parts == 0:
			u.rollback()
		case !done:
			db.rollback(mark)
		}
	}()
	if err := fn(context.WithValue(ctx, inside{u.store}, true), part); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	u.parts++
	done = true
	return nil
}

// begin opens the transaction and runs first in it.
func (u *unit) begin(ctx context.Context) error {
	u.store.mu.Lock()
	u.store.db.recording = true
	u.open, u.parts = &session{db: u.store.db}, 1 // an error in a part of first undoes only that part
	begun := false
	defer func() {
		if !begun {
			u.rollback()
		}
	}()
	if u.first != nil {
		if err := u.first(context.WithValue(ctx, unitOf{u.store}, u)); err != nil {
			return err
		}
	}
	u.parts = 0
	begun = true
	return nil
}

// rollback undoes and closes the open transaction.
func (u *unit) rollback() {
	if u.open != nil {
		u.store.db.rollback(0)
		u.close()
	}
}

// close ends the transaction and returns the accounts whose logs have grown.
func (u *unit) close() []int64 {
	u.open.close()
	u.open = nil
	return u.store.leave()
}

// Commit implements [storage.Unit].
func (u *unit) Commit(ctx context.Context, last func(ctx context.Context) error) error {
	if u.ended {
		return fault.New(fault.Internal, "The transaction has ended.")
	}
	defer u.Rollback()
	if u.open == nil {
		if last == nil {
			return nil
		}
		if err := u.begin(ctx); err != nil {
			return err
		}
		u.parts = 1 // an error in a part of last undoes only that part
	}
	if last != nil {
		if err := last(context.WithValue(ctx, unitOf{u.store}, u)); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	u.store.notifyWatchers(u.close())
	return nil
}

// Rollback implements [storage.Unit].
func (u *unit) Rollback() {
	u.rollback()
	u.ended = true
}
