package helpdesk_test

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// A view saves a filter, here of the conversations with a tag.
func ExampleViews_Create() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	for _, subject := range []string{"Your door", "Your window"} {
		_, _ = desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: subject})
	}
	urgent, _ := desk.Tags().Create(ctx, helpdesk.TagInput{Name: "Urgent"})
	_, _ = desk.Conversations().AddTags(ctx, 2, []int64{urgent.ID})
	view, _ := desk.Views().Create(ctx, helpdesk.ViewInput{Name: "Urgent", Filter: helpdesk.ViewFilter{TagIDs: []int64{urgent.ID}}})
	page, err := desk.Conversations().List(ctx, helpdesk.ConversationQuery{ViewID: view.ID}, storage.PageRequest{})
	for _, c := range page.Items {
		fmt.Println(c.Subject)
	}
	fmt.Println(urgent.Color, err)
	// Output:
	// Your window
	// #b42318 <nil>
}

// A list shows conversations with their tags and the number of unread messages.
func ExampleConversations_ListMarked() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	c, _ := desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: "Your door"})
	_, _ = desk.Interactions().Create(ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeCustomer, Body: "It does not open."})
	urgent, _ := desk.Tags().Create(ctx, helpdesk.TagInput{Name: "Urgent"})
	_, _ = desk.Conversations().AddTags(ctx, c.ID, []int64{urgent.ID})
	page, err := desk.Conversations().ListMarked(ctx, helpdesk.ConversationQuery{}, storage.PageRequest{})
	for _, c := range page.Items {
		fmt.Println(c.Subject, c.Unread, c.Tags[0].Name)
	}
	fmt.Println(err)
	// Output:
	// Your door 1 Urgent
	// <nil>
}
