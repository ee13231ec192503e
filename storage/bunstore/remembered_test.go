package bunstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
)

// staff is an account with a member who has a token, a session and a role of their own.
type staff struct {
	owner         *helpdesk.Desk
	operator      *helpdesk.Admin
	account, user int64
	member        identity.Membership
	role          identity.Role
	mailbox       helpdesk.Mailbox
	token         identity.AccessToken
	secret        string
	session       string
}

func service(t *testing.T, store helpdesk.Store) *helpdesk.Service {
	t.Helper()
	sealer, err := storage.NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	svc, err := helpdesk.New(helpdesk.Config{Store: store, Blobs: memblob.New(), Sealer: sealer, SigningKey: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// newStaff makes an account. A password takes a while, and only some need one.
func newStaff(t *testing.T, svc *helpdesk.Service, name, password string) *staff {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	s := &staff{operator: svc.Operator()}
	owner, err := s.operator.CreateUser(ctx, identity.UserInput{Email: "owner@" + name + ".example.org"})
	must(err)
	user, err := s.operator.CreateUser(ctx, identity.UserInput{Email: "user@" + name + ".example.org", Password: password})
	must(err)
	account, err := s.operator.CreateAccount(ctx, identity.AccountInput{Name: name}, owner.ID)
	must(err)
	s.account, s.user = account.ID, user.ID
	s.owner, err = svc.Desk(ctx, svc.As(owner.ID), account.ID)
	must(err)
	s.mailbox, err = s.owner.CreateMailbox(ctx, helpdesk.MailboxInput{Email: storage.Some("help@" + name + ".example.org")})
	must(err)
	s.role, err = s.owner.CreateRole(ctx, identity.RoleInput{Name: "own", Permissions: storage.Some([]identity.Permission{identity.ConversationsView, identity.TagsView})})
	must(err)
	s.member, err = s.operator.AddMember(ctx, account.ID, user.ID, identity.RoleAgent)
	must(err)
	s.member, err = s.owner.UpdateMember(ctx, s.member.ID, identity.MembershipUpdate{RoleIDs: []int64{s.role.ID}})
	must(err)
	s.token, s.secret, err = s.operator.CreateToken(ctx, user.ID, identity.TokenInput{Name: "t"})
	must(err)
	begun, err := svc.StartSession(ctx, svc.As(user.ID), "")
	must(err)
	s.session = begun.Secret
	return s
}

// enters opens the account with a secret and lists its conversations.
func (s *staff) enters(ctx context.Context, svc *helpdesk.Service, secret string) error {
	caller, err := svc.Authenticate(ctx, secret)
	if err != nil {
		return err
	}
	desk, err := svc.Desk(ctx, caller, s.account)
	if err != nil {
		return err
	}
	_, err = desk.Conversations(ctx, helpdesk.ConversationQuery{}, storage.PageRequest{Limit: 1})
	return err
}

// revocation is a change after which a member has fewer permissions. By is the user who makes it.
type revocation struct {
	session  bool   // it ends the session, not the token
	password string // of the user
	kind     fault.Kind
	by       func(ctx context.Context, svc *helpdesk.Service, s *staff) error
}

func none[T any](_ T, err error) error { return err }

var revocations = map[string]revocation{
	"the token is deleted": {kind: fault.Unauthenticated, by: func(ctx context.Context, svc *helpdesk.Service, s *staff) error {
		admin, err := svc.Admin(ctx, svc.As(s.user))
		if err != nil {
			return err
		}
		return admin.DeleteOwnToken(ctx, s.token.ID)
	}},
	"the session ends": {session: true, kind: fault.Unauthenticated, by: func(ctx context.Context, svc *helpdesk.Service, s *staff) error {
		caller, err := svc.Authenticate(ctx, s.session)
		if err != nil {
			return err
		}
		return svc.EndSession(ctx, caller)
	}},
	"other sessions end": {session: true, kind: fault.Unauthenticated, by: func(ctx context.Context, svc *helpdesk.Service, s *staff) error {
		admin, err := svc.Admin(ctx, svc.As(s.user))
		if err != nil {
			return err
		}
		return admin.EndOtherSessions(ctx)
	}},
	"the user is disabled": {kind: fault.Unauthenticated, by: func(ctx context.Context, _ *helpdesk.Service, s *staff) error {
		return none(s.operator.DisableUser(ctx, s.user))
	}},
	"an admin disables the member": {kind: fault.Unauthenticated, by: func(ctx context.Context, _ *helpdesk.Service, s *staff) error {
		return s.owner.DisableMember(ctx, s.member.ID)
	}},
	"the member is removed": {kind: fault.NotFound, by: func(ctx context.Context, _ *helpdesk.Service, s *staff) error {
		return s.owner.RemoveMember(ctx, s.member.ID)
	}},
	"the role has fewer permissions": {kind: fault.Forbidden, by: func(ctx context.Context, _ *helpdesk.Service, s *staff) error {
		return none(s.owner.UpdateRole(ctx, s.role.ID, identity.RoleInput{Name: "own", Permissions: storage.Some([]identity.Permission{identity.TagsView})}))
	}},
	"the member has another role": {kind: fault.Forbidden, by: func(ctx context.Context, _ *helpdesk.Service, s *staff) error {
		role, err := s.owner.CreateRole(ctx, identity.RoleInput{Name: "less", Permissions: storage.Some([]identity.Permission{identity.TagsView})})
		if err != nil {
			return err
		}
		return none(s.owner.UpdateMember(ctx, s.member.ID, identity.MembershipUpdate{RoleIDs: []int64{role.ID}}))
	}},
	"the account requires a second factor": {password: "correct horse battery", kind: fault.Forbidden, by: func(ctx context.Context, _ *helpdesk.Service, s *staff) error {
		return none(s.owner.UpdateAccount(ctx, identity.AccountUpdate{Name: "a", RequireSecondFactor: storage.Some(true)}))
	}},
	"the account is deleted": {kind: fault.NotFound, by: func(ctx context.Context, _ *helpdesk.Service, s *staff) error {
		return s.owner.DeleteAccount(ctx)
	}},
}

// A lost permission takes effect at once in all services over a store, even if the change is made in a unit.
func TestRevokedAtOnce(t *testing.T) {
	t.Parallel()
	for _, database := range databases {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, database.url(t), bunstore.Config{SyncNormal: true})
			one, other := service(t, db), service(t, db)
			n := 0
			for name, r := range revocations {
				for _, unit := range []bool{false, true} {
					n++
					s := newStaff(t, one, fmt.Sprint("a", n), r.password)
					secret := s.secret
					if r.session {
						secret = s.session
					}
					for range 2 {
						if err := s.enters(t.Context(), other, secret); err != nil {
							t.Fatalf("before %s: %v", name, err)
						}
					}
					err := changed(t.Context(), db, unit, func(ctx context.Context) error { return r.by(ctx, one, s) })
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					if err := s.enters(t.Context(), other, secret); fault.Of(err) != r.kind {
						t.Errorf("%s, in a unit %t: %v", name, unit, err)
					}
				}
			}
		})
	}
}

