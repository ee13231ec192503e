package helpdesk_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

var pages = sending.MailLinks{
	Invitation:   func(token string) string { return "https://desk.example/invitations/" + token },
	Conversation: func(account, id int64) string { return fmt.Sprintf("https://desk.example/%d/c/%d", account, id) },
	Mailbox: func(account, id int64) string {
		return fmt.Sprintf("https://desk.example/%d/mailboxes/%d", account, id)
	},
	Notifications: func(account int64) string { return fmt.Sprintf("https://desk.example/%d/notifications", account) },
	Password:      func(token string) string { return "https://desk.example/reset?token=" + token },
}

// mailed does the jobs that are due, the first ones twice, and returns the mails that members get.
func (b *bundle) mailed() []sending.SystemMail {
	b.t.Helper()
	b.tell()
	for _, job := range b.jobs(helpdesk.JobMailNotifications) {
		for range 2 {
			if err := b.svc.Jobs().MailNotifications(b.ctx, job); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	var all []sending.SystemMail
	for _, job := range b.jobs(helpdesk.JobTellMail) {
		mail, err := b.svc.Outgoing().SystemMail(b.ctx, job, pages)
		if errors.Is(err, helpdesk.ErrNotFound) {
			continue
		}
		if again := must(b.svc.Outgoing().SystemMail(b.ctx, job, pages))(b.t); err != nil || again.MessageID != mail.MessageID || again.Text != mail.Text {
			b.t.Errorf("it is another one the second time: %+v, %+v, %v", mail, again, err)
		}
		all = append(all, mail)
	}
	return all
}

// soon is the due time of notifications created now.
func (b *bundle) soon() {
	b.t.Helper()
	b.tell()
	b.clock.Add(2*time.Minute + time.Second)
}

// give assigns a conversation.
func (b *bundle) give(c int64, to *helpdesk.Desk) {
	b.t.Helper()
	in := helpdesk.ConversationUpdate{UserID: storage.Some(to.UserID())}
	must(b.desk.Conversations().Update(b.ctx, c, in))(b.t)
}

func (b *bundle) emailOf(d *helpdesk.Desk) string {
	b.t.Helper()
	return must(b.desk.Members().Users(b.ctx, []int64{d.UserID()}))(b.t)[0].Email
}

// replies has the customer write again.
func (b *bundle) replies(n int, text string) ledger.Mail {
	b.t.Helper()
	m := opening()
	m.MessageID, m.InReplyTo, m.Text = fmt.Sprintf("%d@example.com", n), []string{"1@example.com"}, text
	return b.receive(m)
}

func subjects(all []sending.SystemMail) []string {
	var subjects []string
	for _, m := range all {
		subjects = append(subjects, m.Subject)
	}
	return subjects
}

func TestNotificationMails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(b *bundle, agent *helpdesk.Desk, c int64)
		want []string // subjects of the agent's mails
	}{
		"replied": {func(b *bundle, _ *helpdesk.Desk, _ int64) { b.replies(2, "Still stuck."); b.soon() }, []string{"[New reply] The door is stuck"}},
		"too soon": {func(b *bundle, _ *helpdesk.Desk, _ int64) {
			b.replies(2, "Still stuck.")
			b.tell()
			b.clock.Add(time.Minute)
		}, nil},
		"read before": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.replies(2, "Still stuck.")
			b.tell()
			must(a.Conversations().MarkRead(b.ctx, c))(b.t)
			b.soon()
		}, nil},
		"read while the mail waits": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.replies(2, "Still stuck.")
			b.tell()
			b.soon()
			for _, job := range b.jobs(helpdesk.JobMailNotifications) {
				if err := b.svc.Jobs().MailNotifications(b.ctx, job); err != nil {
					b.t.Fatal(err)
				}
			}
			must(a.Conversations().MarkRead(b.ctx, c))(b.t)
		}, nil},
		"several of a conversation": {func(b *bundle, a *helpdesk.Desk, c int64) {
			b.replies(2, "Still stuck.")
			b.jot(b.desk, c, mention(a))
			b.tell()
			b.clock.Add(time.Minute)
			b.replies(3, "Hello?")
			b.tell()
			b.clock.Add(time.Minute)
		}, []string{"[New reply] The door is stuck"}},
		"out of sight": {func(b *bundle, a *helpdesk.Desk, _ int64) { b.replies(2, "x"); b.tell(); b.limit(a); b.soon() }, nil},
		"gone": {func(b *bundle, a *helpdesk.Desk, _ int64) {
			b.replies(2, "x")
			b.tell()
			if err := b.desk.Members().Remove(b.ctx, membershipOf(b.t, b.ctx, a).ID); err != nil {
				b.t.Fatal(err)
			}
			b.soon()
		}, nil},
		"deleted": {func(b *bundle, _ *helpdesk.Desk, c int64) {
			b.replies(2, "x")
			b.tell()
			if err := b.desk.Conversations().Delete(b.ctx, c); err != nil {
				b.t.Fatal(err)
			}
			b.soon()
		}, nil},
		"merged": {func(b *bundle, _ *helpdesk.Desk, c int64) {
			b.replies(2, "x")
			b.tell()
			into := must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "bob@example.com", Subject: "Another door"}))(b.t)
			must(b.desk.Conversations().Merge(b.ctx, c, into.ID))(b.t)
			b.soon()
		}, []string{"[New reply] Another door"}},
		"not by mail": {func(b *bundle, a *helpdesk.Desk, _ int64) {
			must(a.Notifications().Choose(b.ctx, []helpdesk.NotifyChoice{{Kind: helpdesk.NotifyReplied, Channels: []helpdesk.NotificationChannel{helpdesk.ChannelDesk}}}))(b.t)
			b.replies(2, "x")
			b.soon()
		}, nil},
		"no address that works": {func(b *bundle, a *helpdesk.Desk, _ int64) {
			must(b.desk.Suppressions().Add(b.ctx, sending.SuppressionInput{Email: b.emailOf(a)}))(b.t)
			b.replies(2, "x")
			b.soon()
		}, nil},
		"an address of the desk's own": {func(b *bundle, a *helpdesk.Desk, _ int64) {
			must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Agent"), Email: storage.Some(strings.ToUpper(b.emailOf(a)))}))(b.t)
			b.replies(2, "x")
			b.soon()
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			agent := b.member(identity.RoleAgent)
			c := b.receive(opening()).ConversationID
			b.give(c, agent)
			b.soon()
			if first := b.mailed(); len(first) != 1 || first[0].Subject != "[Assigned to you] The door is stuck" || first[0].To.Email != b.emailOf(agent) {
				t.Fatalf("first: %+v", first)
			}
			tt.do(b, agent, c)
			if diff := cmp.Diff(tt.want, subjects(b.mailed())); diff != "" {
				t.Error(diff)
			}
			b.soon()
			if name != "too soon" && len(b.mailed()) != 0 {
				t.Error("it is mailed again")
			}
		})
	}
}

