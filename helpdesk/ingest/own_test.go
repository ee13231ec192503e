package ingest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
)

// arrive takes and files one mail.
func (b *bundle) arrive(source string, m ledger.Raw) ledger.Mail {
	b.t.Helper()
	if err := b.intake.Take(b.t.Context(), b.desk.AccountID(), b.mailbox, source, []ledger.Raw{m}, nil); err != nil {
		b.t.Fatal(err)
	}
	if err := b.filer.Handle(b.t.Context(), b.job()); err != nil {
		b.t.Fatal(err)
	}
	all := b.ledger()
	return all[len(all)-1]
}

// ourDomain is the result of authenticating a mail of example.org.
var ourDomain = ledger.Authentication{
	Source: "intake", FromAligned: true, SPF: ledger.AuthCheck{Result: "pass", Domain: "example.org"},
	DMARC: ledger.AuthPolicy{Result: "pass", Domain: "example.org"},
}

// A mail that a colleague sends from the mailbox's address outside the desk is our answer, if the mail is ours; otherwise it
// has no customer. An address of our own is never a customer.
func TestOwnAddress(t *testing.T) {
	t.Parallel()
	const answersAda = "To: Ada <ada@example.com>\nIn-Reply-To: <q@x.example>\n"
	const received = "Received: from a.example by b.example\n"
	ours := func(customer string, conversation int64, waits bool) string {
		return fmt.Sprintf("%s %d user, waits: %v", customer, conversation, waits)
	}
	nobody := func(conversation int64) string {
		return fmt.Sprintf("%s %d customer, waits: true", ledger.UnknownSender, conversation)
	}
	none := ledger.Authentication{}
	for _, tt := range []struct {
		name, source, folder, from, head string
		auth                             ledger.Authentication
		want                             string
	}{
		{"in answer", "smtp", "", "support@example.org", answersAda, ourDomain, ours("ada@example.com", 1, false)},
		{"in another spelling", "smtp", "", "Support <SUPPORT+phone@Example.ORG>", answersAda, ourDomain, ours("ada@example.com", 1, false)},
		{"by the internal address", "smtp", "", "INTERNAL", answersAda, ledger.Authentication{Source: "intake", FromAligned: true, DMARC: ledger.AuthPolicy{Result: "pass", Domain: "localhost"}}, ours("ada@example.com", 1, false)},
		{"by another mailbox", "smtp", "", "sales@example.org", answersAda, ourDomain, ours("ada@example.com", 1, false)},
		{"with its own Reply-To", "smtp", "", "support@example.org", answersAda + "Reply-To: support@example.org\n", ourDomain, ours("ada@example.com", 1, false)},
		{"in copy", "smtp", "", "support@example.org", "To: sales@example.org\nCc: support@example.org, ada@example.com\nReferences: <q@x.example>\n", ourDomain, ours("ada@example.com", 1, false)},
		{"to the token's address, too", "smtp", "", "support@example.org", "To: ada@example.com, TOKEN\n", ourDomain, ours("ada@example.com", 1, false)},
		{"begins", "smtp", "", "support@example.org", "To: support@example.org, Bob <bob@example.com>\nCc: eve@example.com\n", ourDomain, ours("bob@example.com", 2, false)},
		{"begins, in copy only", "smtp", "", "support@example.org", "To: Support@example.org\nCc: Bob <bob@example.com>\n", ourDomain, ours("bob@example.com", 2, false)},
		{"blind copy of a sent folder", "imap", "Sent", "support@example.org", "Bcc: Bob <bob@example.com>\n", none, ours("bob@example.com", 2, false)},
		{"passed on", "smtp", "", "support@example.org", "To: vendor@example.net\nReferences: <q@x.example>\n", ourDomain, ours("ada@example.com", 1, true)},
		{"an automatic answer", "smtp", "", "support@example.org", answersAda + "Auto-Submitted: auto-replied\n", ourDomain, ours("ada@example.com", 1, true)},
		{"kept in a sent folder", "imap", "INBOX/Sent Items", "support@example.org", received + answersAda, none, ours("ada@example.com", 1, false)},
		{"kept in a German sent folder", "imap", "INBOX.Gesendet", "support@example.org", received + answersAda, none, ours("ada@example.com", 1, false)},
		{"kept in the inbox", "imap", "INBOX", "support@example.org", answersAda, none, ours("ada@example.com", 1, false)},
		{"kept in a POP3 mailbox", "pop3", "", "support@example.org", answersAda, none, ours("ada@example.com", 1, false)},
		{"forged", "smtp", "", "support@example.org", answersAda, ledger.Authentication{Source: "intake", SPF: ledger.AuthCheck{Result: "fail"}}, nobody(2)},
		{"forged, not checked", "smtp", "", "support@example.org", answersAda, none, nobody(2)},
		{"forged, to us alone", "smtp", "", "support@example.org", "To: support@example.org\nIn-Reply-To: <q@x.example>\n", none, nobody(2)},
		{"forged, with the token", "smtp", "", "support@example.org", "To: TOKEN\n", none, nobody(2)},
		{"forged as another mailbox", "smtp", "", "sales@example.org", answersAda, none, nobody(2)},
		{"forged into the inbox", "imap", "INBOX", "support@example.org", received + answersAda, none, nobody(2)},
		{"forged into a folder called so", "imap", "Sentinel", "support@example.org", received + answersAda, none, nobody(2)},
		{"disowned", "smtp", "", "support@example.org", answersAda, ledger.Authentication{Source: "intake", FromAligned: true, DMARC: ledger.AuthPolicy{Result: "fail", Policy: "reject", Domain: "example.org"}}, nobody(2)},
		{"vouched for by another domain", "smtp", "", "support@example.org", answersAda, ledger.Authentication{Source: "intake", FromAligned: true, DMARC: ledger.AuthPolicy{Result: "pass", Domain: "evil.example"}}, nobody(2)},
		{"two authors", "smtp", "", "support@example.org, eve@evil.example", answersAda, ourDomain, nobody(2)},
		{"mailbox to mailbox", "smtp", "", "sales@example.org", "To: support@example.org\n", ourDomain, nobody(2)},
		{"to ourselves", "smtp", "", "support@example.org", "To: support@example.org\n", ourDomain, nobody(2)},
		{"to nobody", "smtp", "", "support@example.org", "", ourDomain, nobody(2)},
		{"no From", "smtp", "", "", "Sender: sales@example.org\nReply-To: support@example.org\n", none, ledger.UnknownSender + " 2 customer, waits: false"},
		{"a contact form", "smtp", "", "support@example.org", "To: support@example.org\nReply-To: Bob <bob@example.com>\n", none, "bob@example.com 2 customer, waits: true"},
		{"a contact form with a copy", "smtp", "", "support@example.org", "To: support@example.org\nCc: bob@example.com\nReply-To: Bob <bob@example.com>\n", ourDomain, "bob@example.com 2 customer, waits: true"},
		{"a group", "smtp", "", "'Bob' via Support <support@example.org>", "To: support@example.org\nX-Original-From: Bob <bob@example.com>\nList-ID: <support.example.org>\n", ourDomain, "bob@example.com 2 customer, waits: true"},
		{"a colleague's own address", "smtp", "", "carl@example.org", answersAda + "Cc: support@example.org\n", ourDomain, "carl@example.org 2 customer, waits: true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			b := newBundle(t, memblob.New())
			check(b.desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("Sales@example.org")}))(t)
			if _, err := b.desk.Mailboxes().Update(ctx, b.mailbox, helpdesk.MailboxInput{ReplyAddress: storage.Some(helpdesk.ReplySubaddress)}); err != nil {
				t.Fatal(err)
			}
			b.take(crlf("From: Ada <ada@example.com>\nMessage-ID: <q@x.example>\nDate: Mon, 02 Jan 2023 15:04:05 +0100\nTo: support@example.org\nSubject: Help\n\nIt sticks."))
			b.outcomes(1)
			fill := strings.NewReplacer("INTERNAL", b.svc.InternalAddress(check(b.desk.Mailboxes().Get(ctx, b.mailbox))(t)), "TOKEN", b.token(1))
			head := "Message-ID: <a@example.org>\nDate: " + time.Now().Format(time.RFC1123Z) + "\nSubject: Re: Help\n" + tt.head
			if tt.from != "" {
				head = "From: " + tt.from + "\n" + head
			}
			row := b.arrive(tt.source, ledger.Raw{Raw: []byte(crlf(fill.Replace(head) + "\nPull.")), Position: "1:7:" + tt.folder, Authentication: tt.auth})
			if row.State != ledger.Filed {
				t.Fatalf("%s: %s", row.State, row.Reason)
			}
			c := check(b.desk.Conversations().Get(ctx, row.ConversationID))(t)
			i := check(b.desk.Interactions().Get(ctx, c.ID, row.InteractionID))(t)
			if diff := cmp.Diff(tt.want, fmt.Sprintf("%s %d %s, waits: %v", c.CustomerEmail, c.ID, i.Type, !c.AwaitingSince.IsZero())); diff != "" {
				t.Errorf("%s%+v", diff, i.Threading)
			}
			if c.Status != helpdesk.StatusPosted || tt.from != "" && (len(i.Mail.From) == 0 || i.Type == helpdesk.TypeUser && (i.Status != helpdesk.StatusPosted || i.SendStartedAt.IsZero())) {
				t.Errorf("conversation %s, %+v", c.Status, i)
			}
			answer, err := b.desk.Interactions().Create(ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "More."})
			switch {
			case c.CustomerEmail == ledger.UnknownSender && (err == nil || len(answer.To) > 0):
				t.Errorf("an answer goes to %v", answer.To)
			case c.CustomerEmail != ledger.UnknownSender && (err != nil || !slices.Equal(answer.To, []string{c.CustomerEmail})):
				t.Errorf("an answer goes to %v: %v", answer.To, err)
			}
		})
	}
}

