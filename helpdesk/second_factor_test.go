package helpdesk_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// factored is a user with a second factor.
type factored struct {
	*bundle
	user   identity.User
	secret string
	codes  []string // for recovery
}

const lisesPassword = "correct horse"

func newFactored(t *testing.T, change ...func(*helpdesk.Config)) *factored {
	t.Helper()
	w := &factored{bundle: newBundle(t, change...)}
	w.user = must(w.svc.Operator().CreateUser(w.ctx, identity.UserInput{Name: "Lise", Email: "lise@example.org", Password: lisesPassword}))(t)
	must(w.svc.Operator().AddMember(w.ctx, w.account.ID, w.user.ID, identity.RoleAgent))(t)
	begun := must(w.admin().BeginSecondFactor(w.ctx, lisesPassword, "Halden"))(t)
	w.secret = begun.Secret
	w.codes = must(w.admin().ConfirmSecondFactor(w.ctx, w.app()))(t)
	return w
}

func (w *factored) admin() *helpdesk.Admin {
	w.t.Helper()
	return must(w.svc.Admin(w.ctx, w.svc.As(w.user.ID)))(w.t)
}

// app is the next code of the app: half a minute has passed.
func (w *factored) app() string {
	w.clock.Add(30 * time.Second)
	return testenv.AppCode(w.secret, w.clock.Now())
}

// password signs in as far as that goes with the password alone.
func (w *factored) password() (token string, err error) {
	_, err = w.svc.SignIn().WithPassword(w.ctx, w.user.Email, lisesPassword)
	if step, ok := errors.AsType[*helpdesk.SecondStep](err); ok {
		return step.Token, err
	}
	return "", err
}

func (w *factored) actions() (all []string) {
	w.t.Helper()
	for _, e := range must(w.desk.Account().AuditLog(w.ctx, helpdesk.AuditFilter{}, storage.PageRequest{}))(w.t).Items {
		if e.Subject == w.user.ID && strings.HasPrefix(e.Action, "user.") {
			all = append(all, e.Action)
		}
	}
	slices.Reverse(all)
	return all
}

// A second factor is set up with the password and a code, required from then on, and no code is accepted twice.
func TestSecondFactor(t *testing.T) {
	t.Parallel()
	w := newFactored(t)
	token, err := w.password()
	if codeOf(err) != identity.SecondFactorRequired || !fault.Is(err, fault.Unauthenticated) || token == "" {
		t.Fatalf("%q %v", token, err)
	}
	if _, err := w.svc.SignIn().WithPassword(w.ctx, w.user.Email, "wrong horse"); codeOf(err) == identity.SecondFactorRequired {
		t.Error("whoever does not know the password learns that there is a second factor")
	}
	code := w.app()
	caller := must(w.svc.SignIn().WithCode(w.ctx, token, code[:3]+" "+code[3:]))(t)
	if caller.UserID() != w.user.ID {
		t.Errorf("%+v", caller)
	}
	for name, bad := range map[string]string{
		"a replay": code, "one before": testenv.AppCode(w.secret, w.clock.Now().Add(-30*time.Second)),
		"nothing": "", "no code for recovery": "AAAA-AAAA-AAAA",
	} {
		if _, err := w.svc.SignIn().WithCode(w.ctx, token, bad); codeOf(err) != "wrong_code" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.svc.SignIn().WithCode(w.ctx, token, testenv.AppCode(w.secret, w.clock.Now().Add(time.Minute))); err == nil {
		t.Error("two periods ahead")
	}
	w.clock.Add(10 * time.Second) // the next try does not have to wait
	ahead := testenv.AppCode(w.secret, w.clock.Now().Add(30*time.Second))
	must(w.svc.SignIn().WithCode(w.ctx, token, ahead))(t)
	want := []string{"user.second_factor_added", "user.login_failed"}
	if diff := cmp.Diff(want, w.actions()); diff != "" {
		t.Error(diff)
	}
	state := must(w.admin().SecondFactor(w.ctx))(t)
	if state.Since.IsZero() || state.RecoveryCodes != 10 {
		t.Errorf("%+v", state)
	}
}

// Each code for recovery serves once, however it is written; new ones take the place of the old.
func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	w := newFactored(t)
	if len(w.codes) != 10 || len(slices.Compact(slices.Sorted(slices.Values(w.codes)))) != 10 {
		t.Fatal(w.codes)
	}
	token, _ := w.password()
	must(w.svc.SignIn().WithCode(w.ctx, token, strings.ToLower(strings.ReplaceAll(w.codes[3], "-", " "))))(t)
	if _, err := w.svc.SignIn().WithCode(w.ctx, token, w.codes[3]); codeOf(err) != "wrong_code" {
		t.Errorf("twice: %v", err)
	}
	if state := must(w.admin().SecondFactor(w.ctx))(t); state.RecoveryCodes != 9 {
		t.Errorf("%+v", state)
	}
	if _, err := w.admin().RenewRecoveryCodes(w.ctx, "000000"); !fault.Is(err, fault.Invalid) {
		t.Errorf("with a wrong code: %v", err)
	}
	fresh := must(w.admin().RenewRecoveryCodes(w.ctx, w.app()))(t)
	if _, err := w.svc.SignIn().WithCode(w.ctx, token, w.codes[0]); codeOf(err) != "wrong_code" {
		t.Errorf("an old one: %v", err)
	}
	must(w.svc.SignIn().WithCode(w.ctx, token, fresh[9]))(t)
	stored := must(w.store.User(w.ctx, w.user.ID))(t)
	for _, secret := range append(fresh, w.secret) {
		if strings.Contains(string(stored.SealedSecondFactor), strings.ReplaceAll(secret, "-", "")) {
			t.Error("a secret is stored as it is")
		}
	}
}

