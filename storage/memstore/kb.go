package memstore

import (
	"context"

	"github.com/helpwright/helpwright/kb"
)

// KB gives the knowledge base's store: the same data, in the same transactions.
func (s *Store) KB() kb.Store { return kbStore{s} }

// kbStore implements kb.Store.
type kbStore struct{ store *Store }

// Within gives the readers of a scope, each call on its own snapshot.
func (s kbStore) Within(scope kb.Scope) kb.Reader { return kbReader{s.store, scope} }

// InTx runs fn in one transaction, see [Store.InTx].
func (s kbStore) InTx(ctx context.Context, scope kb.Scope, fn func(ctx context.Context, tx kb.Tx) error) error {
	return s.store.transact(ctx, func(ctx context.Context, open *session) error {
		return fn(ctx, kbTx{kbReader{open, scope}, outbox{open, scope.AccountID}})
	})
}

// kbReader reads within a scope, from the store or in a transaction.
type kbReader struct {
	src   source
	scope kb.Scope
}

// kbTx reads and writes within a scope.
type kbTx struct {
	kbReader
	outbox
}

// write runs fn in the transaction; when it fails, nothing of it remains. There is
// nothing to write in an account that is not there.
func (t kbTx) write(ctx context.Context, fn func(db *data) error) error {
	return inAccount(ctx, t.src, t.scope.AccountID, fn)
}
