package bunstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testnet"
)

// A reply is posted, begun and reported with few statements, however many recipients it has. So are many conversations
// changed alike.
func TestAnswerQueries(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, _ *bunstore.DB) {
		ctx, seen := t.Context(), &recorder{}
		svc, desk, c := answering(t, bunstore.New(app.WithQueryHook(seen), bunstore.Config{}))
		ids := []int64{c.ID}
		for range 9 {
			more, err := desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "bob@example.com", Subject: "A window"})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, more.ID)
		}
		seen.take()
		if _, err := desk.Conversations().UpdateAll(ctx, ids, helpdesk.BulkUpdate{UserID: storage.Some(desk.UserID())}); err != nil {
			t.Fatal(err)
		}
		if queries := seen.take(); len(queries) > 7 { // one of them enqueues the folding of facts
			t.Errorf("10 conversations are updated with %d statements:\n%s", len(queries), strings.Join(queries, "\n"))
		}
		// Answers go to new addresses, which the search index gets: two of the statements to post on SQLite, one on PostgreSQL.
		most := map[string]int{"post": 17, "begin": 16, "report": 8}
		if strings.Contains(app.String(), "pg") {
			most = map[string]int{"post": 13, "begin": 14, "report": 5}
		}
		check := func(what string) {
			t.Helper()
			if queries := seen.take(); len(queries) > most[what] {
				t.Errorf("%s: %d statements:\n%s", what, len(queries), strings.Join(queries, "\n"))
			}
		}
		out := svc.Outgoing()
		var colleagues []string
		for n := range 20 {
			colleagues = append(colleagues, fmt.Sprintf("colleague%d@example.com", n))
		}
		for n := range 4 {
			seen.take()
			i, err := desk.Interactions().Create(ctx, c.ID, helpdesk.InteractionInput{
				Type: helpdesk.TypeUser, Body: "Push.", To: []string{fmt.Sprintf("ada%d@example.com", n)}, Cc: colleagues,
			})
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 { // the first one adds to the search index
				check("post")
			}
			colleagues = nil
			seen.take()
			begun, err := out.Begin(ctx, desk.AccountID(), i.ID, int64(n+1))
			if err != nil {
				t.Fatal(err)
			}
			check("begin")
			var outcomes []helpdesk.Outcome
			for _, d := range begun.Due {
				outcomes = append(outcomes, helpdesk.Outcome{DeliveryID: d.ID, State: sending.Sent})
			}
			if _, err := out.Report(ctx, desk.AccountID(), i.ID, outcomes); err != nil {
				t.Fatal(err)
			}
			check("report")
		}
	})
}

// answering returns a service on a store, with the desk of an owner and a conversation to answer.
func answering(t *testing.T, store helpdesk.Store) (*helpdesk.Service, *helpdesk.Desk, helpdesk.Conversation) {
	t.Helper()
	ctx, svc := t.Context(), service(t, store)
	desk := firstDesk(t, svc)
	if _, err := desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("support@example.org")}); err != nil {
		t.Fatal(err)
	}
	c, err := desk.Conversations().Create(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ada@example.com", Subject: "The door",
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: "It is stuck."}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return svc, desk, c
}

// firstDesk returns the desk of an owner in a new account.
func firstDesk(t *testing.T, svc *helpdesk.Service) *helpdesk.Desk {
	t.Helper()
	owner, err := svc.Operator().CreateUser(t.Context(), identity.UserInput{Email: "olga@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	account, err := svc.Operator().CreateAccount(t.Context(), identity.AccountInput{Name: "Acme"}, owner.ID)
	if err != nil {
		t.Fatal(err)
	}
	desk, err := svc.Desk(t.Context(), svc.As(owner.ID), account.ID)
	if err != nil {
		t.Fatal(err)
	}
	return desk
}

// PostgreSQL gets a reply in few round trips.
func TestAnswerTrips(t *testing.T) {
	t.Parallel()
	proxy, through := testnet.ProxyTo(t, testenv.Postgres(t))
	db := open(t, through, bunstore.Config{MaxConns: 2})
	_, desk, c := answering(t, db)
	for _, tc := range []struct {
		what helpdesk.InteractionType
		most int
	}{{helpdesk.TypeUser, 16}, {helpdesk.TypeNote, 11}} {
		fewest := 100
		for n := range 10 { // a connection that was idle for a second is asked first
			bunstore.Announced(db)
			before := proxy.Trips()
			in := helpdesk.InteractionInput{Type: tc.what, Body: fmt.Sprintf("Push %s %d.", tc.what, n)} // the index of words changes, too
			if _, err := desk.Interactions().Create(t.Context(), c.ID, in); err != nil {
				t.Fatal(err)
			}
			bunstore.Announced(db)
			fewest = min(fewest, proxy.Trips()-before-1) // without telling other processes, which nobody waits for
		}
		if fewest > tc.most {
			t.Errorf("%s: %d round trips, want %d", tc.what, fewest, tc.most)
		}
	}
}
