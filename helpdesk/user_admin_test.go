package helpdesk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

func codeOf(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Code
	}
	return ""
}

// A disabled user gets in by no way, and is back with access tokens, but without sessions, once enabled.
func TestDisabledUser(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	operator := b.svc.Operator()
	lise := must(operator.CreateUser(b.ctx, identity.UserInput{Email: "lise@example.org", Password: "correct horse"}))(t)
	must(operator.AddMember(b.ctx, b.account.ID, lise.ID, identity.RoleAdmin))(t)
	_, secret, err := operator.CreateToken(b.ctx, lise.ID, identity.TokenInput{Name: "script"})
	if err != nil {
		t.Fatal(err)
	}
	caller := must(b.svc.SignIn().WithPassword(b.ctx, "lise@example.org", "correct horse"))(t)
	session := must(b.svc.SignIn().StartSession(b.ctx, caller, "Firefox"))(t)
	link := must(operator.CreatePasswordToken(b.ctx, lise.ID, time.Hour))(t)
	for _, disabled := range []bool{true, true, false, false} {
		change := operator.EnableUser
		if disabled {
			change = operator.DisableUser
		}
		b.clock.Add(time.Minute)
		user := must(change(b.ctx, lise.ID))(t)
		if user.Disabled() != disabled || user.DisabledAt.After(user.UpdatedAt) {
			t.Errorf("disabled %v: %+v", disabled, user)
		}
		_, withToken := b.svc.Authenticate(b.ctx, secret)
		_, withSession := b.svc.Authenticate(b.ctx, session.Secret)
		_, withPassword := b.svc.SignIn().WithPassword(b.ctx, "lise@example.org", "correct horse")
		_, wrong := b.svc.SignIn().WithPassword(b.ctx, "lise@example.org", "wrong horse")
		_, trusted := b.svc.Desk(b.ctx, b.svc.As(lise.ID), b.account.ID)
		_, begun := b.svc.SignIn().StartSession(b.ctx, b.svc.As(lise.ID), "")
		_, withLink := b.svc.SignIn().PasswordTokenUser(b.ctx, link)
		_, newLink := operator.CreatePasswordToken(b.ctx, lise.ID, time.Hour)
		for what, err := range map[string]error{"token": withToken, "password": withPassword, "desk": trusted, "session": begun, "link": withLink, "another link": newLink} {
			if (err != nil) != disabled {
				t.Errorf("disabled %v: %s: %v", disabled, what, err)
			}
		}
		for what, err := range map[string]error{"token": withToken, "password": withPassword, "session": begun, "another link": newLink} {
			if disabled && codeOf(err) != identity.UserDisabled {
				t.Errorf("%s: %v", what, err)
			}
		}
		if disabled && !errors.Is(trusted, helpdesk.ErrNotFound) {
			t.Errorf("the desk: %v", trusted)
		}
		if codeOf(wrong) == identity.UserDisabled || !fault.Is(wrong, fault.Unauthenticated) {
			t.Errorf("whoever does not know the password learns that the user is disabled: %v", wrong)
		}
		if !fault.Is(withSession, fault.Unauthenticated) {
			t.Errorf("the session lives on: %v", withSession)
		}
	}
	var actions []string
	for _, e := range must(b.desk.Account().AuditLog(b.ctx, helpdesk.AuditFilter{}, storage.PageRequest{}))(t).Items {
		if e.Subject == lise.ID && slices.Contains([]string{"user.disabled", "user.enabled"}, e.Action) {
			actions = append(actions, e.Action)
		}
	}
	if diff := cmp.Diff([]string{"user.enabled", "user.disabled"}, actions); diff != "" {
		t.Error(diff)
	}
}