// If many use a code at the same time, one signs in.
func TestCodeServesOnce(t *testing.T) {
	t.Parallel()
	w := newFactored(t)
	token, _ := w.password()
	code := w.app()
	var wg sync.WaitGroup
	var mu sync.Mutex
	in := 0
	for range 4 {
		wg.Go(func() {
			_, err := w.svc.SignIn().WithCode(w.ctx, token, code)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				in++
			}
		})
	}
	if wg.Wait(); in != 1 {
		t.Errorf("%d signed in", in)
	}
}

// Whoever has the password guesses few codes, from however many addresses; tokens of the first step are bound.
func TestGuessingCodes(t *testing.T) {
	t.Parallel()
	w := newFactored(t)
	token, _ := w.password()
	waits := 0
	for n := range 20 {
		svc := w.svc.From(netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}))
		if _, err := svc.SignIn().WithCode(w.ctx, token, "123456"); fault.Is(err, fault.RateLimited) {
			waits++
		} else if codeOf(err) != "wrong_code" {
			t.Fatal(err)
		}
	}
	if waits < 14 {
		t.Errorf("only %d of 20 had to wait", waits)
	}
	if _, err := w.svc.SignIn().WithCode(w.ctx, token, w.app()); err != nil {
		t.Errorf("later: %v", err)
	}
	for name, bad := range map[string]string{
		"none": "", "no token": "hws_", "of passwords": must(w.svc.Operator().CreatePasswordToken(w.ctx, w.user.ID, time.Hour))(t),
		"changed": forged(token), "longer": token + "AA",
	} {
		if _, err := w.svc.SignIn().WithCode(w.ctx, bad, w.app()); codeOf(err) != "sign_in_expired" {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(w.admin().UpdateMe(w.ctx, identity.UserUpdate{Password: "another horse", CurrentPassword: lisesPassword}))(t)
	if _, err := w.svc.SignIn().WithCode(w.ctx, token, w.app()); codeOf(err) != "sign_in_expired" {
		t.Errorf("after another password: %v", err)
	}
	w = newFactored(t)
	token, _ = w.password()
	w.clock.Add(10 * time.Minute)
	if _, err := w.svc.SignIn().WithCode(w.ctx, token, w.app()); codeOf(err) != "sign_in_expired" {
		t.Errorf("after ten minutes: %v", err)
	}
	token, _ = w.password()
	must(w.svc.Operator().DisableUser(w.ctx, w.user.ID))(t)
	if _, err := w.svc.SignIn().WithCode(w.ctx, token, w.app()); codeOf(err) != "sign_in_expired" {
		t.Errorf("of a disabled user: %v", err)
	}
}

// A second factor cannot be set up or switched off without password and code; neither a mailed password link nor an
// invitation bypasses it.
func TestSecondFactorIsKept(t *testing.T) {
	t.Parallel()
	w := newFactored(t)
	if _, err := w.admin().BeginSecondFactor(w.ctx, lisesPassword, "x"); codeOf(err) != identity.SecondFactorPresent {
		t.Errorf("again: %v", err)
	}
	for name, err := range map[string]error{
		"begin without the password":      errOf(w.admin().BeginSecondFactor(w.ctx, "", "x")),
		"begin with a wrong one":          errOf(w.admin().BeginSecondFactor(w.ctx, "wrong horse", "x")),
		"switch off without the password": w.admin().RemoveSecondFactor(w.ctx, "", w.app()),
		"switch off with a wrong one":     w.admin().RemoveSecondFactor(w.ctx, "wrong horse", w.app()),
		"switch off without a code":       w.admin().RemoveSecondFactor(w.ctx, lisesPassword, ""),
		"switch off with a wrong code":    w.admin().RemoveSecondFactor(w.ctx, lisesPassword, "000000"),
	} {
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	link := must(w.svc.Operator().CreatePasswordToken(w.ctx, w.user.ID, time.Hour))(t)
	caller := must(w.svc.SignIn().ChoosePassword(w.ctx, link, identity.PasswordChoice{Password: lisesPassword}))(t)
	if caller.UserID() != 0 {
		t.Error("a link to choose a password signs in without a code")
	}
	other := must(w.svc.Operator().CreateAccount(w.ctx, identity.AccountInput{Name: "Other"}, w.owner.ID))(t)
	desk := must(w.svc.Desk(w.ctx, w.svc.As(w.owner.ID), other.ID))(t)
	_, invitation, err := desk.Members().Invite(w.ctx, identity.InvitationInput{Email: w.user.Email, RoleIDs: membershipOf(t, w.ctx, desk).RoleIDs})
	if err != nil {
		t.Fatal(err)
	}
	in := identity.AcceptInput{Password: lisesPassword}
	if _, err := w.svc.SignIn().AcceptInvitation(w.ctx, helpdesk.Caller{}, invitation, in); codeOf(err) != identity.SecondFactorRequired {
		t.Errorf("an invitation: %v", err)
	}
	in.Code = "000000"
	if _, err := w.svc.SignIn().AcceptInvitation(w.ctx, helpdesk.Caller{}, invitation, in); codeOf(err) != "wrong_code" {
		t.Errorf("an invitation with a wrong code: %v", err)
	}
	in.Code = w.app()
	must(w.svc.SignIn().AcceptInvitation(w.ctx, helpdesk.Caller{}, invitation, in))(t)
	if err := w.admin().RemoveSecondFactor(w.ctx, lisesPassword, w.app()); err != nil {
		t.Fatal(err)
	}
	must(w.svc.SignIn().WithPassword(w.ctx, w.user.Email, lisesPassword))(t)
}

// The operator, and an admin of the user's only account, remove a second factor that is lost; sessions end.
func TestResetSecondFactor(t *testing.T) {
	t.Parallel()
	for name, reset := range map[string]func(w *factored) error{
		"operator": func(w *factored) error { return w.svc.Operator().ResetSecondFactor(w.ctx, w.user.ID) },
		"admin": func(w *factored) error {
			for _, m := range must(w.desk.Members().List(w.ctx, storage.PageRequest{}))(w.t).Items {
				if m.UserID == w.user.ID {
					return w.member(identity.RoleAdmin).Members().ResetSecondFactor(w.ctx, m.ID)
				}
			}
			return errors.New("no member")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFactored(t)
			token, _ := w.password()
			session := must(w.svc.SignIn().StartSession(w.ctx, must(w.svc.SignIn().WithCode(w.ctx, token, w.app()))(t), ""))(t)
			if err := reset(w); err != nil {
				t.Fatal(err)
			}
			if _, err := w.svc.Authenticate(w.ctx, session.Secret); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("the session: %v", err)
			}
			must(w.svc.SignIn().WithPassword(w.ctx, w.user.Email, lisesPassword))(t)
			if got := w.actions(); got[len(got)-1] != "user.second_factor_removed" {
				t.Error(got)
			}
		})
	}
}

