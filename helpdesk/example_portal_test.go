package helpdesk_test

import (
	"context"
	"fmt"
	"log"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// An application that has signed in a customer opens the desk for them: they see their own messages and those mailed to
// them, and never a note.
func ExampleService_Portal() {
	ctx := context.Background()
	svc, desk, _ := exampleDesk(ctx)

	portal, err := svc.Portal(ctx, desk.AccountID(), "ada@example.com")
	if err != nil {
		log.Fatal(err)
	}
	c, _ := portal.CreateConversation(ctx, helpdesk.PortalConversationInput{
		Subject: "Your door", Messages: []helpdesk.PortalMessage{{Body: "It is stuck."}},
	})
	_, _ = desk.Interactions().Create(ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "Again?"})
	page, err := portal.Interactions(ctx, c.ID, storage.PageRequest{})
	for _, i := range page.Items {
		fmt.Println(i.Type, i.Body)
	}
	fmt.Println(err)
	// Output:
	// customer It is stuck.
	// <nil>
}
