package helpdesk_test

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/events"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// The audit log lists changes with their users, newest first, including deletions and the account's own settings.
func ExampleAccount_AuditLog() {
	ctx := context.Background()
	_, desk, mailbox := exampleDesk(ctx)
	_, _ = desk.Account().Update(ctx, identity.AccountUpdate{Name: "Acme", Languages: storage.Some([]string{"en", "de"})})
	_, _ = desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: "Your door"})
	_ = desk.Mailboxes().Delete(ctx, mailbox.ID, true)
	page, err := desk.Account().AuditLog(ctx, helpdesk.AuditFilter{}, storage.PageRequest{Limit: 3})
	for _, entry := range page.Items {
		fmt.Println(entry.Action, entry.Subject)
	}
	fmt.Println(err)
	// Output:
	// mailbox.deleted 1
	// conversation.deleted 1
	// account.updated 1
	// <nil>
}

// Events of an account are followed live; a client that reconnects passes the last event that it has seen and misses
// nothing.
func ExampleEvents_Follow() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	store, key := memstore.New(), storage.NewSecretKey()
	hub, _ := events.New(events.Config{Log: store})
	go func() { _ = hub.Run(ctx) }()
	sealer, _ := storage.NewSealer(key)
	svc, err := helpdesk.New(helpdesk.Config{Store: store, Blobs: memblob.New(), Sealer: sealer, SigningKey: key, Feed: hub})
	if err != nil {
		panic(err)
	}
	owner, _ := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "olga@example.org", Name: "Olga"})
	account, _ := svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, owner.ID)
	desk, _ := svc.Desk(ctx, svc.As(owner.ID), account.ID)

	seen, _ := desk.Events().Follow(ctx, helpdesk.FollowInput{})
	defer seen.Close()
	_, _ = desk.Tags().Create(ctx, helpdesk.TagInput{Name: "Urgent"})
	news, err := seen.Next(ctx)
	for _, e := range news {
		fmt.Println(e.Type, e.Subject)
	}
	fmt.Println(err)
	// Output:
	// tag.created 1
	// <nil>
}

// Changing a password requires the former one; it ends all other sessions.
func ExampleAdmin_UpdateMe() {
	ctx := context.Background()
	svc, _, _ := exampleDesk(ctx)
	user, _ := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "ben@example.org", Name: "Ben", Password: "a long sentence"})
	admin, err := svc.Admin(ctx, svc.As(user.ID))
	if err != nil {
		panic(err)
	}
	_, err = admin.UpdateMe(ctx, identity.UserUpdate{Password: "a longer sentence", CurrentPassword: "a guess"})
	fmt.Println(err)
	_, err = admin.UpdateMe(ctx, identity.UserUpdate{Password: "a longer sentence", CurrentPassword: "a long sentence"})
	fmt.Println(err)
	// Output:
	// Some fields are invalid. (current_password: is incorrect)
	// <nil>
}
