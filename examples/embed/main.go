// Command embed shows a program with its own database, users and pages that embeds a help desk: it places an order and opens
// a conversation about it in one transaction of its own. When the order fails, the conversation and its outgoing mail are
// rolled back too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/transport/server"
)

func main() {
	listen := flag.String("listen", "", "address to serve the shop and its help desk at; none: only show an order")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, "file::memory:?_pragma=foreign_keys(1)", *listen, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// shop is the embedding program: its database, and the help desk in it.
type shop struct {
	db    *bun.DB
	store *bunstore.DB
	help  *server.Server
	mails relay
	agent helpdesk.Caller
	acme  int64
}

// relay receives the outgoing mails of this program.
type relay chan string

// Send implements [outbound.Transport].
func (r relay) Send(_ context.Context, _ string, to []string, _ *outbound.Mail) ([]outbound.Result, error) {
	r <- strings.Join(to, ", ")
	results := make([]outbound.Result, len(to))
	for i := range results {
		results[i].State = sending.Sent
	}
	return results, nil
}

func run(ctx context.Context, dsn, listen string, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := open(ctx, dsn)
	if err != nil {
		return err
	}
	defer s.db.Close()
	stopped := make(chan error, 1)
	go func() { stopped <- s.help.Run(ctx) }()
	if err := s.order(ctx, "a door", nil); err != nil {
		return err
	}
	fmt.Fprintln(out, "a mail to", <-s.mails)
	failure := s.order(ctx, "a window", errors.New("out of stock"))
	fmt.Fprintln(out, "the second order:", failure)
	if err := s.report(ctx, out); err != nil {
		return err
	}
	if listen != "" {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return err
		}
		if err := server.Serve(ctx, l, s.routes()); err != nil {
			return err
		}
	}
	stop()
	return <-stopped
}

// routes returns the program's pages, with the API and the help centres below /help.
func (s *shop) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "Doors and windows") })
	mux.Handle("/help/", http.StripPrefix("/help", s.help.Handler()))
	return mux
}

// signedIn identifies the user by the program's own means: here, by a header that a proxy in front sets.
func signedIn(r *http.Request) (userID int64, err error) {
	if r.Header.Get("X-Shop-User") == "" {
		return 0, nil
	}
	return strconv.ParseInt(r.Header.Get("X-Shop-User"), 10, 64)
}

// open creates the program's own tables and the help desk's beside them.
func open(ctx context.Context, dsn string) (*shop, error) {
	conn, err := sqlite.Pool(dsn)
	if err != nil {
		return nil, err
	}
	conn.SetMaxOpenConns(1) // an in-memory database belongs to its connection
	db := bun.NewDB(conn, sqlitedialect.New())
	if _, err := db.ExecContext(ctx, "CREATE TABLE orders (id INTEGER PRIMARY KEY, thing TEXT, conversation_id INTEGER)"); err != nil {
		return nil, err
	}
	s := &shop{db: db, store: bunstore.New(db, bunstore.Config{}), mails: make(relay)}
	if err := s.store.Migrate(ctx); err != nil {
		return nil, err
	}
	s.help, err = server.New(server.Config{
		Store: s.store, Blobs: memblob.New(), Keys: [][]byte{storage.NewSecretKey()}, Relay: s.mails,
		BaseURL: "https://shop.example/help", Authenticate: signedIn,
	})
	if err != nil {
		return nil, err
	}
	return s, s.people(ctx)
}

// people creates the user on whose behalf the program writes, and the mailbox to which customers write.
func (s *shop) people(ctx context.Context) error {
	svc := s.help.Service()
	user, err := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "shop@example.org", Name: "The shop"})
	if err != nil {
		return err
	}
	account, err := svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, user.ID)
	if err != nil {
		return err
	}
	s.agent, s.acme = svc.As(user.ID), account.ID
	desk, err := svc.Desk(ctx, s.agent, s.acme)
	if err != nil {
		return err
	}
	_, err = desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("orders@example.org")})
	return err
}

// order writes an order and its conversation in one transaction of the program.
func (s *shop) order(ctx context.Context, thing string, fail error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	// The same service, bound to this transaction.
	desk, err := s.help.Service().Bind(s.store.Bind(tx)).Desk(ctx, s.agent, s.acme)
	if err != nil {
		return err
	}
	c, err := desk.Conversations().Create(ctx, helpdesk.ConversationInput{
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
	if err := tx.Commit(); err != nil {
		return err
	}
	s.store.WakeWorkers() // sends the mail at once
	return nil
}

func (s *shop) report(ctx context.Context, out io.Writer) error {
	desk, err := s.help.Service().Desk(ctx, s.agent, s.acme)
	if err != nil {
		return err
	}
	page, err := desk.Conversations().List(ctx, helpdesk.ConversationQuery{}, storage.PageRequest{})
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
