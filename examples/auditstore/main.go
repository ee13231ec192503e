// Command auditstore shows a store that wraps another one: it passes everything on, and writes a line for every transaction
// and for every conversation that one deletes (store.go). Caches, quotas and measurements take the same shape.
//
// auditstore_test.go runs the conformance suite, storagetest, with the audit in between. To keep rows yourself instead, see
// examples/customstore.
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
	"github.com/helpwright/helpwright/storage/memblob"
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
	service, err := helpdesk.New(helpdesk.Config{
		Store: auditedStore{memstore.New(), out}, Blobs: memblob.New(), Sealer: sealer, SigningKey: key,
	})
	if err != nil {
		return err
	}
	desk, err := open(ctx, service)
	if err != nil {
		return err
	}
	mailbox := helpdesk.MailboxInput{Email: storage.Some("help@example.org")}
	if _, err := desk.Mailboxes().Create(ctx, mailbox); err != nil {
		return err
	}
	if _, err := desk.Mailboxes().Create(ctx, mailbox); err == nil {
		return fmt.Errorf("the same address was taken twice")
	}
	conversation, err := desk.Conversations().Create(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ada@example.com", Subject: "Welcome",
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeUser, Body: "Hello Ada"}},
	})
	if err != nil {
		return err
	}
	return desk.Conversations().Delete(ctx, conversation.ID)
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
