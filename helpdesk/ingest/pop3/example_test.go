package pop3_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/ingest/pop3"
)

// printer is a sink that keeps the ids in memory. One that lasts writes the mails and their ids in one transaction.
type printer struct{ known map[string]bool }

func (p *printer) Known(_ context.Context, ids []string) ([]string, error) {
	var known []string
	for _, id := range ids {
		if p.known[id] {
			known = append(known, id)
		}
	}
	return known, nil
}

func (p *printer) Take(_ context.Context, mails []pop3.Mail) error {
	for _, mail := range mails {
		fmt.Printf("%s: %d bytes\n", mail.ID, len(mail.Raw))
		p.known[mail.ID] = true
	}
	return nil
}

func (p *printer) Status(context.Context, pop3.Status) {}

func Example() {
	t := &testing.T{} // represents a test; a program has a real server
	server := &fakeServer{mails: []fakeMail{
		{id: "a1", raw: "Subject: Hello\r\n\r\nWorld\r\n"},
		{id: "a2", raw: "Subject: Bye\r\n\r\n"},
	}}
	cfg := server.start(t)

	source, err := pop3.New(cfg, &printer{known: map[string]bool{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	fmt.Println("first:", source.Once(ctx))
	fmt.Println("second:", source.Once(ctx))
	// A server imports with source.Run(ctx) instead, which goes on until ctx ends.

	// Output:
	// a1: 25 bytes
	// a2: 16 bytes
	// first: <nil>
	// second: <nil>
}
