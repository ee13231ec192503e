package storage

import "context"

// Units is a store that can make one transaction of all those that begin under one
// context: of one service method or several, of one domain or both.
type Units interface {
	// Begin returns a context that carries a new unit. The store's transaction begins
	// with the first InTx under that context. First runs in it before anything else,
	// and an error of first is that InTx's error; nil: nothing runs. From then on all
	// that is read and written under the context is read and written in that
	// transaction, and an InTx that fails undoes its own part only. While the
	// transaction is not open the context means nothing.
	//
	// A transaction that meets a passing conflict of the database begins again as long
	// as its first InTx has not succeeded, and first runs again then. Whenever an
	// InTx fails while it is the only one, the whole transaction is rolled back, and
	// the next begins it again.
	//
	// The context is for one goroutine, and the unit must be ended.
	Begin(ctx context.Context, first func(ctx context.Context) error) (context.Context, Unit)
}

// Unit is a transaction that a context carries.
type Unit interface {
	// Commit runs last in the transaction, when it is not nil, and commits it. If no
	// transaction has begun and last is not nil, it begins one, with first. An error
	// of first or last rolls back; it is returned as it is.
	Commit(ctx context.Context, last func(ctx context.Context) error) error
	// Rollback undoes everything. After Commit it does nothing.
	Rollback()
}

// Together runs fn and commits what it did in one transaction, or nothing when it
// fails. First runs in that transaction before anything else; nil: nothing does.
// It is the place for a precondition: read, under its context, what the change is
// based on, compare, and return a Precondition fault when it is not what you know.
// With [Locking] what it reads stays as it is until the transaction ends.
func Together(ctx context.Context, units Units, first, fn func(ctx context.Context) error) error {
	inner, unit := units.Begin(ctx, first)
	defer unit.Rollback()
	if err := fn(inner); err != nil {
		return err
	}
	return unit.Commit(inner, func(context.Context) error { return nil })
}

type locking struct{}

// Locking returns a context under which a unit's reads of single objects lock them
// until the transaction ends: nobody else changes or removes them. What was read
// together with the object may be older than the lock; read again without.
func Locking(ctx context.Context) context.Context { return context.WithValue(ctx, locking{}, true) }

// IsLocking reports whether ctx comes from [Locking]. It is for stores.
func IsLocking(ctx context.Context) bool { return ctx.Value(locking{}) != nil }

type alone struct{}

// Alone returns a context under which an InTx has its account for itself: it begins
// when the others that are at work in the account have ended, and those that come
// later wait. It is for the removal of what many refer to.
func Alone(ctx context.Context) context.Context { return context.WithValue(ctx, alone{}, true) }

// IsAlone reports whether ctx comes from [Alone]. It is for stores; one that lets a
// single transaction write at a time need not ask.
func IsAlone(ctx context.Context) bool { return ctx.Value(alone{}) != nil }
