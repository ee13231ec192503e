package bunstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
)

// One DB is the store, the queue and the event log. A file would be "sqlite:help.db", a server "postgres://…".
func Example() {
	ctx := context.Background()
	db, err := both.Open(ctx, "sqlite::memory:", bunstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	var store helpdesk.Store = db
	account := identity.Account{Name: "Acme", NextNumber: 1}
	err = store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
		if err := tx.InsertAccount(ctx, &account); err != nil {
			return err
		}
		return tx.Within(helpdesk.Scope{AccountID: account.ID}).Emit(ctx, storage.Event{Type: "account.created"})
	})
	if err != nil {
		log.Fatal(err)
	}
	events, err := db.Events(ctx, account.ID, 0, 10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(events[0].Seq, events[0].Type)
	// Output: 1 account.created
}

// An application writes its own rows and the help desk's in one transaction.
func ExampleDB_Bind() {
	create := func(ctx context.Context, app *bun.DB, db *bunstore.DB) error {
		err := app.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			if _, err := tx.ExecContext(ctx, "UPDATE shops SET has_help_desk = ? WHERE id = ?", true, 7); err != nil {
				return err
			}
			return db.Bind(tx).InTx(ctx, helpdesk.Scope{AccountID: 1}, func(ctx context.Context, tx helpdesk.Tx) error {
				return tx.Mailboxes().Insert(ctx, &helpdesk.Mailbox{Name: "Shop", InternalLocal: "shop-7"})
			})
		})
		if err == nil {
			db.WakeWorkers()
		}
		return err
	}
	_ = create
}
