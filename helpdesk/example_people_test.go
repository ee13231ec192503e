package helpdesk_test

import (
	"context"
	"fmt"
	"log"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// A role of one's own, an invitation that grants it, and the new member at work.
func ExampleDesk_Invite() {
	ctx, key := context.Background(), storage.NewSecretKey()
	sealer, err := storage.NewSealer(key)
	if err != nil {
		log.Fatal(err)
	}
	svc, err := helpdesk.New(helpdesk.Config{Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: key})
	if err != nil {
		log.Fatal(err)
	}
	owner, _ := svc.Operator().CreateUser(ctx, helpdesk.UserInput{Email: "olga@example.org"})
	account, _ := svc.Operator().CreateAccount(ctx, helpdesk.AccountInput{Name: "Acme"}, owner.ID)
	desk, _ := svc.Desk(ctx, svc.As(owner.ID), account.ID)

	role, err := desk.CreateRole(ctx, helpdesk.RoleInput{
		Name: "Reader", Permissions: storage.Some([]helpdesk.Permission{helpdesk.ConversationsView, helpdesk.InteractionsView}),
	})
	if err != nil {
		log.Fatal(err)
	}
	_, token, err := desk.Invite(ctx, helpdesk.InvitationInput{Email: "lise@example.org", RoleIDs: []int64{role.ID}})
	if err != nil {
		log.Fatal(err)
	}
	joined, err := svc.AcceptInvitation(ctx, helpdesk.Caller{}, token, helpdesk.AcceptInput{Name: "Lise", Password: "correct horse"})
	if err != nil {
		log.Fatal(err)
	}
	member, err := svc.Desk(ctx, svc.As(joined.Membership.UserID), account.ID)
	fmt.Println(member.Permissions(), err)
	// Output: [conversations.view interactions.view] <nil>
}
