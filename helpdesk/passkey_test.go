package helpdesk_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/passkey"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/testenv/authenticator"
)

const deskOrigin = "https://desk.example"

func withPasskeys(cfg *helpdesk.Config) {
	v, err := passkey.New(passkey.Config{Address: deskOrigin})
	if err != nil {
		panic(err)
	}
	cfg.Passkeys = v
}

// passkey registers one for a caller, on a new device.
func (b *bundle) passkey(svc *helpdesk.Service, c helpdesk.Caller, password string) (identity.Passkey, *authenticator.Authenticator) {
	b.t.Helper()
	b.clock.Add(time.Second)
	device := &authenticator.Authenticator{Origin: deskOrigin}
	me := must(svc.Admin(b.ctx, c))(b.t)
	start := must(me.BeginPasskey(b.ctx, password))(b.t)
	b.clock.Add(time.Second)
	return must(me.FinishPasskey(b.ctx, start.Kept, "My laptop", must(device.Create(start.Options))(b.t)))(b.t), device
}

// passkeySignIn signs in with a device.
func (b *bundle) passkeySignIn(device *authenticator.Authenticator) (helpdesk.Caller, error) {
	b.t.Helper()
	start := must(b.svc.SignIn().BeginPasskey(b.ctx))(b.t)
	b.clock.Add(time.Second)
	return b.svc.SignIn().FinishPasskey(b.ctx, start.Kept, must(device.Get(start.Options))(b.t))
}

