package helpdesk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func imap() helpdesk.InboundInput {
	return helpdesk.InboundInput{
		Type: ledger.InboundIMAP, Host: "mail.example.org", Port: 993, Username: "support", Password: storage.Some("secret"),
		Encryption: mailserver.TLS, ValidateCertificate: storage.Some(true),
	}
}

func TestMailboxPassword(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	m := must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{Inbound: storage.Some(imap())}))(t)
	if !m.Inbound.HasPassword || m.Inbound.SealedPassword != nil {
		t.Errorf("returned: %+v", m.Inbound)
	}
	stored := must(b.store.Within(helpdesk.Scope{AccountID: b.account.ID}).Mailboxes().Get(b.ctx, m.ID))(t)
	if len(stored.Inbound.SealedPassword) == 0 || strings.Contains(string(stored.Inbound.SealedPassword), "secret") {
		t.Errorf("stored: %q", stored.Inbound.SealedPassword)
	}
	sources := must(b.svc.Intake().Sources(b.ctx))(t)
	if len(sources) != 1 || sources[0].Password != "secret" {
		t.Errorf("sources: %d", len(sources))
	}
	if agent := must(b.member(identity.RoleAgent).Mailboxes().Get(b.ctx, m.ID))(t); agent.Inbound.Type != "" {
		t.Errorf("an agent sees %+v", agent.Inbound)
	}
	for _, tt := range []struct {
		name   string
		change func(*helpdesk.InboundInput)
		fields fault.Fields
	}{
		{"password kept", func(in *helpdesk.InboundInput) { in.Password = storage.Opt[string]{}; in.Port = 143 }, nil},
		{"another host without password", func(in *helpdesk.InboundInput) { in.Password = storage.Opt[string]{}; in.Host = "evil.example" },
			fault.Fields{"connection[inbound][password]": {"is required when host or username change"}}},
		{"everything wrong at once", func(in *helpdesk.InboundInput) {
			*in = helpdesk.InboundInput{Type: ledger.InboundPOP3, Encryption: "SOME", Password: storage.Some("x")}
		}, fault.Fields{
			"connection[inbound][host]": {"must be a host name or an IP address"}, "connection[inbound][port]": {"must be from 1 to 65535"},
			"connection[inbound][username]": {"is required"}, "connection[inbound][encryption]": {"must be TLS, SSL or NONE"},
			"connection[inbound][validate_certificate]": {"is required"},
		}},
		{"unknown type", func(in *helpdesk.InboundInput) { in.Type = "MAPI" },
			fault.Fields{"connection[inbound][type]": {"must be FWD, IMAP or POP3"}}},
	} {
		in := imap()
		tt.change(&in)
		_, err := b.desk.Mailboxes().Update(b.ctx, m.ID, helpdesk.MailboxInput{Inbound: storage.Some(in)})
		if diff := cmp.Diff(tt.fields, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func fieldsOf(err error) fault.Fields {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Fields
	}
	return nil
}

func TestCustomerItems(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	emails := func(all ...helpdesk.Item) storage.Opt[[]helpdesk.Item] { return storage.Some(all) }
	c := must(b.desk.Customers().Create(b.ctx, helpdesk.CustomerInput{
		FirstName: storage.Some("Ada"), Emails: emails(helpdesk.Item{Value: "ada@example.com"}, helpdesk.Item{Value: "ada@bücher.example"}),
	}))(t)
	kept := c.Emails[1]
	c = must(b.desk.Customers().Update(b.ctx, c.ID, helpdesk.CustomerInput{
		FirstName: storage.Some("Ada"), Emails: emails(helpdesk.Item{ID: kept.ID, Value: "ada@changed.example"}, helpdesk.Item{ID: 99999, Value: "new@example.com"}),
	}))(t)
	if len(c.Emails) != 2 || c.Emails[0].ID != kept.ID || c.Emails[0].Email != "ada@changed.example" || c.Emails[1].ID == 99999 {
		t.Errorf("the emails are %+v", c.Emails)
	}
	c = must(b.desk.Customers().Update(b.ctx, c.ID, helpdesk.CustomerInput{FirstName: storage.Some("Ada"), LastName: storage.Some("King")}))(t)
	if len(c.Emails) != 2 || c.Name() != "Ada King" {
		t.Errorf("a list that is not named changed: %+v", c)
	}
	other := must(b.desk.Customers().Create(b.ctx, helpdesk.CustomerInput{FirstName: storage.Some("Bob"), Emails: emails(helpdesk.Item{Value: "bob@bücher.example"})}))(t)
	for _, tt := range []struct {
		name string
		in   helpdesk.CustomerInput
		want fault.Fields
	}{
		{"no name", helpdesk.CustomerInput{FirstName: storage.Some("")}, fault.Fields{"first_name": {"is required"}}},
		{"taken, in its ASCII form", helpdesk.CustomerInput{FirstName: storage.Some("Ada"), Emails: emails(helpdesk.Item{Value: "BOB@xn--bcher-kva.example"})},
			fault.Fields{"emails[0][email]": {"is already taken"}}},
		{"no address, and twice", helpdesk.CustomerInput{FirstName: storage.Some("Ada"), Emails: emails(helpdesk.Item{Value: "x"}, helpdesk.Item{Value: "a@b.c"}, helpdesk.Item{Value: "A@b.c"})},
			fault.Fields{"emails[0][email]": {"is not an email address"}, "emails[2][email]": {"is listed twice"}}},
		{"too many", helpdesk.CustomerInput{FirstName: storage.Some("Ada"), Emails: emails(make([]helpdesk.Item, 16)...)},
			fault.Fields{"emails": {"has more than 15 items"}}},
		{"a website that runs", helpdesk.CustomerInput{FirstName: storage.Some("Ada"), Websites: emails(
			helpdesk.Item{Value: "javascript:alert(1)"}, helpdesk.Item{Value: "example.com:8080/x"}, helpdesk.Item{Value: "https://example.com"})},
			fault.Fields{"websites[0][website]": {"must be an http or https address"}}},
	} {
		_, err := b.desk.Customers().Update(b.ctx, c.ID, tt.in)
		if diff := cmp.Diff(tt.want, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	page := must(b.desk.Customers().List(b.ctx, helpdesk.CustomerQuery{Email: "Bob@Bücher.example"}, storage.PageRequest{}))(t)
	if len(page.Items) != 1 || page.Items[0].ID != other.ID {
		t.Errorf("found %+v", page.Items)
	}
}

func TestBulkDeleteIsAllOrNothing(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	var ids []int64
	for i := range 3 {
		m := opening()
		m.MessageID = fmt.Sprintf("%d@example.com", i)
		ids = append(ids, b.receive(m).ConversationID)
	}
	err := b.desk.Conversations().DeleteAll(b.ctx, append(ids, 999))
	want := fault.Fields{"conversations[3]": {"there is no conversation 999"}}
	if diff := cmp.Diff(want, fieldsOf(err)); diff != "" || !errors.Is(err, helpdesk.ErrNotFound) || b.count() != 3 {
		t.Errorf("%v, %d left: %s", err, b.count(), diff)
	}
	if err := b.desk.Conversations().DeleteAll(b.ctx, ids); err != nil || b.count() != 0 {
		t.Errorf("%v, %d left", err, b.count())
	}
	if err := b.desk.Conversations().DeleteAll(b.ctx, make([]int64, 101)); !errors.Is(err, helpdesk.ErrInvalid) {
		t.Errorf("101 ids: %v", err)
	}
}

func TestScopeOfMailboxes(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	hidden := b.receive(opening())
	other := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Email: storage.Some("sales@example.org")}))(t)
	agent := b.member(identity.RoleAgent)
	own := must(agent.Membership(b.ctx))(t)
	own.MailboxIDs = []int64{other.ID}
	err := b.store.InTx(b.ctx, helpdesk.Scope{AccountID: b.account.ID}, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Memberships().Update(ctx, &own)
	})
	if err != nil {
		t.Fatal(err)
	}
	agent = must(b.svc.Desk(b.ctx, b.svc.As(agent.UserID()), b.account.ID))(t)
	created := must(agent.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com"}))(t)
	if created.MailboxID != other.ID || created.Number != 2 {
		t.Errorf("created in mailbox %d with number %d", created.MailboxID, created.Number)
	}
	seen := must(agent.Conversations().List(b.ctx, helpdesk.ConversationQuery{}, storage.PageRequest{}))(t).Items
	if len(seen) != 1 || seen[0].ID != created.ID {
		t.Errorf("the list shows %+v", seen)
	}
	stats := must(agent.Customers().Stats(b.ctx, created.CustomerID))(t)
	if stats.Total != 1 {
		t.Errorf("the count is %d", stats.Total)
	}
	for name, err := range map[string]error{
		"conversation": second(agent.Conversations().Get(b.ctx, hidden.ConversationID)),
		"interaction":  second(agent.Interactions().Get(b.ctx, hidden.ConversationID, hidden.InteractionID)),
		"mailbox":      second(agent.Mailboxes().Get(b.ctx, b.mailbox.ID)),
		"filter":       second(agent.Conversations().List(b.ctx, helpdesk.ConversationQuery{MailboxID: b.mailbox.ID}, storage.PageRequest{})),
		"bulk":         agent.Conversations().DeleteAll(b.ctx, []int64{hidden.ConversationID}),
		"move":         second(agent.Conversations().Update(b.ctx, created.ID, helpdesk.ConversationUpdate{MailboxID: storage.Some(b.mailbox.ID)})),
		"answer":       second(agent.Interactions().Create(b.ctx, hidden.ConversationID, helpdesk.InteractionInput{Type: helpdesk.TypeNote})),
	} {
		if !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestStrangersAndTokens(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	operator := b.svc.Operator()
	stranger := must(operator.CreateUser(b.ctx, identity.UserInput{Email: "x@example.net", Password: "long enough"}))(t)
	_, toForeign := b.svc.Desk(b.ctx, b.svc.As(stranger.ID), b.account.ID)
	_, toNothing := b.svc.Desk(b.ctx, b.svc.As(stranger.ID), 999)
	if !errors.Is(toForeign, helpdesk.ErrNotFound) || strings.ReplaceAll(toForeign.Error(), "1", "999") != toNothing.Error() {
		t.Errorf("an account of others answers %q, none answers %q", toForeign, toNothing)
	}
	_, secret, err := operator.CreateToken(b.ctx, b.owner.ID, identity.TokenInput{
		Name: "reader", Scopes: []identity.Permission{identity.ConversationsView}, ExpiresAt: b.clock.Now().Add(time.Hour),
	})
	if err != nil || !strings.HasPrefix(secret, identity.TokenPrefix) {
		t.Fatalf("%q, %v", secret, err)
	}
	caller := must(b.svc.Authenticate(b.ctx, secret))(t)
	desk := must(b.svc.Desk(b.ctx, caller, b.account.ID))(t)
	if diff := cmp.Diff([]identity.Permission{identity.ConversationsView}, desk.Permissions()); diff != "" {
		t.Error(diff)
	}
	if _, err := desk.Customers().List(b.ctx, helpdesk.CustomerQuery{}, storage.PageRequest{}); !errors.Is(err, helpdesk.ErrForbidden) {
		t.Errorf("beyond its scopes: %v", err)
	}
	b.clock.Add(2 * time.Hour)
	for name, err := range map[string]error{
		"expired": second(b.svc.Authenticate(b.ctx, secret)),
		"unknown": second(b.svc.Authenticate(b.ctx, "hwp_nonsense")),
		"nobody":  second(b.svc.Desk(b.ctx, helpdesk.Caller{}, b.account.ID)),
		"login":   second(b.svc.SignIn().WithPassword(b.ctx, "x@example.net", "wrong password")),
		"no user": second(b.svc.SignIn().WithPassword(b.ctx, "nobody@example.net", "long enough")),
	} {
		if !errors.Is(err, helpdesk.ErrUnauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c := must(b.svc.SignIn().WithPassword(b.ctx, "X@example.net", "long enough"))(t); c.UserID() != stranger.ID {
		t.Errorf("signed in as %d", c.UserID())
	}
}

func TestDeletingUsedObjects(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	row := b.receive(opening())
	customer := b.conversation(row.ConversationID).CustomerID
	if err := b.desk.Mailboxes().Delete(b.ctx, b.mailbox.ID, false); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("a mailbox in use: %v", err)
	}
	if err := b.desk.Customers().Delete(b.ctx, customer, false); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("a customer in use: %v", err)
	}
	if err := b.desk.Customers().Delete(b.ctx, customer, true); err != nil || b.count() != 0 {
		t.Errorf("forced: %v, %d left", err, b.count())
	}
	if err := b.desk.Mailboxes().Delete(b.ctx, b.mailbox.ID, true); err != nil {
		t.Error(err)
	}
	for range 10 {
		for _, job := range must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobPurgeBlobs: 10}, b.clock.Now(), b.clock.Now().Add(time.Hour)))(t) {
			if err := b.svc.Jobs().PurgeBlobs(b.ctx, job); err != nil {
				t.Fatal(err)
			}
		}
	}
	if left := must(b.blobs.List(b.ctx, "", "", 10))(t); len(left) != 0 {
		t.Errorf("files stay behind: %+v", left)
	}
}