// A mail contains the messages with their authors, a link, and what may be answered, and is in one thread with the others of
// its conversation.
func TestNotificationMail(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	c := b.receive(opening()).ConversationID
	b.give(c, agent)
	b.soon()
	first := b.mailed()[0]
	m := opening()
	m.MessageID, m.InReplyTo, m.HTML = "2@example.com", []string{"1@example.com"}, `<p>Look:</p><img src="https://tracker.example/x.png">`
	m.Attachments = []message.Part{{Filename: "door.png", ContentType: "image/png", Body: []byte("\x89PNG\r\n\x1a\n0000")}}
	b.receive(m)
	long := strings.Repeat("Long. ", 1000)
	b.replies(3, long)
	b.soon()
	all := b.mailed()
	if len(all) != 1 {
		t.Fatalf("%d mails", len(all))
	}
	got := all[0]
	if got.InReplyTo != first.InReplyTo || got.InReplyTo == "" || got.MessageID == first.MessageID || got.From != (mailaddr.Address{Name: "Ada Lovelace", Email: "support@example.org"}) {
		t.Errorf("%+v after %+v", got, first)
	}
	for _, want := range []string{
		"Ada Lovelace replied.", "Ada Lovelace wrote:", "Look:", "Files: door.png (12 B)", fmt.Sprintf("https://desk.example/%d/c/%d", b.account.ID, c), "Answer this mail", "@note",
		fmt.Sprintf("https://desk.example/%d/notifications", b.account.ID),
	} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(got.Text, "tracker") || len(got.Text) > 6000 || strings.Contains(first.Text, "Look") || !strings.Contains(first.Text, "It does not open.") {
		t.Errorf("the texts are\n%s\n%s", first.Text, got.Text)
	}
	must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{ReplyAddress: storage.Some(helpdesk.ReplyPlain)}))(t)
	b.replies(4, "Hello?")
	b.soon()
	if plain := b.mailed()[0]; plain.ReplyTo != "" || strings.Contains(plain.Text, "@note") || !strings.Contains(plain.Text, "do not reach the customer") {
		t.Errorf("without an address to answer to it is %+v", plain)
	}
}

