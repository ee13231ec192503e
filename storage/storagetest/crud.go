package storagetest

import (
	"context"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func crudTests() []testCase {
	return []testCase{
		{"Everything", testEverything},
		{"Account", testAccount},
		{"DeleteAccount", testDeleteAccount},
		{"Membership", testMembership},
		{"Mailbox", testMailbox},
		{"DeleteMailbox", testDeleteMailbox},
		{"FetchProgress", testFetchProgress},
		{"Customer", testCustomer},
		{"CustomerItems", testCustomerItems},
		{"DeleteCustomer", testDeleteCustomer},
		{"CustomerStats", testCustomerStats},
		{"CustomerBeyond", testCustomerBeyond},
		{"Conversation", testConversation},
		{"Interaction", testInteraction},
		{"Delivery", testDelivery},
		{"Attachment", testAttachment},
		{"Copies", testCopies},
	}
}

// Everything that a world has written can be read back, by id and in lists.
func testEverything(t *testing.T, b Backend) {
	w := newWorld(t, b)
	filled(t, w.user, "DisabledAt", "DisabledByID") // see testDisabledUser
	filled(t, w.user.Preferences)
	filled(t, w.token, "Session", "UserDisabled")
	filled(t, w.account)
	filled(t, w.role, "Key")
	filled(t, w.member)
	filled(t, w.mailbox, "IsDefault")
	filled(t, w.member.Availability)
	filled(t, w.invitation)
	filled(t, w.joinRule)
	filled(t, w.identity)
	filled(t, w.passkey)
	filled(t, w.passkey.PasskeyKey)
	filled(t, w.mailbox.Inbound, "HasPassword")
	filled(t, w.mailbox.Outbound, "HasPassword")
	filled(t, w.newStatus())
	filled(t, w.customer)
	filled(t, w.conversation)
	filled(t, w.question, "UserID", "PostedByID", "Bcc", "IsForward", "SendAt", "SendStartedAt", "Ending")
	filled(t, w.attachment)
	filled(t, w.delivery)
	filled(t, w.mail)
	filled(t, w.domain)
	filled(t, w.pgpKey)
	filled(t, w.tag)
	filled(t, w.field)
	filled(t, w.team)
	filled(t, w.company)
	filled(t, w.companyKey)
	filled(t, w.suppression)
	filled(t, w.moves[0])
	filled(t, w.webhook)
	want := content{
		Account: w.account, Roles: []identity.Role{w.role}, Memberships: []identity.Membership{w.member},
		Mailboxes:     []helpdesk.Mailbox{w.mailbox, w.empty},
		Statuses:      []ledger.FetchStatus{w.newStatus(), {}},
		Cursors:       []mailserver.Cursor{{UIDValidity: 7, UID: 99}, {}},
		Customers:     []helpdesk.Customer{w.customer},
		Stats:         []helpdesk.CustomerStats{{Total: 1, Posted: 1, EmailChannel: 1}},
		Conversations: []helpdesk.Conversation{w.conversation}, Interactions: []helpdesk.Interaction{w.question, w.answer},
		Threads: [][]helpdesk.MessageRef{{
			{MessageID: w.question.MessageID, InteractionID: w.question.ID, ConversationID: w.conversation.ID, Type: helpdesk.TypeCustomer},
			{MessageID: w.answer.MessageID, InteractionID: w.answer.ID, ConversationID: w.conversation.ID, Type: helpdesk.TypeUser}}},
		Deliveries: []sending.Delivery{w.delivery}, Attachments: []helpdesk.Attachment{w.attachment},
		Mails: []ledger.Mail{w.mail}, Participant: true,
		Domains: []sending.Domain{w.domain}, PGPKeys: []helpdesk.PGPKey{w.pgpKey},
		Teams: []helpdesk.Team{w.team}, Companies: []helpdesk.Company{w.company}, CompanyKeys: []helpdesk.CompanyKey{w.companyKey},
		Tags:   []helpdesk.Tag{w.tag},
		Fields: []helpdesk.Field{w.field, w.trait, w.fact}, Values: w.values[:1], Traits: w.values[1:2], Facts: w.values[2:],
		Views: []helpdesk.View{w.view}, Marks: []helpdesk.Marks{{ConversationID: w.conversation.ID, Unread: 1, Tags: []helpdesk.Tag{w.tag}, SendAt: w.answer.SendAt}},
		Moves:       w.moves,
		Invitations: []identity.Invitation{w.invitation}, JoinRules: []identity.JoinRule{w.joinRule}, Suppressions: []sending.Suppression{w.suppression},
		PortalKeys: []helpdesk.PortalKey{w.portalKey},
		Audit:      []helpdesk.AuditEntry{w.audit},
		Buried:     []storage.FailedJob{w.failedJob},
		Webhooks:   []subscription.Webhook{w.webhook}, Hooked: []subscription.WebhookDelivery{w.hooked},
		Notifications: []helpdesk.Notification{w.notification}, Choices: []helpdesk.NotifyChoices{w.newChoices()},
		Followers: []helpdesk.Follower{{ConversationID: w.conversation.ID, UserID: w.user.ID, Follows: true, CreatedAt: base}},
	}
	same(t, "content", want, w.content(t))
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		got, err := readAll(ctx, tx.Reader(), w.address("grace"))
		same(t, "content in a transaction", want, got)
		return err
	})
	one(t, "Membership", w.member, w.in().Memberships().Get, w.member.ID)
	one(t, "Mailbox", w.mailbox, w.in().Mailboxes().Get, w.mailbox.ID)
	one(t, "Customer", w.customer, w.in().Customer, w.customer.ID)
	one(t, "Conversation", w.conversation, w.in().Conversations().Get, w.conversation.ID)
	one(t, "Interaction", w.answer, w.in().Interactions().Get, w.answer.ID)
	one(t, "Attachment", w.attachment, w.in().Attachments().Get, w.attachment.ID)
	one(t, "InboundMail", w.mail, w.in().InboundMail, w.mail.ID)
	one(t, "Invitation", w.invitation, helpdesk.Nouns().Invitations.Reader(w.in()).Get, w.invitation.ID)
	several(t, "UsersByID", []identity.User{w.user}, w.in().UsersByID, w.user.ID)
	several(t, "MailboxesByID", []helpdesk.Mailbox{w.empty}, w.in().Mailboxes().ByIDs, w.empty.ID)
	several(t, "CustomersByID", []helpdesk.Customer{w.customer}, w.in().CustomersByID, w.customer.ID)
	several(t, "Conversations.ByIDs", []helpdesk.Conversation{w.conversation}, w.in().Conversations().ByIDs, w.conversation.ID)
	several(t, "Interactions.ByIDs", []helpdesk.Interaction{w.answer}, w.in().Interactions().ByIDs, w.answer.ID)
	several(t, "Deliveries", []sending.Delivery{w.delivery}, deliveriesOf(w.in()), w.answer.ID)
	several(t, "Attachments", []helpdesk.Attachment{w.attachment}, attachmentsOf(w.in()), w.question.ID)
	byEmail, err := w.in().CustomerByEmail(t.Context(), w.customer.Emails[1].Key)
	ok(t, err)
	same(t, "CustomerByEmail", w.customer, byEmail)
	w.identified(t, []ledger.Mail{w.mail}, w.mail.Identity)
	positions, err := w.in().InboundPositions(t.Context(), w.mailbox.ID, w.mail.Source, []string{"", "nowhere", w.mail.Position, w.mail.Position})
	ok(t, err)
	same(t, "InboundPositions", []string{w.mail.Position}, positions)
}

