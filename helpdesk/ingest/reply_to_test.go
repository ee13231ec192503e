package ingest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
)

// Whom a mail is filed under, and where the answer to it goes, by its header as forms, groups, lists and people write it.
// The mailbox is support@example.org.
func TestRecipientsOfAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, header, customer, called string
		to                             []string // of the answer; nil: the customer alone
	}{
		{"a person", "From: Ada <ada@example.com>", "ada@example.com", "Ada", nil},
		{"a person with another address for answers", "From: Ada <ada@example.com>\nReply-To: Ada at home <ada@home.example>", "ada@example.com", "Ada", []string{"ada@home.example"}},
		{"two addresses for answers", "From: Ada <ada@example.com>\nReply-To: ada@example.com,\n \"Team, Ada's\" <team@example.com>", "ada@example.com", "Ada", []string{"ada@example.com", "team@example.com"}},
		{"two fields for answers", "From: Ada <ada@example.com>\nReply-To: b@example.com\nReply-To: c@example.com", "ada@example.com", "Ada", []string{"b@example.com", "c@example.com"}},
		{"the same address for answers", "From: Ada <ada@example.com>\nReply-To: <ADA@example.com>", "ada@example.com", "Ada", []string{"ADA@example.com"}},
		{"our own address for answers", "From: Ada <ada@example.com>\nReply-To: support@example.org", "ada@example.com", "Ada", nil},
		{"our own tagged address for answers", "From: Ada <ada@example.com>\nReply-To: support+x@example.org", "ada@example.com", "Ada", nil},
		{"no address for answers", "From: Ada <ada@example.com>\nReply-To: call me, please", "ada@example.com", "Ada", nil},
		{"an empty one", "From: Ada <ada@example.com>\nReply-To:", "ada@example.com", "Ada", nil},
		{"an undisclosed one", "From: Ada <ada@example.com>\nReply-To: undisclosed-recipients:;", "ada@example.com", "Ada", nil},
		{"half an address", "From: Ada <ada@example.com>\nReply-To: ada@", "ada@example.com", "Ada", nil},

		{"a form of a hoster", "From: noreply@forms.example.net\nReply-To: Grace Hopper <grace@navy.example>", "grace@navy.example", "Grace Hopper", nil},
		{"a form of ours", "From: Example Website <support@example.org>\nReply-To: grace@navy.example", "grace@navy.example", "", nil},
		{"a form of WordPress", "From: WordPress <wordpress@example.org>\nReply-To: \"Hopper, Grace\" <grace@navy.example>", "grace@navy.example", "Hopper, Grace", nil},
		{"a form of our site's server", "From: www-data@server7.hoster.example\nReply-To: grace@navy.example", "grace@navy.example", "", nil},
		{"a form of our internal address", "From: form@INTAKE\nReply-To: grace@navy.example", "grace@navy.example", "", nil},
		{"a German form", "From: Kontaktformular <bitte-nicht-antworten@formular.example>\nReply-To: Jürgen Groß <j.gross@beispiel.example>", "j.gross@beispiel.example", "Jürgen Groß", nil},
		{"a French form", "From: ne-pas-repondre@formulaire.example\nReply-To: Amélie <amelie@exemple.example>", "amelie@exemple.example", "Amélie", nil},
		{"a Spanish form", "From: no.responder@formulario.example\nReply-To: nuria@ejemplo.example", "nuria@ejemplo.example", "", nil},
		{"a shop", "From: Shop <orders-noreply@shop.example>\nReply-To: k@x.example", "k@x.example", "", nil},
		{"a form without an address", "From: noreply@forms.example.net", "noreply@forms.example.net", "", nil},
		{"a form that answers to itself", "From: noreply@forms.example.net\nReply-To: no-reply@forms.example.net", "noreply@forms.example.net", "", []string{"no-reply@forms.example.net"}},
		{"who is only called so", "From: mono.reply@example.com\nReply-To: b@example.com", "mono.reply@example.com", "", []string{"b@example.com"}},
		{"a provider of many", "From: someone@gmail.com\nReply-To: b@example.com", "someone@gmail.com", "", []string{"b@example.com"}},

		{"a Google group", "From: \"'Grace Hopper' via Support\" <support@example.org>\nReply-To: Grace Hopper <grace@navy.example>\nX-Original-From: Grace Hopper <grace@navy.example>\n" +
			"X-Original-Sender: grace@navy.example\nList-Post: <https://groups.google.com/a/example.org/group/support/post>, <mailto:support@example.org>", "grace@navy.example", "Grace Hopper", nil},
		{"a Google group that answers to itself", "From: \"'Grace Hopper' via Support\" <support@example.org>\nReply-To: support@example.org\nX-Original-From: Grace Hopper <grace@navy.example>", "grace@navy.example", "Grace Hopper", nil},
		{"a Google group with another address", "From: 'Grace' via Help <help@groups.example>\nReply-To: grace@navy.example\nX-Original-Sender: grace@navy.example", "grace@navy.example", "Grace", nil},
		{"a Mailman list", "From: Grace via Users <users@lists.example>\nReply-To: Grace <grace@navy.example>\nList-Post: <mailto:users@lists.example>\nList-Id: <users.lists.example>", "grace@navy.example", "Grace", nil},
		{"a Mailman list that answers to itself too", "From: Grace via Users <users@lists.example>\nReply-To: users@lists.example, Grace <grace@navy.example>\nList-Post: <mailto:users@lists.example>", "grace@navy.example", "Grace", nil},
		{"a list that rewrites nothing", "From: Grace <grace@navy.example>\nReply-To: users@lists.example\nList-Post: <mailto:users@lists.example>", "grace@navy.example", "Grace", nil},
		{"a list by its id", "From: Grace <grace@navy.example>\nReply-To: users@lists.example\nList-Id: Users of doors <users.lists.example>", "grace@navy.example", "Grace", nil},
		{"a list by an id in other case", "From: Grace <grace@navy.example>\nReply-To: \"The users\" <USERS@Lists.example>\nList-Id: <Users.LISTS.example>", "grace@navy.example", "Grace", nil},
		{"a list that takes no mails", "From: Grace <grace@navy.example>\nReply-To: users@lists.example\nList-Id: users.lists.example\nList-Post: NO (moderated)", "grace@navy.example", "Grace", nil},
		{"a list with a form of its address", "From: Grace <grace@navy.example>\nReply-To: users@lists.example\nList-Post: <https://lists.example/users>,\n <mailto:Users@lists.example?subject=x>", "grace@navy.example", "Grace", nil},
		{"a list and where the author reads", "From: Grace <grace@navy.example>\nReply-To: users@lists.example, Home <grace@home.example>\nList-Post: <mailto:users@lists.example>", "grace@navy.example", "Grace", []string{"grace@home.example"}},
		{"the author's own address for answers, through a list", "From: Grace <grace@navy.example>\nReply-To: grace@home.example\nList-Post: <mailto:users@lists.example>\nList-Id: <users.lists.example>", "grace@navy.example", "Grace", []string{"grace@home.example"}},
		{"another list in Reply-To", "From: Grace <grace@navy.example>\nReply-To: talk@lists.example\nList-Post: <mailto:users@lists.example>", "grace@navy.example", "Grace", []string{"talk@lists.example"}},
		{"a newsletter with an address for answers", "From: News <news@shop.example>\nReply-To: help@shop.example\nList-Id: <news.shop.example>", "news@shop.example", "News", []string{"help@shop.example"}},
		{"no list, but such an address", "From: Grace <grace@navy.example>\nReply-To: users@lists.example", "grace@navy.example", "Grace", []string{"users@lists.example"}},
		{"a list without anything in its fields", "From: Grace <grace@navy.example>\nReply-To: users@lists.example\nList-Post:\nList-Id:", "grace@navy.example", "Grace", []string{"users@lists.example"}},

		{"nobody but for answers", "Reply-To: Ada <ada@example.com>", "ada@example.com", "Ada", nil},
		{"nobody but a sender", "Sender: Ada <ada@example.com>", "ada@example.com", "Ada", nil},
		{"a secretary", "From: Boss <boss@example.com>\nSender: Sec <sec@example.com>", "boss@example.com", "Boss", nil},
		{"several authors", "From: Ada <ada@example.com>, Bob <bob@example.com>\nSender: sec@example.com", "ada@example.com", "Ada", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			b := newBundle(t, memblob.New())
			mailbox := check(b.desk.Mailboxes().Get(ctx, b.mailbox))(t)
			header := strings.ReplaceAll(tt.header, "form@INTAKE", b.desk.Mailboxes().InternalAddress(mailbox))
			b.take(crlf(header + "\nMessage-ID: <1@x.example>\nDate: Mon, 02 Jan 2023 15:04:05 +0100\nTo: support@example.org\nSubject: Help\n\nThe door is stuck."))
			if got := b.outcomes(1); got[0] != "filed in 1: " {
				t.Fatalf("the mail is %s", got)
			}
			c := check(b.desk.Conversations().Get(ctx, 1))(t)
			if c.CustomerEmail != tt.customer {
				t.Errorf("it is filed under %q, want %q", c.CustomerEmail, tt.customer)
			}
			if name := check(b.desk.Customers().Get(ctx, c.CustomerID))(t).Name(); name != tt.called && (tt.called != "" || name != tt.customer) {
				t.Errorf("the customer is called %q, want %q", name, tt.called)
			}
			answer := check(b.desk.Interactions().Create(ctx, 1, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Pull."}))(t)
			want := tt.to
			if want == nil {
				want = []string{tt.customer}
			}
			if diff := cmp.Diff(want, answer.To); diff != "" {
				t.Errorf("the answer goes to: %s", diff)
			}
		})
	}
}

