package helpdesk_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func isLimited(err error) bool { return fault.Is(err, fault.RateLimited) }

// Guessing passwords is slowed down; the user is not affected at addresses used before, in this process or another; and the
// audit log has only a few of many failures.
func TestGuessing(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	const right = "correct horse"
	user := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: "ada@example.org", Password: right}))(t)
	must(b.svc.Operator().AddMember(b.ctx, b.account.ID, user.ID, identity.RoleAgent))(t)
	from := func(svc *helpdesk.Service, address, password string) error {
		at := svc.From(netip.MustParseAddr(address))
		c, err := at.SignIn().WithPassword(b.ctx, "ADA@example.org", password)
		if err == nil {
			_, err = at.SignIn().StartSession(b.ctx, c, "")
		}
		return err
	}
	const home = "198.51.100.1"
	if err := from(b.svc, home, right); err != nil {
		t.Fatal(err)
	}
	wrong, waiting := 0, 0
	for n := range 44 { // from eleven addresses, so that the user's count is reached
		if err := from(b.svc, fmt.Sprintf("192.0.2.%d", n%11), "wrong"); isLimited(err) {
			waiting++
		} else if errors.Is(err, helpdesk.ErrUnauthenticated) {
			wrong++
		} else {
			t.Fatal(err)
		}
	}
	if wrong > 32 || waiting == 0 {
		t.Errorf("%d wrong passwords, %d had to wait", wrong, waiting)
	}
	if err := from(b.svc, "203.0.113.9", right); !isLimited(err) {
		t.Errorf("from an address that nobody knows: %v", err)
	}
	if err := from(b.svc, home, right); err != nil {
		t.Errorf("from home: %v", err)
	}
	b.clock.Add(2 * time.Hour)
	if err := from(b.svc, "203.0.113.9", right); err != nil {
		t.Errorf("after some time: %v", err)
	}
	failures := must(b.desk.Account().AuditLog(b.ctx, helpdesk.AuditFilter{Action: "user.login_failed"}, storage.PageRequest{Limit: 100}))(t).Items
	if len(failures) == 0 || len(failures) > 10 {
		t.Errorf("%d failures are in the audit log", len(failures))
	}
}

// An address belongs to the person who receives its mail: a user created with the token that the inviter sees loses it to
// the holder of the mailed token.
func TestSquattedAddress(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := func(d *helpdesk.Desk) []int64 {
		for _, role := range must(d.Roles().All(b.ctx))(t) {
			if role.Key == identity.RoleAgent {
				return []int64{role.ID}
			}
		}
		return nil
	}
	// Eve owns an account of her own and invites a stranger, whose invitation she takes herself.
	eve := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: "eve@example.net"}))(t)
	hers := must(b.svc.Operator().CreateAccount(b.ctx, identity.AccountInput{Name: "Eve"}, eve.ID))(t)
	desk := must(b.svc.Desk(b.ctx, b.svc.As(eve.ID), hers.ID))(t)
	_, known, err := desk.Members().Invite(b.ctx, identity.InvitationInput{Email: "ada@example.org", RoleIDs: agent(desk)})
	if err != nil {
		t.Fatal(err)
	}
	squatted := must(b.svc.SignIn().AcceptInvitation(b.ctx, helpdesk.Caller{}, known, identity.AcceptInput{Name: "Eve", Password: "password of eve"}))(t)
	user := must(b.svc.Operator().UserByEmail(b.ctx, "ada@example.org"))(t)
	if !user.EmailVerifiedAt.IsZero() {
		t.Error("what the inviter knows verifies the address")
	}
	i, token, err := b.desk.Members().Invite(b.ctx, identity.InvitationInput{Email: "ada@example.org", RoleIDs: agent(b.desk)})
	if err != nil {
		t.Fatal(err)
	}
	in := identity.AcceptInput{Name: "Ada", Password: "password of ada"}
	if _, err := b.svc.SignIn().AcceptInvitation(b.ctx, helpdesk.Caller{}, token, in); !errors.Is(err, helpdesk.ErrUnauthenticated) {
		t.Errorf("with the inviter's token: %v", err)
	}
	mailed := b.mailedToken(i.ID)
	if mailed == token {
		t.Fatal("the inviter knows the token that is mailed")
	}
	forged := mailed[:len(mailed)-1] + string('A'+(mailed[len(mailed)-1]-'A'+1)%26)
	if _, err := b.svc.SignIn().AcceptInvitation(b.ctx, helpdesk.Caller{}, forged, in); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("with a forged token: %v", err)
	}
	must(b.svc.SignIn().AcceptInvitation(b.ctx, helpdesk.Caller{}, mailed, in))(t)
	user = must(b.svc.Operator().UserByEmail(b.ctx, "ada@example.org"))(t)
	if user.EmailVerifiedAt.IsZero() || user.Name != "Ada" {
		t.Errorf("%+v", user)
	}
	if _, err := b.svc.SignIn().WithPassword(b.ctx, "ada@example.org", "password of eve"); !errors.Is(err, helpdesk.ErrUnauthenticated) {
		t.Errorf("the squatter signs in: %v", err)
	}
	if _, err := b.svc.Authenticate(b.ctx, squatted.Secret); !errors.Is(err, helpdesk.ErrUnauthenticated) {
		t.Errorf("the squatter's token: %v", err)
	}
	if _, err := b.svc.SignIn().WithPassword(b.ctx, "ada@example.org", in.Password); err != nil {
		t.Error(err)
	}
}