// changed makes a change, in a unit if requested.
func changed(ctx context.Context, db *bunstore.DB, unit bool, change func(ctx context.Context) error) error {
	if !unit {
		return change(ctx)
	}
	inner, u := db.Begin(ctx, nil)
	defer u.Rollback()
	if err := change(inner); err != nil {
		return err
	}
	return u.Commit(inner, nil)
}

// In other processes it takes effect a moment later, by their own clock. New permissions work at once.
func TestRevokedElsewhere(t *testing.T) {
	t.Parallel()
	for _, database := range databases {
		if database.name == "SQLiteMemory" {
			continue // it has one process
		}
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			url := database.url(t)
			here, there := open(t, url, bunstore.Config{SyncNormal: true}), open(t, url, bunstore.Config{SyncNormal: true})
			now := time.Now()
			bunstore.SetClock(there, func() time.Time { return now })
			one, other := service(t, here), service(t, there)
			n := 0
			for name, r := range revocations {
				n++
				s := newStaff(t, one, fmt.Sprint("a", n), r.password)
				secret := s.secret
				if r.session {
					secret = s.session
				}
				if err := s.enters(t.Context(), other, secret); err != nil {
					t.Fatalf("before %s, a new token: %v", name, err)
				}
				if err := r.by(t.Context(), one, s); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				now = now.Add(999 * time.Millisecond)
				if err := s.enters(t.Context(), other, secret); fault.Of(err) != r.kind {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// A follower of an account's events sees a change of a member when the event is read, whatever the clock.
func TestRememberedUntilEvents(t *testing.T) {
	t.Parallel()
	url := databases[0].url(t)
	here, there := open(t, url, bunstore.Config{SyncNormal: true}), open(t, url, bunstore.Config{SyncNormal: true})
	now := time.Now()
	bunstore.SetClock(there, func() time.Time { return now })
	one, other := service(t, here), service(t, there)
	s := newStaff(t, one, "a", "")
	if err := s.enters(t.Context(), other, s.secret); err != nil {
		t.Fatal(err)
	}
	if err := s.owner.RemoveMember(t.Context(), s.member.ID); err != nil {
		t.Fatal(err)
	}
	if events, err := there.Events(t.Context(), s.account, 0, 100); err != nil || len(events) == 0 {
		t.Fatal(events, err)
	}
	if err := s.enters(t.Context(), other, s.secret); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

// A unit sees its own changes, and others do not before its end.
func TestRememberedAndUnits(t *testing.T) {
	t.Parallel()
	for _, database := range databases {
		if database.name == "SQLiteMemory" {
			continue // its one connection is the unit's
		}
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, database.url(t), bunstore.Config{SyncNormal: true})
			svc := service(t, db)
			s := newStaff(t, svc, "a", "")
			has := func(ctx context.Context, want bool) {
				t.Helper()
				if err := s.enters(ctx, svc, s.secret); fault.Is(err, fault.NotFound) == want || err != nil && want {
					t.Errorf("the member enters: %v", err)
				}
			}
			has(t.Context(), true)
			inner, u := db.Begin(t.Context(), nil)
			defer u.Rollback()
			if err := s.owner.RemoveMember(inner, s.member.ID); err != nil {
				t.Fatal(err)
			}
			has(inner, false)
			has(t.Context(), true)
			u.Rollback()
			has(t.Context(), true)
		})
	}
}

// Values read before a change are not cached after it, nor are missing ones, and the cache is bounded.
func TestRemembered(t *testing.T) {
	t.Parallel()
	db := open(t, databases[1].url(t), bunstore.Config{})
	now := time.Now()
	bunstore.SetClock(db, func() time.Time { return now })
	failed := errors.New("read again")
	read := func() (identity.AccessToken, error) { return identity.AccessToken{ID: 1}, nil }
	again := func() (identity.AccessToken, error) { return identity.AccessToken{}, failed }
	recalled := func(hash string, want bool) {
		t.Helper()
		if token, err := bunstore.RecallToken(db, hash, again); want && (err != nil || token.ID != 1) || !want && !errors.Is(err, failed) {
			t.Errorf("%s: %v, %v", hash, token, err)
		}
	}
	recalled("a", false)
	recalled("a", false) // and the failure is not remembered
	if _, err := bunstore.RecallToken(db, "a", read); err != nil {
		t.Fatal(err)
	}
	recalled("a", true)
	now = now.Add(899 * time.Millisecond)
	recalled("a", true)
	now = now.Add(time.Millisecond)
	recalled("a", false)

	_, err := bunstore.RecallToken(db, "b", func() (identity.AccessToken, error) {
		err := db.InSystemTx(t.Context(), func(context.Context, helpdesk.SystemTx) error { return nil })
		return identity.AccessToken{ID: 1}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	recalled("b", false)

	_, most := bunstore.Tokens(db)
	for i := range most + 10 {
		if _, err := bunstore.RecallToken(db, fmt.Sprint(i), read); err != nil {
			t.Fatal(err)
		}
		if n, _ := bunstore.Tokens(db); n > most {
			t.Fatalf("%d tokens are remembered", n)
		}
	}
	recalled(fmt.Sprint(most+9), true)
	db.WakeWorkers() // after a transaction of the caller's own
	recalled(fmt.Sprint(most+9), false)
}
