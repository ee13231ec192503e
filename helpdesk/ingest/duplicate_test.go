package ingest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
)

// device is a mail as alarms, printers and scanners write it: without Message-ID, often without a date.
func device(at, subject, text string) string {
	return crlf("Received: from panel by mx.example.org with SMTP; Mon, 02 Jan 2023 " + at + " +0100\nFrom: panel@example.org\n" +
		"To: support@example.org\nSubject: " + subject + "\n\n" + text)
}

// outcomes files waiting mails, and returns the results of the newest ones, oldest first.
func (b *bundle) outcomes(newest int) []string {
	b.t.Helper()
	if err := b.filer.Handle(b.t.Context(), b.job()); err != nil {
		b.t.Fatal(err)
	}
	var got []string
	for _, m := range b.ledger() {
		got = append(got, fmt.Sprintf("%s in %d: %s", m.State, m.ConversationID, m.Reason))
	}
	return got[len(got)-newest:]
}

// Equal alarms are separate mails; a mail read twice from a server is one.
func TestDevices(t *testing.T) {
	t.Parallel()
	b := newBundle(t, memblob.New())
	door, fire := device("15:04:05", "Door 3 opened", "alarm"), device("15:04:05", "Fire in room 7", "alarm")
	mails := func(prefix string, raws ...string) (all []ledger.Raw) {
		for i, raw := range raws {
			all = append(all, ledger.Raw{Position: fmt.Sprint(prefix, i), Raw: []byte(raw)})
		}
		return all
	}
	take := func(source string, all []ledger.Raw) {
		t.Helper()
		if err := b.intake.Take(t.Context(), b.desk.AccountID(), b.mailbox, source, all, nil); err != nil {
			t.Fatal(err)
		}
	}
	take("imap", mails("1:", door, fire, device("15:09:00", "Door 3 opened", "alarm"),
		device("15:04:05", "Door 3 opened", "alarm")+"Status: closed again"))
	if diff := cmp.Diff([]string{"filed in 1: ", "filed in 2: ", "filed in 3: ", "filed in 4: "}, b.outcomes(4)); diff != "" {
		t.Error(diff)
	}
	// The folder has another UIDVALIDITY now; then the mailbox is read by POP3, which counts otherwise.
	take("imap", mails("2:", door, fire))
	take("pop3", mails("", crlf("Status: RO\nX-UIDL: 17\n")+door))
	want := []string{"ignored in 0: it is a double of mail 1", "ignored in 0: it is a double of mail 2", "ignored in 0: it is a double of mail 1"}
	if diff := cmp.Diff(want, b.outcomes(3)); diff != "" {
		t.Error(diff)
	}
}

