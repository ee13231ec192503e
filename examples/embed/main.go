// Command embed shows a program that owns its database: it places an order and
// opens a conversation about it in one transaction of its own. When the order
// fails, the conversation and the mail that it would have sent are gone with it.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/memblob"
)

func main() {
	if err := run(context.Background(), "file::memory:?_pragma=foreign_keys(1)", os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// shop is the embedding program: its database, and the help desk in it.
type shop struct {
	db    *bun.DB
	store *bunstore.DB
	desk  *helpdesk.Service
	agent helpdesk.Caller
	acme  int64
}

func run(ctx context.Context, dsn string, out io.Writer) error {
	s, err := open(ctx, dsn)
	if err != nil {
		return err
	}
	defer s.db.Close()
	if err := s.order(ctx, "a door", nil); err != nil {
		return err
	}
	failure := s.order(ctx, "a window", errors.New("out of stock"))
	fmt.Fprintln(out, "the second order:", failure)
	return s.report(ctx, out)
}

// open prepares the program's own tables and the help desk's beside them.
func open(ctx context.Context, dsn string) (*shop, error) {
	conn, err := sql.Open("sqlite", dsn) // bunstore links the driver
	if err != nil {
		return nil, err
	}
	conn.SetMaxOpenConns(1) // the memory is the connection's
	db := bun.NewDB(conn, sqlitedialect.New())
	if _, err := db.ExecContext(ctx, "CREATE TABLE orders (id INTEGER PRIMARY KEY, thing TEXT, conversation_id INTEGER)"); err != nil {
		return nil, err
	}
	store := bunstore.New(db, bunstore.Config{})
	if err := store.Migrate(ctx); err != nil {
		return nil, err
	}
	key := storage.NewSecretKey()
	sealer, err := storage.NewSealer(key)
	if err != nil {
		return nil, err
	}
	svc, err := helpdesk.New(helpdesk.Config{Store: store, Blobs: memblob.New(), Sealer: sealer, SigningKey: key})
	if err != nil {
		return nil, err
	}
	user, err := svc.Operator().CreateUser(ctx, helpdesk.UserInput{Email: "shop@example.org", Name: "The shop"})
	if err != nil {
		return nil, err
	}
	account, err := svc.Operator().CreateAccount(ctx, helpdesk.AccountInput{Name: "Acme"}, user.ID)
	if err != nil {
		return nil, err
	}
	s := &shop{db: db, store: store, desk: svc, agent: svc.As(user.ID), acme: account.ID}
	desk, err := svc.Desk(ctx, s.agent, s.acme)
	if err != nil {
		return nil, err
	}
	_, err = desk.CreateMailbox(ctx, helpdesk.MailboxInput{Email: storage.Some("orders@example.org")})
	return s, err
}

// order writes an order and its conversation in one transaction of the program's.
func (s *shop) order(ctx context.Context, thing string, fail error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	// The same service, writing into this transaction.
	desk, err := s.desk.Bind(s.store.Bind(tx)).Desk(ctx, s.agent, s.acme)
	if err != nil {
		return err
	}
	c, err := desk.CreateConversation(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ada@example.com", Subject: "Your order",
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeUser, Body: "Thank you for ordering " + thing + "."}},
	})
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders (thing, conversation_id) VALUES (?, ?)", thing, c.ID); err != nil {
		return err
	}
	if fail != nil {
		return fail
	}
	return tx.Commit()
}

func (s *shop) report(ctx context.Context, out io.Writer) error {
	desk, err := s.desk.Desk(ctx, s.agent, s.acme)
	if err != nil {
		return err
	}
	page, err := desk.Conversations(ctx, helpdesk.ConversationQuery{}, storage.PageRequest{})
	if err != nil {
		return err
	}
	for _, c := range page.Items {
		fmt.Fprintf(out, "conversation %d: %s\n", c.Number, c.Preview)
	}
	orders, err := s.db.NewSelect().Table("orders").Count(ctx)
	fmt.Fprintf(out, "orders: %d\n", orders)
	return err
}
