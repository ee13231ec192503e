package helpdesk_test

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// A member looks where they are signed in, and signs out everywhere else.
func ExampleAdmin_Sessions() {
	ctx := context.Background()
	sealer, _ := storage.NewSealer(make([]byte, 32))
	service, err := helpdesk.New(helpdesk.Config{Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: make([]byte, 32)})
	if err != nil {
		panic(err)
	}
	user, _ := service.Operator().CreateUser(ctx, identity.UserInput{Email: "ada@example.org"})
	_, _ = service.SignIn().StartSession(ctx, service.As(user.ID), "Safari, iPhone")
	here, _ := service.SignIn().StartSession(ctx, service.As(user.ID), "Firefox, Linux")

	caller, _ := service.Authenticate(ctx, here.Secret)
	admin, _ := service.Admin(ctx, caller)
	sessions, _ := admin.Sessions(ctx, storage.PageRequest{})
	for _, s := range sessions.Items {
		fmt.Println(s.Name, s.ID == caller.TokenID())
	}
	fmt.Println(admin.EndOtherSessions(ctx))
	// Output:
	// Firefox, Linux true
	// Safari, iPhone false
	// <nil>
}
