package storagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func peopleTests() []testCase {
	return []testCase{
		{"Availability", testAvailability},
		{"TouchMembership", testTouchMembership},
		{"LockAccount", testLockAccount},
		{"Whole", testWhole},
		{"DeleteRole", testDeleteRole},
		{"Invitation", testInvitation},
		{"User", testUpdateUser},
		{"Users", testUsers},
		{"Picture", testPicture},
		{"DisabledUser", testDisabledUser},
		{"DeleteUser", testDeleteUser},
		{"Tokens", testTokens},
		{"Sessions", testSessions},
		{"Identities", testIdentities},
		{"Passkeys", testPasskeys},
		{"FindJoinRules", testFindJoinRules},
	}
}

func newAvailability() identity.Availability {
	return identity.Availability{ForceOffline: true, WhileInApp: true, UseSchedule: true, Timezone: "Europe/Berlin",
		Schedule: []identity.WorkingHours{{Day: time.Sunday, From: "22:00", To: "06:00"}, {Day: time.Friday, From: "00:00", To: "12:30"}}}
}

func (w *world) newInvitation(local string) identity.Invitation {
	return identity.Invitation{Email: "L." + w.address(local), EmailKey: w.address(local), Name: "Lise " + w.mark, RoleIDs: []int64{w.role.ID},
		MailboxIDs: []int64{w.mailbox.ID, w.empty.ID}, Nonce: []byte{0, 1, 255}, Hash: []byte("invitation " + local + w.mark),
		UserID: w.user.ID, ExpiresAt: at(100), CreatedAt: base}
}

func testAvailability(t *testing.T, b Backend) {
	w := newAccount(t, b)
	w.member.Availability = identity.Availability{}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Memberships().Update(ctx, &w.member) })
	one(t, "without availability", w.member, w.in().Memberships().Get, w.member.ID)
	w.member.Availability = newAvailability()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Memberships().Update(ctx, &w.member) })
	grant, err := b.Store.Grant(t.Context(), w.user.ID, w.account.ID)
	ok(t, err)
	same(t, "grant", w.member, grant.Membership)
}

func testTouchMembership(t *testing.T, b Backend) {
	w := newAccount(t, b)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.TouchMembership(ctx, w.member.ID, at(300)) })
	w.member.LastActivity = at(300)
	one(t, "membership", w.member, w.in().Memberships().Get, w.member.ID)
	err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.TouchMembership(ctx, nobody, at(1)) })
	fails(t, "an absent one", err, fault.NotFound)
}

// Holders of the account lock see what earlier holders wrote: ten of them count and add, and none counts wrong.
func testLockAccount(t *testing.T, b Backend) {
	w := newAccount(t, b)
	const workers = 10
	errs := make(chan error, workers)
	for n := range workers {
		go func() {
			errs <- w.Store.InTx(t.Context(), w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
				if err := tx.LockAccount(ctx); err != nil {
					return err
				}
				roles, err := helpdesk.Nouns().Roles.Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
				if err != nil {
					return err
				}
				r := identity.Role{Name: fmt.Sprint(len(roles)), Description: fmt.Sprint(n), CreatedAt: base, UpdatedAt: base}
				return helpdesk.Nouns().Roles.Rows(tx).Insert(ctx, &r)
			})
		}()
	}
	var err error
	for range workers {
		err = errors.Join(err, <-errs)
	}
	ok(t, err)
	roles, err := helpdesk.Nouns().Roles.Reader(w.in()).List(t.Context(), storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	ok(t, err)
	for i, r := range roles[1:] {
		same(t, "count", fmt.Sprint(i+1), r.Name)
	}
	err = b.Store.InTx(t.Context(), helpdesk.Scope{AccountID: nobody}, func(ctx context.Context, tx helpdesk.Tx) error { return tx.LockAccount(ctx) })
	fails(t, "locking no account", err, fault.NotFound)
}

// Whole reads all mailboxes of the account in a transaction that is limited to some, and nothing of others.
func testWhole(t *testing.T, b Backend) {
	w, other := newWorld(t, b), newWorld(t, b)
	scope := helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.empty.ID}}
	err := w.Store.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
		_, err := tx.Conversations().Get(ctx, w.conversation.ID)
		fails(t, "outside the scope", err, fault.NotFound)
		one(t, "in the whole", w.conversation, tx.Whole().Conversations().Get, w.conversation.ID)
		_, err = tx.Whole().Conversations().Get(ctx, other.conversation.ID)
		fails(t, "of another account", err, fault.NotFound)
		changed := w.team
		changed.Name = "changed"
		ok(t, helpdesk.Nouns().Teams.Rows(tx).Update(ctx, &changed))
		one(t, "as written in the transaction", changed, helpdesk.Nouns().Teams.Reader(tx.Whole()).Get, w.team.ID)
		return nil
	})
	ok(t, err)
}

