package helpdesk_test

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// A field describes conversations, whose list can be filtered by it.
func ExampleFields_Create() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	plan, _ := desk.Fields().Create(ctx, helpdesk.FieldInput{
		Label: "Plan", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldSelect,
		Options: storage.Some([]helpdesk.FieldOption{{Label: "Gold"}, {Label: "Silver"}}),
	})
	for subject, value := range map[string]string{"Your door": "gold", "Your window": "silver"} {
		_, _ = desk.Conversations().Create(ctx, helpdesk.ConversationInput{
			Channel: "email", To: "ada@example.com", Subject: subject, Fields: helpdesk.FieldTexts{plan.Key: {value}},
		})
	}
	page, err := desk.Conversations().List(ctx, helpdesk.ConversationQuery{Fields: helpdesk.FieldQueries{"plan": {Values: []string{"gold"}}}}, storage.PageRequest{})
	for _, c := range page.Items {
		set, _ := desk.Conversations().Fields(ctx, []int64{c.ID})
		fmt.Println(c.Subject, plan.Shown(set.Values[c.ID]["plan"]))
	}
	fmt.Println(err)
	// Output:
	// Your door [Gold]
	// <nil>
}

// Which conversations still lack a value?
func ExampleFieldQuery() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	_, _ = desk.Fields().Create(ctx, helpdesk.FieldInput{Label: "Order", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldText})
	for subject, order := range map[string]string{"Your door": "A-17", "Your window": ""} {
		_, _ = desk.Conversations().Create(ctx, helpdesk.ConversationInput{
			Channel: "email", To: "ada@example.com", Subject: subject, Fields: helpdesk.FieldTexts{"order": {order}},
		})
	}
	page, err := desk.Conversations().List(ctx, helpdesk.ConversationQuery{Fields: helpdesk.FieldQueries{"order": {Empty: new(true)}}}, storage.PageRequest{})
	for _, c := range page.Items {
		fmt.Println(c.Subject, err)
	}
	// Output: Your window <nil>
}

// A shop finds a customer by the shop's own number.
func ExampleCustomerQuery() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	_, err := desk.Customers().Create(ctx, helpdesk.CustomerInput{FirstName: storage.Some("Grace"), ExternalID: storage.Some("C-1906")})
	if err != nil {
		panic(err)
	}
	page, err := desk.Customers().List(ctx, helpdesk.CustomerQuery{ExternalID: "C-1906"}, storage.PageRequest{})
	fmt.Println(page.Items[0].Name(), err)
	_, err = desk.Customers().Create(ctx, helpdesk.CustomerInput{FirstName: storage.Some("Alan"), ExternalID: storage.Some("C-1906")})
	fmt.Println(err)
	// Output:
	// Grace <nil>
	// Some fields are invalid. (external_id: is already taken)
}
