package bunstore_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/testenv"
)

// plainPostgres opens a separate connection to a database.
func plainPostgres(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// With standard_conforming_strings off a backslash escapes a quote, and the values that bun writes into statements would not
// end where bun expects.
func TestStandardConformingStrings(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	plain := plainPostgres(t, dsn)
	if _, err := plain.Exec("ALTER DATABASE " + u.Path[1:] + " SET standard_conforming_strings = off"); err != nil {
		t.Fatal(err)
	}
	db := open(t, dsn, bunstore.Config{})
	for _, attack := range []string{
		`\'; DROP TABLE hw_users; --`, `\`, `\\`, `'`, `\''`, `''`, `$$`, `E'\''`, `?0 ?name ??`, `--`, `/*`,
		`", x); DROP TABLE hw_users; --`, `\u0000`, `{"a":"\\u0000"}`,
	} {
		user := identity.User{Name: attack, Email: attack, EmailKey: attack}
		token := identity.AccessToken{Hash: []byte(attack), Scopes: []identity.Permission{identity.Permission(attack)}}
		err := db.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
			if err := tx.InsertUser(ctx, &user); err != nil {
				return err
			}
			token.UserID = user.ID
			return tx.InsertToken(ctx, &token)
		})
		if err != nil {
			t.Fatalf("%q: %v", attack, err)
		}
		if got, err := db.UserByEmail(t.Context(), attack); err != nil || !reflect.DeepEqual(got, user) {
			t.Errorf("%q came back as %+v, %v", attack, got, err)
		}
		got, err := db.TokenByHash(t.Context(), token.Hash)
		if err != nil || len(got.Scopes) != 1 || got.Scopes[0] != token.Scopes[0] {
			t.Errorf("%q came back as %+v, %v", attack, got, err)
		}
	}
	// An application's own pool is refused while the setting is off.
	app := bunstore.New(bun.NewDB(plainPostgres(t, dsn), pgdialect.New()), bunstore.Config{})
	if err := app.Ping(t.Context()); !fault.Is(err, fault.Disabled) {
		t.Errorf("Ping: %v", err)
	}
	if err := app.Migrate(t.Context()); !fault.Is(err, fault.Disabled) {
		t.Errorf("Migrate: %v", err)
	}
}

// TestPingRefusesPreparedStatements opens pools of pgx with and without a cache of prepared statements.
func TestPingRefusesPreparedStatements(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	for mode, refused := range map[string]bool{"": true, "cache_statement": true, "exec": false, "simple_protocol": false} {
		address := dsn
		if mode != "" {
			u, err := url.Parse(dsn)
			if err != nil {
				t.Fatal(err)
			}
			query := u.Query()
			query.Set("default_query_exec_mode", mode)
			u.RawQuery = query.Encode()
			address = u.String()
		}
		pool, err := sql.Open("pgx", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pool.Close() })
		db := bunstore.New(bun.NewDB(pool, pgdialect.New()), bunstore.Config{})
		for range 2 {
			if err := db.Ping(t.Context()); fault.Is(err, fault.Disabled) != refused || !refused && err != nil {
				t.Errorf("mode %q: %v", mode, err)
			}
		}
	}
}

// enqueue adds a job to the queue.
func enqueue(t *testing.T, db *bunstore.DB) {
	t.Helper()
	err := db.InTx(t.Context(), helpdesk.Scope{}, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Enqueue(ctx, storage.Job{Kind: "test"})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// woken waits for a wake-up.
func woken(t *testing.T, db *bunstore.DB) {
	t.Helper()
	select {
	case <-db.Wake():
	case <-time.After(testenv.Patience):
		t.Fatal("the jobs of another process did not wake this one")
	}
}

// Jobs of another process wake this one, even after the connection was lost.
func TestRun(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	other, db := open(t, dsn, bunstore.Config{}), open(t, dsn, bunstore.Config{})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- db.Run(ctx) }()
	woken(t, db) // it listens now
	enqueue(t, other)
	woken(t, db)
	if _, err := plainPostgres(t, dsn).Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"); err != nil {
		t.Fatal(err)
	}
	woken(t, db) // it listens again
	enqueue(t, other)
	woken(t, db)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// On SQLite Run also ends with its context, and jobs of this process wake it without Run.
func TestRunSQLite(t *testing.T) {
	t.Parallel()
	db := open(t, "sqlite::memory:", bunstore.Config{})
	enqueue(t, db)
	woken(t, db)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := db.Run(ctx); err != nil {
		t.Error(err)
	}
}

// Two transactions that lock the same conversations in opposite order deadlock; one of them is run again.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t), bunstore.Config{})
	account, conversations := twoConversations(t, db)
	var locked, group sync.WaitGroup
	locked.Add(2)
	runs := make(chan int, 20)
	for i := range 2 {
		group.Go(func() {
			first := true
			err := db.InTx(t.Context(), account, func(ctx context.Context, tx helpdesk.Tx) error {
				runs <- i
				if _, err := tx.Conversations().Lock(ctx, conversations[i]); err != nil {
					return err
				}
				if first {
					first = false
					locked.Done()
					locked.Wait()
				}
				_, err := tx.Conversations().Lock(ctx, conversations[1-i])
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(runs) < 3 {
		t.Errorf("%d runs, want one more than transactions", len(runs))
	}
}

// A conversation is filed while its mailbox or customer is being changed, and neither transaction runs again: see forChange.
func TestFilingDuringChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(ctx context.Context, tx helpdesk.Tx, of helpdesk.Conversation) error{
		"mailbox": func(ctx context.Context, tx helpdesk.Tx, of helpdesk.Conversation) error {
			m, err := tx.Mailboxes().Lock(ctx, of.MailboxID)
			if err != nil {
				return err
			}
			m.Name = "New"
			return tx.Mailboxes().Update(ctx, &m)
		},
		"customer": func(ctx context.Context, tx helpdesk.Tx, of helpdesk.Conversation) error {
			c, err := tx.CustomerForUpdate(ctx, of.CustomerID)
			if err != nil {
				return err
			}
			c.Company = "New"
			return tx.UpdateCustomer(ctx, &c)
		},
		"same terms": func(ctx context.Context, tx helpdesk.Tx, of helpdesk.Conversation) error {
			return tx.SetCustomerTerms(ctx, of.CustomerID, []string{"old"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, testenv.Postgres(t), bunstore.Config{})
			scope, ids := twoConversations(t, db)
			of, err := db.Within(scope).Conversations().Get(t.Context(), ids[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := db.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
				return tx.SetCustomerTerms(ctx, of.CustomerID, []string{"old"})
			}); err != nil {
				t.Fatal(err)
			}
			runs := make(chan string, 20)
			filed := make(chan error, 1)
			file := func() {
				filed <- db.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
					runs <- "filing"
					return fileConversation(ctx, tx, of)
				})
			}
			if err := db.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
				runs <- "change"
				if err := change(ctx, tx, of); err != nil {
					return err
				}
				go file()
				if err := <-filed; err != nil { // the lock timeout if it waits
					return err
				}
				return tx.Emit(ctx, storage.Event{Type: "mailbox.updated"})
			}); err != nil {
				t.Fatal(err)
			}
			if len(runs) != 2 {
				t.Errorf("%d runs of two transactions", len(runs))
			}
		})
	}
}

// fileConversation adds a conversation as filing does: a number, the conversation, its terms, an event.
func fileConversation(ctx context.Context, tx helpdesk.Tx, like helpdesk.Conversation) error {
	number, err := tx.TakeNumber(ctx)
	if err != nil {
		return err
	}
	c := helpdesk.Conversation{Number: number, MailboxID: like.MailboxID, CustomerID: like.CustomerID}
	if err := tx.Conversations().Insert(ctx, &c); err != nil {
		return err
	}
	if err := tx.SetSearchTerms(ctx, c.ID, nil); err != nil {
		return err
	}
	return tx.Emit(ctx, storage.Event{Type: "conversation.created"})
}

func twoConversations(t *testing.T, db *bunstore.DB) (scope helpdesk.Scope, ids []int64) {
	t.Helper()
	account, err := newAccount(t.Context(), db, "deadlock")
	if err != nil {
		t.Fatal(err)
	}
	scope = helpdesk.Scope{AccountID: account.ID}
	err = db.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
		mailbox, customer := helpdesk.Mailbox{}, helpdesk.Customer{}
		if err := tx.Mailboxes().Insert(ctx, &mailbox); err != nil {
			return err
		}
		if err := tx.InsertCustomer(ctx, &customer); err != nil {
			return err
		}
		for range 2 {
			c := helpdesk.Conversation{MailboxID: mailbox.ID, CustomerID: customer.ID}
			if err := tx.Conversations().Insert(ctx, &c); err != nil {
				return err
			}
			ids = append(ids, c.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return scope, ids
}

// A lost connection is an Unavailable fault: a retry helps.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	t.Run("Terminated", func(t *testing.T) {
		t.Parallel()
		dsn := testenv.Postgres(t)
		db, plain := open(t, dsn, bunstore.Config{}), plainPostgres(t, dsn)
		err := db.InTx(t.Context(), helpdesk.Scope{AccountID: 1}, func(ctx context.Context, tx helpdesk.Tx) error {
			if _, err := plain.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE application_name = 'helpwright' AND datname = current_database()`); err != nil {
				return err
			}
			_, err := tx.Account(ctx)
			return err
		})
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("got %v", err)
		}
		for range 30 { // the other connections of the pool were ended as well
			if _, err = db.HasUsers(t.Context()); !fault.Is(err, fault.Unavailable) {
				break
			}
		}
		if err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
	persistent(t, func(t *testing.T, url string) {
		db := open(t, url, bunstore.Config{})
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := db.HasUsers(t.Context()); !fault.Is(err, fault.Unavailable) {
			t.Errorf("reading from a closed database: %v", err)
		}
		err := db.InTx(t.Context(), helpdesk.Scope{}, func(context.Context, helpdesk.Tx) error { return nil })
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("a transaction on a closed database: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := open(t, url, bunstore.Config{}).HasUsers(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("an ended context: %v", err)
		}
	})
}
