package helpdesk

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

const (
	attemptLife    = 10 * time.Minute
	attemptContext = "identity attempt"
	maxNext        = 1000 // bytes of the page to go on to; a longer one is forgotten
)

// attempt is what the browser keeps, sealed, while its user is at a provider.
type attempt struct {
	Provider string    `json:"provider"`
	Secret   []byte    `json:"secret"`
	Next     string    `json:"next,omitempty"`
	User     int64     `json:"user,omitempty"` // who connects the provider; 0: somebody signs in
	Until    time.Time `json:"until"`
}

// BeginWith begins to sign in with a provider, by its key: [SignIn.FinishWith] is called when the browser has
// come back. next is what that returns; the caller checks it. A provider that cannot be reached is an Unavailable fault.
func (s SignIn) BeginWith(ctx context.Context, provider, next string) (identity.SignInStart, error) {
	return s.svc.beginAttempt(ctx, attempt{Provider: provider, Next: next})
}

// BeginLink begins to connect a provider with the caller, whose password proves who asks, where there is one:
// [SignIn.FinishWith] goes on. A caller with a token that has scopes may not.
func (a *Admin) BeginLink(ctx context.Context, password, provider, next string) (identity.SignInStart, error) {
	if _, err := a.provenBy(ctx, password); err != nil {
		return identity.SignInStart{}, err
	}
	return a.svc.beginAttempt(ctx, attempt{Provider: provider, Next: next, User: a.userID})
}

func (s *Service) beginAttempt(ctx context.Context, a attempt) (identity.SignInStart, error) {
	p, err := s.provider(a.Provider)
	if err != nil {
		return identity.SignInStart{}, err
	}
	if len(a.Next) > maxNext {
		a.Next = ""
	}
	var start identity.SignInStart
	if start.Address, a.Secret, err = p.Begin(ctx); err != nil {
		return identity.SignInStart{}, err
	}
	a.Until = s.now().Add(attemptLife)
	text, err := json.Marshal(a)
	if err != nil {
		return identity.SignInStart{}, fault.Wrap(fault.Internal, "making an attempt", err)
	}
	sealed, err := s.cfg.Sealer.Seal(text, attemptContext)
	if err != nil {
		return identity.SignInStart{}, fault.Wrap(fault.Internal, "sealing an attempt", err)
	}
	start.Kept = passwordTokens.EncodeToString(sealed)
	return start, nil
}

// resume opens what a browser has kept.
func (s *Service) resume(provider, kept string) (attempt, error) {
	over := &fault.Error{Kind: fault.Unauthenticated, Code: identity.SignInExpired, Message: "Sign-in took too long or was started in another browser. Sign in again."}
	var a attempt
	sealed, err := passwordTokens.DecodeString(kept)
	if err != nil || kept == "" {
		return a, over
	}
	text, err := s.cfg.Sealer.Open(sealed, attemptContext)
	if err != nil || json.Unmarshal(text, &a) != nil || a.Provider != provider || !s.now().Before(a.Until) {
		return attempt{}, over
	}
	return a, nil
}

// SignedInWith is what came of a sign-in with an identity provider.
type SignedInWith struct {
	Caller Caller // to start a session of, see [SignIn.StartSession]
	Next   string // what [SignIn.BeginWith] was given; also where there is an error about the user
	Linked bool   // it was to connect the provider with Caller, who was signed in; also where there is an error
}

// FinishWith finds the user who has signed in with a provider, by what the browser kept and came back with. Of a
// connection that [Admin.BeginLink] began, current must be who began it; otherwise current does not matter.
//
// A known identity is its user's, whatever the address is now. An unknown one becomes that of the user whose address the
// provider vouches for, see [identity.Provider], if the user has confirmed the address here and is nobody else at the
// provider; and where no user has the address, a user is made if a [identity.JoinRule] is for them. Else the fault is
// Forbidden.
//
// Rules apply to who comes by an identity for the first time, and after a rule was made or changed: who was removed from an
// account stays out until then.
//
// The fault is as of [SignIn.WithPassword] for a disabled user, and for one who has a second factor, unless the provider has
// asked for one.
func (s SignIn) FinishWith(ctx context.Context, current Caller, provider, kept string, answer url.Values) (SignedInWith, error) {
	began, err := s.svc.resume(provider, kept)
	if err != nil {
		return SignedInWith{}, err
	}
	out := SignedInWith{Next: began.Next, Linked: began.User != 0}
	p, err := s.svc.provider(provider)
	if err != nil {
		return out, err
	}
	if began.User != 0 && (current.userID != began.User || len(current.scopes) > 0) {
		return out, &fault.Error{Kind: fault.Forbidden, Code: identity.SignInExpired, Message: "Someone else is signed in now. Start again."}
	}
	who, err := p.Finish(ctx, began.Secret, answer)
	if err != nil {
		return out, err
	}
	if who.Subject == "" || len(who.Subject) > 1000 {
		return out, fault.New(fault.Unauthenticated, "The provider did not say who you are.")
	}
	if began.User != 0 {
		out.Caller = current
		return out, s.svc.link(ctx, p, who, current)
	}
	var user identity.User
	err = retryUnique(func() error { // of two who come first at the same time, one finds what the other made
		user, err = s.svc.identified(ctx, p, who)
		return err
	}, identity.UniqueUserIdentity, identity.UniqueUserEmail, identity.UniqueMembership)
	switch {
	case err != nil:
		return out, err
	case user.Disabled():
		return out, disabledUser()
	case user.HasSecondFactor() && !who.SecondFactor:
		return out, s.svc.needsCode(ctx, user)
	}
	out.Caller = Caller{userID: user.ID, signed: true, factors: 1}
	if who.SecondFactor {
		out.Caller.factors = 2
	}
	return out, nil
}

