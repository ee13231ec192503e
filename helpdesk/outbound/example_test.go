package outbound_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/jobs"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

func check[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// Answers are written into a directory instead of being sent.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	key := bytes.Repeat([]byte("k"), 32)
	store := memstore.New()
	svc := check(helpdesk.New(helpdesk.Config{
		Store: store, Blobs: memblob.New(), Sealer: check(storage.NewSealer(key)), SigningKey: key,
	}))
	dir := check(os.MkdirTemp("", "spool"))
	defer os.RemoveAll(dir)

	sender := check(outbound.New(outbound.Config{Outgoing: svc.Outgoing(), Transport: check(outbound.NewSpool(dir))}))
	runner := check(jobs.New(jobs.Config{
		Jobs:     store,
		Handlers: map[string]jobs.Handler{helpdesk.JobSendMail: {Func: sender.Handle}},
	}))
	ended := make(chan error)
	go func() { ended <- runner.Run(ctx) }()

	user := check(svc.Operator().CreateUser(ctx, identity.UserInput{Email: "ann@example.org"}))
	account := check(svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Example"}, user.ID))
	desk := check(svc.Desk(ctx, svc.As(user.ID), account.ID))
	check(desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("support@example.org")}))
	check(desk.Conversations().Create(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "carl@example.com", Subject: "Hello",
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeUser, Body: "How are you?"}},
	}))

	var files []string
	for len(files) == 0 {
		time.Sleep(time.Millisecond)
		files = check(filepath.Glob(filepath.Join(dir, "*.eml")))
	}
	cancel()
	<-ended
	first, _, _ := bytes.Cut(check(os.ReadFile(files[0])), []byte("\r\n"))
	fmt.Println(string(first))
	// Output:
	// X-Envelope-From: support@example.org
}

func ExampleParseRelayURL() {
	cfg, err := outbound.ParseRelayURL("smtp://desk:pass%40word@mail.example.org?tls=tls")
	fmt.Println(cfg.Host, cfg.Port, cfg.Encryption == mailserver.TLS, cfg.Username, err)
	// Output:
	// mail.example.org 465 true desk <nil>
}
