package helpdesk_test

import (
	"context"
	"fmt"
	"log"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// An application that has signed in a customer opens the desk for them: they see
// what they wrote and what was mailed to them, and never a note.
func ExampleService_Portal() {
	ctx, key := context.Background(), storage.NewSecretKey()
	sealer, err := storage.NewSealer(key)
	if err != nil {
		log.Fatal(err)
	}
	svc, err := helpdesk.New(helpdesk.Config{Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: key})
	if err != nil {
		log.Fatal(err)
	}
	owner, _ := svc.Operator().CreateUser(ctx, helpdesk.UserInput{Email: "olga@example.org", Name: "Olga"})
	account, _ := svc.Operator().CreateAccount(ctx, helpdesk.AccountInput{Name: "Acme"}, owner.ID)
	desk, _ := svc.Desk(ctx, svc.As(owner.ID), account.ID)
	_, _ = desk.CreateMailbox(ctx, helpdesk.MailboxInput{Email: storage.Some("support@example.org")})

	portal, err := svc.Portal(ctx, account.ID, "ada@example.com")
	if err != nil {
		log.Fatal(err)
	}
	c, _ := portal.CreateConversation(ctx, helpdesk.PortalConversationInput{
		Subject: "Your door", Messages: []helpdesk.PortalMessage{{Body: "It is stuck."}},
	})
	_, _ = desk.CreateInteraction(ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "Again?"})
	page, err := portal.Interactions(ctx, c.ID, storage.PageRequest{})
	for _, i := range page.Items {
		fmt.Println(i.Type, i.Body)
	}
	fmt.Println(err)
	// Output:
	// customer It is stuck.
	// <nil>
}
