package helpdesk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// idp accepts the user that the browser names.
func idp(key string, domains ...string) identity.Provider {
	return identity.Provider{
		Key: key, Name: "The " + key, Issuer: "https://" + key + ".example", Domains: domains,
		Begin: func(context.Context) (string, []byte, error) {
			return "https://" + key + ".example/auth", []byte("secret of " + key), nil
		},
		Finish: func(_ context.Context, secret []byte, answer url.Values) (who identity.Proven, err error) {
			if string(secret) != "secret of "+key {
				return who, errors.New("another secret")
			}
			return who, json.Unmarshal([]byte(answer.Get("who")), &who)
		},
	}
}

func withProviders(cfg *helpdesk.Config) {
	cfg.Providers = []identity.Provider{idp("work", "example.org", "elsewhere.example"), idp("open")}
}

type proven = identity.Proven

// arrive signs somebody in.
func (b *bundle) arrive(key string, who proven) (helpdesk.SignedInWith, error) {
	b.t.Helper()
	start := must(b.svc.SignIn().BeginWith(b.ctx, key, "/next"))(b.t)
	return b.comeBack(helpdesk.Caller{}, key, start, who)
}

func (b *bundle) comeBack(c helpdesk.Caller, key string, start identity.SignInStart, who proven) (helpdesk.SignedInWith, error) {
	b.t.Helper()
	text := must(json.Marshal(who))(b.t)
	b.clock.Add(time.Second)
	return b.svc.SignIn().FinishWith(b.ctx, c, key, start.Kept, url.Values{"who": {string(text)}})
}

// confirmedUser makes a user whose address was confirmed by a mail.
func (b *bundle) confirmedUser(email, password string) identity.User {
	b.t.Helper()
	user := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: email, Name: "V", Password: password}))(b.t)
	user.EmailVerifiedAt = b.clock.Now()
	err := b.store.InSystemTx(b.ctx, func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.UpdateUser(ctx, &user) })
	if err != nil {
		b.t.Fatal(err)
	}
	return user
}

func faultCode(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Code
	}
	return ""
}

// An unknown identity finds the user of its address only where the provider vouches for it, and the user has confirmed it.
func TestIdentityFindsUser(t *testing.T) {
	t.Parallel()
	const email = "ada@example.org"
	for name, test := range map[string]struct {
		provider string
		who      proven
		prepare  func(b *bundle, user identity.User) // nil: nothing
		code     string
		found    bool
	}{
		"confirmed":          {"work", proven{Subject: "1", Email: "Ada@Example.ORG", EmailVerified: true}, nil, "", true},
		"not verified there": {"work", proven{Subject: "1", Email: email}, nil, identity.UnknownIdentity, false},
		"no address":         {"work", proven{Subject: "1", EmailVerified: true}, nil, identity.UnknownIdentity, false},
		"another address":    {"work", proven{Subject: "1", Email: "x@example.org", EmailVerified: true}, nil, identity.UnknownIdentity, false},
		"no subject":         {"work", proven{Email: email, EmailVerified: true}, nil, "", false},
		"not vouched for":    {"open", proven{Subject: "1", Email: email, EmailVerified: true}, nil, identity.UnknownIdentity, false},
		"of a domain below":  {"work", proven{Subject: "1", Email: "ada@mail.example.org", EmailVerified: true}, nil, identity.UnknownIdentity, false},
		"no mail address":    {"work", proven{Subject: "1", Email: "ada@example.org>, <x@example.org", EmailVerified: true}, nil, identity.UnknownIdentity, false},
		"another letter":     {"work", proven{Subject: "1", Email: "ada@example\u3002org.evil.example", EmailVerified: true}, nil, identity.UnknownIdentity, false},
		"of a disabled user": {"work", proven{Subject: "1", Email: email, EmailVerified: true}, func(b *bundle, u identity.User) { must(b.svc.Operator().DisableUser(b.ctx, u.ID))(b.t) }, identity.UserDisabled, false},
		"of another before": {"work", proven{Subject: "2", Email: email, EmailVerified: true}, func(b *bundle, _ identity.User) {
			must(b.arrive("work", proven{Subject: "1", Email: email, EmailVerified: true}))(b.t)
		}, identity.OtherIdentity, false},
		"never confirmed here": {"work", proven{Subject: "1", Email: "owner@example.org", EmailVerified: true}, nil, identity.UnconfirmedIdentity, false},
		"with a second factor": {"work", proven{Subject: "1", Email: email, EmailVerified: true}, func(b *bundle, u identity.User) { b.factor(u) }, identity.SecondFactorRequired, false},
		"with two factors":     {"work", proven{Subject: "1", Email: email, EmailVerified: true, SecondFactor: true}, func(b *bundle, u identity.User) { b.factor(u) }, "", true},
		"once disabled, now on": {"work", proven{Subject: "1", Email: email, EmailVerified: true}, func(b *bundle, u identity.User) {
			must(b.svc.Operator().DisableUser(b.ctx, u.ID))(b.t)
			must(b.svc.Operator().EnableUser(b.ctx, u.ID))(b.t)
		}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, withProviders)
			user := b.confirmedUser(email, "")
			if test.prepare != nil {
				test.prepare(b, user)
			}
			in, err := b.arrive(test.provider, test.who)
			if faultCode(err) != test.code || (err == nil) != test.found || test.found && (in.Caller.UserID() != user.ID || in.Next != "/next") {
				t.Errorf("%+v %v", in, err)
			}
		})
	}
}