// deliveriesOf and attachmentsOf read the rows of interactions.
func deliveriesOf(r helpdesk.Reader) func(ctx context.Context, interactions []int64) ([]sending.Delivery, error) {
	return func(ctx context.Context, interactions []int64) ([]sending.Delivery, error) {
		return r.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: interactions}, storage.Seek{Limit: storage.NoLimit})
	}
}

func attachmentsOf(r helpdesk.Reader) func(ctx context.Context, interactions []int64) ([]helpdesk.Attachment, error) {
	return func(ctx context.Context, interactions []int64) ([]helpdesk.Attachment, error) {
		return r.Attachments().List(ctx, helpdesk.AttachmentFilter{InteractionIDs: interactions}, storage.Seek{Limit: storage.NoLimit})
	}
}

// nobody is an id without a row.
const nobody = 1 << 50

// one finds a row by its id, and none by another id.
func one[T any](t *testing.T, what string, want T, find func(context.Context, int64) (T, error), id int64) {
	t.Helper()
	got, err := find(t.Context(), id)
	ok(t, err)
	same(t, what, want, got)
	for _, absent := range []int64{nobody, 0, -1} {
		_, err = find(t.Context(), absent)
		fails(t, what+" that is not there", err, fault.NotFound)
	}
}

// several finds rows by their ids and ignores missing, duplicate and no ids.
func several[T any](t *testing.T, what string, want []T, find func(context.Context, []int64) ([]T, error), id int64) {
	t.Helper()
	got, err := find(t.Context(), []int64{nobody, id, id, 0})
	ok(t, err)
	same(t, what, want, got)
	for _, none := range [][]int64{nil, {}, {nobody}} {
		got, err = find(t.Context(), none)
		ok(t, err)
		same(t, what+" of no ids", []T{}, got)
	}
}

