package movein_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/movein"
	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
	"github.com/helpwright/helpwright/helpdesk/movein/zendesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// An export of Zendesk becomes conversations of a mailbox. The folder is opened so that nothing outside of it is read.
func Example() {
	ctx := context.Background()
	svc, account, mailbox := deskForExample(ctx)
	root, err := os.OpenRoot("zendesk/testdata/api")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	source, err := zendesk.Open(ctx, foreign.Config{Files: root.FS()})
	if err != nil {
		log.Fatal(err)
	}
	importer, err := movein.New(movein.Config{MoveIn: svc.MoveIn(), AccountID: account, MailboxID: mailbox})
	if err != nil {
		log.Fatal(err)
	}
	for _, dryRun := range []bool{true, false, false} {
		done, err := importer.Import(ctx, source, dryRun)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(done.Conversations, "conversations,", done.Messages, "messages,", done.Known, "known")
	}
	// Output:
	// 2 conversations, 5 messages, 0 known
	// 2 conversations, 5 messages, 0 known
	// 0 conversations, 0 messages, 2 known
}

// deskForExample makes a help desk in memory with an account and a mailbox.
func deskForExample(ctx context.Context) (svc *helpdesk.Service, account, mailbox int64) {
	sealer, err := storage.NewSealer(make([]byte, 32))
	if err != nil {
		log.Fatal(err)
	}
	svc, err = helpdesk.New(helpdesk.Config{Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: make([]byte, 32)})
	if err != nil {
		log.Fatal(err)
	}
	owner, err := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "owner@example.org"})
	if err != nil {
		log.Fatal(err)
	}
	a, err := svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, owner.ID)
	if err != nil {
		log.Fatal(err)
	}
	desk, err := svc.Desk(ctx, svc.As(owner.ID), a.ID)
	if err != nil {
		log.Fatal(err)
	}
	m, err := desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Name: storage.Some("Support"), Email: storage.Some("support@example.org")})
	if err != nil {
		log.Fatal(err)
	}
	return svc, a.ID, m.ID
}
