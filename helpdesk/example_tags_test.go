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

// A view saves a filter, here of the conversations with a tag.
func ExampleDesk_CreateView() {
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
	for _, subject := range []string{"Your door", "Your window"} {
		_, _ = desk.CreateConversation(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: subject})
	}
	urgent, _ := desk.CreateTag(ctx, helpdesk.TagInput{Name: "Urgent"})
	_, _ = desk.AddTags(ctx, 2, []int64{urgent.ID})
	view, _ := desk.CreateView(ctx, helpdesk.ViewInput{Name: "Urgent", Filter: helpdesk.ViewFilter{TagIDs: []int64{urgent.ID}}})
	page, err := desk.Conversations(ctx, helpdesk.ConversationQuery{ViewID: view.ID}, storage.PageRequest{})
	for _, c := range page.Items {
		fmt.Println(c.Subject)
	}
	fmt.Println(urgent.Color, err)
	// Output:
	// Your window
	// #b42318 <nil>
}