// Mails filed by an earlier version, which recorded less, are recognised, even if they were deleted since; mails that only
// look like them are filed.
func TestDoublesOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	const head = "From: Ada <ada@example.com>\nDate: Mon, 02 Jan 2023 15:04:05 +0100\nMessage-ID: <1@example.com>\nTo: support@example.org\n"
	file := "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nAttached.\n--b\nContent-Type: application/pdf; name=%q\n\nx\n--b--\n"
	letter, listed := crlf(head+"Subject: Hello\n\nText."), crlf("List-Id: <l.example.org>\n"+head+"Subject: [l] Hello\n\nText.")
	tests := []struct {
		name, filed, now string
		deleted, double  bool
	}{
		{"the same", letter, letter, false, true},
		{"from a list", letter, listed, false, true},
		{"to a list", listed, letter, false, true},
		{"deleted", letter, letter, true, true},
		{"another subject", letter, crlf(head + "Subject: Goodbye\n\nText."), false, false},
		{"without a subject", letter, crlf(head + "\nText."), false, false},
		{"the same file", crlf(head + fmt.Sprintf(file, "a.pdf")), crlf(head + fmt.Sprintf(file, "a.pdf")), false, true},
		{"another file", crlf(head + fmt.Sprintf(file, "a.pdf")), crlf(head + fmt.Sprintf(file, "b.pdf")), false, false},
		{"a device, again", device("15:04:05", "Door 3", "alarm"), device("15:04:05", "Door 3", "alarm"), false, true},
		{"a device, deleted", device("15:04:05", "Door 3", "alarm"), device("15:04:05", "Door 3", "alarm"), true, true},
		{"a device, later", device("15:04:05", "Door 3", "alarm"), device("15:04:06", "Door 3", "alarm"), false, false},
		{"a device, another alarm", device("15:04:05", "Door 3", "alarm"), device("15:04:05", "Fire in room 7", "alarm"), false, false},
		{"a device, another alarm after a deleted one", device("15:04:05", "Door 3", "alarm"), device("15:04:05", "Fire in room 7", "alarm"), true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			b := newBundle(t, memblob.New())
			b.take(tt.filed)
			m := check(mail.Parse([]byte(tt.filed), mail.Limits{}))(t)
			former := m.FormerIdentity()
			old := ledger.Incoming{
				Message: message.Message{
					MessageID: m.MessageID, From: []mailaddr.Address{{Email: m.From[0].Email}}, Subject: m.Subject, Text: m.Text, Date: m.Date,
				}, Identity: former[:],
			}
			for _, a := range m.Attachments {
				old.Attachments = append(old.Attachments, message.Part{Filename: a.Filename, Body: a.Body})
			}
			row := check(b.intake.File(ctx, b.desk.AccountID(), b.ledger()[0].ID, old))(t)
			if tt.deleted {
				if err := b.desk.Conversations().Delete(ctx, row.ConversationID); err != nil {
					t.Fatal(err)
				}
			}
			b.take(tt.now)
			b.outcomes(1)
			if got := b.ledger()[1]; (got.State == ledger.Ignored) != tt.double || got.State == ledger.Quarantined {
				t.Errorf("it is %s: %s", got.State, got.Reason)
			}
		})
	}
}

// A mail to a conversation's address and to a second mailbox of the account is there once, whichever copy comes first, and
// does not come back.
func TestOneMailThroughTwoMailboxes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := newBundle(t, memblob.New())
	second := *b
	second.mailbox = check(b.desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("sales@example.org")}))(t).ID
	b.take(crlf("From: Ada <ada@example.com>\nMessage-ID: <1@example.com>\nDate: Mon, 02 Jan 2023 15:04:05 +0100\nSubject: Hello\n\nText."))
	b.outcomes(1)
	answer := check(b.desk.Interactions().Create(ctx, 1, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Answer"}))(t)
	job := storage.ClaimedJob{ID: 1, Job: storage.Job{AccountID: b.desk.AccountID()}}
	out := check(b.outgoing.Begin(ctx, b.desk.AccountID(), answer.ID, job.ID))(t)
	token := out.ReplyTo
	reply := func(by string) string {
		return crlf("Delivered-To: " + by + "\nReceived: by mx for " + by + "\nFrom: Ada <ada@example.com>\nMessage-ID: <2@example.com>\n" +
			"Date: Tue, 03 Jan 2023 15:04:05 +0100\nTo: " + token + ", sales@example.org\nSubject: Re: Hello\nIn-Reply-To: <" + answer.MessageID + ">\n\nThanks.")
	}
	second.take(reply("sales@example.org"))
	if diff := cmp.Diff([]string{"filed in 1: "}, second.outcomes(1)); diff != "" {
		t.Error(diff)
	}
	b.take(reply("support@example.org"))
	if diff := cmp.Diff([]string{"ignored in 0: it is a double of mail 2, which came into the same conversation"}, b.outcomes(1)); diff != "" {
		t.Error(diff)
	}
	all := check(b.desk.Interactions().List(ctx, 1, storage.PageRequest{}))(t)
	if len(all.Items) != 3 {
		t.Errorf("%d interactions, want the question, the answer and the reply", len(all.Items))
	}
	if err := b.desk.Conversations().Delete(ctx, 1); err != nil {
		t.Fatal(err)
	}
	b.take(reply("support@example.org"))
	if diff := cmp.Diff([]string{"ignored in 0: it is a double of mail 3, which was ignored"}, b.outcomes(1)); diff != "" {
		t.Error(diff)
	}
}
