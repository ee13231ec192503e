package helpdesk_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
)

func TestMailBecomesConversation(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	m := opening()
	m.Attachments = []message.Part{{Filename: "../door.JPG", ContentType: "image/jpeg", Body: []byte("jpeg"), Inline: true, ContentID: "door"}}
	row := b.receive(m)
	if row.State != ledger.Filed {
		t.Fatalf("the mail is %s: %s", row.State, row.Reason)
	}
	c := b.conversation(row.ConversationID)
	got := []any{c.Number, c.Status, c.Subject, c.Preview, c.CustomerEmail, b.unread(c.ID), c.AwaitingSince.Equal(b.clock.Now())}
	want := []any{int64(1), helpdesk.StatusPosted, "The door is stuck", "It does not open.", "ada@example.com", int64(1), true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	customer := must(b.desk.Customers().Get(b.ctx, c.CustomerID))(t)
	if customer.Name() != "Ada Lovelace" || customer.Initials() != "AL" {
		t.Errorf("the customer is %q (%s)", customer.Name(), customer.Initials())
	}
	i := b.interactions(c.ID)[0]
	if !i.IsStarter || i.Type != helpdesk.TypeCustomer || i.Threading.Rule != helpdesk.RuleNew {
		t.Errorf("the first interaction is %+v", i)
	}
	files := must(b.desk.Attachments().List(b.ctx, c.ID, i.ID))(t)
	if len(files) != 1 || files[0].Filename != "door.JPG" || files[0].IsInline || files[0].Size != 4 {
		t.Fatalf("the attachments are %+v", files)
	}
	content := must(b.desk.Attachments().Open(b.ctx, files[0], 1, 2))(t)
	if part := must(io.ReadAll(content))(t); string(part) != "pe" {
		t.Errorf("two bytes of the attachment are %q", part)
	}
}

func TestLargeBodyIsAttachedWhole(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	m := opening()
	m.Text = strings.Repeat("ä line of text\n", 200_000)
	row := b.receive(m)
	i := must(b.desk.Interactions().Get(b.ctx, row.ConversationID, row.InteractionID))(t)
	if len(i.Body) > 2*helpdesk.MaxBody || !strings.HasPrefix(i.Body, "ä line of text<br>") {
		t.Errorf("the body has %d bytes", len(i.Body))
	}
	files := must(b.desk.Attachments().List(b.ctx, row.ConversationID, row.InteractionID))(t)
	if len(files) != 1 || files[0].Filename != "message.txt" || files[0].Size != int64(len(m.Text)-1) {
		t.Errorf("the attachments are %+v", files)
	}
}

func TestThreading(t *testing.T) {
	t.Parallel()
	eve := mailaddr.Address{Email: "eve@example.net"}
	replyTo := func(b *bundle, c int64) string { return begin(b, b.answer(c, helpdesk.InteractionInput{}).ID).ReplyTo }
	tests := []struct {
		name string
		mail func(b *bundle, first ledger.Mail) ledger.Incoming
		same bool
		rule string
		why  string // why the first conversation was refused

		named             bool // a genuine token names the first conversation
		references, known int
	}{
		{"references, sender takes part", func(_ *bundle, _ ledger.Mail) ledger.Incoming {
			return ledger.Incoming{Message: message.Message{MessageID: "2@example.com", From: []mailaddr.Address{ada}, InReplyTo: []string{"1@example.com"}, Text: "Still."}}
		}, true, helpdesk.RuleReferences, "", false, 1, 1},
		{"references to our answer", func(b *bundle, first ledger.Mail) ledger.Incoming {
			i := b.answer(first.ConversationID, helpdesk.InteractionInput{})
			return ledger.Incoming{Message: message.Message{MessageID: "2@example.com", From: []mailaddr.Address{ada}, References: []string{"x@y", i.MessageID}, Text: "Thanks."}}
		}, true, helpdesk.RuleReferences, "", false, 2, 1},
		{"address in other case", func(_ *bundle, _ ledger.Mail) ledger.Incoming {
			return ledger.Incoming{Message: message.Message{From: []mailaddr.Address{{Email: "ADA@Example.COM"}}, InReplyTo: []string{"1@example.com"}, Text: "Still."}}
		}, true, helpdesk.RuleReferences, "", false, 1, 1},
		{"address without its tag", func(b *bundle, first ledger.Mail) ledger.Incoming {
			i := b.answer(first.ConversationID, helpdesk.InteractionInput{Cc: []string{"bob+shop@example.com"}})
			return ledger.Incoming{Message: message.Message{From: []mailaddr.Address{{Email: "Bob@example.com"}}, InReplyTo: []string{i.MessageID}, Text: "Still."}}
		}, true, helpdesk.RuleReferences, "", false, 1, 1},
		{"address with another tag", func(_ *bundle, _ ledger.Mail) ledger.Incoming {
			return ledger.Incoming{Message: message.Message{From: []mailaddr.Address{{Email: "ada+door@example.com"}}, InReplyTo: []string{"1@example.com"}, Text: "Still."}}
		}, true, helpdesk.RuleReferences, "", false, 1, 1},
		{"references of a stranger", func(_ *bundle, _ ledger.Mail) ledger.Incoming {
			return ledger.Incoming{Message: message.Message{MessageID: "e@example.net", From: []mailaddr.Address{eve}, InReplyTo: []string{"1@example.com"}, Text: "Me too."}}
		}, false, helpdesk.RuleNew, "the sender takes no part in it", false, 1, 1},
		{"a colleague in copy", func(b *bundle, first ledger.Mail) ledger.Incoming {
			i := b.answer(first.ConversationID, helpdesk.InteractionInput{Cc: []string{eve.Email}})
			return ledger.Incoming{Message: message.Message{MessageID: "e@example.net", From: []mailaddr.Address{eve}, InReplyTo: []string{i.MessageID}, Text: "I pushed."}}
		}, true, helpdesk.RuleReferences, "", false, 1, 1},
		{"token of a stranger", func(b *bundle, first ledger.Mail) ledger.Incoming {
			to := mailaddr.Address{Email: replyTo(b, first.ConversationID)}
			return ledger.Incoming{Message: message.Message{MessageID: "e@example.net", From: []mailaddr.Address{eve}, To: []mailaddr.Address{to}, Text: "She gave me this."}}
		}, true, helpdesk.RuleToken, "", true, 0, 0},
		{"token as delivered", func(b *bundle, first ledger.Mail) ledger.Incoming {
			return ledger.Incoming{Message: message.Message{From: []mailaddr.Address{eve}, DeliveredTo: []mailaddr.Address{{Email: replyTo(b, first.ConversationID)}}, Text: "She gave me this."}}
		}, true, helpdesk.RuleToken, "", true, 0, 0},
		{"token of a deleted conversation", func(b *bundle, first ledger.Mail) ledger.Incoming {
			to := mailaddr.Address{Email: replyTo(b, first.ConversationID)}
			if err := b.desk.Conversations().Delete(b.ctx, first.ConversationID); err != nil {
				b.t.Fatal(err)
			}
			return ledger.Incoming{Message: message.Message{From: []mailaddr.Address{ada}, To: []mailaddr.Address{to}, Text: "Hello?"}}
		}, false, helpdesk.RuleNew, "the conversation of the reply token was deleted", true, 0, 0},
		{"forged token", func(_ *bundle, _ ledger.Mail) ledger.Incoming {
			to := mailaddr.Address{Email: "support+r-aeaqcaibaeaqcaibaeaqc@example.org"}
			return ledger.Incoming{Message: message.Message{From: []mailaddr.Address{eve}, To: []mailaddr.Address{to}, Text: "Let me in."}}
		}, false, helpdesk.RuleNew, "", false, 0, 0},
		{"same subject only", func(_ *bundle, _ ledger.Mail) ledger.Incoming {
			return ledger.Incoming{Message: message.Message{MessageID: "3@example.com", From: []mailaddr.Address{ada}, Subject: "Re: The door is stuck", Text: "Another door."}}
		}, false, helpdesk.RuleNew, "", false, 0, 0},
		{"an empty reference", func(_ *bundle, _ ledger.Mail) ledger.Incoming {
			return ledger.Incoming{Message: message.Message{From: []mailaddr.Address{ada}, InReplyTo: []string{""}, References: []string{" "}, Text: "Another door."}}
		}, false, helpdesk.RuleNew, "", false, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			first := b.receive(opening())
			row := b.receive(tt.mail(b, first))
			if row.State != ledger.Filed {
				t.Fatalf("the mail is %s: %s", row.State, row.Reason)
			}
			if same := row.ConversationID == first.ConversationID; same != tt.same {
				t.Errorf("in the same conversation: %v, want %v", same, tt.same)
			}
			i := must(b.desk.Interactions().Get(b.ctx, row.ConversationID, row.InteractionID))(t)
			want := helpdesk.Threading{Rule: tt.rule, Matched: i.Threading.Matched, References: tt.references, Known: tt.known}
			if tt.named {
				want.Token = first.ConversationID
			}
			if tt.why != "" {
				want.Refused = []helpdesk.RefusedThread{{ConversationID: first.ConversationID, Reason: tt.why}}
			}
			if diff := cmp.Diff(want, i.Threading); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSameMailAgain(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first := b.receive(opening())
	if again := b.receive(opening()); again.State != ledger.Ignored || again.Reason != "it is a double of mail 1" {
		t.Errorf("a double is %s: %s", again.State, again.Reason)
	}
	reused := opening()
	reused.Text = "Another text under the same Message-ID."
	if row := b.receive(reused); row.State != ledger.Filed {
		t.Errorf("a reused Message-ID is %s: %s", row.State, row.Reason)
	}
	if err := b.desk.Conversations().Delete(b.ctx, first.ConversationID); err != nil {
		t.Fatal(err)
	}
	if again := b.receive(opening()); again.State != ledger.Ignored {
		t.Errorf("a mail whose conversation was deleted is %s again", again.State)
	}
	if got := b.count(); got != 1 {
		t.Errorf("%d conversations, want that of the reused Message-ID", got)
	}
}

func TestOwnAnswerInSentFolder(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first := b.receive(opening())
	i := b.answer(first.ConversationID, helpdesk.InteractionInput{})
	own := ledger.Incoming{Message: message.Message{MessageID: i.MessageID, From: []mailaddr.Address{{Email: "Support@example.org"}}, Text: i.Body}}
	if row := b.receive(own); row.State != ledger.Ignored {
		t.Errorf("our own answer is %s", row.State)
	}
	forged := ledger.Incoming{Message: message.Message{MessageID: i.MessageID, From: []mailaddr.Address{ada}, Text: "I reuse your Message-ID."}}
	if row := b.receive(forged); row.State != ledger.Filed {
		t.Errorf("a customer's mail with our Message-ID is %s: %s", row.State, row.Reason)
	}
}

func TestWhatMovesAConversation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		from   helpdesk.Status
		auto   bool
		want   helpdesk.Status
		waits  bool
		unread int64
	}{
		{"mail reopens closed", helpdesk.StatusClosed, false, helpdesk.StatusPosted, true, 1},
		{"mail reopens pending", helpdesk.StatusPending, false, helpdesk.StatusPosted, true, 1},
		{"a machine does not", helpdesk.StatusClosed, true, helpdesk.StatusClosed, false, 1},
		{"draft stays", helpdesk.StatusDraft, false, helpdesk.StatusDraft, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := b.receive(opening()).ConversationID
			b.answer(id, helpdesk.InteractionInput{})
			must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Subject: storage.Some("x"), Status: storage.Some(tt.from)}))(t)
			b.clock.Add(time.Hour)
			b.receive(ledger.Incoming{Message: message.Message{From: []mailaddr.Address{ada}, InReplyTo: []string{"1@example.com"}, Text: "Again.", AutoSubmitted: tt.auto}})
			c := b.conversation(id)
			if c.Status != tt.want || c.AwaitingSince.IsZero() == tt.waits || b.unread(id) != tt.unread {
				t.Errorf("status %s, waiting %v, unread %d", c.Status, c.AwaitingSince, b.unread(id))
			}
		})
	}
}

