package helpdesk

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// AccessToken lets a program act for a user. Only the hash of its secret is kept.
type AccessToken struct {
	ID         int64
	UserID     int64
	Name       string
	Hash       []byte       // SHA-256 of the secret
	Scopes     []Permission // at most these of the user's permissions; empty: all
	ExpiresAt  time.Time    // zero: never
	LastUsedAt time.Time    // exact to a minute
	CreatedAt  time.Time
	Session    bool // made by signing in, and ended by signing out
	// UserDisabled reports whether its user is disabled; only [Directory].TokenByHash sets it.
	UserDisabled bool
}

// ownUser is what changes the caller itself: a token with scopes may not.
const ownUser Permission = "user.update"

// newToken checks an input and makes the token of it; the secret is in the input then.
func (s *Service) newToken(userID int64, in *TokenInput) (AccessToken, error) {
	now := s.now()
	in.Name = cleanLine(in.Name)
	if in.Secret == "" {
		in.Secret = newSecret()
	}
	var problems fault.Collector
	required(&problems, "name", in.Name, 200)
	checkPermissions(&problems, "scopes", in.Scopes)
	problems.Check(in.ExpiresAt.IsZero() || in.ExpiresAt.After(now), "expires_at", "must be in the future")
	problems.Check(printable(in.Secret) && len(in.Secret) >= 20 && len(in.Secret) <= 200, "secret", "must be 20 to 200 printable characters")
	if err := problems.Err(); err != nil {
		return AccessToken{}, err
	}
	return AccessToken{
		UserID: userID, Name: in.Name, Hash: hashSecret(in.Secret), Scopes: in.Scopes,
		ExpiresAt: in.ExpiresAt.UTC().Truncate(time.Microsecond), CreatedAt: now,
	}, nil
}

// Tokens lists the caller's own access tokens by id, without the sessions.
func (a *Admin) Tokens(ctx context.Context, req storage.PageRequest) (storage.Page[AccessToken], error) {
	dir, err := a.guard.Read(anyMember)
	if err != nil {
		return storage.Page[AccessToken]{}, err
	}
	return storage.List(req, false, func(t AccessToken) storage.Position { return storage.Position{ID: t.ID} },
		func(seek storage.Seek) ([]AccessToken, error) { return dir.TokensOf(ctx, a.userID, false, seek) })
}

// exceeded reports whether a token would do more than the one the caller came with.
func (c Caller) exceeded(t AccessToken) bool {
	if !c.session && !c.expires.IsZero() && (t.ExpiresAt.IsZero() || t.ExpiresAt.After(c.expires)) {
		return true
	}
	narrow := setOf(c.scopes)
	wider := func(p Permission) bool { return !narrow[p] }
	return len(narrow) > 0 && (len(t.Scopes) == 0 || slices.ContainsFunc(t.Scopes, wider))
}

// CreateOwnToken makes an access token of the caller and returns its secret, which
// is not kept; a Secret in the input is ignored. A caller with a token that has
// scopes or an expiry can make one with some of these scopes only, and no later
// expiry, else the fault is Forbidden.
func (a *Admin) CreateOwnToken(ctx context.Context, in TokenInput) (AccessToken, string, error) {
	begin, err := a.guard.Write(anyMember)
	if err != nil {
		return AccessToken{}, "", err
	}
	in.Secret = ""
	token, err := a.svc.newToken(a.userID, &in)
	if err != nil {
		return AccessToken{}, "", err
	}
	if a.caller.exceeded(token) {
		return AccessToken{}, "", fault.New(fault.Forbidden, "A token cannot make one that may do more or lives longer: name scopes and an expiry that it has.")
	}
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		if err := tx.InsertToken(ctx, &token); err != nil {
			return err
		}
		return a.svc.note(ctx, tx, auditToken, token.ID, a.userID, a.caller.tokenID)
	})
	if err != nil {
		return AccessToken{}, "", err
	}
	return token, in.Secret, nil
}

// DeleteOwnToken makes an access token of the caller invalid. With a token that has
// scopes the caller can delete this one only, else the fault is Forbidden.
func (a *Admin) DeleteOwnToken(ctx context.Context, id int64) error {
	needed := ownUser
	if id != 0 && id == a.caller.tokenID {
		needed = anyMember
	}
	begin, err := a.guard.Write(needed)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx SystemTx) error {
		if err := tx.DeleteToken(ctx, a.userID, id); err != nil {
			return err
		}
		return a.svc.note(ctx, tx, auditTokenGone, id, a.userID, a.caller.tokenID)
	})
}
