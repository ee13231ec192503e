package helpdesk_test

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
)

// A macro is a saved reply with actions. They are done alone here; [InteractionInput.MacroID] does them with an answer.
func ExampleConversations_ApplyMacro() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	c, err := desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@customer.example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	macro, err := desk.SavedReplies().Create(ctx, helpdesk.SavedReplyInput{
		Name: "Not now", Shared: storage.Some(true),
		Actions: storage.Some([]rules.Action{
			{Type: rules.SetPriority, Values: []string{"low"}}, {Type: rules.SetStatus, Values: []string{"pending"}},
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	changed, err := desk.Conversations().ApplyMacro(ctx, c.ID, macro.ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(changed.Priority, changed.Status)
	// Output: low pending
}
