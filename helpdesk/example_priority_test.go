package helpdesk_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// Urgent conversations can be found among all open ones.
func ExampleConversationQuery_priority() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	for _, subject := range []string{"The door squeaks", "The door is stuck"} {
		_, _ = desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: subject})
	}
	_, err := desk.Conversations().UpdateAll(ctx, []int64{2}, helpdesk.BulkUpdate{Priority: storage.Some(helpdesk.PriorityUrgent)})
	if err != nil {
		panic(err)
	}
	urgent, _ := desk.Conversations().List(ctx, helpdesk.ConversationQuery{
		Priorities: []helpdesk.Priority{helpdesk.PriorityHigh, helpdesk.PriorityUrgent},
	}, storage.PageRequest{})
	for _, c := range urgent.Items {
		fmt.Println(c.Number, c.Subject, c.Priority)
	}
	// Output: 2 The door is stuck urgent
}

// The answer does not reveal whether there is such a member; the link is sent by mail, by the job.
func ExampleSignIn_ForgotPassword() {
	ctx := context.Background()
	svc, _, _ := exampleDesk(ctx)
	for _, email := range []string{"olga@example.org", "nobody@example.org", "nonsense"} {
		fmt.Println(svc.From(netip.MustParseAddr("192.0.2.1")).SignIn().ForgotPassword(ctx, email))
	}
	// Output:
	// <nil>
	// <nil>
	// Some fields are invalid. (email: is not an email address)
}