func testAccount(t *testing.T, b Backend) {
	w := newAccount(t, b)
	changed := w.account
	changed.Name, changed.DefaultLocale, changed.Languages, changed.UpdatedAt = "New", "en", nil, at(77)
	changed.DefaultMailboxID, changed.RemoteImages, changed.TrackSeen, changed.RequireSecondFactor = 0, identity.BlockImages, false, false
	changed.NextNumber, changed.SealedErasureKeys = 500, nil
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateAccount(ctx, &changed) })
	got, err := w.in().Account(t.Context())
	ok(t, err)
	same(t, "account", changed, got)
	var number int64
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		var err error
		number, err = tx.TakeNumber(ctx)
		return err
	})
	same(t, "number", int64(500), number)
	// changed was read before the number was taken: writing it must not assign 500 again
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateAccount(ctx, &changed) })
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		number, err = tx.TakeNumber(ctx)
		return err
	})
	same(t, "number after an update with an old NextNumber", int64(501), number)
}

func testDeleteAccount(t *testing.T, b Backend) {
	w, other := newWorld(t, b), newWorld(t, b)
	before := other.content(t)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Emit(ctx, event(1)) })
	other.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Emit(ctx, event(1)) })
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteAccount(ctx) })
	_, err := w.in().Account(t.Context())
	fails(t, "account", err, fault.NotFound)
	_, err = w.in().Conversations().Get(t.Context(), w.conversation.ID)
	fails(t, "conversation", err, fault.NotFound)
	got, _ := readAll(t.Context(), w.in(), "")
	same(t, "content of a deleted account, whose jobs outlive it", content{Buried: []storage.FailedJob{w.failedJob}}, got)
	_, err = w.Store.Grant(t.Context(), w.user.ID, w.account.ID)
	fails(t, "grant", err, fault.NotFound)
	_, err = w.Store.MailboxByLocal(t.Context(), w.mailbox.InternalLocal)
	fails(t, "mailbox", err, fault.NotFound)
	same(t, "events of a deleted account", 0, len(w.log(t)))
	same(t, "events of another account", 1, len(other.log(t)))
	_, err = w.Store.User(t.Context(), w.user.ID)
	ok(t, err) // users belong to no account
	same(t, "another account", before, other.content(t))
	m := w.newMailbox("late")
	err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Mailboxes().Insert(ctx, &m) })
	fails(t, "a mailbox in a deleted account", err, fault.NotFound)
	err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteAccount(ctx) })
	fails(t, "deleting an account again", err, fault.NotFound)
}