func TestAttachmentTypes(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	note := must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote}))(t)
	for _, tt := range []struct{ name, content, problem string }{
		{"a.txt", "text", ""},
		{"a.TXT", "", ""},
		{"Tabelle.xlsx", "PK\x03\x04...", ""},
		{"../../etc/a.pdf", "%PDF-1.7", ""},
		{"a.exe", "MZ", "files of this type are not accepted"},
		{"a.txt", "MZ\x90\x00", "programs are not accepted"},
		{"a.png", "GIF89a", "the content is not what the name says"},
		{"noextension", "x", "files of this type are not accepted"},
		{"", "x", "is required"},
	} {
		a, err := b.desk.Attachments().Create(b.ctx, id, note.ID, helpdesk.Upload{Filename: tt.name, Content: strings.NewReader(tt.content)})
		var want fault.Fields
		if tt.problem != "" {
			want = fault.Fields{"file": {tt.problem}}
		}
		if diff := cmp.Diff(want, fieldsOf(err)); diff != "" {
			t.Errorf("%q: %s", tt.name, diff)
		}
		if err == nil && (strings.Contains(a.Filename, "/") || a.Size != int64(len(tt.content))) {
			t.Errorf("%q became %+v", tt.name, a)
		}
	}
	big := helpdesk.Upload{Filename: "big.txt", Content: strings.NewReader(strings.Repeat("x", 25<<20+1))}
	if _, err := b.desk.Attachments().Create(b.ctx, id, note.ID, big); !errors.Is(err, helpdesk.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if n := len(must(b.blobs.List(b.ctx, "accounts/1/attachments/", "", 100))(t)); n != 4 {
		t.Errorf("%d files are stored, want the 4 that were taken", n)
	}
}

