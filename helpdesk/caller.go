package helpdesk

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
)

// Caller identifies the source of a request: a user, optionally restricted to a token's scopes. The zero Caller is
// anonymous.
type Caller struct {
	userID  int64
	tokenID int64
	scopes  []identity.Permission
	session bool
	signed  bool      // signed in through this service
	factors int       // see AccessToken.Factors
	expires time.Time // of the token; zero: never
}

// UserID returns the caller's user, or 0 for an anonymous caller.
func (c Caller) UserID() int64 { return c.userID }

// TokenID returns the access token that the caller used, or 0 if none.
func (c Caller) TokenID() int64 { return c.tokenID }

// actor returns the actor of the caller's changes: the access token of a program. It is zero for people, whom events name.
func (c Caller) actor() subscription.Actor {
	if c.tokenID == 0 || c.session {
		return subscription.Actor{}
	}
	return subscription.Actor{Type: subscription.ActorToken, ID: c.tokenID}
}

// As returns a caller for a user without any check, for applications that authenticate users themselves.
func (s *Service) As(userID int64) Caller { return Caller{userID: userID} }

// AsSignedIn returns a caller for a user who has signed in with [SignIn.WithPassword], without any check. It is for pages that
// keep their own session. Unlike [Service.As], it is subject to an account's second-factor requirement, see [Service.Desk].
func (s *Service) AsSignedIn(userID int64) Caller { return Caller{userID: userID, signed: true} }

// Authenticate returns the caller that an access token's secret belongs to. It returns an Unauthenticated fault if the
// secret is unknown or expired, or the user is disabled.
func (s *Service) Authenticate(ctx context.Context, secret string) (Caller, error) {
	token, err := s.cfg.Store.TokenByHash(ctx, hashSecret(secret))
	if fault.Is(err, fault.NotFound) {
		return Caller{}, fault.New(fault.Unauthenticated, "The access token is not valid.")
	}
	if err != nil {
		return Caller{}, err
	}
	if token.UserDisabled {
		return Caller{}, disabledUser()
	}
	now := s.now()
	if !token.ExpiresAt.IsZero() && !now.Before(token.ExpiresAt) {
		return Caller{}, fault.New(fault.Unauthenticated, "The access token has expired.")
	}
	if now.Sub(token.LastUsedAt) >= time.Minute {
		s.marks.Add(ctx, mark{kind: tokenUsed, id: token.ID}, now)
	}
	return Caller{userID: token.UserID, tokenID: token.ID, scopes: token.Scopes, session: token.Session, expires: token.ExpiresAt, factors: token.Factors}, nil
}

// SignIn has the ways by which people sign in: a password, a provider, a passkey or an invitation, and their sessions.
type SignIn struct{ svc *Service }

// SignIn returns the handle of sign-in.
func (s *Service) SignIn() SignIn { return SignIn{s} }

// WithPassword returns the user with this address and password. Every failure is the same Unauthenticated fault and takes equally
// long, with two exceptions that require the right password: a disabled user gets code user_disabled, and a user with a
// second factor gets code second_factor_required, see [SecondStep]. After several wrong passwords, the next attempt returns
// a RateLimited fault that contains the waiting time. Attempts are counted per client address, see [Service.From]. Attempts
// from other addresses do not block an address that the user has signed in from before.
func (s SignIn) WithPassword(ctx context.Context, email, password string) (Caller, error) {
	user, err := s.svc.cfg.Store.UserByEmail(ctx, mailaddr.Key(email))
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Caller{}, err
	}
	if err := s.svc.prove(ctx, user, email, password); err != nil {
		return Caller{}, err
	}
	if user.Disabled() { // the right password was given, so this leaks nothing
		return Caller{}, disabledUser()
	}
	if user.HasSecondFactor() {
		return Caller{}, s.svc.needsCode(ctx, user)
	}
	return s.svc.AsSignedIn(user.ID), nil
}

