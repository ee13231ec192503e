package ingest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
)

// aligned is the result for an address whose domain authenticates a mail.
func aligned(domain string) ledger.Authentication {
	return ledger.Authentication{
		Source: "intake", FromAligned: true, SPF: ledger.AuthCheck{Result: "pass", Domain: domain},
		DMARC: ledger.AuthPolicy{Result: "pass", Domain: domain},
	}
}

// passedOn is a mail as an agent's Gmail forwards it.
const passedOn = "Date: Tue, 03 Jan 2023 09:00:00 +0100\nMessage-ID: <f@mail.gmail.example>\nIn-Reply-To: <orig@example.com>\nReferences: <orig@example.com>\n" +
	"To: support@example.org, c@example.org\nSubject: Fwd: The door is stuck\n\nShe is a pain, be nice.\n\n" +
	"---------- Forwarded message ---------\nFrom: Ada Lovelace <ada@example.com>\nDate: Mon, Jan 2, 2023 at 3:04 PM\nSubject: The door is stuck\nTo: <o@example.org>\n\n\nIt does not open.\n"

// vouched files a mail with its authentication.
func (b *bundle) vouched(raw string, auth ledger.Authentication) ledger.Mail {
	b.t.Helper()
	mails := []ledger.Raw{{Authentication: auth, Raw: []byte(crlf(raw))}}
	if err := b.intake.Take(b.t.Context(), b.desk.AccountID(), b.mailbox, "smtp", mails, nil); err != nil {
		b.t.Fatal(err)
	}
	b.outcomes(1)
	all := b.ledger()
	return all[len(all)-1]
}

