package helpdesk_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
)

// sign sets the signature of the mailbox, and its quotes.
func (b *bundle) sign(signature string, quotes helpdesk.QuotePolicy) {
	b.t.Helper()
	in := helpdesk.MailboxInput{Signature: storage.Some(signature), Quotes: storage.Some(quotes)}
	must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, in))(b.t)
}

// leaves is the text of the mail of an answer.
func (b *bundle) leaves(i helpdesk.Interaction) string {
	b.t.Helper()
	return mailhtml.Text(begin(b, i.ID).HTML)
}

// An answer ends with the signatures of its author and of the mailbox, as they were at that time.
func TestSignatures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ own, mailbox, want string }{
		"none":         {"", "", "Pull."},
		"own":          {"Best,\n{{agent.name}}", "", "Pull.\n\nBest,\nOwen Owner"},
		"the mailbox":  {"", "<p>{{mailbox.name}}<br>{{ mailbox.email }}</p>", "Pull.\n\nHelp <&>\nsupport@example.org"},
		"both":         {"Owen", "<b>Doors Ltd</b>", "Pull.\n\nOwen\nDoors Ltd"},
		"nothing seen": {"<p> </p>", "<script>x</script>", "Pull."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{Name: storage.Some("Help <&>")}))(t)
			must(b.desk.Signatures().Set(b.ctx, tt.own))(t)
			b.sign(tt.mailbox, helpdesk.QuoteNone)
			i := b.answer(b.receive(opening()).ConversationID, helpdesk.InteractionInput{Body: "Pull."})
			must(b.desk.Signatures().Set(b.ctx, "Somebody else"))(t)
			b.sign("Another company", helpdesk.QuoteAll)
			if got := strings.ReplaceAll(b.leaves(i), b.owner.Name, "Owen Owner"); strings.TrimSpace(got) != tt.want {
				t.Errorf("%q, not %q", got, tt.want)
			}
			if i.Body != "Pull." {
				t.Errorf("the answer itself became %q", i.Body)
			}
		})
	}
}

// Invalid signatures are refused, and the previous one is kept.
func TestSignatureRefused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	must(b.desk.Signatures().Set(b.ctx, "Owen"))(t)
	for name, body := range map[string]string{"a place that is not known": "{{customer.name}}", "too large": strings.Repeat("x", 16<<10+1)} {
		if _, err := b.desk.Signatures().Set(b.ctx, body); fieldsOf(err)["signature"] == nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{Signature: storage.Some(body)}); fieldsOf(err)["signature"] == nil {
			t.Errorf("%s, of the mailbox: %v", name, err)
		}
	}
	if _, err := b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{Quotes: storage.Some(helpdesk.QuotePolicy("some"))}); fieldsOf(err)["quotes"] == nil {
		t.Error(err)
	}
	if got := must(b.desk.Signatures().Get(b.ctx))(t); got != "Owen" {
		t.Errorf("it is %q now", got)
	}
	must(b.desk.Signatures().Set(b.ctx, ""))(t)
	if got := must(b.desk.Signatures().Get(b.ctx))(t); got != "" {
		t.Errorf("removed, it is %q", got)
	}
}

// A signature that was fixed goes when the answer becomes a draft again.
func TestSignatureOfDraft(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.hold(time.Minute)
	b.sign("Doors Ltd", helpdesk.QuoteAll)
	id := b.receive(opening()).ConversationID
	i := b.answer(id, helpdesk.InteractionInput{Body: "Pull."})
	if i.Ending.Signature == "" || len(i.Ending.Quotes) != 1 {
		t.Errorf("posted: %+v", i.Ending)
	}
	back := must(b.desk.Interactions().CancelSending(b.ctx, id, i.ID))(t)
	if diff := cmp.Diff(helpdesk.Ending{}, back.Ending); diff != "" {
		t.Error(diff)
	}
}

// quotedAfter returns the quote below an answer, as lines without marks and empty lines.
func (b *bundle) quotedAfter(i helpdesk.Interaction) (lines []string) {
	b.t.Helper()
	for line := range strings.Lines(b.leaves(i)) {
		if text := strings.TrimSpace(strings.TrimLeft(line, "> ")); text != "" {
			lines = append(lines, text)
		}
	}
	return lines[1:]
}

