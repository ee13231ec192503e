package bunstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/internal/unwatched"
	"github.com/helpwright/helpwright/storage/storagetest/testenv"
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

// breaking is a driver whose connections, while the server restarts, are broken when a transaction begins.
type breaking struct{ broken, begun *atomic.Int64 }

func (d breaking) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (breaking) Driver() driver.Driver                          { return unwatched.Driver{} }
func (breaking) Prepare(string) (driver.Stmt, error)            { return nil, errors.ErrUnsupported }
func (breaking) Begin() (driver.Tx, error)                      { return nil, errors.ErrUnsupported }
func (breaking) Close() error                                   { return nil }
func (breaking) Commit() error                                  { return nil }
func (breaking) Rollback() error                                { return nil }

func (d breaking) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	d.begun.Add(1)
	if d.broken.Add(-1) >= 0 {
		return nil, driver.ErrBadConn
	}
	return d, nil
}

// A transaction begins on a new connection when those of the pool are broken, and gives up when that is broken, too.
func TestTransactionsOnBrokenConnections(t *testing.T) {
	t.Parallel()
	const idle = 3
	for _, tt := range []struct {
		broken, begun int64
		want          error
	}{{0, 1, nil}, {1, 2, nil}, {idle, idle + 1, nil}, {idle + 1, idle + 1, driver.ErrBadConn}, {100, idle + 1, driver.ErrBadConn}} {
		d := breaking{&atomic.Int64{}, &atomic.Int64{}}
		pool := sql.OpenDB(d)
		pool.SetMaxIdleConns(idle)
		testenv.OpenConnections(t, pool, idle)
		d.broken.Store(tt.broken)
		tx, err := bunstore.BeginTx(t.Context(), t.Context(), pool)
		if !errors.Is(err, tt.want) || d.begun.Load() != tt.begun {
			t.Errorf("%d broken: %v after %d attempts", tt.broken, err, d.begun.Load())
		}
		if err == nil {
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
			if err := tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
				t.Errorf("ended twice: %v", err)
			}
			if _, err := tx.ExecContext(t.Context(), "SELECT 1"); !errors.Is(err, sql.ErrTxDone) {
				t.Errorf("a statement afterwards: %v", err)
			}
		}
		if used := pool.Stats().InUse; used != 0 {
			t.Errorf("%d broken: %d connections are not given back", tt.broken, used)
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}
}