// An account that requires a second factor refuses users who sign in with a password only, with any token; users without a
// password sign in by other means.
func TestRequireSecondFactor(t *testing.T) {
	t.Parallel()
	w := newFactored(t)
	plain := must(w.svc.Operator().CreateUser(w.ctx, identity.UserInput{Email: "plain@example.org", Password: lisesPassword}))(t)
	machine := must(w.svc.Operator().CreateUser(w.ctx, identity.UserInput{Email: "machine@example.org"}))(t)
	callers := map[string]helpdesk.Caller{}
	for _, u := range []identity.User{plain, machine} {
		must(w.svc.Operator().AddMember(w.ctx, w.account.ID, u.ID, identity.RoleAgent))(t)
	}
	for _, u := range []identity.User{plain, machine, w.user} {
		_, secret, err := w.svc.Operator().CreateToken(w.ctx, u.ID, identity.TokenInput{Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		callers[u.Email+" token"] = must(w.svc.Authenticate(w.ctx, secret))(t)
		session := must(w.svc.SignIn().StartSession(w.ctx, w.svc.As(u.ID), ""))(t)
		callers[u.Email+" session"] = must(w.svc.Authenticate(w.ctx, session.Secret))(t)
		callers[u.Email+" trusted"] = w.svc.As(u.ID)
		callers[u.Email+" signed in"] = w.svc.AsSignedIn(u.ID)
	}
	callers["plain@example.org password"] = must(w.svc.SignIn().WithPassword(w.ctx, plain.Email, lisesPassword))(t)
	for _, required := range []bool{false, true} {
		name := must(w.desk.Account().Get(w.ctx))(t).Name
		account := must(w.desk.Account().Update(w.ctx, identity.AccountUpdate{Name: name, RequireSecondFactor: storage.Some(required)}))(t)
		if account.RequireSecondFactor != required {
			t.Errorf("%+v", account)
		}
		for who, c := range callers {
			_, err := w.svc.Desk(w.ctx, c, w.account.ID)
			refused := required && strings.HasPrefix(who, "plain") && !strings.HasSuffix(who, "trusted")
			if (err != nil) != refused || refused && (codeOf(err) != identity.SecondFactorRequired || !fault.Is(err, fault.Forbidden)) {
				t.Errorf("required %v: %s: %v", required, who, err)
			}
		}
	}
	admin := must(w.svc.Admin(w.ctx, callers["plain@example.org session"]))(t) // the way out stays open
	begun := must(admin.BeginSecondFactor(w.ctx, lisesPassword, "Halden"))(t)
	must(admin.ConfirmSecondFactor(w.ctx, testenv.AppCode(begun.Secret, w.clock.Now())))(t)
	must(w.svc.Desk(w.ctx, callers["plain@example.org session"], w.account.ID))(t)
}

func ExampleSignIn_WithCode() {
	ctx := context.Background()
	sealer, _ := storage.NewSealer(storage.NewSecretKey())
	svc, err := helpdesk.New(helpdesk.Config{Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: storage.NewSecretKey()})
	if err != nil {
		panic(err)
	}
	user, _ := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "ada@example.org", Password: "correct horse"})
	admin, _ := svc.Admin(ctx, svc.As(user.ID))
	begun, _ := admin.BeginSecondFactor(ctx, "correct horse", "Halden") // begun.URI becomes a QR code
	codes, _ := admin.ConfirmSecondFactor(ctx, testenv.AppCode(begun.Secret, time.Now()))
	_, err = svc.SignIn().WithPassword(ctx, "ada@example.org", "correct horse")
	fmt.Println(err)
	if step, ok := errors.AsType[*helpdesk.SecondStep](err); ok {
		caller, err := svc.SignIn().WithCode(ctx, step.Token, codes[0])
		fmt.Println(caller.UserID() == user.ID, err)
	}
	// Output:
	// Enter a code from your authenticator app to finish signing in.: a code of the second factor is needed
	// true <nil>
}

