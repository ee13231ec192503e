// Command saas is an application whose users' questions arrive in its own desk, behind its own login, in its own database.
// Ask at http://127.0.0.1:8080/?as=ada, and answer at http://127.0.0.1:8080/desk/ after http://127.0.0.1:8080/?as=boss.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"html/template"
	"log"
	"net/http"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/transport/desk"
	"github.com/helpwright/helpwright/transport/server"
)

func main() {
	a, err := open(context.Background(), "file:saas.db")
	if err == nil {
		go func() { log.Fatal(a.help.Run(context.Background())) }()
		err = http.ListenAndServe("127.0.0.1:8080", a.routes()) // an example; give your server timeouts
	}
	log.Fatal(err)
}

type app struct {
	pool *sql.DB // the application's own database, which also holds the help desk's tables
	help *server.Server
}

const acme = 1 // the account of the only team

func open(ctx context.Context, dsn string) (*app, error) {
	pool, err := sqlite.Pool(dsn)
	if err != nil {
		return nil, err
	}
	a, store := &app{pool: pool}, bunstore.New(bun.NewDB(pool, sqlitedialect.New()), bunstore.Config{})
	outbox, err := outbound.NewSpool("outbox") // for reading the mail; a real program uses a relay
	if err := cmp.Or(err, store.Migrate(ctx)); err != nil {
		return nil, err
	}
	a.help, err = server.New(server.Config{
		Store: store, Blobs: memblob.New(), Keys: [][]byte{storage.NewSecretKey()}, Relay: outbox, Agents: desk.Config{SignIn: "/", Panel: a.about},
		Authenticate: func(r *http.Request) (int64, error) { _, agent := a.who(r); return agent, nil },
	})
	if err != nil {
		return nil, err
	}
	return a, a.createFirst(ctx)
}

// createFirst creates the application's people, and the first agent, account and mailbox, once.
func (a *app) createFirst(ctx context.Context) error {
	operator := a.help.Service().Operator()
	if some, err := operator.HasUsers(ctx); err != nil || some {
		return err
	}
	user, err := operator.CreateUser(ctx, identity.UserInput{Email: "boss@example.org", Name: "The Boss"})
	if err == nil {
		_, err = operator.CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, user.ID)
	}
	var d *helpdesk.Desk
	if err == nil {
		d, err = a.help.Service().Desk(ctx, a.help.Service().As(user.ID), acme)
	}
	if err == nil {
		_, err = d.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("help@example.org")})
	}
	if err == nil {
		_, err = a.pool.ExecContext(ctx, `CREATE TABLE people (name TEXT, email TEXT, plan TEXT, agent INTEGER);
			INSERT INTO people VALUES ('ada', 'ada@example.com', 'Team, 12 seats', 0), ('boss', 'boss@example.org', '', ?)`, user.ID)
	}
	return err
}

// who is the application's own login. A real one requires a password.
func (a *app) who(r *http.Request) (email string, agent int64) {
	if c, err := r.Cookie("who"); err == nil {
		_ = a.pool.QueryRowContext(r.Context(), `SELECT email, agent FROM people WHERE name = ?`, c.Value).Scan(&email, &agent) // otherwise anonymous
	}
	return email, agent
}

// about shows agents the application's data about the customer.
func (a *app) about(ctx context.Context, _ *helpdesk.Desk, c helpdesk.Customer, _ helpdesk.Conversation) (desk.Panel, error) {
	var plan string
	err := a.pool.QueryRowContext(ctx, `SELECT plan FROM people WHERE email = ?`, c.Emails[0].Key).Scan(&plan)
	return desk.Panel{Title: "Plan", HTML: template.HTML(template.HTMLEscapeString(plan))}, err // it is escaped
}

func (a *app) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(server.DeskPath+"/", a.help.Handler())
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "who", Value: r.FormValue("as"), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		fmt.Fprint(w, `<form method="post"><textarea name="question"></textarea><button>Ask</button></form>`)
	})
	mux.HandleFunc("POST /{$}", func(w http.ResponseWriter, r *http.Request) {
		email, _ := a.who(r)
		p, err := a.help.Service().Portal(r.Context(), acme, email)
		if err == nil {
			question := []helpdesk.PortalMessage{{Body: r.PostFormValue("question")}}
			_, err = p.CreateConversation(r.Context(), helpdesk.PortalConversationInput{Subject: "A question", Messages: question})
		}
		fmt.Fprintln(w, "Your question is with us. Problems:", err)
	})
	return mux
}
