package helpdesk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/testenv/authenticator"
)

// The objects that a member has made depend on the member's current permissions.
func TestMadeByFormerMembers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(b *bundle, m identity.Membership, roles map[string]int64) error
		serves bool
	}{
		"nothing changes": {func(*bundle, identity.Membership, map[string]int64) error { return nil }, true},
		"removed": {func(b *bundle, m identity.Membership, _ map[string]int64) error {
			return b.desk.Members().Remove(b.ctx, m.ID)
		}, false},
		"limited to a mailbox": {func(b *bundle, m identity.Membership, _ map[string]int64) error {
			return errOf(b.desk.Members().Update(b.ctx, m.ID, identity.MembershipUpdate{RoleIDs: m.RoleIDs, MailboxIDs: storage.Some([]int64{b.mailbox.ID})}))
		}, false},
		"another role": {func(b *bundle, m identity.Membership, roles map[string]int64) error {
			return errOf(b.desk.Members().Update(b.ctx, m.ID, identity.MembershipUpdate{RoleIDs: []int64{roles["Taggers"]}}))
		}, false},
		"a role that serves as well": {func(b *bundle, m identity.Membership, roles map[string]int64) error {
			return errOf(b.desk.Members().Update(b.ctx, m.ID, identity.MembershipUpdate{RoleIDs: []int64{roles["Makers"], roles["Taggers"]}}))
		}, true},
		"the role gives less": {func(b *bundle, _ identity.Membership, roles map[string]int64) error {
			return errOf(b.desk.Roles().Update(b.ctx, roles["Makers"], identity.RoleInput{Name: "Makers", Permissions: storage.Some([]identity.Permission{identity.TagsCreate})}))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, withProviders)
			role := must(b.desk.Roles().Create(b.ctx, identity.RoleInput{Name: "Makers", Permissions: storage.Some(b.desk.Permissions())}))(t)
			taggers := must(b.desk.Roles().Create(b.ctx, identity.RoleInput{Name: "Taggers", Permissions: storage.Some([]identity.Permission{identity.TagsCreate})}))(t)
			maker := b.joined("maker", role.ID, nil)
			key, secret, err := maker.PortalKeys().Create(b.ctx, helpdesk.PortalKeyInput{Name: "App", Algorithm: helpdesk.PortalHS256})
			if err != nil {
				t.Fatal(err)
			}
			in := subscription.WebhookInput{URL: storage.Some("https://maker.example"), Events: storage.Some([]string{subscription.AllEvents})}
			hook, _, err := maker.Webhooks().Create(b.ctx, in)
			if err != nil {
				t.Fatal(err)
			}
			_, invitation, err := maker.Members().Invite(b.ctx, identity.InvitationInput{Email: "friend@example.org", RoleIDs: []int64{role.ID}})
			if err != nil {
				t.Fatal(err)
			}
			if err := test.change(b, membershipOf(t, b.ctx, maker), map[string]int64{"Makers": role.ID, "Taggers": taggers.ID}); err != nil {
				t.Fatal(err)
			}
			_, err = b.svc.AuthenticatePortal(b.ctx, b.account.ID, b.signed(fmt.Sprint(key.ID), secret))
			if (err == nil) != test.serves || !test.serves && !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("a portal token: %v", err)
			}
			_, err = b.svc.SignIn().AcceptInvitation(b.ctx, helpdesk.Caller{}, invitation, identity.AcceptInput{Name: "F", Password: "a long sentence"})
			if (err == nil) != test.serves || !test.serves && !errors.Is(err, helpdesk.ErrNotFound) {
				t.Errorf("an invitation: %v", err)
			}
			b.tag("after")
			_, _ = b.svc.Dispatch().Distribute(b.ctx, b.account.ID) // that there is nothing to do is an error
			after := must(b.desk.Webhooks().Get(b.ctx, hook.ID))(t)
			if delivers := len(b.hooked(hook)) > 0; delivers != test.serves || after.IsActive != test.serves || (after.Reason == subscription.WebhookOrphaned) == test.serves {
				t.Errorf("the webhook delivers %v and is %+v", delivers, after)
			}
			// Whoever switches it on again vouches for it.
			must(b.desk.Webhooks().Update(b.ctx, hook.ID, subscription.WebhookInput{IsActive: storage.Some(true)}))(t)
			b.tag("later")
			b.distribute()
			if after := must(b.desk.Webhooks().Get(b.ctx, hook.ID))(t); !after.IsActive || len(b.hooked(hook)) == 0 {
				t.Errorf("switched on again it is %+v", after)
			}
		})
	}
}

