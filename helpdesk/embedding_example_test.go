package helpdesk_test

import (
	"context"
	"fmt"
	"log"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// A help desk inside a program, in memory; bunstore and fileblob make it last.
func Example() {
	ctx, key := context.Background(), storage.NewSecretKey()
	sealer, err := storage.NewSealer(key)
	if err != nil {
		log.Fatal(err)
	}
	svc, err := helpdesk.New(helpdesk.Config{Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: key})
	if err != nil {
		log.Fatal(err)
	}
	owner, _ := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "olga@example.org", Name: "Olga"})
	account, _ := svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, owner.ID)
	desk, _ := svc.Desk(ctx, svc.As(owner.ID), account.ID)
	_, _ = desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("support@example.org")})
	c, err := desk.Conversations().Create(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ada@example.com", Subject: "Your door",
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeUser, Body: "Have you tried to pull?"}},
	})
	fmt.Println(c.Number, c.Status, c.Preview, err)
	// Output: 1 posted Have you tried to pull? <nil>
}
