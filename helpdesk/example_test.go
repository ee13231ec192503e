package helpdesk_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// exampleDesk is a help desk in memory with its owner at work and one mailbox.
func exampleDesk(ctx context.Context) (*helpdesk.Service, *helpdesk.Desk, helpdesk.Mailbox) {
	key := make([]byte, 32) // storage.NewSecretKey() in earnest
	sealer, err := storage.NewSealer(key)
	if err != nil {
		panic(err)
	}
	svc, err := helpdesk.New(helpdesk.Config{Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: key})
	if err != nil {
		panic(err)
	}
	owner, _ := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "olga@example.org", Name: "Olga"})
	account, _ := svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, owner.ID)
	desk, _ := svc.Desk(ctx, svc.As(owner.ID), account.ID)
	mailbox, _ := desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Name: storage.Some("Support"), Email: storage.Some("support@example.org")})
	return svc, desk, mailbox
}

// A handle is opened for a member; to a stranger the account does not exist.
func ExampleService_Desk() {
	ctx := context.Background()
	svc, desk, _ := exampleDesk(ctx)
	stranger, _ := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "eve@example.net"})
	_, err := svc.Desk(ctx, svc.As(stranger.ID), desk.AccountID())
	fmt.Println(errors.Is(err, helpdesk.ErrNotFound))
	// Output: true
}

// An answer is sent by posting it; its delivery can be followed.
func ExampleInteractions_Create() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	c, _ := desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: "Your door"})
	answer, _ := desk.Interactions().Create(ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Have you tried to pull?"})
	deliveries, _ := desk.Interactions().Deliveries(ctx, []int64{answer.ID})
	fmt.Println(answer.To, deliveries[0].State)
	// Output: [ada@example.com] queued
}

// A list is read page by page, at the same cost however deep.
func ExampleConversations_List() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	for i := range 5 {
		_, _ = desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: fmt.Sprint("Question ", i+1)})
	}
	for cursor := ""; ; {
		page, _ := desk.Conversations().List(ctx, helpdesk.ConversationQuery{Sort: helpdesk.ByNumber}, storage.PageRequest{Limit: 2, Cursor: cursor})
		for _, c := range page.Items {
			fmt.Print(c.Number, " ")
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	// Output: 5 4 3 2 1
}

// A source takes raw mail into the ledger, from where it is parsed and filed; helpdesk/ingest does both.
func ExampleIntake() {
	ctx := context.Background()
	svc, desk, mailbox := exampleDesk(ctx)
	intake := svc.Intake()
	_ = intake.Take(ctx, desk.AccountID(), mailbox.ID, "smtp", []ledger.Raw{{Raw: []byte("From: ada@example.com\r\n\r\nHelp!")}}, nil)
	waiting, _ := intake.Waiting(ctx, desk.AccountID(), mailbox.ID, 0, 10)
	row, _ := intake.File(ctx, desk.AccountID(), waiting[0].ID, ledger.Incoming{
		Message: message.Message{
			From: []mailaddr.Address{{Name: "Ada", Email: "ada@example.com"}}, Text: "Help!",
		}, Identity: []byte("of this mail"),
	})
	c, _ := desk.Conversations().Get(ctx, row.ConversationID)
	fmt.Println(row.State, c.CustomerEmail, c.Preview)
	// Output: filed ada@example.com Help!
}

// A sender of mail takes a mail with Begin and reports the outcome with Report; helpdesk/outbound does both.
func ExampleOutgoing() {
	ctx := context.Background()
	svc, desk, _ := exampleDesk(ctx)
	c, _ := desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: "Your door"})
	answer, _ := desk.Interactions().Create(ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Pull."})
	out := svc.Outgoing()
	mail, _ := out.Begin(ctx, desk.AccountID(), answer.ID, 1)
	outcome := helpdesk.Outcome{DeliveryID: mail.Due[0].ID, State: sending.Sent, Code: 250, Response: "queued"}
	next, _ := out.Report(ctx, desk.AccountID(), answer.ID, []helpdesk.Outcome{outcome})
	fmt.Println(mail.From.Name, mail.To, next.IsZero())
	// Output: Support [ada@example.com] true
}
