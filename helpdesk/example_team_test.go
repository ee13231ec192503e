package helpdesk_test

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/assign"
	"github.com/helpwright/helpwright/storage"
)

// A conversation is assigned to a team, until one of its members takes it over.
func ExampleTeams_Create() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	team, err := desk.Teams().Create(ctx, helpdesk.TeamInput{Name: "Repairs", MemberIDs: storage.Some([]int64{desk.UserID()})})
	if err != nil {
		panic(err)
	}
	c, _ := desk.Conversations().Create(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ada@example.com", Subject: "The door is stuck", TeamID: storage.Some(team.ID),
	})
	show := func(what string) {
		counts, _ := desk.Conversations().Counts(ctx)
		fmt.Println(what, counts.Unassigned, counts.Mine, counts.Teams[0].Open, counts.Teams[0].Unassigned)
	}
	show("of the team:")
	_, err = desk.Conversations().Update(ctx, c.ID, helpdesk.ConversationUpdate{UserID: storage.Some(desk.UserID())})
	show("taken over: ")
	fmt.Println(err)
	// Output:
	// of the team: 0 0 1 1
	// taken over:  0 1 1 0
	// <nil>
}

// A team hands out its conversations itself, up to a limit for each member. What nobody can take waits in its queue.
func ExampleTeams_Queue() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	team, err := desk.Teams().Create(ctx, helpdesk.TeamInput{
		Name: "Repairs", MemberIDs: storage.Some([]int64{desk.UserID()}), Assignment: helpdesk.AssignmentInput{
			Strategy: storage.Some(assign.Balanced), Who: storage.Some(assign.All), Capacity: storage.Some(1),
		},
	})
	if err != nil {
		panic(err)
	}
	for _, subject := range []string{"The door is stuck", "The window is stuck"} {
		c, _ := desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: subject, TeamID: storage.Some(team.ID)})
		fmt.Println(subject, c.UserID == desk.UserID())
	}
	queue, _ := desk.Teams().Queue(ctx, team.ID, storage.PageRequest{})
	members, err := desk.Teams().Members(ctx, team.ID)
	fmt.Println("waiting:", queue.Items[0].Subject)
	fmt.Println("member:", members[0].Load, members[0].Full, err)
	// Output:
	// The door is stuck true
	// The window is stuck false
	// waiting: The window is stuck
	// member: 1 true <nil>
}