func testMembership(t *testing.T, b Backend) {
	w := newAccount(t, b)
	second := w.role
	second.Name = "Second"
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().Roles.Rows(tx).Insert(ctx, &second)
	})
	roles, err := helpdesk.Nouns().Roles.Reader(w.in()).List(t.Context(), storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	ok(t, err)
	same(t, "roles", []identity.Role{w.role, second}, roles)
	m := w.member
	m.RoleIDs, m.MailboxIDs, m.LastActivity, m.UpdatedAt = []int64{w.role.ID, second.ID}, []int64{w.empty.ID}, at(50), at(51)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Memberships().Update(ctx, &m) })
	one(t, "membership", m, w.in().Memberships().Get, m.ID)
	// a member limited to a deleted mailbox must not see all mailboxes afterwards
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Mailboxes().Delete(ctx, w.empty.ID) })
	limited, err := w.in().Memberships().Get(t.Context(), m.ID)
	ok(t, err)
	if len(limited.MailboxIDs) == 0 {
		t.Error("a member limited to one mailbox sees all of them after it was deleted")
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Memberships().Delete(ctx, m.ID) })
	_, err = w.in().Memberships().Get(t.Context(), m.ID)
	fails(t, "deleted membership", err, fault.NotFound)
	err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Memberships().Delete(ctx, m.ID) })
	fails(t, "deleting again", err, fault.NotFound)
	users, err := w.in().UsersByID(t.Context(), []int64{w.user.ID})
	ok(t, err)
	same(t, "users who are no members", []identity.User{}, users)
}

func testMailbox(t *testing.T, b Backend) {
	w := newAccount(t, b)
	m := w.newMailbox("changed")
	m.ID = w.mailbox.ID
	m.Name, m.Inbound = "Changed", ledger.Inbound{Type: ledger.InboundForward}
	given := m
	given.Inbound.HasPassword, given.Outbound.HasPassword = true, true // set by the service
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Mailboxes().Update(ctx, &given) })
	one(t, "mailbox", m, w.in().Mailboxes().Get, m.ID)
	one(t, "other mailbox", w.empty, w.in().Mailboxes().Get, w.empty.ID)
}

func testDeleteMailbox(t *testing.T, b Backend) {
	w := newWorld(t, b)
	err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Mailboxes().Delete(ctx, w.mailbox.ID) })
	fails(t, "deleting a mailbox with conversations", err, fault.Conflict)
	mail := w.newMail("2")
	mail.MailboxID = w.empty.ID
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		status := w.newStatus()
		status.MailboxID = w.empty.ID
		if err := tx.SaveFetchStatus(ctx, status); err != nil {
			return err
		}
		if err := tx.SaveFetchCursor(ctx, w.empty.ID, "INBOX", mailserver.Cursor{UID: 1}); err != nil {
			return err
		}
		return tx.InsertInbound(ctx, []*ledger.Mail{&mail})
	})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Mailboxes().Delete(ctx, w.empty.ID) })
	_, err = w.in().Mailboxes().Get(t.Context(), w.empty.ID)
	fails(t, "deleted mailbox", err, fault.NotFound)
	_, err = w.in().InboundMail(t.Context(), mail.ID)
	fails(t, "ledger of a deleted mailbox", err, fault.NotFound)
	one(t, "ledger of the other mailbox", w.mail, w.in().InboundMail, w.mail.ID)
}

func testFetchProgress(t *testing.T, b Backend) {
	w := newAccount(t, b)
	read := func(folder string) mailserver.Cursor {
		c, err := w.in().FetchCursor(t.Context(), w.mailbox.ID, folder)
		ok(t, err)
		return c
	}
	same(t, "no cursor yet", mailserver.Cursor{}, read("INBOX"))
	big := mailserver.Cursor{UIDValidity: 1<<32 - 1, UID: 1<<32 - 1}
	save := func(folder string, c mailserver.Cursor) {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.SaveFetchCursor(ctx, w.mailbox.ID, folder, c)
		})
	}
	save("INBOX", mailserver.Cursor{UIDValidity: 1, UID: 2})
	save("Füße/📬", big)
	save("INBOX", mailserver.Cursor{UIDValidity: 1, UID: 3})
	same(t, "cursor", mailserver.Cursor{UIDValidity: 1, UID: 3}, read("INBOX"))
	same(t, "cursor of another folder", big, read("Füße/📬"))
	same(t, "folders are told apart by case", mailserver.Cursor{}, read("inbox"))
	status := w.newStatus()
	for range 2 { // the second replaces the first
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.SaveFetchStatus(ctx, status) })
		got, err := w.in().FetchStatus(t.Context(), w.mailbox.ID)
		ok(t, err)
		same(t, "status", status, got)
		status.Connected, status.LastError, status.UpdatedAt = false, "", at(60)
	}
}