// identified is the user of an linked, made a member as rules say.
func (s *Service) identified(ctx context.Context, p identity.Provider, who identity.Proven) (identity.User, error) {
	store := s.cfg.Store
	linked, err := store.IdentityBySubject(ctx, p.Issuer, who.Subject)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return identity.User{}, err
	}
	var user identity.User
	if linked.ID != 0 {
		user, err = store.User(ctx, linked.UserID)
	} else {
		user, err = s.addressed(ctx, p, who)
	}
	if err != nil || user.Disabled() {
		return user, err
	}
	rules, err := s.rulesFor(ctx, p, who, linked.UsedAt)
	if err != nil {
		return identity.User{}, err
	}
	if user.ID == 0 && len(rules) == 0 {
		return identity.User{}, strangerAt(p, who)
	}
	known := user.ID != 0
	err = s.beginSystem(0)(ctx, func(ctx context.Context, tx SystemTx) error {
		if known {
			if user, err = tx.UserForUpdate(ctx, user.ID); err != nil || user.Disabled() {
				return err
			}
		} else {
			user.ID = 0 // fn may run again
			if err := tx.InsertUser(ctx, &user); err != nil {
				return err
			}
		}
		if err := s.admit(ctx, tx, user, rules); err != nil {
			return err
		}
		now := s.now()
		if linked.ID != 0 {
			linked.Email, linked.UsedAt = shownEmail(who), now
			return tx.UpdateIdentity(ctx, &linked)
		}
		return s.keepIdentity(ctx, tx, 0, identity.Identity{UserID: user.ID, Issuer: p.Issuer, Subject: who.Subject, Email: shownEmail(who), CreatedAt: now, UsedAt: now}, !known)
	})
	return user, err
}

// keepIdentity stores an identity that was not known, of a user who is fresh or was there.
func (s *Service) keepIdentity(ctx context.Context, tx SystemTx, tokenID int64, i identity.Identity, fresh bool) error {
	if err := tx.InsertIdentity(ctx, &i); err != nil {
		return err
	}
	if fresh { // whoever has just become a user knows it
		return s.note(ctx, tx, auditIdentity, i.ID, i.UserID, tokenID)
	}
	return s.ownCredentialChanged(ctx, tx, auditIdentity, i.ID, i.UserID, tokenID, s.providerName(i.Issuer))
}

// shownEmail is an address as a provider tells it, for people to know the identity by.
func shownEmail(who identity.Proven) string { return plain.Cut(plain.Line(who.Email), 254) }

// addressed is the user of an unknown identity by its address: one who is there, or one to be made.
func (s *Service) addressed(ctx context.Context, p identity.Provider, who identity.Proven) (identity.User, error) {
	email, _ := p.AddressOf(who)
	if email == "" {
		return identity.User{}, strangerAt(p, who)
	}
	user, err := s.cfg.Store.UserByEmail(ctx, mailaddr.Key(email))
	if fault.Is(err, fault.NotFound) {
		now := s.now()
		name := plain.Cut(plain.Line(who.Name), 200)
		if name == "" {
			name, _, _ = plain.CutLast(email, "@")
		}
		return identity.User{Name: name, Email: email, EmailKey: mailaddr.Key(email), EmailVerifiedAt: now, CreatedAt: now, UpdatedAt: now}, nil
	}
	if err != nil || user.Disabled() {
		return user, err
	}
	if user.EmailVerifiedAt.IsZero() { // somebody may have taken the address, and wait for its owner
		return identity.User{}, &fault.Error{
			Kind: fault.Forbidden, Code: identity.UnconfirmedIdentity,
			Message: "A user has your address, but it was never confirmed here. Sign in with the password, then connect " + p.Name + " in your settings.",
		}
	}
	others, err := s.cfg.Store.IdentitiesOf(ctx, user.ID)
	if err != nil {
		return identity.User{}, err
	}
	if slices.ContainsFunc(others, func(i identity.Identity) bool { return i.Issuer == p.Issuer }) { // the address may have a new owner
		return identity.User{}, &fault.Error{
			Kind: fault.Forbidden, Code: identity.OtherIdentity,
			Message: "Your address belongs to someone else at " + p.Name + ". Ask an admin to disconnect the old sign-in.",
		}
	}
	return user, nil
}

