package helpdesk_test

import (
	"context"
	"fmt"
	"log"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
)

// Mails that could not be imported are listed, read, ignored or imported again.
func ExampleInboundMails_ReplayAll() {
	ctx := context.Background()
	svc, desk, mailbox := exampleDesk(ctx)

	// A source hands in three mails that the filer cannot read.
	mails := []ledger.Raw{{Raw: []byte("spam")}, {Raw: []byte("a question")}, {Raw: []byte("an answer")}}
	if err := svc.Intake().Take(ctx, desk.AccountID(), mailbox.ID, "smtp", mails, nil); err != nil {
		log.Fatal(err)
	}
	for id := range int64(3) {
		_ = svc.Intake().Quarantine(ctx, desk.AccountID(), id+1, "nested deeper than 50")
	}

	_, _ = desk.InboundMails().Ignore(ctx, mailbox.ID, 1, "Spam.")
	n, err := desk.InboundMails().ReplayAll(ctx, mailbox.ID) // a job of kind JobReplayMail does it
	fmt.Println(n, err)
	counts, err := desk.InboundMails().Counts(ctx, mailbox.ID)
	fmt.Printf("%+v %v\n", counts, err)
	// Output:
	// 2 <nil>
	// {Received:0 Quarantined:2 Ignored:1} <nil>
}

// A conversation about two matters becomes two, and each interaction can explain its place.
func ExampleConversations_Split() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)

	door, _ := desk.Conversations().Create(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ada@example.com", Subject: "Door", Interactions: []helpdesk.InteractionInput{
			{Type: helpdesk.TypeCustomer, Body: "The door is stuck."}, {Type: helpdesk.TypeCustomer, Body: "And the window squeaks."},
		},
	})
	said, _ := desk.Interactions().List(ctx, door.ID, storage.PageRequest{})
	window, err := desk.Conversations().Split(ctx, door.ID, helpdesk.SplitInput{InteractionID: said.Items[1].ID, Subject: "Window"})
	fmt.Println(window.Number, window.Subject, window.Preview, err)

	e, _ := desk.Interactions().ExplainThreading(ctx, window.ID, said.Items[1].ID)
	fmt.Println(e.Rule, e.Moves[0].FromID == door.ID)

	// It was one matter after all. The window's conversation is empty now and deleted.
	back, err := desk.Interactions().Move(ctx, window.ID, said.Items[1].ID, door.ID)
	fmt.Println(back.ConversationID == door.ID, err)
	// Output:
	// 2 Window And the window squeaks. <nil>
	// split true
	// true <nil>
}
