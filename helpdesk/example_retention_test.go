package helpdesk_test

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
)

// Spam is deleted after a month. What it would delete now is looked at before it is switched on.
func ExampleRetentionPolicies_Create() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	in := helpdesk.RetentionPolicyInput{
		Name: storage.Some("Old spam"), AfterDays: storage.Some(30), Action: storage.Some(helpdesk.RetainNothing),
		All: storage.Some([]rules.Condition{{Field: "spam", Op: rules.Is, Values: []string{"true"}}}),
	}
	preview, err := desk.RetentionPolicies().Preview(ctx, 0, in)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("it would delete", preview.Conversations, "now")
	in.IsActive = storage.Some(true)
	policy, err := desk.RetentionPolicies().Create(ctx, in)
	fmt.Println(policy.Name, policy.Action, "after", policy.AfterDays, "days", err)
	// Output:
	// it would delete 0 now
	// Old spam delete after 30 days <nil>
}

// A conversation on hold stays, whatever policies say and members do, until it is released.
func ExampleConversations_Hold() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	c, err := desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@bank.example", Subject: "Contract"})
	if err != nil {
		fmt.Println(err)
		return
	}
	held, err := desk.Conversations().Hold(ctx, c.ID, helpdesk.HoldInput{Held: true, Reason: "Case 7"})
	fmt.Println(held.IsHeld(), held.HoldReason, err)
	fmt.Println(desk.Conversations().Delete(ctx, c.ID))
	// Output:
	// true Case 7 <nil>
	// A conversation is on hold. Nothing of it can be removed until it is released.
}
