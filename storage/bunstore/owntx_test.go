package bunstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// A transaction ends with its context and locks nothing from then on, although its function goes on.
func TestTransactionsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	for _, database := range databases {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, database.url(t), bunstore.Config{})
			account, err := newAccount(t.Context(), db, "one")
			if err != nil {
				t.Fatal(err)
			}
			scope := helpdesk.Scope{AccountID: account.ID}
			insert := func(ctx context.Context, tx helpdesk.Tx, name string) error {
				if _, err := tx.TakeNumber(ctx); err != nil { // locks the account
					return err
				}
				return tx.Roles().Insert(ctx, &identity.Role{Name: name})
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err = db.InTx(ctx, scope, func(ctx context.Context, tx helpdesk.Tx) error {
				if err := insert(ctx, tx, "lost"); err != nil {
					return err
				}
				cancel()
				other, done := context.WithTimeout(t.Context(), 20*time.Second)
				defer done()
				if err := db.InTx(other, scope, func(ctx context.Context, tx helpdesk.Tx) error { return insert(ctx, tx, "kept") }); err != nil {
					t.Errorf("another transaction: %v", err)
				}
				if err := insert(context.WithoutCancel(ctx), tx, "late"); err == nil {
					t.Error("the transaction goes on")
				}
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			roles, err := db.Within(scope).Roles().List(t.Context(), storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
			var names []string
			for _, r := range roles {
				names = append(names, r.Name)
			}
			if err != nil || len(names) != 2 || names[1] != "kept" {
				t.Errorf("the roles are %q, %v", names, err)
			}
		})
	}
}