// signed is a portal token.
func (b *bundle) signed(kid, secret string) string {
	b.t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"aud": fmt.Sprintf("account:%d", b.account.ID), "email": "ada@example.com",
		"iat": b.clock.Now().Unix(), "exp": b.clock.Now().Add(time.Hour).Unix(),
	})
	token.Header["kid"] = kid
	text, err := token.SignedString([]byte(secret))
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

// Whoever works with users and accounts sees and changes their own alone, by any method.
func TestEveryMethodOfAdminWithinReach(t *testing.T) {
	t.Parallel()
	type world struct {
		*bundle
		other   identity.User // also a member of the account
		foreign identity.AccessToken
		passkey identity.Passkey // of other
	}
	say := func(v any, err error) (any, error) { return v, err }
	page := storage.PageRequest{Limit: 100}
	asked := func(err error) error { // a wrong code does not matter here
		if fault.Is(err, fault.Invalid) || fault.Is(err, fault.Conflict) {
			return nil
		}
		return err
	}
	all := map[string]struct {
		want reach
		call func(ctx context.Context, a *helpdesk.Admin, w world) (any, error)
	}{
		"Rehearsal": {own, nil},
		"Me":        {own, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) { return say(a.Me(c)) }},
		"UpdateMe": {own, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) {
			return say(a.UpdateMe(c, identity.UserUpdate{Name: storage.Some("x")}))
		}},
		"SetPicture": {own, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) {
			_, err := a.SetPicture(c, strings.NewReader("no image"))
			return nil, asked(err)
		}},
		"RemovePicture": {own, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) { return say(a.RemovePicture(c)) }},
		"Tokens":        {cut, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) { return say(a.Tokens(c, page)) }},
		"Sessions":      {cut, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) { return say(a.Sessions(c, page)) }},
		"EndOtherSessions": {own, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) {
			return nil, a.EndOtherSessions(c)
		}},
		"Accounts": {cut, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) { return say(a.Accounts(c, page)) }},
		"CreateOwnToken": {own, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) {
			_, _, err := a.CreateOwnToken(c, identity.TokenInput{Name: "x"})
			return nil, err
		}},
		"DeleteOwnToken": {hidden, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return nil, a.DeleteOwnToken(c, w.foreign.ID)
		}},
		"CreateAccount": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return say(a.CreateAccount(c, identity.AccountInput{Name: "x"}, w.other.ID))
		}},
		"AccountIDs": {cut, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			ids, err := a.AccountIDs(c, 0)
			if len(ids) != 1 || ids[0] != w.account.ID {
				err = fmt.Errorf("the accounts %v", ids)
			}
			return ids, err
		}},
		"AccountsOfUser": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return say(a.AccountsOfUser(c, w.other.ID, page))
		}},
		"CreateUser": {refused, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) {
			return say(a.CreateUser(c, identity.UserInput{Email: "y@example.org"}))
		}},
		"HasUsers": {refused, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) { return say(a.HasUsers(c)) }},
		"Users":    {refused, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) { return say(a.Users(c, page)) }},
		"DisableUser": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return say(a.DisableUser(c, w.other.ID))
		}},
		"EnableUser": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return say(a.EnableUser(c, w.other.ID))
		}},
		"DeleteUser": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return nil, a.DeleteUser(c, w.other.ID)
		}},
		"BeginLink": {own, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) {
			return say(a.BeginLink(c, "", "work", ""))
		}},
		"BeginPasskey": {own, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) {
			return say(a.BeginPasskey(c, ""))
		}},
		"FinishPasskey": {own, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			w.clock.Add(time.Second)
			start, err := a.BeginPasskey(c, "")
			if err != nil {
				return nil, err
			}
			w.clock.Add(time.Second)
			answer := must((&authenticator.Authenticator{Origin: deskOrigin}).Create(start.Options))(w.t)
			return say(a.FinishPasskey(c, start.Kept, "Laptop", answer))
		}},
		"Passkeys": {cut, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) { return say(a.Passkeys(c)) }},
		"RenamePasskey": {hidden, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return say(a.RenamePasskey(c, w.passkey.ID, "x"))
		}},
		"RemovePasskey": {hidden, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return nil, a.RemovePasskey(c, "", w.passkey.ID)
		}},
		"RemoveUserPasskeys": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return nil, a.RemoveUserPasskeys(c, w.other.ID)
		}},
		"Identities": {cut, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) { return say(a.Identities(c)) }},
		"Unlink": {hidden, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) {
			return nil, a.Unlink(c, "", 1)
		}},
		"SecondFactor": {cut, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) { return say(a.SecondFactor(c)) }},
		"BeginSecondFactor": {own, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) {
			return say(a.BeginSecondFactor(c, "", "x"))
		}},
		"ConfirmSecondFactor": {own, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) {
			_, err := a.ConfirmSecondFactor(c, "000000")
			return nil, asked(err)
		}},
		"RenewRecoveryCodes": {own, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) {
			_, err := a.RenewRecoveryCodes(c, "000000")
			return nil, asked(err)
		}},
		"RemoveSecondFactor": {own, func(c context.Context, a *helpdesk.Admin, _ world) (any, error) {
			return nil, a.RemoveSecondFactor(c, "", "")
		}},
		"ResetSecondFactor": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return nil, a.ResetSecondFactor(c, w.other.ID)
		}},
		"UserByEmail": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return say(a.UserByEmail(c, w.other.Email))
		}},
		"RetryJob": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return nil, a.RetryJob(c, w.account.ID, 1)
		}},
		"EraseCustomer": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return nil, a.EraseCustomer(c, w.account.ID, 1)
		}},
		"Erasures": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return say(a.Erasures(c, w.account.ID, "", storage.PageRequest{}))
		}},
		"WriteErasures": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return say(a.WriteErasures(c, w.account.ID, io.Discard))
		}},
		"ApplyErasures": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return say(a.ApplyErasures(c, w.account.ID, strings.NewReader("{}"), true))
		}},
		"DropJob": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return nil, a.DropJob(c, w.account.ID, 1)
		}},
		"AddMember": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return say(a.AddMember(c, w.account.ID, w.other.ID, identity.RoleOwner))
		}},
		"CreatePasswordToken": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			return say(a.CreatePasswordToken(c, w.other.ID, time.Hour))
		}},
		"CreateToken": {refused, func(c context.Context, a *helpdesk.Admin, w world) (any, error) {
			_, _, err := a.CreateToken(c, w.other.ID, identity.TokenInput{Name: "x"})
			return nil, err
		}},
	}
	admin := reflect.TypeFor[*helpdesk.Admin]()
	for i := range admin.NumMethod() {
		name := admin.Method(i).Name
		one, known := all[name]
		if !known {
			t.Errorf("Admin.%s: say here what it does for who is no operator", name)
			continue
		}
		delete(all, name)
		if one.call == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, withProviders, withPasskeys)
			w := world{bundle: b, other: must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: secret + "@example.org"}))(t)}
			var err error
			if w.foreign, _, err = b.svc.Operator().CreateToken(b.ctx, w.other.ID, identity.TokenInput{Name: secret}); err != nil {
				t.Fatal(err)
			}
			must(b.svc.Operator().CreateAccount(b.ctx, identity.AccountInput{Name: secret}, w.other.ID))(t)
			w.passkey, _ = b.passkey(b.svc, b.svc.As(w.other.ID), "")
			agent := b.member(identity.RoleAgent)
			caller := b.svc.As(agent.UserID())
			a := must(b.svc.Admin(b.ctx, caller))(t)
			shown, err := one.call(b.ctx, a, w)
			want := map[reach]error{refused: helpdesk.ErrForbidden, hidden: helpdesk.ErrNotFound}[one.want]
			if !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("%v, want %v", err, want)
			}
			if text := fmt.Sprintf("%+v", shown); err == nil && strings.Contains(text, secret) {
				t.Errorf("shown is %s", text)
			}
		})
	}
	for name := range all {
		t.Errorf("Admin has no method %s", name)
	}
}
