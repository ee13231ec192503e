package helpdesk_test

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// A contact form asks for the plan; the answer is stored with the conversation.
func ExampleService_FormFields() {
	ctx := context.Background()
	svc, desk, _ := exampleDesk(ctx)
	_, err := desk.Fields().Create(ctx, helpdesk.FieldInput{
		Label: "Plan", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldSelect, CustomerVisible: storage.Some(true),
		Options: storage.Some([]helpdesk.FieldOption{{Label: "Gold"}, {Label: "Silver"}}),
	})
	if err != nil {
		panic(err)
	}
	boxes, _ := desk.Mailboxes().List(ctx, storage.PageRequest{})
	if _, err := desk.Mailboxes().Update(ctx, boxes.Items[0].ID, helpdesk.MailboxInput{FormFields: storage.Some([]string{"plan"})}); err != nil {
		panic(err)
	}

	asked, _ := svc.FormFields(ctx, desk.AccountID(), 0)
	for _, f := range asked {
		fmt.Println(f.Label, f.Options, f.Check([]string{"bronze"}))
	}
	portal, _ := svc.Portal(ctx, desk.AccountID(), "ada@example.com")
	c, err := portal.CreateConversation(ctx, helpdesk.PortalConversationInput{
		Subject: "Your door", Messages: []helpdesk.PortalMessage{{Body: "It is stuck.", Source: "contact form", Locale: "en"}},
		Fields: helpdesk.FieldTexts{"plan": {"gold"}},
	})
	set, _ := portal.Fields(ctx, []int64{c.ID})
	fmt.Println(set.Values[c.ID], err)
	fmt.Println(desk.Fields().Delete(ctx, asked[0].ID))
	// Output:
	// Plan [{gold Gold false} {silver Silver false}] is none of the options
	// map[plan:[gold]] <nil>
	// The field is in use: Support. (used_by: Support)
}