func testDeleteRole(t *testing.T, b Backend) {
	w := newAccount(t, b)
	remove := func(id int64) error {
		return w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
			return helpdesk.Nouns().Roles.Rows(tx).Delete(ctx, id)
		})
	}
	fails(t, "deleting a role that a member has", remove(w.role.ID), fault.Conflict)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Memberships().Delete(ctx, w.member.ID) })
	ok(t, remove(w.role.ID))
}

func testInvitation(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	second := w.newInvitation("second")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().Invitations.Rows(tx).Insert(ctx, &second)
	})
	find := func(hash []byte) []identity.Invitation {
		t.Helper()
		got, err := helpdesk.Nouns().Invitations.Find(t.Context(), b.Store, identity.InvitationFilter{Hash: hash})
		ok(t, err)
		return got
	}
	for _, i := range []identity.Invitation{w.invitation, second, other.invitation} {
		same(t, "by hash", []identity.Invitation{i}, find(i.Hash))
	}
	for _, hash := range [][]byte{nil, {}, second.Hash[:7]} {
		same(t, "unknown hash", []identity.Invitation{}, find(hash))
	}
	remove := func() error {
		return w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
			return helpdesk.Nouns().Invitations.Rows(tx).Delete(ctx, second.ID)
		})
	}
	ok(t, remove())
	same(t, "deleted invitation", []identity.Invitation{}, find(second.Hash))
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteAccount(ctx) })
	same(t, "invitation to a deleted account", []identity.Invitation{}, find(w.invitation.Hash))
}

func testUpdateUser(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	update := func(u identity.User) error {
		return b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.UpdateUser(ctx, &u) })
	}
	w.user.Name, w.user.Email, w.user.EmailKey, w.user.UpdatedAt = "New", "N@"+w.mark, "n@"+w.mark, at(9)
	w.user.PasswordHash, w.user.EmailVerifiedAt = "", time.Time{}
	ok(t, update(w.user))
	one(t, "user", w.user, b.Store.User, w.user.ID)
	one(t, "other user", other.user, b.Store.User, other.user.ID)
	taken := w.user
	taken.EmailKey = other.user.EmailKey
	conflicts(t, "a taken address", update(taken), identity.UniqueUserEmail)
	taken.ID, taken.EmailKey = nobody, "x@"+w.mark
	fails(t, "an absent user", update(taken), fault.NotFound)
}

// A picture is that of its user, and seen by the members of an account alone.
func testPicture(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	set := func(user int64, content []byte) error {
		return b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.SetPicture(ctx, user, content) })
	}
	one(t, "picture", w.picture(), w.in().Picture, w.user.ID)
	_, err := w.in().Picture(t.Context(), other.user.ID)
	fails(t, "of who is no member", err, fault.NotFound)
	ok(t, set(w.user.ID, []byte("another")))
	one(t, "another picture", []byte("another"), w.in().Picture, w.user.ID)
	one(t, "other's picture", other.picture(), other.in().Picture, other.user.ID)
	ok(t, set(w.user.ID, nil))
	ok(t, set(w.user.ID, nil))
	_, err = w.in().Picture(t.Context(), w.user.ID)
	fails(t, "no picture", err, fault.NotFound)
	if err := set(nobody, []byte("x")); err == nil {
		t.Error("nobody has a picture")
	}
}

func testUsers(t *testing.T, b Backend) {
	var want []identity.User
	for range 3 {
		want = append(want, newAccount(t, b).user)
	}
	var got []identity.User
	seek := storage.Seek{Limit: 2, From: &storage.Position{ID: want[0].ID - 1}}
	for {
		page, err := b.Store.Users(t.Context(), seek)
		ok(t, err)
		got = append(got, page...)
		if len(page) < 2 {
			break
		}
		seek.From = &storage.Position{ID: page[1].ID}
	}
	mine := func(u identity.User) bool {
		return !slices.ContainsFunc(want, func(o identity.User) bool { return o.ID == u.ID })
	}
	same(t, "users", want, slices.DeleteFunc(got, mine)) // other tests may add some meanwhile
}