// A mail forwarded by a member belongs to its author; the member's text becomes a note.
func TestMemberForwards(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := newBundle(t, memblob.New())
	row := b.vouched("From: Olga <o@example.org>\nReply-To: olga@home.example\n"+passedOn, aligned("example.org"))
	c := check(b.desk.Conversations().Get(ctx, row.ConversationID))(t)
	got := []string{c.CustomerEmail, c.Subject, c.Preview}
	if diff := cmp.Diff([]string{"ada@example.com", "The door is stuck", "It does not open."}, got); diff != "" {
		t.Error(diff)
	}
	if name := check(b.desk.Customers().Get(ctx, c.CustomerID))(t).Name(); name != "Ada Lovelace" {
		t.Errorf("the customer is %q", name)
	}
	all := check(b.desk.Interactions().List(ctx, c.ID, storage.PageRequest{}))(t).Items
	if len(all) != 2 || all[0].Type != helpdesk.TypeCustomer || all[1].Type != helpdesk.TypeNote || all[1].UserID == 0 {
		t.Fatalf("the interactions are %+v", all)
	}
	i := all[0]
	want := ledger.Forwarded{
		UserID: all[1].UserID, From: mailaddr.Address{Name: "Ada Lovelace", Email: "ada@example.com"}, To: []mailaddr.Address{{Email: "o@example.org"}},
		Subject: "The door is stuck", Date: time.Date(2023, 1, 2, 14, 4, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, i.Mail.Forwarded); diff != "" {
		t.Error(diff)
	}
	if !i.IsStarter || i.Mail.From[0].Email != "o@example.org" || mailhtml.Text(i.Body) != "It does not open." || mailhtml.Text(all[1].Body) != "She is a pain, be nice." {
		t.Errorf("it is %+v, and the note %q", i, all[1].Body)
	}
	if diff := cmp.Diff([]string{"ada@example.com"}, i.Audience()); diff != "" {
		t.Errorf("who sees it: %s", diff)
	}
	answer := check(b.desk.Interactions().Create(ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Pull."}))(t)
	if diff := cmp.Diff([]string{"ada@example.com"}, answer.To); diff != "" {
		t.Errorf("the answer goes to: %s", diff)
	}
	reply := b.vouched("From: ada@example.com\nMessage-ID: <r@example.com>\nTo: support@example.org\nIn-Reply-To: <"+answer.MessageID+">\n\nIt does!", ledger.Authentication{})
	if reply.ConversationID != c.ID {
		t.Errorf("her answer is in conversation %d, not %d", reply.ConversationID, c.ID)
	}
	told := check(b.desk.Interactions().ExplainThreading(ctx, c.ID, i.ID))(t)
	if words := strings.Join(told.Words, " "); !strings.Contains(words, "forwarded it, so it is filed under the author") {
		t.Errorf("it is explained by %q", words)
	}
}

// Forwards by others, by unauthenticated members, and of mails without an author begin a conversation of their sender.
func TestForwardingSenders(t *testing.T) {
	t.Parallel()
	from := func(line string) func(string) string {
		return func(mail string) string { return "From: " + line + "\n" + mail }
	}
	replaced := func(old, with string) func(string) string {
		return func(mail string) string { return "From: o@example.org\n" + strings.ReplaceAll(mail, old, with) }
	}
	const author = "Ada Lovelace <ada@example.com>"
	tests := []struct {
		name     string
		mail     func(string) string
		auth     ledger.Authentication
		customer string
		why      string
	}{
		{"a member", from("o@example.org"), aligned("example.org"), "ada@example.com", ""},
		{"a customer", from("eve@evil.example"), aligned("evil.example"), "eve@evil.example", ""},
		{"a colleague who is no member", from("c@example.org"), aligned("example.org"), "c@example.org", ""},
		{"in a member's name", from("o@example.org"), ledger.Authentication{}, "o@example.org", "nothing shows"},
		{"in a member's name, checked", from("o@example.org"), ledger.Authentication{Source: "intake", SPF: ledger.AuthCheck{Result: "fail"}}, "o@example.org", "nothing shows"},
		{"vouched for as another domain", from("o@example.org"), aligned("evil.example"), "o@example.org", "nothing shows"},
		{"disowned", from("o@example.org"), ledger.Authentication{Source: "intake", FromAligned: true, DMARC: ledger.AuthPolicy{Result: "fail", Policy: "reject", Domain: "example.org"}}, "o@example.org", "nothing shows"},
		{"two authors", from("o@example.org, eve@evil.example"), aligned("example.org"), "o@example.org", "nothing shows"},
		{"two From", from("o@example.org\nFrom: eve@evil.example"), aligned("example.org"), "o@example.org", "nothing shows"},
		{"a member as Sender alone", from("eve@evil.example\nSender: o@example.org"), aligned("evil.example"), "eve@evil.example", ""},
		{"a member in Reply-To alone", from("noreply@evil.example\nReply-To: o@example.org"), aligned("evil.example"), "o@example.org", ""},
		{"an author without an address", replaced(author, "Ada Lovelace"), aligned("example.org"), "o@example.org", "nobody else"},
		{"an author with half an address", replaced(author, "Ada <ada@>"), aligned("example.org"), "o@example.org", "nobody else"},
		{"the member's own mail", replaced(author, "Olga <O@example.org>"), aligned("example.org"), "o@example.org", "nobody else"},
		{"a mail of the desk", replaced(author, "Support <support+x@example.org>"), aligned("example.org"), "o@example.org", "nobody else"},
		{"a form of ours", replaced(author, "www@example.org\nReply-To: Eve <eve@example.net>"), aligned("example.org"), "eve@example.net", ""},
		{"a form elsewhere", replaced(author, "noreply@shop.example\nReply-To: Eve <eve@example.net>"), aligned("example.org"), "eve@example.net", ""},
		{"a colleague's", replaced(author, "Carl <carl@example.org>"), aligned("example.org"), "carl@example.org", ""},
		{"one forward inside another", replaced("\n\nIt does not open.", "\n\n---------- Forwarded message ---------\nFrom: Eve <eve@evil.example>\nTo: ada@example.com\n\nIt does not open."), aligned("example.org"), "ada@example.com", ""},
		{"an answer", func(mail string) string {
			return "From: o@example.org\n" + strings.NewReplacer("Fwd: ", "Re: ", "---------- Forwarded message ---------\n", "").Replace(mail)
		}, aligned("example.org"), "o@example.org", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			b := newBundle(t, memblob.New())
			row := b.vouched(tt.mail(passedOn), tt.auth)
			c := check(b.desk.Conversations().Get(ctx, row.ConversationID))(t)
			if c.CustomerEmail != tt.customer {
				t.Fatalf("the conversation is of %s, not %s", c.CustomerEmail, tt.customer)
			}
			i := check(b.desk.Interactions().Get(ctx, c.ID, row.InteractionID))(t)
			if (i.Threading.NotForwarded == "") != (tt.why == "") || !strings.Contains(i.Threading.NotForwarded, tt.why) {
				t.Errorf("why not: %q, want %q", i.Threading.NotForwarded, tt.why)
			}
			text := mailhtml.Text(i.Body)
			if forwarded := i.Mail.Forwarded.UserID != 0; forwarded == strings.Contains(text, "She is a pain") || forwarded != (i.Threading.ForwardedBy != 0) {
				t.Errorf("forwarded: %v, with the text %q", forwarded, text)
			}
		})
	}
}

// A mail forwarded into a conversation that the member takes part in stays the member's.
func TestMemberForwardsIntoConversation(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := newBundle(t, memblob.New())
	first := b.vouched("From: ada@example.com\nCc: o@example.org\nMessage-ID: <orig@example.com>\nTo: support@example.org\nSubject: The door is stuck\n\nIt does not open.", ledger.Authentication{})
	row := b.vouched("From: o@example.org\n"+passedOn, aligned("example.org"))
	i := check(b.desk.Interactions().Get(ctx, first.ConversationID, row.InteractionID))(t)
	if i.CustomerEmail != "o@example.org" || i.Mail.Forwarded.UserID != 0 || !strings.Contains(i.Body, "She is a pain") {
		t.Errorf("it is %+v", i)
	}
}

// A member whom a role, or a limit to another mailbox, keeps from beginning conversations does not do it by mail.
func TestForwardNeedsPermission(t *testing.T) {
	t.Parallel()
	for role, limited := range map[string]bool{identity.RoleAgent: true, "collaborator": false} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			b := newBundle(t, memblob.New())
			user := check(b.svc.Operator().CreateUser(ctx, identity.UserInput{Email: "m@example.org"}))(t)
			member := check(b.svc.Operator().AddMember(ctx, b.desk.AccountID(), user.ID, role))(t)
			if limited {
				other := check(b.desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("sales@example.org")}))(t)
				check(b.desk.Members().Update(ctx, member.ID, identity.MembershipUpdate{RoleIDs: member.RoleIDs, MailboxIDs: storage.Some([]int64{other.ID})}))(t)
			}
			row := b.vouched("From: m@example.org\n"+passedOn, aligned("example.org"))
			i := check(b.desk.Interactions().Get(ctx, row.ConversationID, row.InteractionID))(t)
			if i.CustomerEmail != "m@example.org" || !strings.Contains(i.Threading.NotForwarded, "may not begin") {
				t.Errorf("it is of %s: %s", i.CustomerEmail, i.Threading.NotForwarded)
			}
		})
	}
}