// An admin of the account can disable users who belong to no other account, have no more permissions, and are not the admin.
func TestDisableMember(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	admin, agent := b.member(identity.RoleAdmin), b.member(identity.RoleAgent)
	a, g, owner := membershipOf(t, b.ctx, admin), membershipOf(t, b.ctx, agent), membershipOf(t, b.ctx, b.desk)
	elsewhere := b.member(identity.RoleAgent)
	e := membershipOf(t, b.ctx, elsewhere)
	must(b.svc.Operator().CreateAccount(b.ctx, identity.AccountInput{Name: "Another"}, elsewhere.UserID()))(t)
	for _, tt := range []struct {
		name string
		err  error
		want error
		code string
	}{
		{"an agent disables", agent.Members().Disable(b.ctx, a.ID), helpdesk.ErrForbidden, ""},
		{"an admin the owner", admin.Members().Disable(b.ctx, owner.ID), helpdesk.ErrForbidden, ""},
		{"an admin themselves", admin.Members().Disable(b.ctx, a.ID), helpdesk.ErrForbidden, ""},
		{"who works elsewhere", admin.Members().Disable(b.ctx, e.ID), helpdesk.ErrConflict, identity.OtherAccounts},
		{"nobody", admin.Members().Disable(b.ctx, 999), helpdesk.ErrNotFound, ""},
		{"an agent", admin.Members().Disable(b.ctx, g.ID), nil, ""},
	} {
		if !errors.Is(tt.err, tt.want) || tt.code != "" && codeOf(tt.err) != tt.code {
			t.Errorf("%s: %v", tt.name, tt.err)
		}
	}
	if _, err := b.svc.Desk(b.ctx, b.svc.As(agent.UserID()), b.account.ID); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("the agent: %v", err)
	}
	if err := admin.Members().Enable(b.ctx, g.ID); err != nil {
		t.Fatal(err)
	}
	must(b.svc.Desk(b.ctx, b.svc.As(agent.UserID()), b.account.ID))(t)
	last := must(b.desk.Account().AuditLog(b.ctx, helpdesk.AuditFilter{Action: "user.enabled"}, storage.PageRequest{}))(t).Items
	if len(last) != 1 || last[0].UserID != admin.UserID() || last[0].Subject != agent.UserID() {
		t.Errorf("audit log: %+v", last)
	}
	b.checkLog()
}

// Whom the operator has disabled, only the operator enables, whoever was first.
func TestOperatorsDecision(t *testing.T) {
	t.Parallel()
	operator, admin := "operator", "admin"
	for _, tt := range []struct {
		name     string
		disabled []string // by whom, in this order
		enables  error    // the result for the admin
	}{
		{"an admin", []string{admin}, nil},
		{"the operator", []string{operator}, helpdesk.ErrForbidden},
		{"the operator after an admin", []string{admin, operator}, helpdesk.ErrForbidden},
		{"an admin after the operator", []string{operator, admin}, helpdesk.ErrForbidden},
		{"nobody", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			desk, agent := b.member(identity.RoleAdmin), b.member(identity.RoleAgent)
			m := membershipOf(t, b.ctx, agent)
			for _, who := range tt.disabled {
				if who == admin {
					if err := desk.Members().Disable(b.ctx, m.ID); err != nil {
						t.Fatal(err)
					}
				} else {
					must(b.svc.Operator().DisableUser(b.ctx, m.UserID))(t)
				}
			}
			if err := desk.Members().Enable(b.ctx, m.ID); !errors.Is(err, tt.enables) {
				t.Errorf("an admin enables: %v", err)
			}
			if user := must(b.svc.Operator().EnableUser(b.ctx, m.UserID))(t); user.Disabled() || user.DisabledByID != 0 {
				t.Errorf("%+v", user)
			}
			b.checkLog()
		})
	}
}

// A deleted user is no longer a member of any account; an account keeps its last owner.
func TestDeleteUser(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	operator, agent := b.svc.Operator(), b.member(identity.RoleAgent)
	team := must(b.desk.Teams().Create(b.ctx, helpdesk.TeamInput{Name: "Sales", MemberIDs: storage.Some([]int64{agent.UserID()})}))(t)
	if err := operator.DeleteUser(b.ctx, b.owner.ID); codeOf(err) != "last_owner" {
		t.Errorf("the last owner: %v", err)
	}
	if err := operator.DeleteUser(b.ctx, agent.UserID()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.User(b.ctx, agent.UserID()); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("the user: %v", err)
	}
	if members := must(b.desk.Members().List(b.ctx, storage.PageRequest{}))(t).Items; len(members) != 1 {
		t.Errorf("members: %+v", members)
	}
	if team = must(b.desk.Teams().Get(b.ctx, team.ID))(t); len(team.MemberIDs) != 0 {
		t.Errorf("the team: %+v", team)
	}
	if err := operator.DeleteUser(b.ctx, agent.UserID()); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
	must(b.desk.Members().List(b.ctx, storage.PageRequest{}))(t) // the owner stayed whole
	b.checkLog()
}

func ExampleAdmin_DisableUser() {
	ctx := context.Background()
	sealer, _ := storage.NewSealer(storage.NewSecretKey())
	svc, err := helpdesk.New(helpdesk.Config{Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: storage.NewSecretKey()})
	if err != nil {
		panic(err)
	}
	operator := svc.Operator()
	user, err := operator.CreateUser(ctx, identity.UserInput{Email: "ada@example.org", Password: "correct horse"})
	if err != nil {
		panic(err)
	}
	if _, err := operator.DisableUser(ctx, user.ID); err != nil {
		panic(err)
	}
	_, err = svc.SignIn().WithPassword(ctx, "ada@example.org", "correct horse")
	fmt.Println(err)
	// Output: This user is disabled. Ask an admin to enable it.
}