// The token and the grant report that a user is disabled.
func testDisabledUser(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	for _, disabled := range []bool{true, false} {
		err := b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
			user, err := tx.UserForUpdate(ctx, w.user.ID)
			if err != nil {
				return err
			}
			same(t, "locked", w.user, user)
			w.user.DisabledAt, w.user.DisabledByID = time.Time{}, 0
			if disabled {
				w.user.DisabledAt, w.user.DisabledByID = at(5), other.user.ID
			}
			return tx.UpdateUser(ctx, &w.user)
		})
		ok(t, err)
		one(t, "user", w.user, b.Store.User, w.user.ID)
		for _, v := range []*world{w, other} {
			token, err := b.Store.TokenByHash(t.Context(), v.token.Hash)
			ok(t, err)
			same(t, "of a token", disabled && v == w, token.UserDisabled)
			grant, err := b.Store.Grant(t.Context(), v.user.ID, v.account.ID)
			ok(t, err)
			same(t, "of a grant", disabled && v == w, grant.Disabled)
		}
	}
	err := b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		return errOf(tx.UserForUpdate(ctx, nobody))
	})
	fails(t, "locking an absent user", err, fault.NotFound)
}

func testDeleteUser(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	remove := func(id int64) error {
		return b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.DeleteUser(ctx, id) })
	}
	fails(t, "a member", remove(w.user.ID), fault.Conflict)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Memberships().Delete(ctx, w.member.ID) })
	ok(t, remove(w.user.ID))
	_, err := b.Store.User(t.Context(), w.user.ID)
	fails(t, "deleted user", err, fault.NotFound)
	_, err = b.Store.TokenByHash(t.Context(), w.token.Hash)
	fails(t, "token of a deleted user", err, fault.NotFound)
	one(t, "other user", other.user, b.Store.User, other.user.ID)
	fails(t, "deleting again", remove(w.user.ID), fault.NotFound)
}

// newToken creates another token of the user.
func (w *world) newToken(t *testing.T, name string, session bool, expires time.Time) identity.AccessToken {
	t.Helper()
	token := identity.AccessToken{UserID: w.user.ID, Name: name, Hash: []byte(name + w.mark), ExpiresAt: expires, CreatedAt: base, Session: session}
	ok(t, w.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertToken(ctx, &token) }))
	return token
}

func testTokens(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	second := w.newToken(t, "second", false, time.Time{})
	session := w.newToken(t, "session", true, at(1000))
	third := w.newToken(t, "third", false, at(1))
	checkPages(t, []identity.AccessToken{w.token, second, third}, func(a identity.AccessToken) storage.Position { return storage.Position{ID: a.ID} },
		func(seek storage.Seek) ([]identity.AccessToken, error) {
			return b.Store.TokensOf(t.Context(), w.user.ID, false, seek)
		})
	again := w.newToken(t, "again", true, at(1))
	checkPages(t, []identity.AccessToken{session, again}, func(a identity.AccessToken) storage.Position { return storage.Position{ID: a.ID} },
		func(seek storage.Seek) ([]identity.AccessToken, error) {
			return b.Store.TokensOf(t.Context(), w.user.ID, true, seek)
		})
	got, err := b.Store.TokenByHash(t.Context(), session.Hash)
	ok(t, err)
	same(t, "session", session, got)
	remove := func(user, id int64) error {
		return b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.DeleteToken(ctx, user, id) })
	}
	fails(t, "deleting another's token", remove(other.user.ID, second.ID), fault.NotFound)
	ok(t, remove(w.user.ID, second.ID))
	fails(t, "deleting again", remove(w.user.ID, second.ID), fault.NotFound)
	_, err = b.Store.TokenByHash(t.Context(), second.Hash)
	fails(t, "deleted token", err, fault.NotFound)
	none, err := b.Store.TokensOf(t.Context(), nobody, false, all())
	ok(t, err)
	same(t, "tokens of nobody", []identity.AccessToken{}, none)
}

func testSessions(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	old, now := w.newToken(t, "old", true, at(10)), w.newToken(t, "new", true, at(11))
	expired, foreign := w.newToken(t, "token", false, at(1)), other.newToken(t, "foreign", true, at(1))
	err := b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		return tx.DeleteSessions(ctx, w.user.ID, at(10))
	})
	ok(t, err)
	_, err = b.Store.TokenByHash(t.Context(), old.Hash)
	fails(t, "expired session", err, fault.NotFound)
	for _, kept := range []identity.AccessToken{now, expired, foreign} {
		_, err = b.Store.TokenByHash(t.Context(), kept.Hash)
		ok(t, err)
	}
	third := w.newToken(t, "third", true, at(12))
	err = b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		return tx.DeleteOtherSessions(ctx, w.user.ID, now.ID)
	})
	ok(t, err)
	_, err = b.Store.TokenByHash(t.Context(), third.Hash)
	fails(t, "another session", err, fault.NotFound)
	for _, kept := range []identity.AccessToken{now, expired, foreign} {
		_, err = b.Store.TokenByHash(t.Context(), kept.Hash)
		ok(t, err)
	}
}

