package helpdesk_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
)

// Whom an answer goes to, and whom an answer to all copies.
func TestAnswerRecipients(t *testing.T) {
	t.Parallel()
	addressed := func(to ...string) ledger.Incoming {
		m := opening()
		for _, address := range to {
			m.Cc = append(m.Cc, mailaddr.Address{Email: address})
		}
		return m
	}
	for name, tt := range map[string]struct {
		mail       ledger.Incoming
		to, others []string
	}{
		"to us alone":                {addressed(), []string{ada.Email}, nil},
		"with a colleague":           {addressed("bob@example.com"), []string{ada.Email}, []string{"bob@example.com"}},
		"twice":                      {addressed("bob@example.com", "BOB@example.com"), []string{ada.Email}, []string{"bob@example.com"}},
		"with a copy to themselves":  {addressed(ada.Email), []string{ada.Email}, nil},
		"our own addresses":          {addressed("support@example.org", "Support+sales@example.org"), []string{ada.Email}, nil},
		"blocked":                    {addressed("spam@blocked.example", "bob@example.com"), []string{ada.Email}, []string{"bob@example.com"}},
		"nobody reads it":            {addressed("no-reply@example.com", "MAILER-DAEMON@example.com", "bounces+1@example.com"), []string{ada.Email}, nil},
		"an address of a department": {addressed("sales@example.com"), []string{ada.Email}, []string{"sales@example.com"}},
		"the list that it came by": {func() ledger.Incoming {
			m := addressed("list@lists.example.net", "bob@example.com")
			m.ListPost = "list@lists.example.net"
			return m
		}(), []string{ada.Email}, []string{"bob@example.com"}},
		"an address for replies": {func() ledger.Incoming {
			m := addressed("bob@example.com")
			m.ReplyTo = []mailaddr.Address{{Email: "ada@home.example"}}
			return m
		}(), []string{"ada@home.example"}, []string{"bob@example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.blocks("blocked.example")
			got := must(b.desk.Conversations().Recipients(b.ctx, b.receive(tt.mail).ConversationID))(t)
			want := helpdesk.AnswerRecipients{To: tt.to, Others: tt.others}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(helpdesk.AnswerRecipients{}, "Known"), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What the correspondents are called, and what is not among them.
func TestCorrespondents(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	m := opening()
	m.Cc = []mailaddr.Address{{Name: "Bob", Email: "bob@example.com"}, {Email: "support@example.org"}}
	got := must(b.desk.Conversations().Recipients(b.ctx, b.receive(m).ConversationID))(t)
	if diff := cmp.Diff([]mailaddr.Address{ada, {Name: "Bob", Email: "bob@example.com"}}, got.Known); diff != "" {
		t.Error(diff)
	}
}

// Whom an answer to all copies, after each way in which mail comes into a conversation.
func TestReplyAll(t *testing.T) {
	t.Parallel()
	const us, bob, carl = "support@example.org", "bob@example.com", "carl@example.net"
	at := func(all ...string) (out []mailaddr.Address) {
		for _, one := range all {
			out = append(out, mailaddr.Address{Email: one})
		}
		return out
	}
	first := func(change func(m *ledger.Incoming)) ledger.Incoming {
		m := opening()
		change(&m)
		return m
	}
	// next is a later mail in the conversation.
	next := func(from string, change func(m *ledger.Incoming)) ledger.Incoming {
		m := opening()
		m.MessageID, m.InReplyTo, m.From, m.Subject, m.Text = "2@"+from, []string{"1@example.com"}, at(from), "Re: The door is stuck", "Nor for me."
		change(&m)
		return m
	}
	withBob := first(func(m *ledger.Incoming) { m.Cc = at(bob) })
	tests := map[string]struct {
		mails      []ledger.Incoming
		to, others []string
	}{
		"others in To":                   {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.To = at(us, bob, carl) })}, []string{ada.Email}, []string{bob, carl}},
		"others in To and Cc":            {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.To, m.Cc = at(bob, us), at(carl) })}, []string{ada.Email}, []string{bob, carl}},
		"we are in Cc":                   {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.To, m.Cc = at(bob), at(us) })}, []string{ada.Email}, []string{bob}},
		"we are in no line":              {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.To = at(bob) })}, []string{ada.Email}, []string{bob}},
		"another mailbox of ours":        {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.Cc = at("Sales@Example.org", bob) })}, []string{ada.Email}, []string{bob}},
		"a tagged address of ours":       {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.Cc = at("support+doors@example.org", "sales+x@example.org", bob) })}, []string{ada.Email}, []string{bob}},
		"a colleague in our domain":      {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.Cc = at("ceo@example.org") })}, []string{ada.Email}, []string{"ceo@example.org"}},
		"twice in other case":            {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.To, m.Cc = at(us, "Bob@Example.com"), at(bob, "BOB@EXAMPLE.COM") })}, []string{ada.Email}, []string{"Bob@Example.com"}},
		"twice, a domain in two scripts": {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.Cc = at("eva@bücher.example", "eva@xn--bcher-kva.example") })}, []string{ada.Email}, []string{"eva@bücher.example"}},
		"the author in Cc, other case":   {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.Cc = at("ADA@example.com", bob) })}, []string{ada.Email}, []string{bob}},
		"Reply-To":                       {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.ReplyTo, m.Cc = at("ada@home.example"), at(bob) })}, []string{"ada@home.example"}, []string{bob}},
		"Reply-To of several":            {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.ReplyTo, m.Cc = at("ada@home.example", bob), at(bob, carl) })}, []string{"ada@home.example", bob}, []string{carl}},
		"Reply-To also in Cc":            {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.ReplyTo, m.Cc = at("ada@home.example"), at("Ada@Home.example", bob) })}, []string{"ada@home.example"}, []string{bob}},
		"Reply-To is ours":               {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.ReplyTo, m.Cc = at(us), at(bob) })}, []string{ada.Email}, []string{bob}},
		"a list": {[]ledger.Incoming{first(func(m *ledger.Incoming) {
			m.To, m.Cc, m.ListPost, m.ReplyTo = at("doors@lists.example.net"), at(bob), "doors@lists.example.net", at("doors@lists.example.net")
		})}, []string{ada.Email}, []string{bob}},
		"a list by its id": {[]ledger.Incoming{first(func(m *ledger.Incoming) {
			m.To, m.Cc, m.ListID = at("doors@lists.example.net"), at(bob), "doors.lists.example.net"
		})}, []string{ada.Email}, []string{bob}},
		"a list that rewrites From": {[]ledger.Incoming{first(func(m *ledger.Incoming) {
			m.From, m.Rewritten, m.Original = []mailaddr.Address{{Name: "Ada via Doors", Email: "doors@lists.example.net"}}, true, ada
			m.To, m.Cc, m.ListPost = at("doors@lists.example.net"), at(bob), "doors@lists.example.net"
		})}, []string{ada.Email}, []string{bob}},
		"another answers, the customer in Cc": {[]ledger.Incoming{withBob, next(bob, func(m *ledger.Incoming) { m.Cc = at(ada.Email, carl) })}, []string{ada.Email}, []string{bob, carl}},
		"another answers us alone":            {[]ledger.Incoming{withBob, next(bob, func(*ledger.Incoming) {})}, []string{ada.Email}, []string{bob}},
		"another answers, who reads elsewhere": {[]ledger.Incoming{withBob, next(bob, func(m *ledger.Incoming) {
			m.Cc, m.ReplyTo, m.Authentication = at(ada.Email), at("bob@home.example"), stands("example.com")
			m.Authentication.Source = "header"
		})}, []string{ada.Email}, []string{"bob@home.example"}},
		"a stranger names where to answer": {[]ledger.Incoming{withBob, next(bob, func(m *ledger.Incoming) {
			m.Cc, m.ReplyTo = at(ada.Email), at("thief@example.net")
		})}, []string{ada.Email}, []string{bob}},
		"the customer answers all":   {[]ledger.Incoming{withBob, next(ada.Email, func(m *ledger.Incoming) { m.Cc = at(bob, carl) })}, []string{ada.Email}, []string{bob, carl}},
		"the customer left them out": {[]ledger.Incoming{withBob, next(ada.Email, func(*ledger.Incoming) {})}, []string{ada.Email}, nil},
		"nobody reads it":            {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.Cc = at("no-reply@example.com", "bounces@example.com", bob) })}, []string{ada.Email}, []string{bob}},
		"no address":                 {[]ledger.Incoming{first(func(m *ledger.Incoming) { m.Cc = at("undisclosed-recipients:;", "", bob) })}, []string{ada.Email}, []string{bob}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Sales"), Email: storage.Some("sales@example.org")}))(t)
			var id int64
			for n, m := range tt.mails {
				if m.Authentication.Source == "header" {
					b.source = "imap"
				}
				row := b.receive(m)
				if n > 0 && row.ConversationID != id {
					t.Fatalf("mail %d came into conversation %d, not %d", n, row.ConversationID, id)
				}
				id = row.ConversationID
				b.clock.Add(time.Minute)
			}
			got := must(b.desk.Conversations().Recipients(b.ctx, id))(t)
			want := helpdesk.AnswerRecipients{To: tt.to, Others: tt.others}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(helpdesk.AnswerRecipients{}, "Known"), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An answer to all about a mail that a member forwarded copies those whom the customer had copied, and not the member.
func TestReplyAllToForwarded(t *testing.T) {
	t.Parallel()
	w := newAtWork(t)
	original := "\n\n---------- Forwarded message ---------\nFrom: Bob <bob@example.com>\nDate: Mon, Nov 2, 2026 at 3:04 PM\nSubject: The gate\n" +
		"To: <" + w.from.Email + ">, Support <support@example.org>\nCc: Carl <carl@example.net>, BOB@example.com\n\n\nIt squeaks.\n"
	row := w.arrives(ledger.Incoming{Message: message.Message{
		MessageID: "f@example.org", From: []mailaddr.Address{w.from}, To: []mailaddr.Address{{Email: "support@example.org"}}, Subject: "Fwd: The gate", Text: "@fwd" + original,
	}}, stands("example.org"))
	got := must(w.desk.Conversations().Recipients(w.ctx, row.ConversationID))(t)
	want := helpdesk.AnswerRecipients{To: []string{"bob@example.com"}, Others: []string{"carl@example.net"}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(helpdesk.AnswerRecipients{}, "Known")); diff != "" {
		t.Error(diff)
	}
}