func testCustomer(t *testing.T, b Backend) {
	w := newAccount(t, b)
	bare := helpdesk.Customer{FirstName: "Nobody", CreatedAt: base, UpdatedAt: base}
	c := w.newCustomer("alan")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := tx.InsertCustomer(ctx, &bare); err != nil {
			return err
		}
		return tx.InsertCustomer(ctx, &c)
	})
	one(t, "customer without items", bare, w.in().Customer, bare.ID)
	c.FirstName, c.LastName, c.Company, c.Note, c.UpdatedAt = "", "T", "B", "N", at(9)
	c.CompanyID = 0
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateCustomer(ctx, &c) })
	one(t, "customer", c, w.in().Customer, c.ID)
	_, domain, _ := strings.Cut(c.Emails[1].Key, "@")
	for name, filter := range map[string]helpdesk.CustomerFilter{
		"a domain": {Domain: domain}, "a domain and an address": {Domain: domain, EmailKey: c.Emails[0].Key},
	} {
		found, err := w.in().Customers(t.Context(), filter, all())
		ok(t, err)
		same(t, "customers of "+name, []helpdesk.Customer{c}, found)
	}
	for name, filter := range map[string]helpdesk.CustomerFilter{
		"another domain": {Domain: "a" + domain}, "a company without any": {CompanyID: nobody}, "no company": {CompanyID: nobody, Domain: domain},
	} {
		found, err := w.in().Customers(t.Context(), filter, all())
		ok(t, err)
		same(t, "customers of "+name, 0, len(found))
	}
	found, err := w.in().Customers(t.Context(), helpdesk.CustomerFilter{EmailKey: c.Emails[1].Key}, all())
	ok(t, err)
	same(t, "customers with an address", []helpdesk.Customer{c}, found)
	found, err = w.in().Customers(t.Context(), helpdesk.CustomerFilter{EmailKey: "nobody@example.com"}, all())
	ok(t, err)
	same(t, "customers with no such address", []helpdesk.Customer{}, found)
	_, err = w.in().CustomerByEmail(t.Context(), "nobody@example.com")
	fails(t, "customer by an unknown address", err, fault.NotFound)
}

// Items with an id are changed, those without one get one, missing ones are deleted.
func testCustomerItems(t *testing.T, b Backend) {
	w := newWorld(t, b)
	c := w.customer
	gone, kept := c.Emails[0], c.Emails[1]
	kept.Email, kept.Key = "new@"+w.mark, "new@"+w.mark
	c.Emails = []helpdesk.CustomerEmail{kept, {Email: "x@" + w.mark, Key: "x@" + w.mark}}
	c.Phones = []helpdesk.CustomerPhone{{ID: c.Phones[1].ID, Phone: "2"}, {Phone: "3"}}
	c.Websites = nil
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateCustomer(ctx, &c) })
	if c.Emails[0].ID != kept.ID || c.Emails[1].ID == 0 || c.Phones[1].ID == 0 {
		t.Errorf("ids were not set: %+v %+v", c.Emails, c.Phones)
	}
	one(t, "customer", c, w.in().Customer, c.ID)
	conversation, err := w.in().Conversations().Get(t.Context(), w.conversation.ID)
	ok(t, err)
	if conversation.CustomerEmailID != 0 || conversation.CustomerEmail != w.conversation.CustomerEmail {
		t.Errorf("the conversation has address %d %q, want 0 and its text", conversation.CustomerEmailID, conversation.CustomerEmail)
	}
	question, err := w.in().Interactions().Get(t.Context(), w.question.ID)
	ok(t, err)
	same(t, "address of the interaction", int64(0), question.CustomerEmailID)
	// a deleted address is free again, even within the same update
	again := c
	again.Emails = []helpdesk.CustomerEmail{{Email: kept.Email, Key: kept.Key}, {Email: gone.Email, Key: gone.Key}}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateCustomer(ctx, &again) })
	one(t, "customer with new rows for old addresses", again, w.in().Customer, c.ID)
	// the id of another customer's item
	stranger := w.newCustomer("stranger")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertCustomer(ctx, &stranger) })
	for what, spoil := range map[string]func(c *helpdesk.Customer){
		"email":   func(c *helpdesk.Customer) { c.Emails[0].ID = stranger.Emails[0].ID },
		"phone":   func(c *helpdesk.Customer) { c.Phones[0].ID = stranger.Phones[0].ID },
		"website": func(c *helpdesk.Customer) { c.Websites = []helpdesk.CustomerWebsite{stranger.Websites[0]} },
	} {
		bad := again
		bad.Emails = append([]helpdesk.CustomerEmail(nil), again.Emails...)
		bad.Phones = append([]helpdesk.CustomerPhone(nil), again.Phones...)
		spoil(&bad)
		err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateCustomer(ctx, &bad) })
		fails(t, "taking over another customer's "+what, err, fault.NotFound)
	}
	one(t, "stranger", stranger, w.in().Customer, stranger.ID)
	one(t, "customer after refused updates", again, w.in().Customer, c.ID)
}

