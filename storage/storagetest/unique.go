package storagetest

import (
	"context"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
)

func uniqueTests() []testCase {
	return []testCase{
		{"UserEmail", testUniqueUserEmail},
		{"Membership", testUniqueMembership},
		{"CustomerEmail", testUniqueCustomerEmail},
		{"CustomerExternal", testUniqueCustomerExternal},
		{"Identity", testUniqueIdentity},
		{"Position", testUniquePosition},
	}
}

func testUniqueUserEmail(t *testing.T, b Backend) {
	w := newAccount(t, b)
	twin := identity.User{Name: "Twin", Email: w.user.Email, EmailKey: w.user.EmailKey, CreatedAt: base, UpdatedAt: base}
	err := b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertUser(ctx, &twin) })
	conflicts(t, "a user's address again", err, identity.UniqueUserEmail)
}

func testUniqueMembership(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	again := identity.Membership{UserID: w.user.ID, CreatedAt: base, UpdatedAt: base}
	err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Memberships().Insert(ctx, &again) })
	conflicts(t, "a member again", err, identity.UniqueMembership)
	other.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Memberships().Insert(ctx, &again) })
}

func testUniqueCustomerEmail(t *testing.T, b Backend) {
	w, other := newWorld(t, b), newAccount(t, b)
	taken := helpdesk.CustomerEmail{Email: "X", Key: w.customer.Emails[1].Key}
	insert := func(in *world, emails ...helpdesk.CustomerEmail) error {
		c := helpdesk.Customer{Emails: emails, CreatedAt: base, UpdatedAt: base}
		return in.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertCustomer(ctx, &c) })
	}
	conflicts(t, "another customer's address", insert(w, taken), helpdesk.UniqueCustomerEmail)
	twice := helpdesk.CustomerEmail{Email: "Y", Key: "y@" + w.mark}
	conflicts(t, "an address twice", insert(w, twice, twice), helpdesk.UniqueCustomerEmail)
	ok(t, insert(w, twice)) // the refused one has left nothing behind
	ok(t, insert(other, taken))
	c := w.customer
	c.Emails = append(c.Emails[:2:2], twice)
	err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateCustomer(ctx, &c) })
	conflicts(t, "updating to an address that is taken", err, helpdesk.UniqueCustomerEmail)
	one(t, "customer after the refused update", w.customer, w.in().Customer, w.customer.ID)
}

func testUniqueCustomerExternal(t *testing.T, b Backend) {
	w, other := newWorld(t, b), newAccount(t, b)
	insert := func(in *world, id string) error {
		c := helpdesk.Customer{ExternalID: id, CreatedAt: base, UpdatedAt: base}
		return in.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertCustomer(ctx, &c) })
	}
	conflicts(t, "another customer's external id", insert(w, w.customer.ExternalID), helpdesk.UniqueCustomerExternal)
	ok(t, insert(w, ""))
	ok(t, insert(w, ""))
	ok(t, insert(w, "7"))
	ok(t, insert(other, w.customer.ExternalID))
	c := w.customer
	c.ExternalID = "7"
	err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateCustomer(ctx, &c) })
	conflicts(t, "updating to an external id that is taken", err, helpdesk.UniqueCustomerExternal)
	found, err := w.in().Customers(t.Context(), helpdesk.CustomerFilter{ExternalID: w.customer.ExternalID}, all())
	ok(t, err)
	same(t, "customers with an external id", []helpdesk.Customer{w.customer}, found)
}

func testUniqueIdentity(t *testing.T, b Backend) {
	w, other := newWorld(t, b), newAccount(t, b)
	insert := func(in *world, change func(*ledger.Mail)) (ledger.Mail, error) {
		m := in.newMail("2")
		change(&m)
		err := in.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.InsertInbound(ctx, []*ledger.Mail{&m})
		})
		return m, err
	}
	_, err := insert(w, func(m *ledger.Mail) { m.Identity = w.mail.Identity })
	conflicts(t, "inserting an identity again", err, ledger.UniqueIdentity)
	_, err = insert(w, func(m *ledger.Mail) { m.Identity, m.MailboxID = w.mail.Identity, w.empty.ID })
	ok(t, err) // in another mailbox
	_, err = insert(other, func(m *ledger.Mail) { m.Identity = w.mail.Identity })
	ok(t, err) // in another account
	unfiled, err := insert(w, func(m *ledger.Mail) { m.Identity = nil })
	ok(t, err)
	_, err = insert(w, func(m *ledger.Mail) { m.Identity, m.Position = nil, "INBOX/7/3" })
	ok(t, err)
	unfiled.Identity = w.mail.Identity
	err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateInbound(ctx, &unfiled) })
	conflicts(t, "updating to an identity that is taken", err, ledger.UniqueIdentity)
	// a tombstone keeps its identity occupied
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.DeleteConversations(ctx, []int64{w.conversation.ID})
	})
	err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateInbound(ctx, &unfiled) })
	conflicts(t, "the identity of a tombstone", err, ledger.UniqueIdentity)
}

// A mail at a known position is skipped; moving a mail there is a conflict.
func testUniquePosition(t *testing.T, b Backend) {
	w := newWorld(t, b)
	known, fresh, twin, bare, bare2 := w.newMail("1"), w.newMail("2"), w.newMail("2"), w.newMail("3"), w.newMail("4")
	known.Identity, twin.Identity = nil, nil
	bare.Position, bare2.Position = "", ""
	smtp := w.newMail("1")
	smtp.Source, smtp.Identity = "smtp", nil
	elsewhere := w.newMail("1")
	elsewhere.MailboxID = w.empty.ID
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.InsertInbound(ctx, []*ledger.Mail{&known, &fresh, &twin, &bare, &bare2, &smtp, &elsewhere})
	})
	for name, test := range map[string]struct {
		mail ledger.Mail
		kept bool
	}{
		"a known position": {known, false}, "a new one": {fresh, true}, "the same twice": {twin, false}, "none": {bare, true}, "none again": {bare2, true},
		"the same of another source": {smtp, true}, "the same of another mailbox": {elsewhere, true},
	} {
		if (test.mail.ID != 0) != test.kept {
			t.Errorf("%s: id %d, want one: %v", name, test.mail.ID, test.kept)
		}
	}
	got, err := w.in().InboundMails(t.Context(), ledger.Filter{}, all())
	ok(t, err)
	same(t, "ledger", []ledger.Mail{w.mail, fresh, bare, bare2, smtp, elsewhere}, got)
	fresh.Position = w.mail.Position
	err = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateInbound(ctx, &fresh) })
	conflicts(t, "moving a mail to a known position", err, ledger.UniqueMailPosition)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertInbound(ctx, nil) })
}
