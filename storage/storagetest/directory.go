package storagetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func directoryTests() []testCase {
	return []testCase{
		{"Find", testDirectory},
		{"TouchToken", testTouchToken},
		{"Grant", testGrant},
		{"AccountsOf", testAccountsOf},
		{"MailboxesToFetch", testMailboxesToFetch},
		{"SystemTx", testSystemTx},
	}
}

// testNew reads from an empty backend.
func testNew(t *testing.T, b Backend) {
	t.Helper()
	has, err := b.Store.HasUsers(t.Context())
	ok(t, err)
	same(t, "HasUsers of a new store", false, has)
	mailboxes, err := b.Store.MailboxesToFetch(t.Context(), all())
	ok(t, err)
	same(t, "mailboxes of a new store", 0, len(mailboxes))
	jobs, err := b.Jobs.FailedJobs(t.Context(), all())
	ok(t, err)
	same(t, "buried jobs of a new store", 0, len(jobs))
}

func testDirectory(t *testing.T, b Backend) {
	w := newAccount(t, b)
	ctx := t.Context()
	one(t, "User", w.user, b.Store.User, w.user.ID)
	user, err := b.Store.UserByEmail(ctx, w.user.EmailKey)
	ok(t, err)
	same(t, "UserByEmail", w.user, user)
	token, err := b.Store.TokenByHash(ctx, w.token.Hash)
	ok(t, err)
	same(t, "TokenByHash", w.token, token)
	mailbox, err := b.Store.MailboxByLocal(ctx, w.mailbox.InternalLocal)
	ok(t, err)
	same(t, "MailboxByLocal", w.mailbox, mailbox)
	has, err := b.Store.HasUsers(ctx)
	ok(t, err)
	same(t, "HasUsers", true, has)
	_, err = b.Store.UserByEmail(ctx, "nobody@"+w.mark)
	fails(t, "unknown address", err, fault.NotFound)
	for _, hash := range [][]byte{nil, {}, []byte("hash"), w.token.Hash[:5]} {
		_, err = b.Store.TokenByHash(ctx, hash)
		fails(t, "unknown hash", err, fault.NotFound)
	}
	_, err = b.Store.MailboxByLocal(ctx, "nobody")
	fails(t, "unknown local part", err, fault.NotFound)
}

func testTouchToken(t *testing.T, b Backend) {
	w := newAccount(t, b)
	touch := func(id int64) error {
		return b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.TouchToken(ctx, id, at(500)) })
	}
	ok(t, touch(w.token.ID))
	w.token.LastUsedAt = at(500)
	got, err := b.Store.TokenByHash(t.Context(), w.token.Hash)
	ok(t, err)
	same(t, "token", w.token, got)
	fails(t, "touching an absent token", touch(nobody), fault.NotFound)
}

func testGrant(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	got, err := b.Store.Grant(t.Context(), w.user.ID, w.account.ID)
	ok(t, err)
	same(t, "grant", identity.Grant{
		Membership: w.member, Roles: []identity.Role{w.role}, HasPassword: true, HasSecondFactor: true, RequireSecondFactor: true,
	}, got)
	for _, pair := range [][2]int64{{w.user.ID, other.account.ID}, {other.user.ID, w.account.ID}, {nobody, w.account.ID}, {w.user.ID, nobody}} {
		_, err = b.Store.Grant(t.Context(), pair[0], pair[1])
		fails(t, "grant of a stranger", err, fault.NotFound)
	}
	// a role of another account grants nothing, whether the store takes its id or not
	member := w.member
	member.RoleIDs = []int64{w.role.ID, other.role.ID}
	_ = w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Memberships().Update(ctx, &member) })
	got, err = b.Store.Grant(t.Context(), w.user.ID, w.account.ID)
	ok(t, err)
	same(t, "roles", []identity.Role{w.role}, got.Roles)
}

