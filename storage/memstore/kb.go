package memstore

import (
	"context"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// KB returns the knowledge base's store on the same data, with the same transactions.
func (s *store) KB() kb.Store { return kbStore{s} }

// kbStore implements kb.Store.
type kbStore struct{ store *store }

// Within returns the readers of a scope. Each call reads its own snapshot.
func (s kbStore) Within(scope kb.Scope) kb.Reader { return kbReader{s.store, scope} }

// InTx runs fn in one transaction, see [helpdesk.Store].
func (s kbStore) InTx(ctx context.Context, scope kb.Scope, fn func(ctx context.Context, tx kb.Tx) error) error {
	return s.store.transact(ctx, func(ctx context.Context, open *session) error {
		return fn(ctx, kbTx{kbReader{open, scope}, outbox{open, scope.AccountID}})
	})
}

// kbNouns are the noun declarations shared with other stores.
var kbNouns = kb.Nouns()

func kbRowsOf[T, F any](r kbReader, n *noun[kb.Scope, T, F]) storage.RowReader[T, F] {
	return rows[kb.Scope, T, F]{r.src, r.scope.AccountID, r.scope.SiteID, r.scope, n}
}

func kbStoredOf[T, F any](t kbTx, n *noun[kb.Scope, T, F]) storage.Rows[T, F] {
	return stored[kb.Scope, T, F]{rows[kb.Scope, T, F]{t.src, t.scope.AccountID, t.scope.SiteID, t.scope, n}}
}

// inSite refuses a scope whose site does not exist.
func (db *data) inSite(s kb.Scope) error {
	if s.SiteID == 0 {
		return fault.Missing("site", 0)
	}
	_, err := db.site(s, s.SiteID)
	return err
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

// Reader implements [kb.Tx].
func (t kbTx) Reader() kb.Reader { return t.kbReader }

// writeSite is write for a site that must exist.
func (t kbTx) writeSite(ctx context.Context, fn func(db *data) error) error {
	return t.write(ctx, func(db *data) error {
		if err := db.inSite(t.scope); err != nil {
			return err
		}
		return fn(db)
	})
}

// write runs fn in the transaction; a failure leaves nothing behind. The account must exist.
func (t kbTx) write(ctx context.Context, fn func(db *data) error) error {
	return inAccount(ctx, t.src, t.scope.AccountID, fn)
}