func testDeleteCustomer(t *testing.T, b Backend) {
	w := newWorld(t, b)
	c := w.newCustomer("free")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertCustomer(ctx, &c) })
	remove := func(id int64) error {
		return w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteCustomer(ctx, id) })
	}
	fails(t, "deleting a customer with conversations", remove(w.customer.ID), fault.Conflict)
	guest := w.newQuestion(w.conversation) // in another customer's conversation
	guest.CustomerID, guest.CustomerEmailID = c.ID, 0
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Interactions().Insert(ctx, &guest) })
	fails(t, "deleting a customer with an interaction", remove(c.ID), fault.Conflict)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Interactions().Delete(ctx, guest.ID) })
	ok(t, remove(c.ID))
	fails(t, "deleting again", remove(c.ID), fault.NotFound)
	_, err := w.in().CustomerByEmail(t.Context(), c.Emails[0].Key)
	fails(t, "address of a deleted customer", err, fault.NotFound)
	again := w.newCustomer("free")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertCustomer(ctx, &again) })
}

func testCustomerStats(t *testing.T, b Backend) {
	w := newWorld(t, b)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n, s := range []helpdesk.Status{helpdesk.StatusClosed, helpdesk.StatusPending, helpdesk.StatusPending, helpdesk.StatusDraft} {
			c := w.newConversation()
			c.Status = s
			if n%2 == 0 {
				c.Channel = "api"
			}
			if n == 0 {
				c.MailboxID = w.empty.ID
			}
			if err := tx.Conversations().Insert(ctx, &c); err != nil {
				return err
			}
		}
		return nil
	})
	for _, test := range []struct {
		name      string
		mailboxes []int64
		want      helpdesk.CustomerStats
	}{
		{"the account", nil, helpdesk.CustomerStats{Total: 5, Posted: 1, Pending: 2, Closed: 1, EmailChannel: 3}},
		{"one mailbox", []int64{w.empty.ID}, helpdesk.CustomerStats{Total: 1, Closed: 1}},
		{"no mailbox", []int64{}, helpdesk.CustomerStats{}},
	} {
		got, err := w.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: test.mailboxes}).CustomerStats(t.Context(), w.customer.ID)
		ok(t, err)
		same(t, "stats of "+test.name, test.want, got)
	}
}