// prove checks the password given for an address. The zero user stands for an unknown address.
func (s *Service) prove(ctx context.Context, user identity.User, email, password string) error {
	done, err := s.attempt(ctx, user.ID, email)
	if err != nil {
		return err
	}
	hash := user.PasswordHash
	if hash == "" {
		hash = s.gate.cost.none()
	}
	right, err := s.checkPassword(ctx, hash, password)
	if err == nil && (!right || user.PasswordHash == "") {
		err = fault.New(fault.Unauthenticated, "The email address or password is incorrect.")
	}
	done(err)
	if fault.Is(err, fault.Unauthenticated) {
		if err := s.failedLogin(ctx, user.ID, email); err != nil {
			return err
		}
	}
	return err
}

// Desk opens an account for a caller. A caller who is not a member, or is disabled, gets the same NotFound fault as for an
// account that does not exist. An anonymous caller gets an Unauthenticated fault. If the account requires a second factor, a
// caller who authenticated with an access token, a session, a password or an identity provider gets a Forbidden fault with
// code second_factor_required, unless they have set up a second factor or the provider has asked for one. This concerns
// users who have a password or signed in with a provider.
func (s *Service) Desk(ctx context.Context, c Caller, accountID int64) (*Desk, error) {
	if c.userID == 0 {
		return nil, fault.New(fault.Unauthenticated, "Sign in first.")
	}
	grant, err := s.cfg.Store.Grant(ctx, c.userID, accountID)
	if fault.Is(err, fault.NotFound) || grant.Disabled {
		return nil, fault.Missing("account", accountID)
	}
	if err != nil {
		return nil, err
	}
	if (c.tokenID != 0 || c.signed) && grant.LacksSecondFactor(c.factors) {
		return nil, &fault.Error{
			Kind: fault.Forbidden, Resource: "account", ID: accountID, Code: identity.SecondFactorRequired,
			Message: "This account requires a second factor. Set one up first.",
		}
	}
	held := s.held(grant, c.scopes)
	scope := Scope{AccountID: accountID}
	if len(grant.Membership.MailboxIDs) > 0 {
		scope.Mailboxes = slices.Clone(grant.Membership.MailboxIDs)
	}
	allows := func(p identity.Permission) bool { return p == anyMember || held.Has(p) }
	return &Desk{desk{
		svc: s, guard: s.member(scope, c, allows), scope: scope, userID: c.userID, caller: c,
		membershipID: grant.Membership.ID, permissions: held,
	}}, nil
}

// held returns the union of the roles' permissions, narrowed to scopes if there are any.
func (s *Service) held(grant identity.Grant, scopes []identity.Permission) identity.Set {
	var set identity.Set
	for _, role := range s.registry.Resolve(grant.Roles) {
		if set == nil {
			set = slices.Clip(role.Permissions) // most members have one role
		} else {
			set = append(set, role.Permissions...)
		}
	}
	if len(scopes) > 0 {
		set = slices.DeleteFunc(slices.Clone(set), func(p identity.Permission) bool { return !slices.Contains(scopes, p) })
	}
	return set
}

// Admin opens the handle above accounts. Operations that require a permission require it in at least one of the caller's
// accounts. An anonymous caller gets an Unauthenticated fault.
func (s *Service) Admin(ctx context.Context, c Caller) (*Admin, error) {
	if c.userID == 0 {
		return nil, fault.New(fault.Unauthenticated, "Sign in first.")
	}
	canCreate, err := s.holdsSomewhere(ctx, c, identity.AccountsCreate)
	if err != nil {
		return nil, err
	}
	allows := func(p identity.Permission) bool {
		return p == anyMember || p == identity.AccountsCreate && canCreate || p == ownUser && len(c.scopes) == 0 ||
			p == identity.AccountsView && (len(c.scopes) == 0 || slices.Contains(c.scopes, identity.AccountsView))
	}
	return &Admin{svc: s, userID: c.userID, caller: c, guard: guard.New(allows, Directory(s.cfg.Store), s.beginSystem(c.tokenID))}, nil
}

// Operator returns the handle for whoever runs the program: the command line and embedding applications. It may do
// everything that [Admin] offers.
func (s *Service) Operator() *Admin {
	all := func(identity.Permission) bool { return true }
	return &Admin{svc: s, guard: guard.New(all, Directory(s.cfg.Store), s.beginSystem(0))}
}

func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// newSecret returns an access token with at least 128 random bits.
func newSecret() string { return identity.TokenPrefix + rand.Text() + rand.Text()[:10] }