// A passkey signs in alone, even if a second factor is required, and only its user.
func TestPasskey(t *testing.T) {
	t.Parallel()
	w := newFactored(t, withPasskeys)
	offered := func() bool {
		_, err := w.svc.SignIn().WithPassword(w.ctx, w.user.Email, lisesPassword)
		step, ok := errors.AsType[*helpdesk.SecondStep](err)
		return ok && step.HasPasskey
	}
	if offered() {
		t.Error("a passkey is offered to who has none")
	}
	made, device := w.passkey(w.svc, w.svc.As(w.user.ID), lisesPassword)
	if !offered() {
		t.Error("no passkey is offered in place of the code")
	}
	if made.Name != "My laptop" || made.UserID != w.user.ID || !made.UsedAt.IsZero() || len(made.Handle) != 32 {
		t.Errorf("%+v", made)
	}
	must(w.desk.Account().Update(w.ctx, identity.AccountUpdate{Name: "Acme", RequireSecondFactor: storage.Some(true)}))(t)
	caller := must(w.passkeySignIn(device))(t)
	if caller.UserID() != w.user.ID {
		t.Errorf("%+v", caller)
	}
	session := must(w.svc.SignIn().StartSession(w.ctx, caller, "Firefox"))(t)
	again := must(w.svc.Authenticate(w.ctx, session.Secret))(t)
	must(w.svc.Desk(w.ctx, again, w.account.ID))(t)

	// One without a second factor of another kind, whose password is not enough for the account.
	ada := must(w.svc.Operator().CreateUser(w.ctx, identity.UserInput{Name: "Ada", Email: "ada@example.org", Password: lisesPassword}))(t)
	must(w.svc.Operator().AddMember(w.ctx, w.account.ID, ada.ID, identity.RoleAgent))(t)
	_, hers := w.passkey(w.svc, w.svc.As(ada.ID), lisesPassword)
	if _, err := w.svc.Desk(w.ctx, must(w.svc.SignIn().WithPassword(w.ctx, ada.Email, lisesPassword))(t), w.account.ID); faultCode(err) != identity.SecondFactorRequired {
		t.Errorf("the password alone: %v", err)
	}
	must(w.svc.Desk(w.ctx, must(w.passkeySignIn(hers))(t), w.account.ID))(t)

	all := must(w.admin().Passkeys(w.ctx))(t)
	if len(all) != 1 || all[0].UsedAt.IsZero() || all[0].SignCount != int64(device.Count) {
		t.Errorf("%+v", all)
	}
	second, _ := w.passkey(w.svc, w.svc.As(w.user.ID), lisesPassword)
	if string(second.Handle) != string(made.Handle) {
		t.Error("a user has two handles")
	}
	if err := w.admin().RemovePasskey(w.ctx, lisesPassword, made.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.passkeySignIn(device); faultCode(err) != identity.PasskeyUnknown {
		t.Errorf("a removed passkey: %v", err)
	}
}

// The checks of a sign-in with a passkey cannot be bypassed.
func TestPasskeyRefused(t *testing.T) {
	t.Parallel()
	type attack struct {
		*bundle
		user   identity.User
		made   identity.Passkey
		device *authenticator.Authenticator
		start  identity.PasskeyStart
	}
	answer := func(a *attack) []byte { return must(a.device.Get(a.start.Options))(a.t) }
	for name, test := range map[string]struct {
		try  func(a *attack) (helpdesk.Caller, error)
		code string
	}{
		"a disabled user": {func(a *attack) (helpdesk.Caller, error) {
			must(a.svc.Operator().DisableUser(a.ctx, a.user.ID))(a.t)
			return a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, answer(a))
		}, identity.UserDisabled},
		"a deleted user": {func(a *attack) (helpdesk.Caller, error) {
			if err := a.svc.Operator().DeleteUser(a.ctx, a.user.ID); err != nil {
				a.t.Error(err)
			}
			return a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, answer(a))
		}, identity.PasskeyUnknown},
		"another server's passkey": {func(a *attack) (helpdesk.Caller, error) {
			a.device.RPID = "evil.example"
			return a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, answer(a))
		}, identity.PasskeyRefused},
		"another page": {func(a *attack) (helpdesk.Caller, error) {
			a.device.Origin = "https://evil.example"
			return a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, answer(a))
		}, identity.PasskeyRefused},
		"a replay": {func(a *attack) (helpdesk.Caller, error) {
			said := answer(a)
			must(a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, said))(a.t)
			return a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, said)
		}, identity.PasskeyExpired},
		"a replay of a device that does not count": {func(a *attack) (helpdesk.Caller, error) {
			_, a.device = a.passkey(a.svc, a.svc.As(a.user.ID), lisesPassword)
			a.device.Still, a.device.Count = true, 0
			a.start = must(a.svc.SignIn().BeginPasskey(a.ctx))(a.t)
			_, _ = a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, answer(a))
			return a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, answer(a))
		}, ""},
		"a challenge answered after a later one": {func(a *attack) (helpdesk.Caller, error) {
			said := answer(a)
			a.clock.Add(time.Second)
			must(a.passkeySignIn(a.device))(a.t)
			return a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, said)
		}, identity.PasskeyExpired},
		"too late": {func(a *attack) (helpdesk.Caller, error) {
			a.clock.Add(5 * time.Minute)
			return a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, answer(a))
		}, identity.PasskeyExpired},
		"another browser's challenge": {func(a *attack) (helpdesk.Caller, error) {
			other := must(a.svc.SignIn().BeginPasskey(a.ctx))(a.t)
			return a.svc.SignIn().FinishPasskey(a.ctx, other.Kept, answer(a))
		}, identity.PasskeyRefused},
		"nothing kept": {func(a *attack) (helpdesk.Caller, error) {
			return a.svc.SignIn().FinishPasskey(a.ctx, "", answer(a))
		}, identity.PasskeyExpired},
		"what was kept, changed": {func(a *attack) (helpdesk.Caller, error) {
			return a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept[:len(a.start.Kept)-8], answer(a))
		}, identity.PasskeyExpired},
		"what was kept of a registration": {func(a *attack) (helpdesk.Caller, error) {
			me := must(a.svc.Admin(a.ctx, a.svc.As(a.user.ID)))(a.t)
			a.start = must(me.BeginPasskey(a.ctx, lisesPassword))(a.t)
			return a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, answer(a))
		}, identity.PasskeyExpired},
		"what was kept of a provider": {func(a *attack) (helpdesk.Caller, error) {
			return a.svc.SignIn().FinishPasskey(a.ctx, must(a.svc.SignIn().BeginWith(a.ctx, "work", ""))(a.t).Kept, answer(a))
		}, identity.PasskeyExpired},
		"a passkey that was never registered": {func(a *attack) (helpdesk.Caller, error) {
			a.device = &authenticator.Authenticator{Origin: deskOrigin}
			must(a.device.Create([]byte(`{"challenge":"AAAA","rp":{"id":"desk.example"},"user":{"id":"AAAA"}}`)))(a.t)
			return a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, answer(a))
		}, identity.PasskeyUnknown},
		"an answer without end": {func(a *attack) (helpdesk.Caller, error) {
			return a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, make([]byte, identity.MaxPasskeyAnswer+1))
		}, identity.PasskeyRefused},
		"a copy that counted less": {func(a *attack) (helpdesk.Caller, error) {
			said := answer(a)
			must(a.svc.SignIn().FinishPasskey(a.ctx, a.start.Kept, said))(a.t)
			a.device.Count = 0
			a.clock.Add(time.Second)
			return a.passkeySignIn(a.device)
		}, identity.PasskeyCloned},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &attack{bundle: newBundle(t, withPasskeys, withProviders)}
			a.user = must(a.svc.Operator().CreateUser(a.ctx, identity.UserInput{Email: "ada@example.org", Password: lisesPassword}))(t)
			must(a.svc.Operator().AddMember(a.ctx, a.account.ID, a.user.ID, identity.RoleAgent))(t)
			a.made, a.device = a.passkey(a.svc, a.svc.As(a.user.ID), lisesPassword)
			a.start = must(a.svc.SignIn().BeginPasskey(a.ctx))(t)
			a.clock.Add(time.Second)
			c, err := test.try(a)
			if c.UserID() != 0 || !fault.Is(err, fault.Unauthenticated) || test.code != "" && faultCode(err) != test.code {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
}

