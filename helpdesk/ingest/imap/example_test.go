package imap_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/emersion/go-imap/v2/imapserver"

	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// printer is a sink that keeps the cursor in memory. One that lasts writes the mails and the cursor in one transaction.
type printer struct{ cursor mailserver.Cursor }

func (p *printer) Cursor(context.Context, string) (mailserver.Cursor, error) { return p.cursor, nil }

func (p *printer) Take(_ context.Context, folder string, mails []imap.Mail, next mailserver.Cursor) error {
	for _, mail := range mails {
		fmt.Printf("%s %d: %d bytes\n", folder, mail.UID, len(mail.Raw))
	}
	p.cursor = next
	return nil
}

func (p *printer) Status(context.Context, imap.Status) {}

func Example() {
	t := &testing.B{} // represents a test; a program has a real server
	user, cfg := memoryServer(t, imapserver.Options{InsecureAuth: true})
	_ = user.Create("INBOX", nil)
	appendMail(t, user, "INBOX", "Subject: Hello\r\n\r\nWorld\r\n")
	appendMail(t, user, "INBOX", "Subject: Bye\r\n\r\n")

	source, err := imap.New(cfg, &printer{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	fmt.Println("first:", source.Once(ctx))
	fmt.Println("second:", source.Once(ctx))
	// A server imports with source.Run(ctx) instead, which goes on until ctx ends.

	// Output:
	// INBOX 1: 25 bytes
	// INBOX 2: 16 bytes
	// first: <nil>
	// second: <nil>
}
