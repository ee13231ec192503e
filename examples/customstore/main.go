// Command customstore shows how to write your own storage, with maps as the database.
//
// A data store, mapStore, keeps two nouns itself and leaves the others to a memstore that it embeds; that is also how to
// begin with a backend for your own database, one noun after the other:
//
//   - rows.go reads and writes the rows of any noun: what storage.Rows promises, from scratch
//   - nouns.go declares the two nouns, and shows what a third one costs
//   - table.go is the database: maps that are replaced and never changed
//   - values.go converts rows between their callers and the database
//   - store.go and transaction.go commit together with memstore; unit.go commits several transactions
//     as one
//
// A file store, mapBlobs, is in blobs.go.
//
// customstore_test.go runs the conformance suite, storagetest, on both. Do the same with yours: a store that passes can be
// trusted with mail.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	key := storage.NewSecretKey() // a real program keeps it
	sealer, err := storage.NewSealer(key)
	if err != nil {
		return err
	}
	store := newMapStore()
	service, err := helpdesk.New(helpdesk.Config{Store: store, Blobs: &mapBlobs{}, Sealer: sealer, SigningKey: key})
	if err != nil {
		return err
	}
	desk, err := open(ctx, service)
	if err != nil {
		return err
	}
	// the signature goes into a map, the mailbox into memstore: both or neither
	for _, end := range []error{errors.New("changed my mind"), nil} {
		err := storage.Together(ctx, store, nil, func(ctx context.Context) error {
			if _, err := desk.Signatures().Set(ctx, "Grace, {{mailbox.name}}"); err != nil {
				return err
			}
			if _, err := desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Name: storage.Some("Navy help")}); err != nil {
				return err
			}
			return end
		})
		fmt.Fprintln(out, "together:", err)
		if err := show(ctx, desk, out); err != nil {
			return err
		}
	}
	return nil
}

// show prints the caller's signature as it appears below replies from each mailbox.
func show(ctx context.Context, desk *helpdesk.Desk, out io.Writer) error {
	signature, err := desk.Signatures().Get(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "signature: %q\n", signature)
	mailboxes, err := desk.Mailboxes().List(ctx, storage.PageRequest{})
	if err != nil {
		return err
	}
	for _, m := range mailboxes.Items {
		ending, err := desk.Signatures().In(ctx, m.ID)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "in %s: %q\n", m.Name, ending)
	}
	return nil
}

// open creates a user with an account and opens the desk.
func open(ctx context.Context, service *helpdesk.Service) (*helpdesk.Desk, error) {
	user, err := service.Operator().CreateUser(ctx, identity.UserInput{Name: "Grace", Email: "grace@example.org"})
	if err != nil {
		return nil, err
	}
	account, err := service.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Navy"}, user.ID)
	if err != nil {
		return nil, err
	}
	return service.Desk(ctx, service.As(user.ID), account.ID)
}
