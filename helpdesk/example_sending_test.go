package helpdesk_test

import (
	"context"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// Answers that wait for a while before they leave can be called back.
func ExampleInteractions_CancelSending() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	_, _ = desk.Account().Update(ctx, identity.AccountUpdate{Name: "Acme", SendHold: storage.Some(30 * time.Second)})
	c, _ := desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: "Your door"})
	answer, _ := desk.Interactions().Create(ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Push."})
	draft, err := desk.Interactions().CancelSending(ctx, c.ID, answer.ID)
	fmt.Println(answer.Status, draft.Status, err)
	// Output: posted draft <nil>
}

// An address that is suppressed gets no mail, and whoever writes to it is told.
func ExampleSuppressions_Add() {
	ctx := context.Background()
	svc, desk, _ := exampleDesk(ctx)
	_, _ = desk.Suppressions().Add(ctx, sending.SuppressionInput{Email: "ada@example.com", Detail: "wants no mail"})
	c, _ := desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: "Your door"})
	answer, _ := desk.Interactions().Create(ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Pull."})
	mail, _ := svc.Outgoing().Begin(ctx, desk.AccountID(), answer.ID, 1)
	deliveries, _ := desk.Interactions().Deliveries(ctx, []int64{answer.ID})
	fmt.Println(len(mail.Due), deliveries[0].State)
	// Output: 0 suppressed
}

// Answers end with the signatures of their author and of their mailbox.
func ExampleSignatures_Set() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	_, _ = desk.Mailboxes().Update(ctx, 1, helpdesk.MailboxInput{Signature: storage.Some("<b>Acme Doors</b>"), Quotes: storage.Some(helpdesk.QuoteLast)})
	_, err := desk.Signatures().Set(ctx, "<p>Kind regards</p>")
	ending, _ := desk.Signatures().In(ctx, 1)
	fmt.Println(mailhtml.Text(ending), err)
	// Output:
	// Kind regards
	//
	// Acme Doors <nil>
}

// The mail of a blocked sender is filed as spam: it is kept, and no one has to read it.
func ExampleBlockedSenders_Block() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	blocked, err := desk.BlockedSenders().Block(ctx, "@casino.example")
	fmt.Println(blocked.Sender, err)
	// Output: casino.example <nil>
}
