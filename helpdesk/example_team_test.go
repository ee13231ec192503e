package helpdesk_test

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// A conversation is assigned to a team, until one of its members takes it over.
func ExampleDesk_CreateTeam() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	team, err := desk.CreateTeam(ctx, helpdesk.TeamInput{Name: "Repairs", MemberIDs: storage.Some([]int64{desk.UserID()})})
	if err != nil {
		panic(err)
	}
	c, _ := desk.CreateConversation(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ada@example.com", Subject: "The door is stuck", TeamID: storage.Some(team.ID),
	})
	show := func(what string) {
		counts, _ := desk.Counts(ctx)
		fmt.Println(what, counts.Unassigned, counts.Mine, counts.Teams[0].Open, counts.Teams[0].Unassigned)
	}
	show("of the team:")
	_, err = desk.UpdateConversation(ctx, c.ID, helpdesk.ConversationUpdate{Subject: c.Subject, UserID: storage.Some(desk.UserID())})
	show("taken over: ")
	fmt.Println(err)
	// Output:
	// of the team: 0 0 1 1
	// taken over:  0 1 1 0
	// <nil>
}