// A person who can read a user's mail cannot bypass the second factor by an invitation, even if the address is not verified
// yet; addresses of users created by the operator are not verified.
func TestInvitationKeepsSecondFactor(t *testing.T) {
	t.Parallel()
	w := newFactored(t)
	other := must(w.svc.Operator().CreateAccount(w.ctx, identity.AccountInput{Name: "Other"}, w.owner.ID))(t)
	desk := must(w.svc.Desk(w.ctx, w.svc.As(w.owner.ID), other.ID))(t)
	i, _, err := desk.Members().Invite(w.ctx, identity.InvitationInput{Email: w.user.Email, RoleIDs: membershipOf(t, w.ctx, desk).RoleIDs})
	if err != nil {
		t.Fatal(err)
	}
	var mailed string
	job := storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobInvite, AccountID: other.ID, Subject: i.ID}}
	must(w.svc.Outgoing().SystemMail(w.ctx, job, sending.MailLinks{Invitation: func(t string) string { mailed = t; return "link" }}))(t)
	in := identity.AcceptInput{Name: "Mallory", Password: "another horse"}
	if _, err := w.svc.SignIn().AcceptInvitation(w.ctx, helpdesk.Caller{}, mailed, in); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("with another password: %v", err)
	}
	if _, err := w.password(); codeOf(err) != identity.SecondFactorRequired {
		t.Errorf("signing in afterwards: %v", err)
	}
	// The operator, after verifying the owner of the address, can permit the change.
	if err := w.svc.Operator().ResetSecondFactor(w.ctx, w.user.ID); err != nil {
		t.Fatal(err)
	}
	must(w.svc.SignIn().AcceptInvitation(w.ctx, helpdesk.Caller{}, mailed, in))(t)
	must(w.svc.SignIn().WithPassword(w.ctx, w.user.Email, in.Password))(t)
}

// forged returns another token of the same length.
func forged(token string) string {
	at, other := len(token)-8, "A"
	if token[at:at+1] == other {
		other = "B"
	}
	return token[:at] + other + token[at+1:]
}