func TestQuarantineAndReplay(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	intake := b.svc.Intake()
	if err := intake.Take(b.ctx, b.account.ID, b.mailbox.ID, "smtp", []ledger.Raw{{Raw: []byte("mail 1")}}, nil); err != nil {
		t.Fatal(err)
	}
	row := must(intake.Waiting(b.ctx, b.account.ID, b.mailbox.ID, 0, 10))(t)[0]
	if err := intake.Quarantine(b.ctx, b.account.ID, row.ID, "nested deeper than 50"); err != nil {
		t.Fatal(err)
	}
	filter := ledger.Filter{MailboxID: b.mailbox.ID, States: []ledger.State{ledger.Quarantined}}
	failures := must(b.desk.InboundMails().List(b.ctx, filter, storage.PageRequest{}))(t)
	if len(failures.Items) != 1 {
		t.Fatalf("%d failures", len(failures.Items))
	}
	raw := must(b.desk.InboundMails().Open(b.ctx, b.mailbox.ID, row.ID))(t)
	if text := must(io.ReadAll(raw))(t); string(text) != "mail 1" {
		t.Errorf("the raw mail is %q", text)
	}
	must(b.desk.InboundMails().Replay(b.ctx, b.mailbox.ID, row.ID))(t)
	filed := must(b.svc.Intake().File(b.ctx, b.account.ID, row.ID, opening()))(t)
	if filed.State != ledger.Filed {
		t.Errorf("after the replay the mail is %s", filed.State)
	}
	if _, err := b.desk.InboundMails().Replay(b.ctx, b.mailbox.ID, row.ID); err == nil {
		t.Error("a filed mail was replayed")
	}
	// Filing once more changes nothing.
	must(b.svc.Intake().File(b.ctx, b.account.ID, row.ID, opening()))(t)
	if got := b.count(); got != 1 {
		t.Errorf("%d conversations", got)
	}
}