// A mail that is attached whole is read as if it had come itself, with its files.
func TestMemberForwardsAttached(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const original = "From: Ada Lovelace <ada@example.com>\nReply-To: ada@home.example\nDate: Mon, 02 Jan 2023 15:04:05 +0100\nMessage-ID: <orig@example.com>\n" +
		"To: o@example.org\nCc: c@example.org\nSubject: The door is stuck\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=inner\n\n" +
		"--inner\nContent-Type: text/html\n\n<p>It does <b>not</b> open.</p>\n--inner\nContent-Type: image/png; name=door.png\nContent-Disposition: attachment\n\nPNG\n--inner--\n"
	mail := func(subject, text string, originals ...string) string {
		raw := "From: Olga <o@example.org>\nDate: Tue, 03 Jan 2023 09:00:00 +0100\nMessage-ID: <f@example.org>\nTo: support@example.org\nSubject: " + subject +
			"\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=outer\n\n--outer\nContent-Type: text/plain\n\n" + text +
			"\n--outer\nContent-Type: text/plain; name=internal.txt\nContent-Disposition: attachment\n\nsecret\n"
		for _, one := range originals {
			raw += "--outer\nContent-Type: message/rfc822\nContent-Disposition: attachment\n\n" + one + "\n"
		}
		return raw + "--outer--\n"
	}
	tests := []struct {
		name, raw, customer, note string
		files, noted              []string
	}{
		{"with a note", mail("Fwd: The door is stuck", "Hers.", original), "ada@example.com", "Hers.", []string{"The door is stuck.eml", "door.png"}, []string{"internal.txt"}},
		{"without a note", mail("", "", original), "ada@example.com", "", []string{"internal.txt", "The door is stuck.eml", "door.png"}, nil},
		{"in German", mail("WG: Tür", "", original), "ada@example.com", "", []string{"internal.txt", "The door is stuck.eml", "door.png"}, nil},
		{"about a mail", mail("What do you make of this?", "Hm.", original), "o@example.org", "", []string{"internal.txt", "The door is stuck.eml"}, nil},
		{"two mails", mail("Fwd: two", "", original, original), "o@example.org", "", []string{"internal.txt", "The door is stuck.eml", "The door is stuck.eml"}, nil},
		{"no mail", mail("Fwd: x", "", "no mail at all"), "o@example.org", "", []string{"internal.txt", "attachment-2.eml"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, memblob.New())
			row := b.vouched(tt.raw, aligned("example.org"))
			c := check(b.desk.Conversations().Get(ctx, row.ConversationID))(t)
			if c.CustomerEmail != tt.customer {
				t.Fatalf("the conversation is of %s, not %s", c.CustomerEmail, tt.customer)
			}
			all := check(b.desk.Interactions().List(ctx, c.ID, storage.PageRequest{}))(t).Items
			var names [2][]string
			for n, i := range all {
				for _, a := range check(b.desk.Attachments().List(ctx, c.ID, i.ID))(t) {
					names[n] = append(names[n], a.Filename)
				}
			}
			if diff := cmp.Diff([2][]string{tt.files, tt.noted}, names); diff != "" {
				t.Error(diff)
			}
			note := ""
			if len(all) > 1 {
				note = mailhtml.Text(all[1].Body)
			}
			if note != tt.note {
				t.Errorf("the note is %q, not %q", note, tt.note)
			}
			if tt.customer != "ada@example.com" {
				return
			}
			if i := all[0]; mailhtml.Text(i.Body) != "It does not open." || c.Subject != "The door is stuck" || !i.PostedAt.Equal(i.Mail.Forwarded.Date) || i.References[0] != "orig@example.com" {
				t.Errorf("it is %+v", i)
			}
			answer := check(b.desk.Interactions().Create(ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Pull."}))(t)
			if diff := cmp.Diff([]string{"ada@home.example"}, answer.To); diff != "" {
				t.Errorf("the answer goes to: %s", diff)
			}
		})
	}
}
