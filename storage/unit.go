package storage

import "context"

// Units is a store that can run several service methods, of one domain or both, in one transaction: all calls under one
// context join it.
type Units interface {
	// Begin returns a context that carries a new unit. The first InTx under that context begins the store's transaction and
	// runs first in it before anything else (nil: nothing runs); an error of first becomes that InTx's error. From then on all
	// reads and writes under the context happen in that transaction, and an InTx that fails undoes only its own part. While no
	// transaction is open the context has no effect.
	//
	// A transaction that meets a transient database conflict restarts as long as its first InTx has not succeeded; first then
	// runs again. When an InTx fails while it is the only one, the whole transaction is rolled back, and the next InTx begins
	// it anew.
	//
	// The context is for one goroutine, and the caller must end the unit.
	Begin(ctx context.Context, first func(ctx context.Context) error) (context.Context, Unit)
}

// Unit is a transaction that a context carries.
type Unit interface {
	// Commit runs last, unless nil, at the end of the transaction and commits it. If no transaction has begun and last is not
	// nil, it begins one, with first. An error of first or last rolls back and is returned unchanged. An InTx that fails in
	// last undoes only its own part.
	Commit(ctx context.Context, last func(ctx context.Context) error) error
	// Rollback undoes everything. After Commit it does nothing.
	Rollback()
}

// Together runs fn in one transaction, which it commits, or rolls back when fn fails. First runs in that transaction before
// anything else (nil: nothing does). It is the place for a precondition: read under its context what the change is based on,
// and return a Precondition fault if it has changed. Under [Locking] what it reads stays unchanged until the transaction
// ends.
func Together(ctx context.Context, units Units, first, fn func(ctx context.Context) error) error {
	inner, unit := units.Begin(ctx, first)
	defer unit.Rollback()
	if err := fn(inner); err != nil {
		return err
	}
	return unit.Commit(inner, func(context.Context) error { return nil })
}

type locking struct{}

// Locking returns a context under which a unit's reads of single objects lock them against changes by others until the
// transaction ends. Data read along with the object may be older than the lock; read it again without Locking.
func Locking(ctx context.Context) context.Context { return context.WithValue(ctx, locking{}, true) }

// IsLocking reports whether ctx comes from [Locking]. It is for stores.
func IsLocking(ctx context.Context) bool { return ctx.Value(locking{}) != nil }
