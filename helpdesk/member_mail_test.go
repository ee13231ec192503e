package helpdesk_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// stands is the authentication of a mail whose From domain is verified.
func stands(domain string) ledger.Authentication {
	return ledger.Authentication{
		Source: "intake", FromAligned: true, DMARC: ledger.AuthPolicy{Result: "pass", Domain: domain}, DKIM: []ledger.AuthCheck{{Result: "pass", Domain: domain}},
	}
}

// atWork is an agent who was notified of a conversation by mail.
type atWork struct {
	*bundle
	agent *helpdesk.Desk
	from  mailaddr.Address
	id    int64 // of the conversation
	seen  int64
	to    string // Reply-To of the notification
}

func newAtWork(t *testing.T, change ...func(*helpdesk.Config)) *atWork {
	t.Helper()
	b := newBundle(t, change...)
	w := &atWork{bundle: b, agent: b.member(identity.RoleAgent)}
	user := must(b.desk.Members().Users(b.ctx, []int64{w.agent.UserID()}))(t)[0]
	w.from = mailaddr.Address{Name: "Anna Agent", Email: user.Email}
	row := b.receive(opening())
	w.id, w.seen = row.ConversationID, row.InteractionID
	w.to = w.address(w.agent.UserID(), w.id, w.seen)
	return w
}

func (w *atWork) address(user, conversation, seen int64) string {
	w.t.Helper()
	to, footer := w.svc.MailWork(w.mailbox, user, conversation, seen)
	if to == "" || footer == "" {
		w.t.Fatal("there is no address to answer to")
	}
	return to
}

// mail is an answer of the agent.
func (w *atWork) mail(text string) ledger.Incoming {
	return ledger.Incoming{
		Message: message.Message{
			MessageID: "w@example.org", From: []mailaddr.Address{w.from}, To: []mailaddr.Address{{Email: w.to}}, Subject: "Re: The door is stuck", Date: w.clock.Now(), Text: text,
		},
	}
}

// arrives files a mail with its author's authentication.
func (w *atWork) arrives(m ledger.Incoming, auth ledger.Authentication) ledger.Mail {
	w.t.Helper()
	return w.arrivesAt(w.mailbox.ID, m, auth)
}

func (w *atWork) arrivesAt(mailbox int64, m ledger.Incoming, auth ledger.Authentication) ledger.Mail {
	w.t.Helper()
	if m.Identity == nil {
		sum := sha256.Sum256([]byte(m.MessageID + m.FirstAuthor().Email + m.Subject + m.Text + m.HTML))
		m.Identity = sum[:]
	}
	w.taken++
	raw := []ledger.Raw{{Raw: []byte("mail " + strconv.Itoa(w.taken)), Authentication: auth}}
	source := "smtp"
	if auth.Source == "header" {
		source, m.Authentication, raw[0].Authentication = "imap", auth, ledger.Authentication{}
	}
	intake := w.svc.Intake()
	if err := intake.Take(w.ctx, w.account.ID, mailbox, source, raw, nil); err != nil {
		w.t.Fatal(err)
	}
	waiting := must(intake.Waiting(w.ctx, w.account.ID, mailbox, 0, 10))(w.t)
	if len(waiting) != 1 {
		w.t.Fatalf("%d mails wait, not 1", len(waiting))
	}
	return must(intake.File(w.ctx, w.account.ID, waiting[0].ID, m))(w.t)
}

// said returns the messages of members in the conversation.
func (w *atWork) said() []string {
	w.t.Helper()
	var all []string
	for _, i := range w.interactions(w.id) {
		if i.Type != helpdesk.TypeCustomer {
			all = append(all, fmt.Sprintf("%s: %s", i.Type, strings.TrimSpace(mailhtml.Text(i.Body))))
		}
	}
	return all
}

// back are the mails that are to go back to members.
func (w *atWork) back() []sending.SystemMail {
	w.t.Helper()
	var all []sending.SystemMail
	for _, job := range w.jobs(helpdesk.JobReturnMail) {
		all = append(all, must(w.svc.Outgoing().SystemMail(w.ctx, job, sending.MailLinks{}))(w.t))
	}
	return all
}

