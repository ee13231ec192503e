package helpdesk_test

import (
	"context"
	"fmt"
	"log"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// A role of one's own, an invitation that grants it, and the new member at work.
func ExampleMembers_Invite() {
	ctx := context.Background()
	svc, desk, _ := exampleDesk(ctx)

	role, err := desk.Roles().Create(ctx, identity.RoleInput{
		Name: "Reader", Permissions: storage.Some([]identity.Permission{identity.ConversationsView, identity.InteractionsView}),
	})
	if err != nil {
		log.Fatal(err)
	}
	_, token, err := desk.Members().Invite(ctx, identity.InvitationInput{Email: "lise@example.org", RoleIDs: []int64{role.ID}})
	if err != nil {
		log.Fatal(err)
	}
	joined, err := svc.SignIn().AcceptInvitation(ctx, helpdesk.Caller{}, token, identity.AcceptInput{Name: "Lise", Password: "correct horse"})
	if err != nil {
		log.Fatal(err)
	}
	member, err := svc.Desk(ctx, svc.As(joined.Membership.UserID), desk.AccountID())
	fmt.Println(member.Permissions(), err)
	// Output: [conversations.view interactions.view] <nil>
}
