package ingest_test

import (
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
)

// A relay replaces the Message-ID of a mail that begins a conversation. A reply joins by our own, which it repeats from the
// References of the mail.
func TestReplyToReplacedMessageID(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := newBundle(t, memblob.New())
	if _, err := b.desk.Mailboxes().Update(ctx, b.mailbox, helpdesk.MailboxInput{ReplyAddress: storage.Some(helpdesk.ReplyPlain)}); err != nil {
		t.Fatal(err)
	}
	b.take(crlf("From: ada@example.com\nMessage-ID: <q@x.example>\n\nHello."))
	b.outcomes(1)
	answer := check(b.desk.Interactions().Create(ctx, 1, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Pull."}))(t)
	row := b.arrive("smtp", ledger.Raw{Raw: []byte(crlf("From: ada@example.com\nMessage-ID: <r@x.example>\nTo: support@example.org\n" +
		"In-Reply-To: <0102019a-1@eu-west-1.amazonses.com>\nReferences: <" + answer.MessageID + "> <0102019a-1@eu-west-1.amazonses.com>\n\nThanks."))})
	if row.ConversationID != 1 {
		t.Errorf("it is in conversation %d", row.ConversationID)
	}
}