// factor gives a user a second factor.
func (b *bundle) factor(user identity.User) {
	b.t.Helper()
	user.SecondFactorAt = b.clock.Now()
	err := b.store.InSystemTx(b.ctx, func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.UpdateUser(ctx, &user) })
	if err != nil {
		b.t.Fatal(err)
	}
}

// A known identity stays with its user, whatever address the provider reports.
func TestIdentityStays(t *testing.T) {
	t.Parallel()
	b := newBundle(t, withProviders)
	ada, bob := b.confirmedUser("ada@example.org", ""), b.confirmedUser("bob@example.org", "")
	must(b.arrive("work", proven{Subject: "1", Email: "ada@example.org", EmailVerified: true}))(t)
	in := must(b.arrive("work", proven{Subject: "1", Email: "bob@example.org", EmailVerified: true}))(t)
	if in.Caller.UserID() != ada.ID {
		t.Errorf("another address makes user %d of %d", in.Caller.UserID(), ada.ID)
	}
	in = must(b.arrive("work", proven{Subject: "1"}))(t)
	if in.Caller.UserID() != ada.ID {
		t.Error("without an address she is somebody else")
	}
	if in = must(b.arrive("work", proven{Subject: "2", Email: "bob@example.org", EmailVerified: true}))(t); in.Caller.UserID() != bob.ID {
		t.Error("Bob is not found")
	}
	if _, err := b.arrive("open", proven{Subject: "1", Email: "ada@example.org", EmailVerified: true}); faultCode(err) != identity.UnknownIdentity {
		t.Errorf("the same subject of another issuer: %v", err)
	}
	must(b.svc.Operator().DisableUser(b.ctx, ada.ID))(t)
	if _, err := b.arrive("work", proven{Subject: "1"}); faultCode(err) != identity.UserDisabled {
		t.Errorf("a disabled user: %v", err)
	}
}