// The earlier messages are quoted below an answer, newest first, but none that its recipients have not seen.
func TestQuotes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy helpdesk.QuotePolicy
		say    func(b *bundle, id int64)
		answer helpdesk.InteractionInput
		want   []string
	}{
		"nothing": {helpdesk.QuoteNone, nil, helpdesk.InteractionInput{}, nil},
		"last":    {helpdesk.QuoteLast, nil, helpdesk.InteractionInput{}, []string{"Bob: Stuck."}},
		"last, behind an answer": {helpdesk.QuoteLast, func(b *bundle, id int64) {
			b.answer(id, helpdesk.InteractionInput{Body: "Push."})
		}, helpdesk.InteractionInput{}, []string{"Bob: Stuck."}},
		"all": {helpdesk.QuoteAll, func(b *bundle, id int64) {
			b.answer(id, helpdesk.InteractionInput{Body: "Push."})
		}, helpdesk.InteractionInput{}, []string{"Help: Push.", "Bob: Stuck."}},
		"a forward": {helpdesk.QuoteAll, nil, helpdesk.InteractionInput{IsForward: true, To: []string{"locksmith@example.net"}}, nil},
		"notes, drafts and forwards": {helpdesk.QuoteAll, func(b *bundle, id int64) {
			b.note(id, "He is rude.")
			b.answer(id, helpdesk.InteractionInput{Body: "Can you help?", IsForward: true, To: []string{"locksmith@example.net"}})
			must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "Perhaps"}))(b.t)
			b.later(id)
		}, helpdesk.InteractionInput{}, []string{"Bob: Stuck."}},
		"what others were told": {helpdesk.QuoteAll, func(b *bundle, id int64) {
			b.answer(id, helpdesk.InteractionInput{Body: "Is he insured?", To: []string{"boss@example.net"}})
		}, helpdesk.InteractionInput{}, []string{"Bob: Stuck."}},
		"who saw nothing":    {helpdesk.QuoteAll, nil, helpdesk.InteractionInput{To: []string{"boss@example.net"}}, nil},
		"who is told in Bcc": {helpdesk.QuoteAll, nil, helpdesk.InteractionInput{To: []string{"boss@example.net"}, Bcc: []string{bob.Email}}, nil},
		"what they quote": {helpdesk.QuoteAll, func(b *bundle, id int64) {
			first := b.answer(id, helpdesk.InteractionInput{Body: "Push."})
			b.receive(ledger.Incoming{Message: message.Message{MessageID: "again@example.com", From: []mailaddr.Address{bob}, Subject: "Re: Door", References: []string{first.MessageID},
				Text: "It moved.\n\nOn 3 March 2026 at 10:00 UTC, Help wrote:\n> Push.\n"}})
		}, helpdesk.InteractionInput{}, []string{"Bob: It moved.", "Help: Push.", "Bob: Stuck."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{Name: storage.Some("Help")}))(t)
			b.sign("", tt.policy)
			in := opening()
			in.From, in.Text = []mailaddr.Address{bob}, "Stuck."
			id := b.receive(in).ConversationID
			if tt.say != nil {
				tt.say(b, id)
			}
			tt.answer.Body = "Pull."
			lines := b.quotedAfter(b.answer(id, tt.answer))
			var got []string
			for n := 0; n+1 < len(lines); n += 2 {
				_, who, _ := strings.Cut(lines[n], "UTC, ")
				got = append(got, strings.TrimSuffix(who, " wrote:")+": "+lines[n+1])
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s\nof %q", diff, lines)
			}
		})
	}
}

// Messages deleted or moved since are not quoted by a later attempt, and a customer's program that quotes all of it is
// understood.
func TestQuotesLater(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.sign("", helpdesk.QuoteAll)
	id := b.receive(opening()).ConversationID
	first := b.answer(id, helpdesk.InteractionInput{Body: "Push & pull <b>hard</b>."})
	second := b.answer(id, helpdesk.InteractionInput{Body: "Pull."})
	whole := begin(b, second.ID).HTML
	if folded := mailhtml.Unquoted(whole, true); strings.Contains(folded, "hard") || !strings.Contains(folded, "Pull.") {
		t.Errorf("without its quote: %q", folded)
	}
	if err := b.desk.Interactions().Delete(b.ctx, id, first.ID); err != nil {
		t.Fatal(err)
	}
	b.clock.Add(24 * time.Hour)
	mail := must(b.svc.Outgoing().Begin(b.ctx, b.account.ID, second.ID, 1))(t)
	if strings.Contains(mail.HTML, "hard") {
		t.Errorf("what was deleted is sent: %q", mail.HTML)
	}
}
