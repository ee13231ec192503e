package server_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
	"github.com/helpwright/helpwright/storage/fileblob"
	"github.com/helpwright/helpwright/transport/server"
)

// A help desk inside a program: mail in and out, API and help centres.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	dir, err := os.MkdirTemp("", "help")
	check(err)
	defer os.RemoveAll(dir)
	key := storage.NewSecretKey()                                  // keep it: it opens what it has sealed
	db, err := sqlite.Open(ctx, dir+"/help.db", bunstore.Config{}) // or postgres.Open
	check(err)
	check(db.Migrate(ctx))
	files, err := fileblob.Open(dir + "/files")
	check(err)
	relay, err := outbound.NewSpool(dir + "/outbox") // shows what would leave; outbound.NewRelay sends it
	check(err)
	srv, err := server.New(server.Config{
		Store: db, Blobs: files, Keys: [][]byte{key}, BaseURL: "https://shop.example/help",
		Relay: relay, IntakeListen: "127.0.0.1:0", // mail out, and mail in
	})
	check(err)
	done := make(chan error)
	go func() { done <- srv.Run(ctx) }()
	http.Handle("/help/", http.StripPrefix("/help", srv.Handler())) // the API is at /help/api/v1
	owner, err := srv.Service().Operator().CreateUser(ctx, identity.UserInput{Email: "olga@shop.example"})
	check(err)
	_, err = srv.Service().Operator().CreateAccount(ctx, identity.AccountInput{Name: "Shop"}, owner.ID)
	fmt.Println(owner.Email, "uses", srv.APIURL(), err)
	stop()
	fmt.Println("stopped:", <-done, db.Close())
	// Output:
	// olga@shop.example uses https://shop.example/help/api/v1 <nil>
	// stopped: <nil> <nil>
}

// check ends the program on an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