func testAccountsOf(t *testing.T, b Backend) {
	w, other, third := newAccount(t, b), newAccount(t, b), newAccount(t, b)
	member := identity.Membership{UserID: w.user.ID, CreatedAt: base, UpdatedAt: base}
	third.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Memberships().Insert(ctx, &member) })
	checkPages(t, []identity.Account{w.account, third.account}, func(a identity.Account) storage.Position { return storage.Position{ID: a.ID} },
		func(seek storage.Seek) ([]identity.Account, error) {
			return b.Store.AccountsOf(t.Context(), w.user.ID, seek)
		})
	accounts, err := b.Store.AccountsOf(t.Context(), other.user.ID, all())
	ok(t, err)
	same(t, "accounts of another user", []identity.Account{other.account}, accounts)
	accounts, err = b.Store.AccountsOf(t.Context(), nobody, all())
	ok(t, err)
	same(t, "accounts of nobody", []identity.Account{}, accounts)
}

// MailboxesToFetch covers all accounts, so mailboxes of other tests may be among the results.
func testMailboxesToFetch(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	forward := w.newMailbox("forward")
	forward.Inbound = ledger.Inbound{Type: ledger.InboundForward}
	pop := w.newMailbox("pop")
	pop.Inbound.Type = ledger.InboundPOP3
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := tx.Mailboxes().Insert(ctx, &forward); err != nil {
			return err
		}
		return tx.Mailboxes().Insert(ctx, &pop)
	})
	var found []helpdesk.Mailbox
	seek := storage.Seek{Limit: 3}
	for {
		page, err := b.Store.MailboxesToFetch(t.Context(), seek)
		ok(t, err)
		for _, m := range page {
			if m.AccountID == w.account.ID || m.AccountID == other.account.ID {
				found = append(found, m)
			}
		}
		if len(page) < 3 {
			break
		}
		seek.From = &storage.Position{ID: page[2].ID}
	}
	want := []helpdesk.Mailbox{w.mailbox, w.empty, other.mailbox, other.empty, pop}
	slices.SortFunc(want, func(a, b helpdesk.Mailbox) int { return int(a.ID - b.ID) })
	same(t, "mailboxes to fetch", want, found)
}

// A system transaction sees its own writes, is rolled back as a whole, and can write in an account that it has just created.
func testSystemTx(t *testing.T, b Backend) {
	w := newAccount(t, b)
	account := identity.Account{Name: "Undone " + w.mark, NextNumber: 1, CreatedAt: base, UpdatedAt: base}
	user := identity.User{Name: "Undone", EmailKey: "undone@" + w.mark, CreatedAt: base, UpdatedAt: base}
	err := b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		ok(t, tx.InsertUser(ctx, &user))
		got, err := tx.UserByEmail(ctx, user.EmailKey)
		ok(t, err)
		same(t, "user in the transaction", user, got)
		ok(t, tx.InsertAccount(ctx, &account))
		in := tx.Within(helpdesk.Scope{AccountID: account.ID})
		ok(t, in.Memberships().Insert(ctx, &identity.Membership{UserID: user.ID, CreatedAt: base, UpdatedAt: base}))
		number, err := in.TakeNumber(ctx)
		ok(t, err)
		same(t, "first number", int64(1), number)
		grant, err := tx.Grant(ctx, user.ID, account.ID)
		ok(t, err)
		same(t, "granted user", user.ID, grant.Membership.UserID)
		return errOnPurpose
	})
	same(t, "error of the function", true, errors.Is(err, errOnPurpose))
	_, err = b.Store.UserByEmail(t.Context(), user.EmailKey)
	fails(t, "user after the rollback", err, fault.NotFound)
	// The rolled-back id may belong to another account by now.
	left, err := b.Store.Within(helpdesk.Scope{AccountID: account.ID}).Account(t.Context())
	if err != nil || left.Name == account.Name {
		fails(t, "account after the rollback", err, fault.NotFound)
	}
}