// An agent's answer by mail is sent to the customer as one from the desk is.
func TestMemberAnswers(t *testing.T) {
	t.Parallel()
	w := newAtWork(t)
	door := w.tag("Door")
	m := w.mail("@close\n@assign me\n@tag door\n\nPull, and it opens.\n\nAnna\n\nOn Sun, Nov 1, 2026 at 1:00 PM Support <support@example.org> wrote:\n> It does not open.\n> --\n> secret")
	m.Attachments = []message.Part{{Filename: "door.png", ContentType: "image/png", Body: []byte("\x89PNG\r\n\x1a\n0000")}}
	row := w.arrives(m, stands("example.org"))
	if row.State != ledger.Filed || row.ConversationID != w.id || !strings.Contains(row.Reason, "a member's reply, with @close, @assign me, @tag door") {
		t.Fatalf("the mail is %s: %s", row.State, row.Reason)
	}
	if diff := cmp.Diff([]string{"user: Pull, and it opens.\n\nAnna"}, w.said()); diff != "" {
		t.Error(diff)
	}
	c := w.conversation(w.id)
	if c.Status != helpdesk.StatusClosed || c.UserID != w.agent.UserID() || !c.AwaitingSince.IsZero() || w.tagsOf(w.id) != "Door" || door == 0 {
		t.Errorf("the conversation is %+v, with the tags %s", c, w.tagsOf(w.id))
	}
	sent := must(w.svc.Outgoing().Begin(w.ctx, w.account.ID, row.InteractionID, 1))(t)
	if len(sent.Due) != 1 || sent.Due[0].Address != ada.Email || len(sent.Attachments) != 1 || sent.MessageID == m.MessageID || strings.Contains(sent.HTML, "secret") || strings.Contains(sent.HTML, "+a-") {
		t.Errorf("sent is %+v", sent)
	}
	i := must(w.desk.Interactions().Get(w.ctx, w.id, row.InteractionID))(t)
	if i.UserID != w.agent.UserID() || i.PostedByID != w.agent.UserID() {
		t.Errorf("it is of %d, sent by %d", i.UserID, i.PostedByID)
	}
	events := must(w.store.Events(w.ctx, w.account.ID, 0, 1000))(t)
	by := map[string]string{}
	for _, e := range events {
		var data struct{ Via string }
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Error(err)
		}
		if e.ActorID == w.agent.UserID() {
			by[e.Type] = data.Via
		}
	}
	want := map[string]string{
		"interaction.created": "email", "interaction.posted": "email", "attachment.created": "email",
		"conversation.updated": "email", "conversation.closed": "email", "conversation.assigned": "email",
	}
	if diff := cmp.Diff(want, by); diff != "" {
		t.Errorf("events of the agent: %s", diff)
	}
	if back := w.back(); len(back) != 0 {
		t.Errorf("it came back: %+v", back)
	}
}