// Only the browser that has begun can finish, in time, at the same provider.
func TestIdentityAttempt(t *testing.T) {
	t.Parallel()
	b := newBundle(t, withProviders)
	b.confirmedUser("ada@example.org", "")
	who := proven{Subject: "1", Email: "ada@example.org", EmailVerified: true}
	start := must(b.svc.SignIn().BeginWith(b.ctx, "work", "/next"))(t)
	for name, kept := range map[string]string{"nothing": "", "garbage": "AAAA", "cut": start.Kept[:len(start.Kept)-8], "no base32": "!"} {
		if _, err := b.comeBack(helpdesk.Caller{}, "work", identity.SignInStart{Kept: kept}, who); faultCode(err) != identity.SignInExpired {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.comeBack(helpdesk.Caller{}, "open", start, who); faultCode(err) != identity.SignInExpired {
		t.Errorf("another provider: %v", err)
	}
	b.clock.Add(10 * time.Minute)
	if _, err := b.comeBack(helpdesk.Caller{}, "work", start, who); faultCode(err) != identity.SignInExpired {
		t.Errorf("too late: %v", err)
	}
	if _, err := b.svc.SignIn().BeginWith(b.ctx, "none", ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such provider: %v", err)
	}
}

// A user connects and disconnects a provider; no one can do so for another user.
func TestLink(t *testing.T) {
	t.Parallel()
	b := newBundle(t, withProviders)
	const password = "a long sentence"
	ada, bob := b.confirmedUser("ada@example.org", password), b.confirmedUser("bob@example.org", "")
	admin := must(b.svc.Admin(b.ctx, b.svc.As(ada.ID)))(t)
	if _, err := admin.BeginLink(b.ctx, "wrong", "open", ""); !fault.Is(err, fault.Invalid) {
		t.Errorf("a wrong password: %v", err)
	}
	who := proven{Subject: "1", Email: "private@mail.example"}
	start := must(admin.BeginLink(b.ctx, password, "open", "/profile"))(t)
	for name, c := range map[string]helpdesk.Caller{"nobody": {}, "another": b.svc.As(bob.ID)} {
		if _, err := b.comeBack(c, "open", start, who); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s connects: %v", name, err)
		}
	}
	in := must(b.comeBack(b.svc.As(ada.ID), "open", start, who))(t)
	if !in.Linked || in.Next != "/profile" || in.Caller.UserID() != ada.ID {
		t.Errorf("%+v", in)
	}
	if in = must(b.arrive("open", who))(t); in.Caller.UserID() != ada.ID || in.Linked {
		t.Errorf("signed in as %+v", in)
	}
	other := must(b.svc.Admin(b.ctx, b.svc.As(bob.ID)))(t)
	if _, err := b.comeBack(b.svc.As(bob.ID), "open", must(other.BeginLink(b.ctx, "", "open", ""))(t), who); faultCode(err) != identity.TakenIdentity {
		t.Errorf("what another has: %v", err)
	}
	must(b.comeBack(b.svc.As(bob.ID), "open", must(other.BeginLink(b.ctx, "", "open", ""))(t), proven{Subject: "2"}))(t)
	ids := must(admin.Identities(b.ctx))(t)
	bobs := must(other.Identities(b.ctx))(t)
	if len(ids) != 1 || len(bobs) != 1 || ids[0].Email != who.Email {
		t.Fatalf("%+v %+v", ids, bobs)
	}
	if err := admin.Unlink(b.ctx, password, bobs[0].ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("disconnecting another's: %v", err)
	}
	if err := other.Unlink(b.ctx, "", bobs[0].ID); faultCode(err) != identity.LastSignIn {
		t.Errorf("the last way to sign in: %v", err)
	}
	if err := admin.Unlink(b.ctx, password, ids[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.arrive("open", who); faultCode(err) != identity.UnknownIdentity {
		t.Errorf("disconnected: %v", err)
	}
}

// Rules add members when they first sign in, and after the rules change; never others.
func TestJoinRules(t *testing.T) {
	t.Parallel()
	b := newBundle(t, withProviders)
	agent := b.role(identity.RoleAgent)
	rule := must(b.desk.JoinRules().Create(b.ctx, identity.JoinRuleInput{Provider: "work", Domain: "@Example.ORG.", RoleIDs: []int64{agent}, MailboxIDs: []int64{b.mailbox.ID}}))(t)
	eve := proven{Subject: "eve", Email: "eve@example.org", EmailVerified: true, Name: "Eve Evans"}
	for name, who := range map[string]proven{
		"not verified": {Subject: "x", Email: "eve@example.org"}, "another domain": {Subject: "y", Email: "eve@elsewhere.example", EmailVerified: true},
		"a domain below": {Subject: "z", Email: "eve@sub.example.org", EmailVerified: true},
	} {
		if _, err := b.arrive("work", who); faultCode(err) != identity.UnknownIdentity {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.arrive("open", eve); faultCode(err) != identity.UnknownIdentity {
		t.Errorf("another provider: %v", err)
	}
	in := must(b.arrive("work", eve))(t)
	desk := must(b.svc.Desk(b.ctx, in.Caller, b.account.ID))(t)
	m := must(desk.Membership(b.ctx))(t)
	if diff := cmp.Diff([][]int64{{agent}, {b.mailbox.ID}}, [][]int64{m.RoleIDs, m.MailboxIDs}); diff != "" {
		t.Error(diff)
	}
	user := must(b.store.User(b.ctx, in.Caller.UserID()))(t)
	if user.Name != "Eve Evans" || user.Email != eve.Email || user.EmailVerifiedAt.IsZero() || user.PasswordHash != "" {
		t.Errorf("%+v", user)
	}
	joined := must(b.desk.Account().AuditLog(b.ctx, helpdesk.AuditFilter{UserID: storage.Some(user.ID)}, storage.PageRequest{}))(t)
	var actions []string
	for _, e := range joined.Items {
		actions = append(actions, e.Action)
	}
	if slices.Sort(actions); !slices.Equal(actions, []string{"membership.created", "user.identity_linked"}) {
		t.Error(actions)
	}

	member := func() bool {
		t.Helper()
		in := must(b.arrive("work", eve))(t)
		_, err := b.svc.Desk(b.ctx, in.Caller, b.account.ID)
		return err == nil
	}
	if err := b.desk.Members().Remove(b.ctx, m.ID); err != nil {
		t.Fatal(err)
	}
	if member() {
		t.Error("who was removed joins again")
	}
	must(b.desk.JoinRules().Update(b.ctx, rule.ID, identity.JoinRuleInput{Provider: "work", Domain: "example.org", RoleIDs: []int64{agent}}))(t)
	if !member() {
		t.Error("a rule that was changed does not apply")
	}
	if err := b.desk.Roles().Delete(b.ctx, agent); !fault.Is(err, fault.Conflict) {
		t.Errorf("deleting the role of a rule: %v", err)
	}
	if err := b.desk.JoinRules().Delete(b.ctx, rule.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.arrive("work", proven{Subject: "f", Email: "f@example.org", EmailVerified: true}); faultCode(err) != identity.UnknownIdentity {
		t.Errorf("a rule that is gone: %v", err)
	}
}

// role is the id of a built-in role.
func (b *bundle) role(key string) int64 {
	b.t.Helper()
	for _, r := range must(b.desk.Roles().All(b.ctx))(b.t) {
		if r.Key == key {
			return r.ID
		}
	}
	b.t.Fatal("no role " + key)
	return 0
}

// A rule depends on its maker's current permissions, and reveals nothing that its maker could not see.
func TestJoinRuleLimits(t *testing.T) {
	t.Parallel()
	b := newBundle(t, withProviders)
	agent, owner := b.role(identity.RoleAgent), b.role(identity.RoleOwner)
	good := identity.JoinRuleInput{Provider: "work", Domain: "example.org", RoleIDs: []int64{agent}}
	admin := b.joined("admin", b.role(identity.RoleAdmin), nil)
	for name, test := range map[string]struct {
		by     *helpdesk.Desk
		change func(*identity.JoinRuleInput)
		kind   fault.Kind
	}{
		"more than the maker holds": {admin, func(in *identity.JoinRuleInput) { in.RoleIDs = []int64{owner} }, fault.Forbidden},
		"an agent":                  {b.member(identity.RoleAgent), func(*identity.JoinRuleInput) {}, fault.Forbidden},
		"all mailboxes, by a limited one": {b.joined("limited", b.role(identity.RoleAdmin), []int64{b.mailbox.ID}),
			func(*identity.JoinRuleInput) {}, fault.Forbidden},
		"no role":               {b.desk, func(in *identity.JoinRuleInput) { in.RoleIDs = nil }, fault.Invalid},
		"an unknown role":       {b.desk, func(in *identity.JoinRuleInput) { in.RoleIDs = []int64{999} }, fault.NotFound},
		"an unknown mailbox":    {b.desk, func(in *identity.JoinRuleInput) { in.MailboxIDs = []int64{999} }, fault.NotFound},
		"an unknown provider":   {b.desk, func(in *identity.JoinRuleInput) { in.Provider = "x" }, fault.Invalid},
		"no provider of two":    {b.desk, func(in *identity.JoinRuleInput) { in.Provider = "" }, fault.Invalid},
		"not vouched for":       {b.desk, func(in *identity.JoinRuleInput) { in.Provider = "open" }, fault.Invalid},
		"no domain":             {b.desk, func(in *identity.JoinRuleInput) { in.Domain = "" }, fault.Invalid},
		"an address":            {b.desk, func(in *identity.JoinRuleInput) { in.Domain = "ada@example.org" }, fault.Invalid},
		"everybody's addresses": {b.desk, func(in *identity.JoinRuleInput) { in.Domain = "gmail.com" }, fault.Invalid},
		"an ending":             {b.desk, func(in *identity.JoinRuleInput) { in.Domain = "co.uk" }, fault.Invalid},
	} {
		in := good
		test.change(&in)
		if _, err := test.by.JoinRules().Create(b.ctx, in); !fault.Is(err, test.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	rule := must(admin.JoinRules().Create(b.ctx, good))(t)
	if _, err := b.desk.JoinRules().Create(b.ctx, good); !fault.Is(err, fault.Invalid) {
		t.Errorf("a second one: %v", err)
	}
	applies := func() bool { return must(b.desk.JoinRules().Apply(b.ctx, []identity.JoinRule{rule}))(t)[rule.ID] }
	if !applies() {
		t.Error("the rule does not apply")
	}
	if err := b.desk.Members().Remove(b.ctx, membershipOf(t, b.ctx, admin).ID); err != nil {
		t.Fatal(err)
	}
	if applies() {
		t.Error("the rule of somebody who has left applies")
	}
	if _, err := b.arrive("work", proven{Subject: "1", Email: "new@example.org", EmailVerified: true}); faultCode(err) != identity.UnknownIdentity {
		t.Errorf("it makes members: %v", err)
	}
	must(b.desk.JoinRules().Update(b.ctx, rule.ID, good))(t)
	rule = must(b.desk.JoinRules().Get(b.ctx, rule.ID))(t)
	if !applies() || rule.UserID != b.owner.ID {
		t.Errorf("who saves it again vouches for it: %+v", rule)
	}
}

// grantCounter counts the reads of grants, roles and mailboxes.
type grantCounter struct {
	helpdesk.Store
	grants, readers atomic.Int64
}

func (c *grantCounter) Grant(ctx context.Context, userID, accountID int64) (identity.Grant, error) {
	c.grants.Add(1)
	return c.Store.Grant(ctx, userID, accountID)
}

func (c *grantCounter) Within(s helpdesk.Scope) helpdesk.Reader {
	c.readers.Add(1)
	return c.Store.Within(s)
}

// Whether rules apply is read at once for all of them.
func TestJoinRulesApplyTogether(t *testing.T) {
	t.Parallel()
	var store *grantCounter
	b := newBundle(t, func(cfg *helpdesk.Config) {
		cfg.Providers = []identity.Provider{idp("work", "d0.example", "d1.example", "d2.example", "d3.example", "d4.example", "d5.example")}
		store = &grantCounter{Store: cfg.Store}
		cfg.Store = store
	})
	admin := b.joined("admin", b.role(identity.RoleAdmin), nil)
	left := b.joined("left", b.role(identity.RoleAdmin), nil)
	var rules []identity.JoinRule
	want := map[int64]bool{}
	for n, by := range []*helpdesk.Desk{b.desk, admin, left, admin, left, b.desk} {
		in := identity.JoinRuleInput{Provider: "work", Domain: fmt.Sprintf("d%d.example", n), RoleIDs: []int64{b.role(identity.RoleAgent)}}
		if n%2 == 1 {
			in.MailboxIDs = []int64{b.mailbox.ID}
		}
		rule := must(by.JoinRules().Create(b.ctx, in))(t)
		rules, want[rule.ID] = append(rules, rule), by != left
	}
	if err := b.desk.Members().Remove(b.ctx, membershipOf(t, b.ctx, left).ID); err != nil {
		t.Fatal(err)
	}
	// A rule that a store returns never grants more than its maker's permissions, regardless of the other rules.
	beyond := rules[1]
	beyond.ID, beyond.RoleIDs = 900, []int64{b.role(identity.RoleOwner)}
	gone := rules[1]
	gone.ID, gone.MailboxIDs = 901, []int64{b.mailbox.ID, 999}
	rules, want[900], want[901] = append(rules, beyond, gone), false, false
	store.grants.Store(0)
	store.readers.Store(0)
	if diff := cmp.Diff(want, must(b.desk.JoinRules().Apply(b.ctx, rules))(t)); diff != "" {
		t.Error(diff)
	}
	if grants, readers := store.grants.Load(), store.readers.Load(); grants > 3 || readers > 5 {
		t.Errorf("%d grants, %d readers for 3 makers of %d rules", grants, readers, len(rules))
	}
}

// If the account requires a second factor, the provider's counts if it reports one, also for tokens created in the session.
func TestIdentityAndSecondFactor(t *testing.T) {
	t.Parallel()
	for strong, want := range map[bool]bool{true: true, false: false} {
		b := newBundle(t, withProviders)
		must(b.desk.JoinRules().Create(b.ctx, identity.JoinRuleInput{Provider: "work", Domain: "example.org", RoleIDs: []int64{b.role(identity.RoleAgent)}}))(t)
		must(b.desk.Account().Update(b.ctx, identity.AccountUpdate{Name: "Acme", RequireSecondFactor: storage.Some(true)}))(t)
		in := must(b.arrive("work", proven{Subject: "1", Email: "ada@example.org", EmailVerified: true, SecondFactor: strong}))(t)
		session := must(b.svc.SignIn().StartSession(b.ctx, in.Caller, "Firefox"))(t)
		c := must(b.svc.Authenticate(b.ctx, session.Secret))(t)
		admin := must(b.svc.Admin(b.ctx, c))(t)
		_, secret, err := admin.CreateOwnToken(b.ctx, identity.TokenInput{Name: "Script"})
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]helpdesk.Caller{"sign-in": in.Caller, "session": c, "token": must(b.svc.Authenticate(b.ctx, secret))(t)} {
			_, err := b.svc.Desk(b.ctx, c, b.account.ID)
			if (err == nil) != want || !want && faultCode(err) != identity.SecondFactorRequired {
				t.Errorf("%s after two factors %v: %v", name, strong, err)
			}
		}
	}
}

// An admin disconnects a member, whose sessions end.
func TestUnlinkMember(t *testing.T) {
	t.Parallel()
	b := newBundle(t, withProviders)
	must(b.desk.JoinRules().Create(b.ctx, identity.JoinRuleInput{Provider: "work", Domain: "example.org", RoleIDs: []int64{b.role(identity.RoleAgent)}}))(t)
	in := must(b.arrive("work", proven{Subject: "1", Email: "ada@example.org", EmailVerified: true}))(t)
	session := must(b.svc.SignIn().StartSession(b.ctx, in.Caller, "Firefox"))(t)
	m := membershipOf(t, b.ctx, must(b.svc.Desk(b.ctx, in.Caller, b.account.ID))(t))
	if err := b.desk.Members().Unlink(b.ctx, m.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.svc.Authenticate(b.ctx, session.Secret); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("the session lives: %v", err)
	}
	// Somebody else has the address now.
	again := must(b.arrive("work", proven{Subject: "2", Email: "ada@example.org", EmailVerified: true}))(t)
	if again.Caller.UserID() != in.Caller.UserID() {
		t.Error("the address finds another user")
	}
}

func TestProviderConfig(t *testing.T) {
	t.Parallel()
	twice := idp("work")
	twice.Domains = []string{"Example.org"}
	_, err := helpdesk.New(helpdesk.Config{Providers: []identity.Provider{idp("work"), twice, {Key: "A b"}}})
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for field := range f.Fields {
		got[field] = true
	}
	for _, want := range []string{
		"Providers[1].Key", "Providers[1].Issuer", "Providers[1].Domains", "Providers[2].Key", "Providers[2].Name", "Providers[2].Issuer", "Providers[2].Begin", "Providers[2].Finish",
	} {
		if !got[want] {
			t.Errorf("%s is not named: %v", want, f.Fields)
		}
	}
}
