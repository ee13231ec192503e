// Command customstore shows how to write your own storage: a file store from scratch (blobs.go),
// and a data store that adds an audit to another one (store.go). A backend for your own database
// implements helpdesk.Store in the same way.
//
// customstore_test.go runs the conformance suite, storagetest, on both. Do the same with yours: a
// store that passes can be trusted with mail.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memstore"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	key := storage.NewSecretKey() // a real program keeps it
	sealer, err := storage.NewSealer(key)
	if err != nil {
		return err
	}
	blobs := &mapBlobs{}
	service, err := helpdesk.New(helpdesk.Config{
		Store: auditedStore{memstore.New(), out}, Blobs: blobs, Sealer: sealer, SigningKey: key,
	})
	if err != nil {
		return err
	}
	desk, err := open(ctx, service)
	if err != nil {
		return err
	}
	mailbox := helpdesk.MailboxInput{Email: storage.Some("help@example.org")}
	if _, err := desk.CreateMailbox(ctx, mailbox); err != nil {
		return err
	}
	if _, err := desk.CreateMailbox(ctx, mailbox); err == nil {
		return fmt.Errorf("the same address was taken twice")
	}
	conversation, err := desk.CreateConversation(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ada@example.com", Subject: "Welcome",
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeUser, Body: "Hello Ada"}},
	})
	if err != nil {
		return err
	}
	return desk.DeleteConversation(ctx, conversation.ID)
}

// open creates a user with an account and opens the desk.
func open(ctx context.Context, service *helpdesk.Service) (*helpdesk.Desk, error) {
	user, err := service.Operator().CreateUser(ctx, identity.UserInput{Name: "Grace", Email: "grace@example.org"})
	if err != nil {
		return nil, err
	}
	account, err := service.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Navy"}, user.ID)
	if err != nil {
		return nil, err
	}
	return service.Desk(ctx, service.As(user.ID), account.ID)
}
