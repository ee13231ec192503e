package main

import (
	"context"
	"sync"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memstore"
)

// mapStore keeps sending domains and signatures in maps of its own, and leaves everything else to the memstore that it
// embeds. Both commit together.
//
// The order of locks is always the same: memstore's lock, held from the beginning of a transaction, then mu, held from the
// end of the transaction's function until memstore has committed. Without mu, a reader could see the new conversations
// together with the old signatures.
//
// Between two databases that can lose their connections this would not be enough: one may have committed when the other
// fails. Keep data that belongs together in one database.
type mapStore struct {
	*memstore.Store

	mu   sync.RWMutex
	rows state // as committed
}

func newMapStore() *mapStore { return &mapStore{Store: memstore.New()} }

var (
	_ helpdesk.Store      = (*mapStore)(nil)
	_ storage.Idempotency = (*mapStore)(nil)
)

// Within implements [helpdesk.Store].
func (s *mapStore) Within(scope helpdesk.Scope) helpdesk.Reader {
	return reader{s.Store.Within(scope), s, scope.AccountID}
}

// InTx implements [helpdesk.Store].
func (s *mapStore) InTx(ctx context.Context, scope helpdesk.Scope, fn func(ctx context.Context, tx helpdesk.Tx) error) error {
	half := s.half(ctx)
	defer half.end() // also when fn panics
	return half.outcome(s.Store.InTx(ctx, scope, func(ctx context.Context, other helpdesk.Tx) error {
		return half.run(ctx, func(ctx context.Context, own *session) error {
			return fn(ctx, tx{other, own, scope.AccountID})
		})
	}))
}

// InSystemTx implements [helpdesk.Store].
func (s *mapStore) InSystemTx(ctx context.Context, fn func(ctx context.Context, tx helpdesk.SystemTx) error) error {
	half := s.half(ctx)
	defer half.end()
	return half.outcome(s.Store.InSystemTx(ctx, func(ctx context.Context, other helpdesk.SystemTx) error {
		return half.run(ctx, func(ctx context.Context, own *session) error {
			return fn(ctx, systemTx{other, own})
		})
	}))
}

// InSnapshot implements [helpdesk.Store]. It cannot hold mu while it waits for memstore's lock, see mapStore. Instead it
// takes one snapshot after the other, and both again if a transaction has committed in between.
func (s *mapStore) InSnapshot(ctx context.Context, scope helpdesk.Scope, fn func(ctx context.Context, r helpdesk.Reader) error) error {
	for {
		then, err := s.read(ctx)
		if err != nil {
			return err
		}
		same := false
		err = s.Store.InSnapshot(ctx, scope, func(ctx context.Context, other helpdesk.Reader) error {
			now, err := s.read(ctx)
			if same = err == nil && now.version == then.version; !same {
				return err
			}
			own := &session{rows: &then}
			defer own.close()
			return fn(ctx, reader{other, own, scope.AccountID})
		})
		if same || err != nil {
			return err
		}
	}
}

// read returns the rows that a reader outside transactions sees. In a unit of work these are the unit's.
func (s *mapStore) read(ctx context.Context) (state, error) {
	if err := ctx.Err(); err != nil {
		return state{}, err
	}
	if ctx.Value(inside{s}) != nil {
		return state{}, fault.New(fault.Internal, "The store was used inside its own transaction.")
	}
	if u := s.unit(ctx); u != nil && u.open {
		return u.draft.rows, nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.rows, nil
}

// KB returns the knowledge base's store. It keeps nothing in maps, but its transactions may be parts of a unit of work, of
// which this store must be aware.
func (s *mapStore) KB() kb.Store { return library{s.Store.KB(), s} }

type library struct {
	kb.Store
	store *mapStore
}

// InTx implements [kb.Store].
func (l library) InTx(ctx context.Context, scope kb.Scope, fn func(ctx context.Context, tx kb.Tx) error) error {
	half := l.store.half(ctx)
	defer half.end()
	return half.outcome(l.Store.InTx(ctx, scope, func(ctx context.Context, tx kb.Tx) error {
		return half.run(ctx, func(ctx context.Context, _ *session) error { return fn(ctx, tx) })
	}))
}

// reader reads within a scope. Its methods that do not read from memstore are in nouns.go.
type reader struct {
	helpdesk.Reader
	from    source
	account int64
}

// tx reads and writes within a scope, in a transaction.
type tx struct {
	helpdesk.Tx
	in      *session
	account int64
}

// Reader implements [helpdesk.Tx].
func (t tx) Reader() helpdesk.Reader { return reader{t.Tx.Reader(), t.in, t.account} }

// Whole implements [helpdesk.Tx].
func (t tx) Whole() helpdesk.Reader { return reader{t.Tx.Whole(), t.in, t.account} }

// DeleteAccount implements [identity.AccountWriter].
func (t tx) DeleteAccount(ctx context.Context) error {
	if err := t.Tx.DeleteAccount(ctx); err != nil {
		return err
	}
	return t.in.edit(func(next *state) error {
		*next = next.without(t.account)
		return nil
	})
}

// systemTx writes data above accounts, in a transaction.
type systemTx struct {
	helpdesk.SystemTx
	in *session
}

// Within implements [helpdesk.SystemTx].
func (t systemTx) Within(scope helpdesk.Scope) helpdesk.Tx {
	return tx{t.SystemTx.Within(scope), t.in, scope.AccountID}
}