// All information in the header is kept.
func TestHeaderIsKept(t *testing.T) {
	t.Parallel()
	b := newBundle(t, memblob.New())
	b.take(crlf("From: Ada <ada@example.com>, Bob <bob@example.com>\nSender: Sec <sec@example.com>\nReply-To: Team <team@example.com>\n" +
		"To: =?utf-8?q?Gr=C3=BC=C3=9Fe?= <support@example.org>, x@example.org\nCc: \"C, D\" <c@example.com>\nDate: Mon, 02 Jan 2023 15:04:05 +0100\n\nText."))
	b.outcomes(1)
	got := check(b.desk.Interactions().List(t.Context(), 1, storage.PageRequest{}))(t).Items[0].Mail
	want := helpdesk.MailHeader{
		From:    []mailaddr.Address{{Name: "Ada", Email: "ada@example.com"}, {Name: "Bob", Email: "bob@example.com"}},
		Sender:  mailaddr.Address{Name: "Sec", Email: "sec@example.com"},
		ReplyTo: []mailaddr.Address{{Name: "Team", Email: "team@example.com"}},
		To:      []mailaddr.Address{{Name: "Grüße", Email: "support@example.org"}, {Email: "x@example.org"}},
		Cc:      []mailaddr.Address{{Name: "C, D", Email: "c@example.com"}}, Date: got.Date,
	}
	if diff := cmp.Diff(want, got); diff != "" || got.Date.Format("2006-01-02T15:04Z07:00") != "2023-01-02T14:04Z" {
		t.Error(diff, got.Date)
	}
}

