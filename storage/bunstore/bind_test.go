package bunstore_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/storagetest"
	"github.com/helpwright/helpwright/storage/testenv"
)

// embedded opens the databases of applications that embed the help desk, with the defaults of their drivers.
var embedded = map[string]func(t testing.TB) *bun.DB{
	"SQLite": func(t testing.TB) *bun.DB {
		db, err := sql.Open("sqlite", escaped(databases[0].url(t))+"&_pragma=journal_mode(WAL)")
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(4)
		return bun.NewDB(db, sqlitedialect.New())
	},
	"PostgreSQL": func(t testing.TB) *bun.DB {
		config, err := pgx.ParseConfig(testenv.Postgres(t))
		if err != nil {
			t.Fatal(err)
		}
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
		db := stdlib.OpenDB(*config)
		db.SetMaxOpenConns(10)
		return bun.NewDB(db, pgdialect.New())
	},
}

func eachEmbedded(t *testing.T, fn func(t *testing.T, app *bun.DB, db *bunstore.DB)) {
	t.Helper()
	for name, open := range embedded {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := open(t)
			t.Cleanup(func() { _ = app.Close() })
			db := bunstore.New(app, bunstore.Config{})
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := app.Exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, account_id INTEGER NOT NULL)"); err != nil {
				t.Fatal(err)
			}
			fn(t, app, db)
		})
	}
}

// The suite passes on the database of an embedding application as well. TestStatements runs it on SQLite.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	suiteEmbedded(t, embedded["PostgreSQL"], nil)
}

// suiteEmbedded runs the suite on databases that open opens. hook sees its statements.
func suiteEmbedded(t *testing.T, open func(t testing.TB) *bun.DB, hook bun.QueryHook) {
	t.Helper()
	storagetest.Run(t, func(t *testing.T) storagetest.Backend {
		app := open(t)
		t.Cleanup(func() { _ = app.Close() })
		db := bunstore.New(app, bunstore.Config{})
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil { // must not close what it does not own
			t.Fatal(err)
		}
		if hook != nil {
			db = bunstore.New(app.WithQueryHook(hook), bunstore.Config{})
		}
		return storagetest.Backend{Store: db, Jobs: db, Events: db, KB: db.KB()}
	})
}

var errOnPurpose = errors.New("on purpose")

// newAccount creates an account with a role, an event and a job.
func newAccount(ctx context.Context, store helpdesk.Store, name string) (identity.Account, error) {
	account := identity.Account{Name: name, NextNumber: 1}
	err := store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
		if err := tx.InsertAccount(ctx, &account); err != nil {
			return err
		}
		in := tx.Within(helpdesk.Scope{AccountID: account.ID})
		if err := helpdesk.Nouns().Roles.Rows(in).Insert(ctx, &identity.Role{Name: "all"}); err != nil {
			return err
		}
		if err := in.Emit(ctx, storage.Event{Type: "account.created"}); err != nil {
			return err
		}
		return in.Enqueue(ctx, storage.Job{Kind: "test", Subject: account.ID})
	})
	return account, err
}

// left checks whether the rows of newAccount exist.
func left(t *testing.T, db *bunstore.DB, account int64, want bool) {
	t.Helper()
	_, err := db.Within(helpdesk.Scope{AccountID: account}).Account(t.Context())
	if fault.Is(err, fault.NotFound) == want {
		t.Errorf("account %d: %v, want it there: %v", account, err, want)
	}
	roles, err := helpdesk.Nouns().Roles.Reader(db.Within(helpdesk.Scope{AccountID: account})).List(t.Context(), storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil || (len(roles) == 1) != want {
		t.Errorf("account %d: %d roles, %v", account, len(roles), err)
	}
	events, err := db.Events(t.Context(), account, 0, 10)
	if err != nil || (len(events) == 1) != want {
		t.Errorf("account %d: %d events, %v", account, len(events), err)
	}
	jobs, err := db.Claim(t.Context(), map[string]int{"test": 10}, time.Now(), time.Now())
	if err != nil {
		t.Error(err)
	}
	found := false
	for _, j := range jobs {
		found = found || j.Subject == account
	}
	if found != want {
		t.Errorf("account %d: job there: %v", account, found)
	}
}

// The caller's transaction decides the outcome, together with the caller's own rows.
func TestBind(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, db *bunstore.DB) {
		for _, commit := range []bool{true, false} {
			tx, err := app.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			account, err := newAccount(t.Context(), db.Bind(tx), "bound")
			if err != nil {
				t.Fatal(err)
			}
			got, err := db.Bind(tx).Within(helpdesk.Scope{AccountID: account.ID}).Account(t.Context())
			if err != nil || got.Name != "bound" {
				t.Errorf("read in the transaction: %v, %v", got, err)
			}
			if _, err := tx.Exec("INSERT INTO orders (id, account_id) VALUES (?, ?)", account.ID, account.ID); err != nil {
				t.Fatal(err)
			}
			end := tx.Rollback
			if commit {
				end = tx.Commit
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			var orders int
			if err := app.NewRaw("SELECT count(*) FROM orders WHERE id = ?", account.ID).Scan(t.Context(), &orders); err != nil {
				t.Fatal(err)
			}
			if (orders == 1) != commit {
				t.Errorf("commit %v: %d orders", commit, orders)
			}
			if commit {
				left(t, db, account.ID, true)
			}
		}
		var accounts int
		if err := app.NewRaw("SELECT count(*) FROM hw_accounts").Scan(t.Context(), &accounts); err != nil || accounts != 1 {
			t.Errorf("%d accounts, %v", accounts, err)
		}
	})
}

// A failing function undoes its own changes, but nothing before or after it.
func TestBindSavepoint(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, db *bunstore.DB) {
		tx, err := app.DB.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		bound := db.BindSQL(tx)
		first, err := newAccount(t.Context(), bound, "first")
		if err != nil {
			t.Fatal(err)
		}
		scope := helpdesk.Scope{AccountID: first.ID}
		var kept helpdesk.Tx
		err = bound.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
			kept = tx
			if err := helpdesk.Nouns().Roles.Rows(tx).Insert(ctx, &identity.Role{Name: "undone"}); err != nil {
				return err
			}
			if err := tx.Emit(ctx, storage.Event{Type: "undone"}); err != nil {
				return err
			}
			return errOnPurpose
		})
		if !errors.Is(err, errOnPurpose) {
			t.Errorf("got %v, want the function's error", err)
		}
		if _, err := kept.Account(t.Context()); !fault.Is(err, fault.Internal) {
			t.Errorf("after the end: %v", err)
		}
		// after a uniqueness conflict PostgreSQL refuses all further statements, up to the savepoint
		err = bound.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
			if err := tx.Mailboxes().Insert(ctx, &helpdesk.Mailbox{InternalLocal: "same"}); err != nil {
				return err
			}
			return tx.Mailboxes().Insert(ctx, &helpdesk.Mailbox{InternalLocal: "same"})
		})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("got %v, want a Conflict", err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = bound.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
				_ = helpdesk.Nouns().Roles.Rows(tx).Insert(ctx, &identity.Role{Name: "undone"})
				panic(errOnPurpose)
			})
		}()
		second, err := newAccount(t.Context(), bound, "second")
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		left(t, db, first.ID, true)
		if roles, err := helpdesk.Nouns().Roles.Reader(db.Within(helpdesk.Scope{AccountID: second.ID})).List(t.Context(), storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit}); err != nil || len(roles) != 1 {
			t.Errorf("%v, %v", roles, err)
		}
	})
}
