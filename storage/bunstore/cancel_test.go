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
	"github.com/helpwright/helpwright/storage/testenv"
)

// A read ends with its context, whether it waits for a row, or for a connection while all others wait for rows.
func TestReadsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	const conns = 3
	address := testenv.Postgres(t)
	db, other := open(t, address, bunstore.Config{MaxConns: conns}), open(t, address, bunstore.Config{})
	account, err := newAccount(t.Context(), db, "one")
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := bunstore.Plain(other)
	locking, err := plain.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locking.Rollback() }()
	if _, err := locking.ExecContext(t.Context(), "LOCK TABLE hw_roles IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	read := func(ctx context.Context) ([]identity.Role, error) {
		return helpdesk.Nouns().Roles.Reader(db.Within(helpdesk.Scope{AccountID: account.ID})).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	}
	cancelled, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	for range conns {
		go func() {
			_, err := read(cancelled)
			ended <- err
		}()
	}
	pool, _ := bunstore.Plain(db)
	for pool.Stats().InUse < conns {
		time.Sleep(time.Millisecond)
	}
	short, done := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer done()
	if _, err := read(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a connection: %v", err)
	}
	cancel()
	for range conns {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("without the rows: %v", err)
		}
	}
	if err := locking.Rollback(); err != nil {
		t.Fatal(err)
	}
	if roles, err := read(t.Context()); err != nil || len(roles) != 1 {
		t.Errorf("afterwards: %d roles, %v", len(roles), err)
	}
}

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
				return helpdesk.Nouns().Roles.Rows(tx).Insert(ctx, &identity.Role{Name: name})
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err = db.InTx(ctx, scope, func(ctx context.Context, tx helpdesk.Tx) error {
				if err := insert(ctx, tx, "lost"); err != nil {
					return err
				}
				cancel()
				other, done := context.WithTimeout(t.Context(), testenv.Patience)
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
			roles, err := helpdesk.Nouns().Roles.Reader(db.Within(scope)).List(t.Context(), storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
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
