package kb_test

import (
	"context"
	"fmt"
	"log"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// A site of an account, created by a user of the application.
func Example() {
	ctx := context.Background()
	store := memstore.New()
	account := identity.Account{Name: "Acme", NextNumber: 1, DefaultLocale: "en"}
	if err := store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
		return tx.InsertAccount(ctx, &account)
	}); err != nil {
		log.Fatal(err)
	}
	service, err := kb.New(kb.Config{
		Store: store.KB(), Blobs: memblob.New(), BaseURL: "https://desk.example.net",
		Membership: func(context.Context, kb.Caller, int64) (kb.Membership, error) { // transport/api.Members asks a help desk
			return kb.Membership{Permissions: []kb.Permission{kb.SitesCreate, kb.SitesView}}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	sites, err := service.Sites(person(1))
	if err != nil {
		log.Fatal(err)
	}
	site, err := sites.Create(ctx, kb.SiteInput{AccountID: account.ID, Name: "Help center", Subdomain: storage.Some("acme"), Path: storage.Some("")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(site.Name, service.URL(site))
	_, err = service.Visitor(ctx, nil, site.ID)
	fmt.Println("nobody may read it:", err)
	// Output:
	// Help center https://acme.desk.example.net
	// nobody may read it: <nil>
}