// Neither an invitation nor a key gives more or longer than its maker has.
func TestNothingOutlivesItsMaker(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	operator := b.svc.Operator()
	soon := b.clock.Now().Add(time.Hour)
	authenticated := func(user int64, in identity.TokenInput) helpdesk.Caller {
		in.Name = "x"
		_, secret, err := operator.CreateToken(b.ctx, user, in)
		if err != nil {
			t.Fatal(err)
		}
		return must(b.svc.Authenticate(b.ctx, secret))(t)
	}
	roles := map[string]int64{}
	for _, role := range must(b.desk.Roles().All(b.ctx))(t) {
		roles[role.Key] = role.ID
	}
	invite := identity.InvitationInput{Email: "new@example.org", RoleIDs: []int64{roles[identity.RoleAgent]}}
	key := helpdesk.PortalKeyInput{Name: "App", Algorithm: helpdesk.PortalHS256}
	for name, in := range map[string]identity.TokenInput{
		"expires":       {ExpiresAt: soon},
		"narrow scopes": {Scopes: []identity.Permission{identity.MembershipsCreate, identity.AccountsUpdate}},
	} {
		desk := must(b.svc.Desk(b.ctx, authenticated(b.owner.ID, in), b.account.ID))(t)
		if _, _, err := desk.Members().Invite(b.ctx, invite); !errors.Is(err, helpdesk.ErrForbidden) {
			t.Errorf("%s: inviting: %v", name, err)
		}
		if _, _, err := desk.PortalKeys().Create(b.ctx, key); !errors.Is(err, helpdesk.ErrForbidden) {
			t.Errorf("%s: a portal key: %v", name, err)
		}
	}
	// Accepting with a token that expires gives a token that expires with it.
	guest := must(operator.CreateUser(b.ctx, identity.UserInput{Email: "new@example.org"}))(t)
	_, token, err := b.desk.Members().Invite(b.ctx, invite)
	if err != nil {
		t.Fatal(err)
	}
	accepted := must(b.svc.SignIn().AcceptInvitation(b.ctx, authenticated(guest.ID, identity.TokenInput{ExpiresAt: soon}), token, identity.AcceptInput{}))(t)
	must(b.svc.Authenticate(b.ctx, accepted.Secret))(t)
	b.clock.Add(time.Hour)
	if _, err := b.svc.Authenticate(context.Background(), accepted.Secret); !errors.Is(err, helpdesk.ErrUnauthenticated) {
		t.Errorf("the token lives on: %v", err)
	}
	// An invitation of a former member, or of one with fewer permissions, grants nothing.
	admin := b.member(identity.RoleAdmin)
	_, token, err = admin.Members().Invite(b.ctx, identity.InvitationInput{Email: "friend@example.net", RoleIDs: []int64{roles[identity.RoleAdmin]}})
	if err != nil {
		t.Fatal(err)
	}
	less := identity.MembershipUpdate{RoleIDs: []int64{roles[identity.RoleAgent]}}
	must(b.desk.Members().Update(b.ctx, membershipOf(t, b.ctx, admin).ID, less))(t)
	if _, err := b.svc.SignIn().AcceptInvitation(b.ctx, helpdesk.Caller{}, token, identity.AcceptInput{Name: "F", Password: "password"}); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("an invitation of a former admin: %v", err)
	}
}