// Which mails to a reply address are accepted, and what happens to the others: none of them becomes a customer's mail, and
// they are returned to members only.
func TestMailOfMembers(t *testing.T) {
	t.Parallel()
	type mail = ledger.Incoming
	tests := []struct {
		name   string
		change func(w *atWork, m *mail) ledger.Authentication
		done   bool
		reason string // in the ledger
		told   bool   // the agent is told
		text   bool   // and gets the text back
	}{
		{"DMARC", func(w *atWork, m *mail) ledger.Authentication { return stands("example.org") }, true, "reply", false, false},
		{"DKIM alone", func(w *atWork, m *mail) ledger.Authentication {
			return ledger.Authentication{Source: "intake", FromAligned: true, DKIM: []ledger.AuthCheck{{Result: "pass", Domain: "example.org"}}, DMARC: ledger.AuthPolicy{Result: "none", Domain: "example.org"}}
		}, true, "reply", false, false},
		{"what a trusted server wrote into a fetched mail", func(w *atWork, m *mail) ledger.Authentication {
			auth := stands("example.org")
			auth.Source = "header"
			return auth
		}, true, "reply", false, false},
		{"the address in capitals", func(w *atWork, m *mail) ledger.Authentication {
			m.From[0].Email, m.To[0].Email = strings.ToUpper(m.FirstAuthor().Email), strings.ToUpper(m.To[0].Email)
			return stands("example.org")
		}, true, "reply", false, false},
		{"the address among others", func(w *atWork, m *mail) ledger.Authentication {
			m.To, m.Cc = []mailaddr.Address{ada, {Email: "support@example.org"}}, m.To
			return stands("example.org")
		}, true, "reply", false, false},
		{"the address hidden", func(w *atWork, m *mail) ledger.Authentication {
			m.DeliveredTo, m.To = m.To, []mailaddr.Address{ada}
			return stands("example.org")
		}, true, "reply", false, false},
		{"beside the customer's token", func(w *atWork, m *mail) ledger.Authentication {
			answer := w.answer(w.id, helpdesk.InteractionInput{})
			w.to = w.address(w.agent.UserID(), w.id, answer.ID)
			m.To = []mailaddr.Address{{Email: begin(w.bundle, answer.ID).ReplyTo}, {Email: w.to}}
			return stands("example.org")
		}, true, "reply", false, false},
		{"nothing known", func(w *atWork, m *mail) ledger.Authentication { return ledger.Authentication{} }, false, "nothing proves", true, true},
		{"DMARC fails", func(w *atWork, m *mail) ledger.Authentication {
			return ledger.Authentication{Source: "intake", DMARC: ledger.AuthPolicy{Result: "fail", Policy: "none", Domain: "example.org"}}
		}, false, "nothing proves", true, true},
		{"disowned", func(w *atWork, m *mail) ledger.Authentication {
			return ledger.Authentication{Source: "intake", FromAligned: true, DMARC: ledger.AuthPolicy{Result: "fail", Policy: "reject", Domain: "example.org"}}
		}, false, "nothing proves", true, true},
		{"vouched for as another domain", func(w *atWork, m *mail) ledger.Authentication { return stands("evil.example") }, false, "nothing proves", true, true},
		{"a header that a stranger wrote", func(w *atWork, m *mail) ledger.Authentication {
			m.Authentication = stands("example.org")
			m.Authentication.Source = "header"
			return ledger.Authentication{Source: "intake", DMARC: ledger.AuthPolicy{Result: "fail", Domain: "example.org"}}
		}, false, "nothing proves", true, true},
		{"another's address", func(w *atWork, m *mail) ledger.Authentication {
			m.From = []mailaddr.Address{{Email: "eve@evil.example"}}
			return stands("evil.example")
		}, false, "nothing proves", true, false},
		{"the agent's address as a name", func(w *atWork, m *mail) ledger.Authentication {
			m.From = []mailaddr.Address{{Name: m.FirstAuthor().Email, Email: "eve@evil.example"}}
			return stands("evil.example")
		}, false, "nothing proves", true, false},
		{"another address of the same domain", func(w *atWork, m *mail) ledger.Authentication {
			m.From = []mailaddr.Address{{Email: "eve@example.org"}}
			return stands("example.org")
		}, false, "nothing proves", true, false},
		{"the agent's address with a tag", func(w *atWork, m *mail) ledger.Authentication {
			m.From[0].Email = strings.Replace(m.FirstAuthor().Email, "@", "+x@", 1)
			return stands("example.org")
		}, false, "nothing proves", true, false},
		{"two authors", func(w *atWork, m *mail) ledger.Authentication {
			m.From = []mailaddr.Address{m.FirstAuthor(), {Email: "eve@example.org"}}
			return stands("example.org")
		}, false, "nothing proves", true, true},
		{"a From that can be read as two", func(w *atWork, m *mail) ledger.Authentication {
			m.Guessed = true
			return stands("example.org")
		}, false, "nothing proves", true, true},
		{"by a list", func(w *atWork, m *mail) ledger.Authentication {
			m.Rewritten = true
			return stands("example.org")
		}, false, "nothing proves", true, true},
		{"as Sender alone", func(w *atWork, m *mail) ledger.Authentication {
			m.Sender, m.From = m.From, []mailaddr.Address{{Email: "eve@evil.example"}}
			return stands("evil.example")
		}, false, "nothing proves", true, false},
		{"from nobody", func(w *atWork, m *mail) ledger.Authentication {
			m.From = nil
			return ledger.Authentication{}
		}, false, "nothing proves", true, false},
		{"a colleague", func(w *atWork, m *mail) ledger.Authentication {
			m.From = []mailaddr.Address{{Email: w.owner.Email}}
			return stands("example.org")
		}, false, "another member", true, true},
		{"a changed token", func(w *atWork, m *mail) ledger.Authentication {
			at := strings.LastIndex(m.To[0].Email, "@") - 1
			last := "a"
			if m.To[0].Email[at] == 'a' {
				last = "q"
			}
			m.To[0].Email = m.To[0].Email[:at-1] + last + m.To[0].Email[at:]
			return stands("example.org")
		}, false, "not valid", true, true},
		{"a changed token, of a stranger", func(w *atWork, m *mail) ledger.Authentication {
			at := strings.LastIndex(m.To[0].Email, "@") - 5
			m.To[0].Email = m.To[0].Email[:at] + strings.Map(func(r rune) rune { return map[bool]rune{true: 'b', false: 'c'}[r != 'b'] }, m.To[0].Email[at:at+1]) + m.To[0].Email[at+1:]
			m.From = []mailaddr.Address{{Email: "eve@evil.example"}}
			return stands("evil.example")
		}, false, "", false, false},
		{"too late", func(w *atWork, m *mail) ledger.Authentication {
			w.clock.Add(15*24*time.Hour + time.Second)
			return stands("example.org")
		}, false, "too old", true, true},
		{"in time", func(w *atWork, m *mail) ledger.Authentication {
			w.clock.Add(14 * 24 * time.Hour)
			return stands("example.org")
		}, true, "reply", false, false},
		{"no member any more", func(w *atWork, m *mail) ledger.Authentication {
			w.leave()
			return stands("example.org")
		}, false, "not a member", true, true},
		{"no member any more, and not shown", func(w *atWork, m *mail) ledger.Authentication {
			w.leave()
			return ledger.Authentication{}
		}, false, "no one was notified", false, false},
		{"another mailbox alone", func(w *atWork, m *mail) ledger.Authentication {
			other := must(w.desk.Mailboxes().Create(w.ctx, helpdesk.MailboxInput{Name: storage.Some("Sales")}))(w.t)
			w.membership(identity.RoleAgent, other.ID)
			return stands("example.org")
		}, false, "cannot access", true, true},
		{"a role that may not answer", func(w *atWork, m *mail) ledger.Authentication {
			w.membership(identity.RoleCollaborator)
			return stands("example.org")
		}, false, "not", true, true},
		{"a note of that role", func(w *atWork, m *mail) ledger.Authentication {
			w.membership(identity.RoleCollaborator)
			m.Text = "@note\n" + m.Text
			return stands("example.org")
		}, true, "note", false, false},
		{"a conversation that was deleted", func(w *atWork, m *mail) ledger.Authentication {
			if err := w.desk.Conversations().Delete(w.ctx, w.id); err != nil {
				w.t.Fatal(err)
			}
			return stands("example.org")
		}, false, "was deleted", true, true},
		{"out of office", func(w *atWork, m *mail) ledger.Authentication {
			m.AutoSubmitted = true
			return stands("example.org")
		}, false, "an automatic reply", false, false},
		{"a bounce", func(w *atWork, m *mail) ledger.Authentication {
			m.AutoSubmitted, m.From = true, []mailaddr.Address{{Email: "mailer-daemon@example.org"}}
			m.Report = &sending.Report{Recipients: []sending.ReportedRecipient{{Address: w.from.Email, State: sending.Bounced}}}
			return ledger.Authentication{}
		}, false, "an automatic reply", false, false},
		{"no text", func(w *atWork, m *mail) ledger.Authentication {
			m.Text = "\n> It does not open.\n"
			return stands("example.org")
		}, false, "no text", true, true},
		{"a note without text", func(w *atWork, m *mail) ledger.Authentication {
			m.Text = "@note\n@close"
			return stands("example.org")
		}, false, "no text", true, true},
		{"files alone", func(w *atWork, m *mail) ledger.Authentication {
			m.Text, m.Attachments = "@close", []message.Part{{Filename: "a.txt", Body: []byte("a")}}
			return stands("example.org")
		}, false, "files but no text", true, true},
		{"a file that may not be uploaded", func(w *atWork, m *mail) ledger.Authentication {
			m.Attachments = []message.Part{{Filename: "a.exe", Body: []byte("MZ")}}
			return stands("example.org")
		}, false, "a.exe cannot be sent", true, true},
		{"a signature of S/MIME", func(w *atWork, m *mail) ledger.Authentication {
			m.Attachments = []message.Part{{Filename: "smime.p7s", ContentType: "application/pkcs7-signature", Body: []byte("0")}}
			return stands("example.org")
		}, true, "reply", false, false},
		{"encrypted", func(w *atWork, m *mail) ledger.Authentication {
			m.Text, m.Security = "", ledger.Security{Protocol: "openpgp", Encrypted: true}
			return stands("example.org")
		}, false, "encrypted", true, true},
		{"huge", func(w *atWork, m *mail) ledger.Authentication {
			m.Text = strings.Repeat("x ", helpdesk.MaxBody)
			return stands("example.org")
		}, false, "larger than 1 MiB", true, true},
		{"the mail that it answers, not quoted", func(w *atWork, m *mail) ledger.Authentication {
			m.Text = "Reply-To " + w.to + "\n" + m.Text
			return stands("example.org")
		}, false, "what it quotes", true, true},
		{"an unknown command", func(w *atWork, m *mail) ledger.Authentication {
			m.Text = "@note\n@cloze\n\nHers."
			return stands("example.org")
		}, false, "no such command", true, true},
		{"an unknown tag", func(w *atWork, m *mail) ledger.Authentication {
			m.Text = "@close\n@tag nothing\n\nPull."
			return stands("example.org")
		}, false, "no tag named nothing", true, true},
		{"an unknown colleague", func(w *atWork, m *mail) ledger.Authentication {
			m.Text = "@assign ada@example.com\n\nPull."
			return stands("example.org")
		}, false, "no member", true, true},
		{"a snooze of what is closed", func(w *atWork, m *mail) ledger.Authentication {
			must(w.desk.Conversations().Update(w.ctx, w.id, helpdesk.ConversationUpdate{Subject: storage.Some("x"), Status: storage.Some(helpdesk.StatusClosed)}))(w.t)
			m.Text = "@snooze 2d\n\nPull."
			return stands("example.org")
		}, false, "posted or pending", true, true},
		{"@fwd", func(w *atWork, m *mail) ledger.Authentication {
			m.Text = "@fwd\n" + m.Text
			return stands("example.org")
		}, false, "to a mailbox's address", true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newAtWork(t)
			m := w.mail("Pull, and it opens.")
			auth := tt.change(w, &m)
			before := len(must(w.desk.Conversations().List(w.ctx, helpdesk.ConversationQuery{}, storage.PageRequest{}))(t).Items)
			seen := []string{}
			if before > 0 {
				seen = w.said()
			}
			row := w.arrives(m, auth)
			if !strings.Contains(row.Reason, tt.reason) || (row.State == ledger.Filed) != tt.done || !tt.done && row.State != ledger.Ignored {
				t.Errorf("the mail is %s: %s", row.State, row.Reason)
			}
			if after := w.count(); after != before {
				t.Errorf("%d conversations became %d", before, after)
			}
			if before > 0 {
				if said := w.said(); (len(said) > len(seen)) != tt.done {
					t.Errorf("said is %q", said)
				}
			}
			back := w.back()
			if (len(back) == 1) != tt.told || len(back) > 1 {
				t.Fatalf("%d mails go back", len(back))
			}
			if !tt.told {
				return
			}
			own := w.from.Email
			if tt.name == "a colleague" {
				own = w.owner.Email
			}
			text := strings.TrimSpace(m.Text)
			if r := back[0]; r.To.Email != own || strings.Contains(r.Text, text[:min(len(text), 18)]) != tt.text && tt.name != "encrypted" || r.From.Email != "support@example.org" {
				t.Errorf("what goes back is %+v", r)
			}
		})
	}
}

