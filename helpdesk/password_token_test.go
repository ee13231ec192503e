package helpdesk_test

import (
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

func TestPasswordToken(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	operator := b.svc.Operator()
	first, err := operator.CreateUser(t.Context(), identity.UserInput{Email: "first@localhost"})
	if err != nil {
		t.Fatal(err)
	}
	link := func(life time.Duration) string {
		t.Helper()
		token, err := operator.CreatePasswordToken(t.Context(), first.ID, life)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	forSetUp, again := link(0), link(time.Hour)
	for name, token := range map[string]string{"nothing": "", "another prefix": "hwp_AAAA", "short": "hwr_AA", "forged": forged(forSetUp)} {
		if _, err := b.svc.SignIn().PasswordTokenUser(t.Context(), token); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, in := range map[string]identity.PasswordChoice{
		"short password": {Password: "short"},
		"bad address":    {Password: "correct horse", Email: "nonsense"},
		"taken address":  {Password: "correct horse", Email: b.owner.Email},
	} {
		if _, err := b.svc.SignIn().ChoosePassword(t.Context(), forSetUp, in); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := b.svc.SignIn().ChoosePassword(t.Context(), forSetUp, identity.PasswordChoice{Password: "correct horse", Name: "Ada", Email: "ada@example.net"})
	if err != nil || c.UserID() != first.ID {
		t.Fatal(c, err)
	}
	if _, err := b.svc.SignIn().WithPassword(t.Context(), "ada@example.net", "correct horse"); err != nil {
		t.Error(err)
	}
	for name, token := range map[string]string{"used": forSetUp, "made for the password before": again} {
		if _, err := b.svc.SignIn().ChoosePassword(t.Context(), token, identity.PasswordChoice{Password: "another horse"}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	session, err := b.svc.SignIn().StartSession(t.Context(), c, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.svc.SignIn().ChoosePassword(t.Context(), link(time.Hour), identity.PasswordChoice{Password: "third horse", Name: "Eve", Email: "eve@example.net"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.svc.Authenticate(t.Context(), session.Secret); !fault.Is(err, fault.Unauthenticated) {
		t.Error("the session goes on:", err)
	}
	if user, err := operator.UserByEmail(t.Context(), "ada@example.net"); err != nil || user.Name != "Ada" {
		t.Error("a user with a password got another name or address:", user, err)
	}
	soon := link(time.Minute)
	b.clock.Add(2 * time.Minute)
	if _, err := b.svc.SignIn().PasswordTokenUser(t.Context(), soon); !fault.Is(err, fault.NotFound) {
		t.Error("expired:", err)
	}
}

func TestPasswordTokenOfOneself(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	operator := b.svc.Operator()
	bare, err := operator.CreateUser(t.Context(), identity.UserInput{Email: "bare@example.net"})
	if err != nil {
		t.Fatal(err)
	}
	full, err := operator.CreateUser(t.Context(), identity.UserInput{Email: "full@example.net", Password: "correct horse"})
	if err != nil {
		t.Fatal(err)
	}
	scoped := func(user int64, scopes ...identity.Permission) helpdesk.Caller {
		t.Helper()
		_, secret, err := operator.CreateToken(t.Context(), user, identity.TokenInput{Name: "x", Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		c, err := b.svc.Authenticate(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, tt := range []struct {
		name string
		as   helpdesk.Caller
		user int64
		ok   bool
	}{
		{"a user without a password", scoped(bare.ID), bare.ID, true},
		{"a token with scopes", scoped(bare.ID, identity.TagsView), bare.ID, false},
		{"a user with a password", scoped(full.ID), full.ID, false},
		{"for somebody else", scoped(full.ID), bare.ID, false},
	} {
		admin, err := b.svc.Admin(t.Context(), tt.as)
		if err != nil {
			t.Fatal(err)
		}
		_, err = admin.CreatePasswordToken(t.Context(), tt.user, time.Hour)
		if tt.ok != (err == nil) || !tt.ok && !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