// Operations for the comparison.

func (g *generator) availability() identity.Availability {
	a := identity.Availability{ForceOffline: g.IntN(2) == 0, WhileInApp: g.IntN(2) == 0, UseSchedule: g.IntN(2) == 0, Timezone: g.text()}
	a.Schedule = newAvailability().Schedule[:g.IntN(3)]
	return a
}

func (g *generator) peopleDirectory(seek storage.Seek) operation {
	switch g.IntN(4) {
	case 3:
		return operation{method: "Accounts", args: []any{ordered{g.from(seek, "Account"), "Account"}}}
	case 0:
		return operation{method: "Users", args: []any{ordered{g.from(seek, "User"), "User"}}}
	case 1:
		return operation{method: "Invitations.Find", args: []any{identity.InvitationFilter{Hash: fmt.Append(nil, "invitation", g.IntN(len(g.pool["Invitation"])+1))}}}
	}
	return operation{method: "TokensOf", args: []any{one64("User", g.any("User")), g.IntN(2) == 0, ordered{g.from(seek, "AccessToken"), "AccessToken"}}}
}

func (g *generator) peopleSystem() operation {
	user := one64("User", g.any("User"))
	switch g.IntN(9) {
	case 5, 6:
		return g.identitySystem()
	case 7, 8:
		return g.passkeySystem()
	case 4:
		return g.pruneSystem()
	case 0:
		u := &identity.User{ID: oneOf(g, g.pool["User"]), Name: g.text(), EmailKey: fmt.Sprint("u", g.IntN(int(g.count))+1), CreatedAt: base, UpdatedAt: g.time(false), DisabledAt: g.time(true), DisabledByID: oneOf(g, g.pool["User"])}
		if g.IntN(2) == 0 {
			return operation{method: "SetPicture", args: []any{user, oneOf(g, [][]byte{nil, {1, 2}, {3}})}}
		}
		return operation{method: "UpdateUser", args: []any{u}}
	case 1:
		return operation{method: "DeleteToken", args: []any{user, one64("AccessToken", g.any("AccessToken"))}}
	case 2:
		return operation{method: "DeleteSessions", args: []any{user, g.time(false)}}
	default:
		hash := fmt.Append(nil, "session", g.next())
		return operation{method: "InsertToken", args: []any{&identity.AccessToken{UserID: oneOf(g, g.pool["User"]), Hash: hash, CreatedAt: base, ExpiresAt: g.time(false), Session: true}}}
	}
}

func (g *generator) readInvitation(seen content, seek storage.Seek) operation {
	if g.IntN(2) == 0 {
		return operation{method: "Invitations.Get", args: []any{g.either("Invitation", oneOf(g, seen.Invitations).ID)}}
	}
	return operation{method: "Invitations.List", args: []any{identity.InvitationFilter{}, ordered{g.from(seek, "Invitation"), "Invitation"}}}
}

func (g *generator) writePeople(seen content) operation {
	role, member := oneOf(g, seen.Roles), oneOf(g, seen.Memberships)
	switch g.IntN(8) {
	case 7:
		return g.writeJoinRule(seen)
	case 0:
		role.Name, role.Description, role.UpdatedAt = g.text(), g.text(), g.time(false)
		role.Permissions = []identity.Permission{identity.CustomersView}[:g.IntN(2)]
		return operation{method: "Roles.Update", args: []any{[]*identity.Role{&role}}}
	case 1:
		return operation{method: "Roles.Delete", args: []any{g.either("Role", role.ID)}}
	case 2:
		i := identity.Invitation{Email: g.text(), EmailKey: g.text(), Name: g.text(), RoleIDs: g.roles(seen), MailboxIDs: g.mailboxes(seen),
			Nonce: []byte{1}, Hash: fmt.Append(nil, "invitation", len(g.pool["Invitation"]), "-", g.next()), UserID: oneOf(g, g.pool["User"]),
			ExpiresAt: g.time(false), CreatedAt: g.time(false)}
		return operation{method: "Invitations.Insert", args: []any{[]*identity.Invitation{&i}}}
	case 3:
		return operation{method: "Invitations.Delete", args: []any{g.either("Invitation", oneOf(g, seen.Invitations).ID)}}
	case 4:
		return operation{method: "TouchMembership", args: []any{g.either("Membership", member.ID), g.time(false)}}
	case 5:
		return operation{method: "LockAccount"}
	default:
		member.Availability, member.UserID = g.availability(), max(member.UserID, g.pool["User"][0])
		return operation{method: "Memberships.Update", args: []any{[]*identity.Membership{&member}}, clash: true}
	}
}