// If two clients send the same answer at once, one is let in.
func TestPasskeyOnce(t *testing.T) {
	t.Parallel()
	b := newBundle(t, withPasskeys)
	_, device := b.passkey(b.svc, b.svc.As(b.owner.ID), "")
	start := must(b.svc.SignIn().BeginPasskey(b.ctx))(t)
	said := must(device.Get(start.Options))(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	in := 0
	for range 8 {
		wg.Go(func() {
			if _, err := b.svc.SignIn().FinishPasskey(b.ctx, start.Kept, said); err == nil {
				mu.Lock()
				in++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if in != 1 {
		t.Errorf("%d were let in", in)
	}
}

// A passkey is registered by the user who began, in the same session, once, and within limits.
func TestRegisterPasskey(t *testing.T) {
	t.Parallel()
	b := newBundle(t, withPasskeys)
	ada := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: "ada@example.org", Password: lisesPassword}))(t)
	caller := func() helpdesk.Caller {
		session := must(b.svc.SignIn().StartSession(b.ctx, must(b.svc.SignIn().WithPassword(b.ctx, ada.Email, lisesPassword))(t), "Firefox"))(t)
		return must(b.svc.Authenticate(b.ctx, session.Secret))(t)
	}
	me, elsewhere := must(b.svc.Admin(b.ctx, caller()))(t), must(b.svc.Admin(b.ctx, caller()))(t)
	if _, err := me.BeginPasskey(b.ctx, "wrong"); !fault.Is(err, fault.Invalid) {
		t.Errorf("a wrong password: %v", err)
	}
	device := &authenticator.Authenticator{Origin: deskOrigin}
	var said []byte
	begin := func() identity.PasskeyStart {
		t.Helper()
		b.clock.Add(time.Second)
		start := must(me.BeginPasskey(b.ctx, lisesPassword))(t)
		said = must((&authenticator.Authenticator{Origin: deskOrigin}).Create(start.Options))(t)
		return start
	}
	start := begin()
	finish := func(a *helpdesk.Admin, name string, answer []byte) error {
		b.clock.Add(time.Second)
		return errOf(a.FinishPasskey(b.ctx, start.Kept, name, answer))
	}
	for name, err := range map[string]error{
		"another session":  finish(elsewhere, "x", said),
		"another user":     finish(must(b.svc.Admin(b.ctx, b.svc.As(b.owner.ID)))(t), "x", said),
		"no name":          finish(me, " \n", said),
		"a long name":      finish(me, string(make([]rune, 101)), said),
		"no answer":        finish(me, "x", nil),
		"a large answer":   finish(me, "x", make([]byte, identity.MaxPasskeyAnswer+1)),
		"garbage":          finish(me, "x", []byte("garbage")),
		"another's answer": finish(me, "x", must(device.Create([]byte(`{"challenge":"AAAA","rp":{"id":"desk.example"},"user":{"id":"AAAA"}}`)))(t)),
	} {
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := finish(me, "Key", said); err != nil {
		t.Fatal(err)
	}
	if err := finish(me, "Key", said); err == nil {
		t.Error("registered twice")
	}
	made := must(me.Passkeys(b.ctx))(t)
	if len(made) != 1 {
		t.Fatalf("%+v", made)
	}
	start = begin()
	b.clock.Add(time.Second)
	must(me.UpdateMe(b.ctx, identity.UserUpdate{Password: "another horse", CurrentPassword: lisesPassword}))(t)
	if err := finish(me, "Key", said); !fault.Is(err, fault.Conflict) {
		t.Errorf("after another password: %v", err)
	}
	start = must(me.BeginPasskey(b.ctx, "another horse"))(t)
	b.clock.Add(time.Second)
	if err := me.RemovePasskey(b.ctx, "another horse", made[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := finish(me, "Key", must(device.Create(start.Options))(t)); !fault.Is(err, fault.Conflict) {
		t.Errorf("after a passkey was removed: %v", err)
	}
	for range identity.MaxPasskeys {
		b.passkey(b.svc, b.svc.As(b.owner.ID), "") // without a password to check
	}
	if _, err := must(b.svc.Admin(b.ctx, b.svc.As(b.owner.ID)))(t).BeginPasskey(b.ctx, ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("one too many: %v", err)
	}
	_, secret, err := b.svc.Operator().CreateToken(b.ctx, ada.ID, identity.TokenInput{Name: "T", Scopes: []identity.Permission{identity.TagsView}})
	if err != nil {
		t.Fatal(err)
	}
	scoped := must(b.svc.Admin(b.ctx, must(b.svc.Authenticate(b.ctx, secret))(t)))(t)
	if _, err := scoped.BeginPasskey(b.ctx, "another horse"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a token with scopes: %v", err)
	}
}

// A name can be changed, by the passkey's user alone, and nothing else with it.
func TestRenamePasskey(t *testing.T) {
	t.Parallel()
	b := newBundle(t, withPasskeys)
	me := must(b.svc.Admin(b.ctx, b.svc.As(b.owner.ID)))(t)
	made, device := b.passkey(b.svc, b.svc.As(b.owner.ID), "")
	for name, want := range map[string]fault.Kind{"": fault.Invalid, " \n": fault.Invalid, strings.Repeat("ä", 101): fault.Invalid} {
		if _, err := me.RenamePasskey(b.ctx, made.ID, name); !fault.Is(err, want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := me.RenamePasskey(b.ctx, made.ID+1, "x"); !fault.Is(err, fault.NotFound) {
		t.Errorf("one that is not there: %v", err)
	}
	must(b.passkeySignIn(device))(t)
	want := must(me.Passkeys(b.ctx))(t)
	want[0].Name = strings.Repeat("ä", 100)
	got := must(me.RenamePasskey(b.ctx, made.ID, " "+want[0].Name+"\t"))(t)
	if diff := cmp.Diff(want[0], got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, must(me.Passkeys(b.ctx))(t)); diff != "" {
		t.Error(diff)
	}
	must(b.passkeySignIn(device))(t)
}

// The last way to sign in cannot be removed; admins and operators remove lost ones.
func TestRemovePasskey(t *testing.T) {
	t.Parallel()
	b := newBundle(t, withPasskeys, withProviders)
	me := must(b.svc.Admin(b.ctx, b.svc.As(b.owner.ID)))(t)
	made, device := b.passkey(b.svc, b.svc.As(b.owner.ID), "")
	if err := me.RemovePasskey(b.ctx, "", made.ID); faultCode(err) != identity.LastSignIn {
		t.Errorf("the last way to sign in: %v", err)
	}
	must(b.comeBack(b.svc.As(b.owner.ID), "open", must(me.BeginLink(b.ctx, "", "open", ""))(t), proven{Subject: "1"}))(t)
	if err := me.Unlink(b.ctx, "", must(me.Identities(b.ctx))(t)[0].ID); err != nil {
		t.Errorf("an identity beside a passkey: %v", err)
	}
	if err := me.RemovePasskey(b.ctx, "", made.ID+100); !fault.Is(err, fault.NotFound) {
		t.Errorf("another's: %v", err)
	}
	agent := b.member(identity.RoleAgent)
	if err := agent.Members().RemovePasskeys(b.ctx, membershipOf(t, b.ctx, b.desk).ID); !fault.Is(err, fault.Forbidden) {
		t.Errorf("an agent removes the owner's: %v", err)
	}
	session := must(b.svc.SignIn().StartSession(b.ctx, must(b.passkeySignIn(device))(t), "Firefox"))(t)
	if err := b.svc.Operator().RemoveUserPasskeys(b.ctx, b.owner.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.svc.Authenticate(b.ctx, session.Secret); err == nil {
		t.Error("the session lives")
	}
	if _, err := b.passkeySignIn(device); faultCode(err) != identity.PasskeyUnknown {
		t.Errorf("removed: %v", err)
	}
}

// Whoever takes an address that is not theirs keeps no way in when its owner comes.
func TestReclaimedUserLosesSignIns(t *testing.T) {
	t.Parallel()
	b := newBundle(t, withPasskeys, withProviders)
	taken := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: "taken@example.org", Password: "the taker's"}))(t)
	_, device := b.passkey(b.svc, b.svc.As(taken.ID), "the taker's")
	taker := must(b.svc.Admin(b.ctx, b.svc.As(taken.ID)))(t)
	must(b.comeBack(b.svc.As(taken.ID), "open", must(taker.BeginLink(b.ctx, "the taker's", "open", ""))(t), proven{Subject: "1"}))(t)
	if _, _, err := b.desk.Members().Invite(b.ctx, identity.InvitationInput{Email: "taken@example.org", RoleIDs: []int64{b.role(identity.RoleAgent)}}); err != nil {
		t.Fatal(err)
	}
	var token string
	links := pages
	links.Invitation = func(t string) string { token = t; return t }
	must(b.svc.Outgoing().SystemMail(b.ctx, b.jobs(helpdesk.JobInvite)[0], links))(t)
	must(b.svc.SignIn().AcceptInvitation(b.ctx, helpdesk.Caller{}, token, identity.AcceptInput{Name: "T", Password: "the owner's"}))(t)
	if _, err := b.passkeySignIn(device); faultCode(err) != identity.PasskeyUnknown {
		t.Errorf("the taker's passkey: %v", err)
	}
	if _, err := b.arrive("open", proven{Subject: "1"}); faultCode(err) != identity.UnknownIdentity {
		t.Errorf("the taker's provider: %v", err)
	}
}

// Without an address where they work there are no passkeys.
func TestPasskeysOff(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	me := must(b.svc.Admin(b.ctx, b.svc.As(b.owner.ID)))(t)
	for name, err := range map[string]error{
		"begin":          errOf(me.BeginPasskey(b.ctx, "")),
		"finish":         errOf(me.FinishPasskey(b.ctx, "x", "x", []byte("{}"))),
		"begin sign-in":  errOf(b.svc.SignIn().BeginPasskey(b.ctx)),
		"finish sign-in": errOf(b.svc.SignIn().FinishPasskey(b.ctx, "x", []byte("{}"))),
	} {
		if f := (*fault.Error)(nil); !errors.As(err, &f) || f.Kind != fault.Disabled || f.Code != identity.PasskeysOff {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b.svc.SignIn().PasskeyOrigin() != "" {
		t.Error("an origin")
	}
}