// leave has the agent leave the account.
func (w *atWork) leave() {
	w.t.Helper()
	for _, m := range must(w.desk.Members().List(w.ctx, storage.PageRequest{}))(w.t).Items {
		if m.UserID == w.agent.UserID() {
			if err := w.desk.Members().Remove(w.ctx, m.ID); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// membership gives the agent another role, and mailboxes.
func (w *atWork) membership(role string, mailboxes ...int64) {
	w.t.Helper()
	for _, m := range must(w.desk.Members().List(w.ctx, storage.PageRequest{}))(w.t).Items {
		if m.UserID == w.agent.UserID() {
			must(w.desk.Members().Update(w.ctx, m.ID, identity.MembershipUpdate{RoleIDs: []int64{w.roles()[role]}, MailboxIDs: storage.Some(mailboxes)}))(w.t)
		}
	}
}

// An answer follows its conversation, and does not cross newer messages unless its author has seen them.
func TestMemberAnswersMergedConversation(t *testing.T) {
	t.Parallel()
	w := newAtWork(t)
	other := w.receive(ledger.Incoming{Message: message.Message{MessageID: "2@example.com", From: []mailaddr.Address{ada}, Subject: "Another door", Text: "That, too."}})
	sales := must(w.desk.Mailboxes().Create(w.ctx, helpdesk.MailboxInput{Name: storage.Some("Sales")}))(t)
	must(w.desk.Conversations().Update(w.ctx, other.ConversationID, helpdesk.ConversationUpdate{Subject: storage.Some("x"), MailboxID: storage.Some(sales.ID)}))(t)
	must(w.desk.Conversations().Merge(w.ctx, w.id, other.ConversationID))(t)
	w.id = other.ConversationID
	row := w.arrives(w.mail("Pull."), stands("example.org"))
	back := w.back()
	if row.State != ledger.Ignored || len(back) != 1 || !strings.Contains(back[0].Text, "That, too.") || len(w.said()) != 0 {
		t.Fatalf("it is %s: %s; %+v", row.State, row.Reason, back)
	}
	again := w.mail("Pull.")
	again.MessageID, again.To = "again@example.org", []mailaddr.Address{{Email: back[0].ReplyTo}}
	if row := w.arrives(again, stands("example.org")); row.State != ledger.Filed || row.ConversationID != w.id {
		t.Errorf("it is %s: %s", row.State, row.Reason)
	}
	if diff := cmp.Diff([]string{"user: Pull."}, w.said()); diff != "" {
		t.Error(diff)
	}
}

// A crossing answer is returned with the newer messages, and is sent when that is answered; another message meanwhile
// returns it again.
func TestMemberAnswerCrosses(t *testing.T) {
	t.Parallel()
	w := newAtWork(t)
	w.clock.Add(time.Minute)
	w.receive(ledger.Incoming{Message: message.Message{MessageID: "2@example.com", From: []mailaddr.Address{ada}, InReplyTo: []string{"1@example.com"}, Text: "It opens now!"}})
	send := func(n int, to, text string) ledger.Mail {
		w.clock.Add(time.Minute)
		m := w.mail(text)
		m.MessageID, m.To = fmt.Sprintf("m%d@example.org", n), []mailaddr.Address{{Email: to}}
		return w.arrives(m, stands("example.org"))
	}
	if row := send(1, w.to, "@close\n\nPull."); row.State != ledger.Ignored || !strings.Contains(row.Reason, "newer messages in the conversation") {
		t.Fatalf("it is %s: %s", row.State, row.Reason)
	}
	first := w.back()
	if len(first) != 1 || !strings.Contains(first[0].Text, "It opens now!") || !strings.Contains(first[0].Text, "Pull.") || strings.Contains(first[0].Text, "It does not open.") || w.conversation(w.id).Status == helpdesk.StatusClosed {
		t.Fatalf("what goes back is %+v", first)
	}
	w.clock.Add(time.Minute)
	w.receive(ledger.Incoming{Message: message.Message{MessageID: "3@example.com", From: []mailaddr.Address{ada}, InReplyTo: []string{"1@example.com"}, Text: "No, it does not."}})
	send(2, first[0].ReplyTo, "Pull.")
	second := w.back()
	if len(second) != 1 || !strings.Contains(second[0].Text, "No, it does not.") || strings.Contains(second[0].Text, "It opens now!") {
		t.Fatalf("what goes back is %+v", second)
	}
	if len(w.said()) != 0 {
		t.Fatalf("said is %q", w.said())
	}
	if row := send(3, second[0].ReplyTo, "Pull harder."); row.State != ledger.Filed {
		t.Errorf("it is %s: %s", row.State, row.Reason)
	}
	if row := send(4, w.to, "@note\nShe is impatient."); row.State != ledger.Filed {
		t.Errorf("a note does not cross: it is %s: %s", row.State, row.Reason)
	}
	if diff := cmp.Diff([]string{"user: Pull harder.", "note: She is impatient."}, w.said()); diff != "" {
		t.Error(diff)
	}
}

// A mail acts once, however often and wherever it comes.
func TestMemberMailActsOnce(t *testing.T) {
	t.Parallel()
	w := newAtWork(t)
	other := must(w.desk.Mailboxes().Create(w.ctx, helpdesk.MailboxInput{Name: storage.Some("Sales")}))(t)
	m := w.mail("@note\nOnce.")
	var states []ledger.State
	states = append(states, w.arrives(m, stands("example.org")).State, w.arrives(m, stands("example.org")).State, w.arrivesAt(other.ID, m, stands("example.org")).State)
	m.Text += "\n\nA footer of a list."
	states = append(states, w.arrives(m, stands("example.org")).State)
	if diff := cmp.Diff([]ledger.State{ledger.Filed, ledger.Ignored, ledger.Ignored, ledger.Ignored}, states); diff != "" {
		t.Error(diff)
	}
	commands := w.mail("@close")
	commands.MessageID = "commands@example.org"
	row := w.arrives(commands, stands("example.org"))
	if row.State != ledger.Ignored || !strings.Contains(row.Reason, "carried out") || w.conversation(w.id).Status != helpdesk.StatusClosed {
		t.Errorf("the commands are %s: %s", row.State, row.Reason)
	}
	must(w.desk.Conversations().Update(w.ctx, w.id, helpdesk.ConversationUpdate{Subject: storage.Some("x"), Status: storage.Some(helpdesk.StatusPosted)}))(t)
	must(w.desk.InboundMails().Replay(w.ctx, w.mailbox.ID, row.ID))(t)
	row = must(w.svc.Intake().File(w.ctx, w.account.ID, row.ID, commands))(t)
	if row.State != ledger.Ignored || w.conversation(w.id).Status != helpdesk.StatusPosted {
		t.Errorf("replayed: %s: %s", row.State, row.Reason)
	}
	if diff := cmp.Diff([]string{"note: Once."}, w.said()); diff != "" {
		t.Error(diff)
	}
	if back := w.back(); len(back) != 0 {
		t.Errorf("it came back: %+v", back)
	}
}

// An agent is notified once an hour of mails that may be forged, and a limited number of times of the agent's own. A forged
// mail does not block a genuine one.
func TestReturnsAreBounded(t *testing.T) {
	t.Parallel()
	w := newAtWork(t)
	told := func(n int, text string, auth ledger.Authentication) int {
		m := w.mail(text)
		m.MessageID = fmt.Sprintf("b%d@example.org", n)
		w.arrives(m, auth)
		return len(w.jobs(helpdesk.JobReturnMail))
	}
	got := []int{
		told(1, "Let me in.", ledger.Authentication{}), told(2, "Let me in!", ledger.Authentication{}), told(3, "@cloze", stands("example.org")),
	}
	w.clock.Add(time.Hour)
	got = append(got, told(4, "Let me in.", ledger.Authentication{}))
	if diff := cmp.Diff([]int{1, 0, 1, 1}, got); diff != "" {
		t.Error(diff)
	}
	own := 0
	for n := range 30 {
		own += told(10+n, "@cloze", stands("example.org"))
	}
	if own != 20 {
		t.Errorf("%d of 30 came back", own)
	}
	m := w.mail("Pull.")
	m.MessageID = "b1@example.org"
	if row := w.arrives(m, stands("example.org")); row.State != ledger.Filed {
		t.Errorf("the genuine one is %s: %s", row.State, row.Reason)
	}
}

// Automatic answers to a returned mail end there.
func TestNoLoopsWithMembers(t *testing.T) {
	t.Parallel()
	w := newAtWork(t)
	w.arrives(w.mail("@cloze"), stands("example.org"))
	back := w.back()[0]
	for name, m := range map[string]ledger.Incoming{
		"out of office":  {Message: message.Message{From: []mailaddr.Address{w.from}, To: []mailaddr.Address{{Email: "support@example.org"}}, AutoSubmitted: true, InReplyTo: []string{back.MessageID}, Text: "I am away."}},
		"a bounce":       {Message: message.Message{From: []mailaddr.Address{{Email: "mailer-daemon@example.org"}}, To: []mailaddr.Address{{Email: "support@example.org"}}, AutoSubmitted: true, Text: "No such user."}, Report: &sending.Report{MessageIDs: []string{back.MessageID}, Recipients: []sending.ReportedRecipient{{Address: w.from.Email, State: sending.Bounced}}}},
		"to its address": {Message: message.Message{From: []mailaddr.Address{w.from}, To: []mailaddr.Address{{Email: back.ReplyTo}}, AutoSubmitted: true, Text: "I am away."}},
	} {
		m.MessageID = strings.ReplaceAll(name, " ", "") + "@example.org"
		if row := w.arrives(m, stands("example.org")); row.State != ledger.Ignored || !strings.Contains(row.Reason, "an automatic reply") {
			t.Errorf("%s is %s: %s", name, row.State, row.Reason)
		}
	}
	if w.count() != 1 || len(w.back()) != 0 {
		t.Errorf("%d conversations, and something goes back", w.count())
	}
}

// An address is valid in its own account only, and a former key is still accepted.
func TestMemberTokens(t *testing.T) {
	t.Parallel()
	w := newAtWork(t)
	operator := w.svc.Operator()
	second := must(operator.CreateAccount(w.ctx, identity.AccountInput{Name: "Other"}, w.agent.UserID()))(t)
	desk := must(w.svc.Desk(w.ctx, w.svc.As(w.agent.UserID()), second.ID))(t)
	box := must(desk.Mailboxes().Create(w.ctx, helpdesk.MailboxInput{Name: storage.Some("Other")}))(t)
	at, mine := w.account, w.mailbox
	w.account, w.mailbox = second, box
	row := w.arrives(w.mail("Pull."), stands("example.org"))
	if row.State != ledger.Ignored || !strings.Contains(row.Reason, "not valid here") {
		t.Errorf("in another account it is %s: %s", row.State, row.Reason)
	}
	if all := must(desk.Conversations().List(w.ctx, helpdesk.ConversationQuery{}, storage.PageRequest{}))(t).Items; len(all) != 0 {
		t.Errorf("there are %d conversations", len(all))
	}
	w.account, w.mailbox = at, mine
	w.bundle = w.with(func(cfg *helpdesk.Config) {
		cfg.SigningKey, cfg.FormerSigningKeys = []byte(strings.Repeat("k", 32)), [][]byte{make([]byte, 32)}
	})
	if row := w.arrives(w.mail("Pull."), stands("example.org")); row.State != ledger.Filed {
		t.Errorf("with a new key it is %s: %s", row.State, row.Reason)
	}
	local, _, _ := strings.Cut(w.to, "@")
	large, _ := w.svc.MailWork(w.mailbox, 1<<20, 1<<27, 1<<27)
	if len(local) > 64 || large == "" || strings.ToLower(w.to) != w.to {
		t.Errorf("the address is %s, of large numbers %s", w.to, large)
	}
}

// HTML of an answer is cleaned, its images go along, and those of the quote and of the signature do not.
func TestMemberAnswersInHTML(t *testing.T) {
	t.Parallel()
	w := newAtWork(t)
	png := []byte("\x89PNG\r\n\x1a\n0000")
	m := w.mail("")
	m.HTML = `<div dir="ltr"><div>@tag&nbsp;door</div><div>Pull <b onclick="x()">it</b>:<script>x()</script> <img src="cid:own@x"></div><div><br></div><div class="gmail_signature">Anna <img src="cid:logo@x"></div></div>` +
		`<div class="gmail_quote"><div class="gmail_attr">On Sun, Nov 1, 2026 Support &lt;s@example.org&gt; wrote:</div><blockquote class="gmail_quote">It does not open.</blockquote></div>`
	m.Attachments = []message.Part{
		{Filename: "own.png", ContentType: "image/png", ContentID: "own@x", Inline: true, Body: png},
		{Filename: "logo.png", ContentType: "image/png", ContentID: "logo@x", Inline: true, Body: png},
		{Filename: "a.pdf", ContentType: "application/pdf", Body: []byte("%PDF-1.4 x")},
	}
	w.tag("Door")
	row := w.arrives(m, stands("example.org"))
	if row.State != ledger.Filed {
		t.Fatalf("it is %s: %s", row.State, row.Reason)
	}
	i := must(w.desk.Interactions().Get(w.ctx, w.id, row.InteractionID))(t)
	for _, bad := range []string{"script", "onclick", "logo@x", "It does not open", "@tag", "Anna"} {
		if strings.Contains(i.Body, bad) {
			t.Errorf("%s is in %s", bad, i.Body)
		}
	}
	var names []string
	for _, a := range must(w.desk.Attachments().List(w.ctx, w.id, i.ID))(t) {
		names = append(names, fmt.Sprintf("%s %v", a.Filename, a.IsInline))
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"a.pdf false", "own.png true"}, names); diff != "" || !strings.Contains(i.Body, "cid:own@x") || !strings.Contains(i.Body, "<b>it</b>") {
		t.Errorf("%s in %s", diff, i.Body)
	}
}

// A member's mail that begins with @fwd opens a conversation of the author of the mail that it passes on, or comes back.
func TestForwardCommand(t *testing.T) {
	t.Parallel()
	const original = "\n\n---------- Forwarded message ---------\nFrom: Bob <bob@example.com>\nDate: Mon, Nov 2, 2026 at 3:04 PM\nSubject: The gate\nTo: <o@example.org>\n\n\nIt squeaks.\n"
	tests := []struct {
		name, subject, text string
		auth                ledger.Authentication
		done                bool
		reason, note        string
	}{
		{"with a note and commands", "Fwd: The gate", "@fwd\n@assign me\n@tag door\n\nBe nice." + original, stands("example.org"), true, "", "Be nice."},
		{"a note on the same line", "Fwd: The gate", "@FWD Be nice." + original, stands("example.org"), true, "", "Be nice."},
		{"alone", "WG: The gate", "@fwd" + original, stands("example.org"), true, "", ""},
		{"with a subject that does not say so", "Look at this", "@fwd" + strings.Replace(original, "---------- Forwarded message ---------\n", "", 1), stands("example.org"), true, "", ""},
		{"that refers to a known mail", "Fwd: The door is stuck", "@fwd" + original, stands("example.org"), true, "", ""},
		{"nothing to pass on", "Fwd: The gate", "@fwd\nBob says that it squeaks.", stands("example.org"), false, "cannot be read", ""},
		{"of nobody", "Fwd: The gate", "@fwd" + strings.Replace(original, "Bob <bob@example.com>", "Bob", 1), stands("example.org"), false, "nobody else", ""},
		{"an unknown command", "Fwd: The gate", "@fwd\n@cloze" + original, stands("example.org"), false, "no such command", ""},
		{"an unknown tag", "Fwd: The gate", "@fwd\n@tag x" + original, stands("example.org"), false, "no tag named x", ""},
		{"not shown to be the member's", "Fwd: The gate", "@fwd" + original, ledger.Authentication{}, false, "nothing proves", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newAtWork(t)
			w.tag("Door")
			m := ledger.Incoming{
				Message: message.Message{
					MessageID: "f@example.org", From: []mailaddr.Address{w.from}, To: []mailaddr.Address{{Email: "support@example.org"}}, Subject: tt.subject, Text: tt.text, InReplyTo: []string{"1@example.com"},
				},
			}
			row := w.arrives(m, tt.auth)
			if (row.State == ledger.Filed) != tt.done || !strings.Contains(row.Reason, tt.reason) {
				t.Fatalf("it is %s: %s", row.State, row.Reason)
			}
			back := w.back()
			if !tt.done {
				if w.count() != 1 || len(back) != 1 || back[0].To.Email != w.from.Email {
					t.Errorf("%d conversations, and %+v goes back", w.count(), back)
				}
				return
			}
			c := w.conversation(row.ConversationID)
			w.id = c.ID
			note := ""
			for _, said := range w.said() {
				note += strings.TrimPrefix(said, "note: ")
			}
			if c.CustomerEmail != "bob@example.com" || c.Preview != "It squeaks." || note != tt.note || len(back) != 0 {
				t.Errorf("it is %+v with the note %q", c, note)
			}
			if assigned := c.UserID == w.agent.UserID(); assigned != strings.Contains(tt.text, "@assign me") || (w.tagsOf(c.ID) == "Door") != assigned {
				t.Errorf("assigned: %v, tags: %s", assigned, w.tagsOf(c.ID))
			}
			again := w.arrives(m, tt.auth)
			if again.State != ledger.Ignored || w.count() != 2 {
				t.Errorf("again it is %s: %s", again.State, again.Reason)
			}
		})
	}
}
