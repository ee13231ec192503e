package bunstore_test

import (
	"context"
	"fmt"
	"testing"

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
	s.mailbox, err = s.owner.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("help@" + name + ".example.org")})
	must(err)
	s.role, err = s.owner.Roles().Create(ctx, identity.RoleInput{Name: "own", Permissions: storage.Some([]identity.Permission{identity.ConversationsView, identity.TagsView})})
	must(err)
	s.member, err = s.operator.AddMember(ctx, account.ID, user.ID, identity.RoleAgent)
	must(err)
	s.member, err = s.owner.Members().Update(ctx, s.member.ID, identity.MembershipUpdate{RoleIDs: []int64{s.role.ID}})
	must(err)
	s.token, s.secret, err = s.operator.CreateToken(ctx, user.ID, identity.TokenInput{Name: "t"})
	must(err)
	begun, err := svc.SignIn().StartSession(ctx, svc.As(user.ID), "")
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
	_, err = desk.Conversations().List(ctx, helpdesk.ConversationQuery{}, storage.PageRequest{Limit: 1})
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
		return svc.SignIn().EndSession(ctx, caller)
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
		return s.owner.Members().Disable(ctx, s.member.ID)
	}},
	"the member is removed": {kind: fault.NotFound, by: func(ctx context.Context, _ *helpdesk.Service, s *staff) error {
		return s.owner.Members().Remove(ctx, s.member.ID)
	}},
	"the role has fewer permissions": {kind: fault.Forbidden, by: func(ctx context.Context, _ *helpdesk.Service, s *staff) error {
		return none(s.owner.Roles().Update(ctx, s.role.ID, identity.RoleInput{Name: "own", Permissions: storage.Some([]identity.Permission{identity.TagsView})}))
	}},
	"the member has another role": {kind: fault.Forbidden, by: func(ctx context.Context, _ *helpdesk.Service, s *staff) error {
		role, err := s.owner.Roles().Create(ctx, identity.RoleInput{Name: "less", Permissions: storage.Some([]identity.Permission{identity.TagsView})})
		if err != nil {
			return err
		}
		return none(s.owner.Members().Update(ctx, s.member.ID, identity.MembershipUpdate{RoleIDs: []int64{role.ID}}))
	}},
	"the account requires a second factor": {password: "correct horse battery", kind: fault.Forbidden, by: func(ctx context.Context, _ *helpdesk.Service, s *staff) error {
		return none(s.owner.Account().Update(ctx, identity.AccountUpdate{Name: "a", RequireSecondFactor: storage.Some(true)}))
	}},
	"the account is deleted": {kind: fault.NotFound, by: func(ctx context.Context, _ *helpdesk.Service, s *staff) error {
		return s.owner.Account().Delete(ctx)
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

// In other processes too. New permissions work at once.
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
				if err := s.enters(t.Context(), other, secret); fault.Of(err) != r.kind {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// A unit sees its own changes, and others do not before its end.
func TestRevokedInUnit(t *testing.T) {
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
			if err := s.owner.Members().Remove(inner, s.member.ID); err != nil {
				t.Fatal(err)
			}
			has(inner, false)
			has(t.Context(), true)
			u.Rollback()
			has(t.Context(), true)
		})
	}
}