// A mail without a sender can be read; no answer to it is expected, and it is not an answer itself, as its references prove
// nothing.
func TestUnknownSender(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first := b.receive(ledger.Incoming{Message: message.Message{MessageID: "1@example.com", Text: "Who am I?"}})
	if first.State != ledger.Filed {
		t.Fatalf("the mail is %s: %s", first.State, first.Reason)
	}
	c := b.conversation(first.ConversationID)
	if c.CustomerEmail != ledger.UnknownSender || !c.AwaitingSince.IsZero() || c.Preview != "Who am I?" {
		t.Errorf("conversation %+v", c)
	}
	second := b.receive(ledger.Incoming{Message: message.Message{InReplyTo: []string{"1@example.com"}, Text: "And I?"}})
	if second.ConversationID == first.ConversationID || b.conversation(second.ConversationID).CustomerID != c.CustomerID {
		t.Errorf("the second mail is in conversation %d of another customer or the same", second.ConversationID)
	}
	_, err := b.desk.Interactions().Create(b.ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Hello?"})
	if !errors.Is(err, helpdesk.ErrInvalid) || !strings.Contains(err.Error(), "to: is required") {
		t.Errorf("answering nobody: %v", err)
	}
	b.answer(c.ID, helpdesk.InteractionInput{To: []string{"somebody@example.com"}})
}

func TestTakeIsIdempotentByPosition(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	intake := b.svc.Intake()
	cursor := &ledger.FolderCursor{Folder: "INBOX", Cursor: mailserver.Cursor{UIDValidity: 1, UID: 2}}
	mails := []ledger.Raw{{Position: "1:1:INBOX", Raw: []byte("a")}, {Position: "1:2:INBOX", Raw: []byte("b"), Problem: "cut off"}}
	for range 2 {
		if err := intake.Take(b.ctx, b.account.ID, b.mailbox.ID, "imap", mails, cursor); err != nil {
			t.Fatal(err)
		}
	}
	all := must(b.desk.InboundMails().List(b.ctx, ledger.Filter{MailboxID: b.mailbox.ID}, storage.PageRequest{}))(t).Items
	if len(all) != 2 || all[0].State != ledger.Quarantined || all[0].Reason != "cut off" || all[1].State != ledger.Received {
		t.Errorf("the ledger is %+v", all)
	}
	if got := must(intake.Cursor(b.ctx, b.account.ID, b.mailbox.ID, "INBOX"))(t); got != cursor.Cursor {
		t.Errorf("the cursor is %v", got)
	}
}

func TestInternalAddresses(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	internal := b.desk.Mailboxes().InternalAddress(b.mailbox)
	local := b.mailbox.InternalLocal
	for _, tt := range []struct {
		address string
		known   bool
	}{
		{internal, true},
		{local + "+r-abc@localhost", true},
		{local + "+anything@LOCALHOST", true},
		{local + "@example.org", false},
		{"support@example.org", false},
		{"nobody@localhost", false},
		{"", false},
	} {
		m, err := b.svc.Intake().Recipient(b.ctx, tt.address)
		if (err == nil) != tt.known || tt.known && m.ID != b.mailbox.ID {
			t.Errorf("%q: mailbox %d, %v", tt.address, m.ID, err)
		}
	}
}
