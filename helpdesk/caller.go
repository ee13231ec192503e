package helpdesk

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
)

// TokenPrefix begins the secret of every access token, so that scanners for
// leaked secrets can find them.
const TokenPrefix = "hwp_"

// Caller is who asks: a user, at most with the scopes of a token. The zero Caller
// is nobody.
type Caller struct {
	userID  int64
	tokenID int64
	scopes  []Permission
	session bool
	signed  bool      // with a password, here
	expires time.Time // of the token; zero: never
}

// UserID is the caller's user, 0 for nobody.
func (c Caller) UserID() int64 { return c.userID }

// TokenID is the access token that was used, 0 when none was.
func (c Caller) TokenID() int64 { return c.tokenID }

// As trusts that the caller is the user: for applications that sign in users
// themselves.
func (s *Service) As(userID int64) Caller { return Caller{userID: userID} }

// AsSignedIn trusts that the user has signed in with [Service.SignIn]: for pages that keep a
// session of their own. Unlike [Service.As], it meets the rule of an account that asks its
// members for a second factor, see [Service.Desk].
func (s *Service) AsSignedIn(userID int64) Caller { return Caller{userID: userID, signed: true} }

// Authenticate finds the caller that an access token's secret belongs to. A secret
// that is unknown or expired, or a disabled user's, is an Unauthenticated fault.
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
		s.mark(ctx, mark{kind: tokenUsed, id: token.ID}, now)
	}
	return Caller{userID: token.UserID, tokenID: token.ID, scopes: token.Scopes, session: token.Session, expires: token.ExpiresAt}, nil
}

// SignIn finds the user that an address and a password belong to. Whatever is
// wrong, the answer is the same Unauthenticated fault, and takes as long; that of a disabled
// user with the right password has the code user_disabled. Where a user has a second factor, a
// right password gets one with code second_factor_required, see [SecondStep]. After several
// wrong passwords the next try has to wait: a RateLimited fault that says how long. What
// is counted are the tries that [Service.From] tells apart; from where a user has signed
// in before, tries from elsewhere do not count.
func (s *Service) SignIn(ctx context.Context, email, password string) (Caller, error) {
	user, err := s.cfg.Store.UserByEmail(ctx, EmailKey(email))
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Caller{}, err
	}
	if err := s.prove(ctx, user, email, password); err != nil {
		return Caller{}, err
	}
	if user.Disabled() { // who knows the password may know this
		return Caller{}, disabledUser()
	}
	if user.HasSecondFactor() {
		return Caller{}, s.needsCode(user)
	}
	return s.AsSignedIn(user.ID), nil
}

// prove checks a password of a user, of nobody when that is the zero user, whom an address was given for.
func (s *Service) prove(ctx context.Context, user User, email, password string) error {
	done, err := s.attempt(ctx, user.ID, email)
	if err != nil {
		return err
	}
	hash := user.PasswordHash
	if hash == "" {
		hash = noPassword
	}
	right, err := s.checkPassword(ctx, hash, password)
	if err == nil && (!right || user.PasswordHash == "") {
		err = fault.New(fault.Unauthenticated, "The address or the password is not right.")
	}
	done(err)
	if fault.Is(err, fault.Unauthenticated) {
		if err := s.failedLogin(ctx, user.ID, email); err != nil {
			return err
		}
	}
	return err
}

// Desk opens an account for a caller. A caller who is no member, or disabled, gets the same
// NotFound fault as for an account that does not exist; nobody gets Unauthenticated. Who came with
// an access token, a session or a password, and has a password, is Forbidden, with code second_factor_required,
// while the account asks for a second factor that they have not set up.
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
	if (c.tokenID != 0 || c.signed) && grant.lacksSecondFactor() {
		return nil, &fault.Error{
			Kind: fault.Forbidden, Resource: "account", ID: accountID, Code: SecondFactorRequired,
			Message: "This account asks its members for a second factor. Set one up first.",
		}
	}
	held := held(grant, c.scopes)
	scope := Scope{AccountID: accountID}
	if len(grant.Membership.MailboxIDs) > 0 {
		scope.Mailboxes = slices.Clone(grant.Membership.MailboxIDs)
	}
	allows := func(p Permission) bool { return p == anyMember || held[p] }
	return &Desk{
		svc: s, guard: s.member(scope, c.tokenID, allows), scope: scope, userID: c.userID, caller: c,
		membershipID: grant.Membership.ID, permissions: held,
	}, nil
}

// held is the union of the roles' permissions, narrowed to scopes when there are any.
func held(grant Grant, scopes []Permission) permissionSet {
	set := permissionSet{}
	narrow := setOf(scopes)
	for _, role := range resolve(grant.Roles) {
		for _, p := range role.Permissions {
			if len(scopes) == 0 || narrow[p] {
				set[p] = true
			}
		}
	}
	return set
}

// Admin gives a caller the handle above accounts. What needs a permission there
// needs it in at least one account of the caller. Nobody gets Unauthenticated.
func (s *Service) Admin(ctx context.Context, c Caller) (*Admin, error) {
	if c.userID == 0 {
		return nil, fault.New(fault.Unauthenticated, "Sign in first.")
	}
	canCreate, err := s.holdsSomewhere(ctx, c, AccountsCreate)
	if err != nil {
		return nil, err
	}
	allows := func(p Permission) bool {
		return p == anyMember || p == AccountsCreate && canCreate || p == ownUser && len(c.scopes) == 0 ||
			p == AccountsView && (len(c.scopes) == 0 || slices.Contains(c.scopes, AccountsView))
	}
	return &Admin{svc: s, userID: c.userID, caller: c, guard: guard.New(allows, Directory(s.cfg.Store), s.beginSystem(c.tokenID))}, nil
}

// Operator is the handle of whoever runs the program itself: the command line and
// embedding applications. It may do everything that [Admin] offers.
func (s *Service) Operator() *Admin {
	all := func(Permission) bool { return true }
	return &Admin{svc: s, guard: guard.New(all, Directory(s.cfg.Store), s.beginSystem(0))}
}

func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// newSecret is an access token with at least 128 random bits.
func newSecret() string { return TokenPrefix + rand.Text() + rand.Text()[:10] }