func testCustomerBeyond(t *testing.T, b Backend) {
	w := newWorld(t, b)
	guest := w.newCustomer("guest") // writes in a conversation of another customer
	unknown := w.newCustomer("unknown")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for _, c := range []*helpdesk.Customer{&guest, &unknown} {
			if err := tx.InsertCustomer(ctx, c); err != nil {
				return err
			}
		}
		i := w.newQuestion(w.conversation)
		i.CustomerID, i.CustomerEmailID, i.CustomerEmail = guest.ID, 0, guest.Emails[0].Email
		return tx.Interactions().Insert(ctx, &i)
	})
	for name, test := range map[string]struct {
		mailboxes []int64
		want      []bool // for the owner of the conversation, the guest, and a user who has written nothing
	}{
		"the account":    {nil, []bool{false, false, false}},
		"its mailbox":    {[]int64{w.mailbox.ID}, []bool{false, false, false}},
		"both mailboxes": {[]int64{w.empty.ID, w.mailbox.ID}, []bool{false, false, false}},
		"the other one":  {[]int64{w.empty.ID}, []bool{true, true, false}},
		"no mailbox":     {[]int64{}, []bool{true, true, false}},
	} {
		var got []bool
		for _, c := range []helpdesk.Customer{w.customer, guest, unknown} {
			beyond, err := b.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: test.mailboxes}).CustomerBeyond(t.Context(), c.ID)
			ok(t, err)
			got = append(got, beyond)
		}
		same(t, "what is beyond "+name, test.want, got)
	}
	_, err := w.in().CustomerBeyond(t.Context(), nobody)
	fails(t, "nobody", err, fault.NotFound)
}

func testConversation(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second := w.newCustomer("second")
	c := w.conversation
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := tx.InsertCustomer(ctx, &second); err != nil {
			return err
		}
		locked, err := tx.Conversations().Lock(ctx, c.ID)
		same(t, "Conversations.Lock", c, locked)
		if err != nil {
			return err
		}
		c.MailboxID, c.CustomerID, c.CustomerEmailID, c.CustomerEmail = w.empty.ID, second.ID, 0, "gone@example.com"
		c.UserID, c.Status, c.Subject, c.Preview, c.UpdatedAt = 0, helpdesk.StatusClosed, "", "", at(44)
		c.AwaitingSince = c.AwaitingSince.Truncate(0).AddDate(0, 0, 1)
		return tx.Conversations().Update(ctx, &c)
	})
	one(t, "conversation", c, w.in().Conversations().Get, c.ID)
	// its contents have moved to the other mailbox with it
	moved := w.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.empty.ID}})
	one(t, "interaction", w.question, moved.Interactions().Get, w.question.ID)
	one(t, "attachment", w.attachment, moved.Attachments().Get, w.attachment.ID)
	several(t, "deliveries", []sending.Delivery{w.delivery}, deliveriesOf(moved), w.answer.ID)
	refs, err := moved.Messages(t.Context(), w.empty.ID, []string{w.answer.MessageID})
	ok(t, err)
	same(t, "messages of the new mailbox", 1, len(refs))
	left := w.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.mailbox.ID}})
	_, err = left.Interactions().Get(t.Context(), w.question.ID)
	fails(t, "interaction seen from the old mailbox", err, fault.NotFound)
	c.ID = nobody
	err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Conversations().Update(ctx, &c) })
	fails(t, "updating an absent conversation", err, fault.NotFound)
}

func testInteraction(t *testing.T, b Backend) {
	w := newWorld(t, b)
	i := w.question
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		locked, err := tx.Interactions().Lock(ctx, i.ID)
		same(t, "Interactions.Lock", i, locked)
		if err != nil {
			return err
		}
		i.Type, i.Status, i.Body, i.Subject, i.UserID, i.PostedByID = helpdesk.TypeUser, helpdesk.StatusDraft, "", "", w.user.ID, w.user.ID
		i.CustomerID, i.CustomerEmailID, i.CustomerEmail, i.To, i.Cc, i.Bcc = 0, 0, "", nil, nil, []string{"a@example.com"}
		i.Source, i.IsStarter, i.IsForward, i.AutoSubmitted, i.MessageID = "", false, true, false, ""
		i.SeenAt, i.PostedAt, i.SendAt, i.SendStartedAt, i.References, i.Threading, i.UpdatedAt = base.AddDate(0, 1, 0), at(0), at(9), at(8), nil, helpdesk.Threading{}, at(45)
		i.Security, i.Authentication = ledger.Security{}, ledger.Authentication{DMARC: ledger.AuthPolicy{Result: "fail"}}
		return tx.Interactions().Update(ctx, &i)
	})
	one(t, "interaction", i, w.in().Interactions().Get, i.ID)
	remove := func() error {
		return w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Interactions().Delete(ctx, i.ID) })
	}
	ok(t, remove())
	fails(t, "deleting again", remove(), fault.NotFound)
	_, err := w.in().Attachments().Get(t.Context(), w.attachment.ID)
	fails(t, "attachment of a deleted interaction", err, fault.NotFound)
	got := w.content(t)
	same(t, "interactions left", []helpdesk.Interaction{w.answer}, got.Interactions)
	same(t, "deliveries left", []sending.Delivery{w.delivery}, got.Deliveries)
	tombstone := w.mail
	tombstone.ConversationID, tombstone.InteractionID, tombstone.RawKey, tombstone.Head = 0, 0, "", ledger.Head{}
	same(t, "ledger", []ledger.Mail{tombstone}, got.Mails)
}

