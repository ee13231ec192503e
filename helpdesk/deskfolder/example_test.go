package deskfolder_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/deskfolder"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// A folder sets up a desk. What it would change can be seen before, and applying it again changes nothing.
func ExampleApply() {
	ctx := context.Background()
	store := memstore.New() // a database in earnest
	key := make([]byte, 32) // storage.NewSecretKey() in earnest
	sealer, err := storage.NewSealer(key)
	if err != nil {
		panic(err)
	}
	svc, err := helpdesk.New(helpdesk.Config{Store: store, Blobs: memblob.New(), Sealer: sealer, SigningKey: key})
	if err != nil {
		panic(err)
	}
	owner, _ := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "olga@example.org"})
	account, _ := svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, owner.ID)
	desk, _ := svc.Desk(ctx, svc.As(owner.ID), account.ID)

	setup, err := deskfolder.Read(fstest.MapFS{ // os.DirFS in earnest
		"tags.yaml":  {Data: []byte("- name: Urgent\n")},
		"rules.yaml": {Data: []byte("- name: Fire\n  events: [interaction.created]\n  all:\n    - {field: interaction.body, op: contains, value: fire}\n  actions:\n    - {type: add_tags, value: Urgent}\n")},
	})
	if err != nil {
		panic(err)
	}
	planned, err := deskfolder.Plan(ctx, store, desk, setup, deskfolder.Options{})
	fmt.Println(len(planned), err)
	for range 2 {
		changes, err := deskfolder.Apply(ctx, store, desk, setup, deskfolder.Options{})
		fmt.Println(changes, err)
	}
	// Output:
	// 2 <nil>
	// [create tag "Urgent" create rule "Fire"] <nil>
	// [] <nil>
}