// Neither Reply-To nor an address that writes for others lets a mail into a conversation; and a mail in our own name from a
// group is not an answer of ours.
func TestReplyToOpensNothing(t *testing.T) {
	t.Parallel()
	const opening = "From: Ada <ada@example.com>\nMessage-ID: <1@example.com>\nDate: Mon, 02 Jan 2023 15:04:05 +0100\nSubject: Help\n\nText."
	tests := []struct {
		name, header, opening string
		conversation          int64
	}{
		{"the customer in Reply-To", "From: eve@evil.example\nReply-To: ada@example.com", "", 2},
		{"the customer in Reply-To of a form", "From: noreply@evil.example\nReply-To: ada@example.com", "", 2},
		{"the customer as Sender", "From: eve@evil.example\nSender: ada@example.com", "", 2},
		{"nobody, the customer in Reply-To", "Reply-To: ada@example.com", "", 2},
		{"nobody, the customer as Sender", "Sender: ada@example.com", "", 2},
		{"a group in our name", "From: 'Ada' via Support <support@example.org>\nReply-To: ada@example.com", "", 2},
		{"a group whose address takes part", "From: 'Eve' via Group <group@example.net>\nReply-To: eve@evil.example", opening + "\nCc: group@example.net", 2},
		{"the customer", "From: Ada <ada@example.com>\nReply-To: other@example.com", "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, memblob.New())
			first := opening
			if tt.opening != "" {
				first = strings.Replace(opening, "\n\n", "\nCc: group@example.net\n\n", 1)
			}
			b.take(crlf(first))
			b.outcomes(1)
			answer := check(b.desk.Interactions().Create(t.Context(), 1, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Pull."}))(t)
			for n, id := range []string{"2@example.com", answer.MessageID} { // a Message-ID of ours is anybody's to use
				b.take(crlf(tt.header + "\nMessage-ID: <" + id + ">\nDate: Tue, 03 Jan 2023 15:04:05 +0100\nSubject: Re: Help\nIn-Reply-To: <" + answer.MessageID + ">\n\nMore " + id))
				b.outcomes(1)
				got := b.ledger()[n+1]
				if got.State != ledger.Filed || (got.ConversationID == 1) != (tt.conversation == 1) {
					t.Errorf("under %s it is %s in %d: %s", id, got.State, got.ConversationID, got.Reason)
				}
				if tt.conversation != 1 { // nor when the rules are applied again
					i := check(b.desk.Interactions().Rethread(t.Context(), got.ConversationID, got.InteractionID))(t)
					if i.ConversationID == 1 {
						t.Errorf("under %s it is threaded into the conversation later", id)
					}
				}
			}
		})
	}
}

// An answer quotes the conversation: an address in Reply-To of an unauthenticated mail does not get it, unless it
// participates already.
func TestReplyToOfAFollowUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, second string
		aligned       bool
		want          []string
	}{
		"a stranger":                {"", "eve@evil.example", false, []string{"ada@example.com"}},
		"a stranger, vouched for":   {"", "ada@home.example", true, []string{"ada@home.example"}},
		"who was there first":       {"ada@home.example", "ada@home.example", false, []string{"ada@home.example"}},
		"no more":                   {"ada@home.example", "", false, []string{"ada@example.com"}},
		"who was there and another": {"ada@home.example", "eve@evil.example, ada@home.example", false, []string{"ada@home.example"}},
		"many":                      {strings.Repeat("x@example.net, ", 5) + many(30), "", true, []string{"ada@example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, memblob.New())
			mail := func(id, more, replyTo string) ledger.Raw {
				if replyTo != "" {
					more += "Reply-To: " + replyTo + "\n"
				}
				raw := ledger.Raw{Raw: []byte(crlf("From: Ada <ada@example.com>\nMessage-ID: <" + id + "@example.com>\n" + more + "Subject: Help\n\nText " + id))}
				if tt.aligned {
					raw.Authentication = ledger.Authentication{Source: "intake", FromAligned: true, DMARC: ledger.AuthPolicy{Result: "pass", Domain: "example.com"}}
				}
				return raw
			}
			answer := func(m ledger.Raw) []string {
				if err := b.intake.Take(t.Context(), b.desk.AccountID(), b.mailbox, "smtp", []ledger.Raw{m}, nil); err != nil {
					t.Fatal(err)
				}
				b.outcomes(1)
				return check(b.desk.Interactions().Create(t.Context(), 1, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Pull."}))(t).To
			}
			if first := answer(mail("1", "", tt.first)); len(first) > 10 || len(slices.Compact(slices.Sorted(slices.Values(first)))) != len(first) {
				t.Errorf("the first answer goes to %v", first)
			}
			got := answer(mail("2", "In-Reply-To: <1@example.com>\n", tt.second))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func many(n int) string {
	var all []string
	for i := range n {
		all = append(all, strings.Repeat("a", i+1)+"@example.net")
	}
	return strings.Join(all, ", ")
}