func testDelivery(t *testing.T, b Backend) {
	w := newWorld(t, b)
	more := []sending.Delivery{w.newDelivery(w.answer), w.newDelivery(w.answer)}
	more[0].Field, more[1].Field = "cc", "bcc"
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Deliveries().Insert(ctx, storage.Pointers(more)...)
	})
	several(t, "deliveries", append([]sending.Delivery{w.delivery}, more...), deliveriesOf(w.in()), w.answer.ID)
	for n := range more {
		more[n].State, more[n].Attempts, more[n].Code, more[n].EnhancedCode = sending.Sent, 3+n, 250, ""
		more[n].Response, more[n].NextAttemptAt, more[n].UpdatedAt = "ok", base.AddDate(1, 0, 0), at(90+n)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Deliveries().Update(ctx, storage.Pointers(more)...)
	})
	several(t, "updated deliveries", append([]sending.Delivery{w.delivery}, more...), deliveriesOf(w.in()), w.answer.ID)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := tx.Deliveries().Insert(ctx); err != nil {
			return err
		}
		return tx.Deliveries().Update(ctx)
	})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteDeliveries(ctx, w.question.ID) })
	several(t, "deliveries of another interaction", append([]sending.Delivery{w.delivery}, more...), deliveriesOf(w.in()), w.answer.ID)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteDeliveries(ctx, w.answer.ID) })
	same(t, "deliveries left", 0, len(w.content(t).Deliveries))
}

func testAttachment(t *testing.T, b Backend) {
	w := newWorld(t, b)
	one, two := w.newAttachment(w.question, "1.txt"), w.newAttachment(w.answer, "2.txt")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Attachments().Insert(ctx, &one, &two)
	})
	got, err := w.in().Attachments().List(t.Context(), helpdesk.AttachmentFilter{InteractionIDs: []int64{w.answer.ID, w.question.ID}}, storage.Seek{Limit: storage.NoLimit})
	ok(t, err)
	same(t, "attachments by id", []helpdesk.Attachment{w.attachment, one, two}, got)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := tx.Attachments().Insert(ctx, nil...); err != nil {
			return err
		}
		return tx.Attachments().Delete(ctx, one.ID)
	})
	err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Attachments().Delete(ctx, one.ID) })
	fails(t, "deleting again", err, fault.NotFound)
	several(t, "attachments left", []helpdesk.Attachment{w.attachment}, attachmentsOf(w.in()), w.question.ID)
}

// What the store keeps and returns is not shared with its callers.
func testCopies(t *testing.T, b Backend) {
	w := newWorld(t, b)
	before := translate(w.content(t), func(_ string, id int64) int64 { return id }) // a copy, because the compared values must not be shared either
	w.customer.Emails[0].Email = "changed"
	w.mailbox.Inbound.SealedPassword[0] = 77
	w.question.References[0] = "changed"
	got := w.content(t)
	got.Account.Languages[0] = "changed"
	got.Customers[0].Phones[0].Phone = "changed"
	got.Memberships[0].RoleIDs[0] = nobody
	got.Interactions[0].Threading.Refused[0].Reason = "changed"
	got.Mails[0].Identity[0] = 77
	got.Mails[0].Authentication.DKIM[0].Domain = "changed"
	same(t, "content", before, w.content(t))
}