// A member's answer to such a mail works, and an automatic answer to it opens nothing and notifies no one, with and without
// a reply address.
func TestNotificationMailIsAnswered(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		w := newAtWork(t)
		if plain {
			must(w.desk.Mailboxes().Update(w.ctx, w.mailbox.ID, helpdesk.MailboxInput{ReplyAddress: storage.Some(helpdesk.ReplyPlain)}))(t)
		}
		w.give(w.id, w.agent)
		w.soon()
		told := w.mailed()[0]
		w.to = told.ReplyTo
		if plain {
			w.to = told.From.Email
		}
		away := w.mail("I am on holiday.")
		away.MessageID, away.AutoSubmitted, away.InReplyTo, away.References = "away@example.org", true, []string{told.MessageID}, []string{told.InReplyTo, told.MessageID}
		copied := w.mail(told.Text)
		copied.MessageID, copied.AutoSubmitted, copied.From, copied.InReplyTo = told.MessageID, true, []mailaddr.Address{told.From}, []string{told.InReplyTo}
		for _, m := range []ledger.Incoming{away, copied} {
			if row := w.arrives(m, stands("example.org")); row.State != ledger.Ignored {
				t.Errorf("plain %v: %s is %s: %s", plain, m.MessageID, row.State, row.Reason)
			}
		}
		w.soon()
		if n := w.count(); n != 1 || len(w.mailed()) != 0 {
			t.Errorf("plain %v: there are %d conversations, or somebody is told", plain, n)
		}
		if plain {
			continue
		}
		if row := w.arrives(w.mail("Pull it."), stands("example.org")); row.State != ledger.Filed {
			t.Errorf("the answer is %s: %s", row.State, row.Reason)
		}
		if diff := cmp.Diff([]string{"user: Pull it."}, w.said()); diff != "" {
			t.Error(diff)
		}
	}
}

// Many conversations at once share one mail, and mails beyond the hourly limit wait until the hour is over.
func TestNotificationMailsAreBounded(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	n := 0
	assign := func(conversations int) []sending.SystemMail {
		for range conversations {
			n++
			m := opening()
			m.MessageID, m.Subject, m.Date = fmt.Sprintf("m%d@example.com", n), fmt.Sprintf("Door %d", n), b.clock.Now()
			b.give(b.receive(m).ConversationID, agent)
		}
		b.soon()
		return b.mailed()
	}
	if all := subjects(assign(11)); !slices.Equal(all, []string{"Updates in 11 conversations"}) {
		t.Fatalf("%q", all)
	}
	var sent []string
	for range 10 {
		sent = append(sent, subjects(assign(5))...)
	}
	// 25 of one conversation each, while the hour has room for more than five, then one for five.
	if len(sent) != 29 || sent[0] != "[Assigned to you] Door 12" || sent[28] != "Updates in 5 conversations" {
		t.Errorf("%d mails within the hour: %q", len(sent), sent)
	}
	b.clock.Add(time.Hour)
	if late := subjects(b.mailed()); len(late) != 5 || late[0] != "[Assigned to you] Door 57" {
		t.Errorf("afterwards: %q", late)
	}
	if all := assign(60); len(all) != 1 || !strings.Contains(all[0].Text, "Door 111\n") || strings.Contains(all[0].Text, "Door 112\n") || !strings.Contains(all[0].Text, "and 10 more") {
		t.Errorf("of 60: %+v", all)
	}
}

// Notifications about a mailbox are sent from another one, to the members responsible for it.
func TestNotificationMailOfMailbox(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.member(identity.RoleAgent)
	admin := b.member(identity.RoleAdmin)
	must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Other"), Email: storage.Some("other@example.org")}))(t)
	intake := b.svc.Intake()
	if err := intake.ReportFetch(b.ctx, b.account.ID, ledger.FetchStatus{MailboxID: b.mailbox.ID, NeedsReauth: true, LastErrorAt: b.clock.Now()}); err != nil {
		t.Fatal(err)
	}
	b.soon()
	all := b.mailed()
	at := slices.IndexFunc(all, func(m sending.SystemMail) bool { return m.To.Email == b.emailOf(admin) })
	if len(all) != 2 || at < 0 || all[at].From.Email != "other@example.org" || !strings.Contains(all[at].Text, fmt.Sprintf("https://desk.example/%d/mailboxes/%d", b.account.ID, b.mailbox.ID)) {
		t.Errorf("%+v", all)
	}
}

// Text quoted by a customer's program is not repeated.
func TestNotificationMailWithoutQuotes(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	c := b.receive(opening()).ConversationID
	b.give(c, agent)
	b.soon()
	b.mailed()
	m := opening()
	m.MessageID, m.InReplyTo, m.Subject = "2@example.com", []string{"1@example.com"}, "Re: The door is stuck"
	m.Text = "It opens now.\n\nOn 3 March 2026 at 10:00 UTC, Support wrote:\n> Have you tried to pull?\n"
	b.receive(m)
	b.soon()
	if sent := b.mailed(); len(sent) != 1 || !strings.Contains(sent[0].Text, "It opens now.") || strings.Contains(sent[0].Text, "tried to pull") {
		t.Errorf("%+v", sent)
	}
}
