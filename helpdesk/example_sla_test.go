package helpdesk_test

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// Every question is answered in two hours.
func ExampleSLAs_Create() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	_, err := desk.SLAs().Create(ctx, helpdesk.SLAInput{Name: storage.Some("Standard"), FirstReply: storage.Some(120)})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := desk.Conversations().Create(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ada@bank.example", Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: "Help!"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range c.Targets() {
		fmt.Println(o.Kind, o.State, o.DueAt.Sub(o.StartedAt))
	}
	// Output: first_reply running 2h0m0s
}
