package smtpin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net/smtp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

func Example() {
	key := bytes.Repeat([]byte("k"), 32)
	sealer, err := storage.NewSealer(key)
	if err != nil {
		log.Fatal(err)
	}
	svc, err := helpdesk.New(helpdesk.Config{
		Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: key, IntakeDomain: "desk.example",
	})
	if err != nil {
		log.Fatal(err)
	}
	server, err := smtpin.New(smtpin.Config{Intake: svc.Intake(), Listen: "127.0.0.1:0", Domain: "mx.desk.example"})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()

	err = smtp.SendMail(server.Addr().String(), nil, "a@example.net", []string{"nobody@desk.example"}, []byte("Subject: Hi\r\n\r\nHello"))
	fmt.Println(err)

	cancel()
	fmt.Println(errors.Is(<-ended, context.Canceled))
	// Output:
	// 550 "5.1.1 There is no such mailbox here"
	// true
}
