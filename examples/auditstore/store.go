package main

import (
	"context"
	"fmt"
	"io"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// auditedStore writes a line for every transaction and for every conversation that one deletes. It overrides two methods of
// another store and embeds the rest, including optional ones.
//
// In a unit of work (storage.Units) a transaction is a part of a larger one, and its line comes before the outcome of the
// whole.
type auditedStore struct {
	completeStore
	audit io.Writer // may be written to by many goroutines
}

// completeStore is a store with all optional parts for sweeping and tying its files, for units of work and for the vault.
type completeStore interface {
	helpdesk.Store
	storage.BlobRows
	storage.Marks
	storage.Idempotency
	storage.Vault
}

// InTx passes fn a transaction that records deletions, and writes them to the audit once the outcome of the transaction is
// known.
func (s auditedStore) InTx(ctx context.Context, scope helpdesk.Scope, fn func(ctx context.Context, tx helpdesk.Tx) error) error {
	var deleted []int64
	err := s.completeStore.InTx(ctx, scope, func(ctx context.Context, tx helpdesk.Tx) error {
		deleted = nil // a store may run fn again
		return fn(ctx, auditedTx{tx, &deleted})
	})
	switch {
	case !fault.Certain(err): // the connection broke during the commit
		fmt.Fprintf(s.audit, "account %d: outcome unknown\n", scope.AccountID)
		return err
	case err != nil:
		fmt.Fprintf(s.audit, "account %d: rolled back\n", scope.AccountID)
		return err // unchanged: callers check its kind
	}
	fmt.Fprintf(s.audit, "account %d: committed\n", scope.AccountID)
	for _, id := range deleted {
		fmt.Fprintf(s.audit, "account %d: conversation %d is gone\n", scope.AccountID, id)
	}
	return nil
}

// auditedTx is a transaction that records the conversations it deletes.
type auditedTx struct {
	helpdesk.Tx
	deleted *[]int64
}

func (tx auditedTx) DeleteConversations(ctx context.Context, ids []int64) error {
	if err := tx.Tx.DeleteConversations(ctx, ids); err != nil {
		return err
	}
	*tx.deleted = append(*tx.deleted, ids...)
	return nil
}