// strangerAt refuses somebody whom nobody here knows.
func strangerAt(p identity.Provider, who identity.Proven) error {
	message := "Nobody here signs in with this " + p.Name + " account. Ask for an invitation, or sign in with your password and connect it in your settings."
	if who.Email != "" && !who.EmailVerified {
		message = p.Name + " has not confirmed your mail address. Confirm it there, then sign in again."
	}
	return &fault.Error{Kind: fault.Forbidden, Code: identity.UnknownIdentity, Message: message}
}

// rulesFor are the rules that make a member of somebody who was here last at a time, zero for never.
func (s *Service) rulesFor(ctx context.Context, p identity.Provider, who identity.Proven, since time.Time) ([]identity.JoinRule, error) {
	_, domain := p.AddressOf(who)
	if domain == "" {
		return nil, nil
	}
	all, err := joinRuleNoun().Find(ctx, s.cfg.Store, identity.JoinRuleFilter{Issuer: p.Issuer, Domain: domain})
	if err != nil {
		return nil, err
	}
	var rules []identity.JoinRule
	for _, rule := range all {
		if !since.IsZero() && rule.UpdatedAt.Before(since) {
			continue
		}
		holds, err := s.rulesHold(ctx, rule.AccountID, []identity.JoinRule{rule}) // an account has no second one
		if err != nil {
			return nil, err
		}
		if holds[rule.ID] {
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

// admit makes a user a member of accounts that they are no member of.
func (s *Service) admit(ctx context.Context, system SystemTx, user identity.User, rules []identity.JoinRule) error {
	for _, rule := range rules {
		_, err := system.Grant(ctx, user.ID, rule.AccountID)
		if err == nil {
			continue
		}
		if !fault.Is(err, fault.NotFound) {
			return err
		}
		now, tx := s.now(), system.Within(Scope{AccountID: rule.AccountID})
		m := newMembership(user.ID, rule.RoleIDs, now)
		m.MailboxIDs = rule.MailboxIDs
		if err := tx.Memberships().Insert(ctx, &m); err != nil {
			return err
		}
		event := storage.Event{Type: "membership.created", Subject: m.ID, ActorID: user.ID, Data: eventData(m.ID), Time: now}
		if err := tx.Emit(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

// link connects an identity with a user who is signed in.
func (s *Service) link(ctx context.Context, p identity.Provider, who identity.Proven, c Caller) error {
	taken := &fault.Error{Kind: fault.Conflict, Code: identity.TakenIdentity, Message: "This " + p.Name + " account is connected to another user here."}
	known, err := s.cfg.Store.IdentityBySubject(ctx, p.Issuer, who.Subject)
	switch {
	case err == nil && known.UserID == c.userID:
		return nil
	case err == nil:
		return taken
	case !fault.Is(err, fault.NotFound):
		return err
	}
	err = s.beginSystem(c.tokenID)(ctx, func(ctx context.Context, tx SystemTx) error {
		user, err := tx.UserForUpdate(ctx, c.userID)
		if err != nil {
			return err
		}
		if user.Disabled() {
			return disabledUser()
		}
		now := s.now()
		return s.keepIdentity(ctx, tx, c.tokenID, identity.Identity{UserID: c.userID, Issuer: p.Issuer, Subject: who.Subject, Email: shownEmail(who), CreatedAt: now, UsedAt: now}, false)
	})
	if isUnique(err, identity.UniqueUserIdentity) {
		return taken
	}
	return err
}

// Identities are those that the caller can sign in with, by id.
func (a *Admin) Identities(ctx context.Context) ([]identity.Identity, error) {
	dir, err := a.guard.Read(ownUser)
	if err != nil {
		return nil, err
	}
	return dir.IdentitiesOf(ctx, a.userID)
}

// Unlink disconnects an identity of the caller, whose password proves who asks, where there is one. The last way to sign in
// is a Conflict fault with code last_sign_in. A caller with a token that has scopes may not.
func (a *Admin) Unlink(ctx context.Context, password string, id int64) error {
	return identities().removeOwn(ctx, a, password, id)
}

func (s *Service) dropIdentity(ctx context.Context, tx SystemTx, _ *identity.User, i identity.Identity, actorID, tokenID int64) error {
	if err := tx.DeleteIdentity(ctx, i.UserID, i.ID); err != nil {
		return err
	}
	return s.credentialChanged(ctx, tx, i.UserID, s.entry(auditIdentityGone, i.ID, actorID, tokenID, s.now()), s.providerName(i.Issuer))
}

// Unlink disconnects all identities of a member, under the conditions of [Members.Disable], and ends the member's
// sessions: for somebody who is another at the provider now. Who has no password can ask for one by mail, as in
// [SignIn.ForgotPassword], or sign in with the provider again.
func (d Members) Unlink(ctx context.Context, membershipID int64) error {
	return d.aboutUser(ctx, membershipID, func(ctx context.Context, tx SystemTx, userID int64) error {
		return identities().removeAll(ctx, tx, d.svc, userID, d.userID, d.caller.tokenID)
	})
}
