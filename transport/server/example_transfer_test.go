package server_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/transfer"
	"github.com/helpwright/helpwright/transport/server"
)

// An account goes from one server to another, whatever their stores are.
func ExampleServer_ImportAccount() {
	ctx := context.Background()
	files := memblob.New()
	former, err := server.New(server.Config{Store: memstore.New(), Blobs: files, Keys: [][]byte{storage.NewSecretKey()}})
	if err != nil {
		log.Fatal(err)
	}
	operator := former.Service().Operator()
	ada, err := operator.CreateUser(ctx, identity.UserInput{Email: "ada@example.com", Name: "Ada"})
	if err != nil {
		log.Fatal(err)
	}
	account, err := operator.CreateAccount(ctx, identity.AccountInput{Name: "Engines"}, ada.ID)
	if err != nil {
		log.Fatal(err)
	}
	var archive bytes.Buffer
	w, err := transfer.NewWriter(&archive, transfer.WriterConfig{
		Blobs: files, Manifest: transfer.Manifest{Program: "example", Account: account.ID, Name: account.Name},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := former.ExportAccount(ctx, account.ID, w); err != nil {
		log.Fatal(err)
	}

	next, err := server.New(server.Config{Store: memstore.New(), Blobs: memblob.New(), Keys: [][]byte{storage.NewSecretKey()}})
	if err != nil {
		log.Fatal(err)
	}
	done, err := next.ImportAccount(ctx, server.ImportConfig{
		Open: func() (*transfer.Reader, error) { return transfer.NewReader(bytes.NewReader(archive.Bytes())) },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d members, %d roles\n", done.Archive.Name, done.End.Rows["memberships"], done.End.Rows["roles"])
	// Output: Engines: 1 members, 5 roles
}