func TestDefaultMailbox(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	mailboxOf := func() int64 {
		t.Helper()
		return must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com"}))(t).MailboxID
	}
	isDefault := func(id int64) bool { t.Helper(); return must(b.desk.Mailboxes().Get(b.ctx, id))(t).IsDefault }
	other := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Email: storage.Some("sales@example.org")}))(t)
	if mailboxOf() != b.mailbox.ID || !isDefault(b.mailbox.ID) || other.IsDefault {
		t.Error("the oldest mailbox is not the default")
	}
	other = must(b.desk.Mailboxes().Update(b.ctx, other.ID, helpdesk.MailboxInput{IsDefault: storage.Some(true)}))(t)
	if mailboxOf() != other.ID || !other.IsDefault || isDefault(b.mailbox.ID) {
		t.Error("the chosen mailbox is not the default")
	}
	must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{IsDefault: storage.Some(false)}))(t)
	if mailboxOf() != other.ID {
		t.Error("another mailbox gave up what it had not")
	}
	if err := b.desk.Mailboxes().Delete(b.ctx, other.ID, true); err != nil {
		t.Fatal(err)
	}
	if mailboxOf() != b.mailbox.ID || !isDefault(b.mailbox.ID) {
		t.Error("the default was deleted, and the oldest is not the default again")
	}
}