// token returns the reply address of a conversation.
func (b *bundle) token(conversationID int64) string {
	b.t.Helper()
	answer := check(b.desk.Interactions().Create(b.t.Context(), conversationID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Which door?"}))(b.t)
	out := check(b.outgoing.Begin(b.t.Context(), b.desk.AccountID(), answer.ID, 1))(b.t)
	b.take(crlf("From: Ada <ada@example.com>\nMessage-ID: <q2@x.example>\nDate: Mon, 02 Jan 2023 16:04:05 +0100\nTo: " + out.ReplyTo + "\n\nThe red one."))
	b.outcomes(1)
	return out.ReplyTo
}

// The author of our answer is the member who sent it, if its domain shows that, and a copy of an answer is no second one.
func TestOwnAnswerAuthor(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := newBundle(t, memblob.New())
	const text = "Date: Tue, 03 Jan 2023 15:04:05 +0100\nTo: ada@example.com\nSubject: Help\n\nPull."
	for n, tt := range []struct {
		head string
		user bool
	}{
		{"From: support@example.org\n", false},
		{"From: support@example.org\nSender: o@example.org\n", true},
		{"From: support@example.org\nSender: o@elsewhere.example\n", false},
	} {
		row := b.arrive("smtp", ledger.Raw{Raw: []byte(crlf(fmt.Sprintf("%sMessage-ID: <%d@example.org>\n%s", tt.head, n, text))), Authentication: ourDomain})
		i := check(b.desk.Interactions().Get(ctx, row.ConversationID, row.InteractionID))(t)
		if (i.UserID != 0) != tt.user || i.PostedByID != i.UserID || i.Mail.From[0].Email != "support@example.org" {
			t.Errorf("%q: by user %d, %+v", tt.head, i.UserID, i.Mail)
		}
	}
	answer := check(b.desk.Interactions().Create(ctx, 1, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Push."}))(t)
	for _, head := range []string{"", "Reply-To: support+r-abc@example.org\n"} {
		row := b.arrive("smtp", ledger.Raw{Raw: []byte(crlf("From: support@example.org\nMessage-ID: <" + answer.MessageID + ">\n" + head + text)), Authentication: ourDomain})
		if row.State != ledger.Ignored {
			t.Errorf("a copy is %s: %s", row.State, row.Reason)
		}
	}
}
