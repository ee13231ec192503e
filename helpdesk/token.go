package helpdesk

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// ownUser is the permission to change the caller's own user. Tokens with scopes lack it.
const ownUser identity.Permission = "user.update"

// newToken validates an input and returns its token; it leaves the secret in the input.
func (s *Service) newToken(userID int64, in *identity.TokenInput) (identity.AccessToken, error) {
	now := s.now()
	in.Name = plain.Line(in.Name)
	if in.Secret == "" {
		in.Secret = newSecret()
	}
	var problems fault.Collector
	required(&problems, "name", in.Name, 200)
	s.checkPermissions(&problems, "scopes", in.Scopes)
	problems.Check(in.ExpiresAt.IsZero() || in.ExpiresAt.After(now), "expires_at", "must be in the future")
	problems.Check(printable(in.Secret) && len(in.Secret) >= 20 && len(in.Secret) <= 200, "secret", "must be 20 to 200 printable characters")
	if err := problems.Err(); err != nil {
		return identity.AccessToken{}, err
	}
	return identity.AccessToken{
		UserID: userID, Name: in.Name, Hash: hashSecret(in.Secret), Scopes: in.Scopes,
		ExpiresAt: in.ExpiresAt.UTC().Truncate(time.Microsecond), CreatedAt: now,
	}, nil
}

// Tokens lists the caller's own access tokens by id, without the sessions.
func (a *Admin) Tokens(ctx context.Context, req storage.PageRequest) (storage.Page[identity.AccessToken], error) {
	dir, err := a.guard.Read(anyMember)
	if err != nil {
		return storage.Page[identity.AccessToken]{}, err
	}
	return storage.List(req, false, func(t identity.AccessToken) storage.Position { return storage.Position{ID: t.ID} },
		func(seek storage.Seek) ([]identity.AccessToken, error) {
			return dir.TokensOf(ctx, a.userID, false, seek)
		})
}

// exceeded reports whether a token would allow more than the caller's own.
func (c Caller) exceeded(t identity.AccessToken) bool {
	if !c.session && !c.expires.IsZero() && (t.ExpiresAt.IsZero() || t.ExpiresAt.After(c.expires)) {
		return true
	}
	wider := func(p identity.Permission) bool { return !slices.Contains(c.scopes, p) }
	return len(c.scopes) > 0 && (len(t.Scopes) == 0 || slices.ContainsFunc(t.Scopes, wider))
}

// CreateOwnToken creates an access token for the caller and returns its secret, which is not stored; a Secret in the input
// is ignored. If the caller's own token has scopes or an expiry, the new one may have only some of these scopes and no later
// expiry; otherwise it is a Forbidden fault.
func (a *Admin) CreateOwnToken(ctx context.Context, in identity.TokenInput) (identity.AccessToken, string, error) {
	begin, err := a.guard.Write(anyMember)
	if err != nil {
		return identity.AccessToken{}, "", err
	}
	in.Secret = ""
	token, err := a.svc.newToken(a.userID, &in)
	if err != nil {
		return identity.AccessToken{}, "", err
	}
	if a.caller.exceeded(token) {
		return identity.AccessToken{}, "", fault.New(fault.Forbidden, "A token cannot create one with more scopes or a later expiry. Stay within its scopes and its expires_at.")
	}
	token.Factors = a.caller.factors
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		if err := tx.InsertToken(ctx, &token); err != nil {
			return err
		}
		return a.svc.note(ctx, tx, auditToken, token.ID, a.userID, a.caller.tokenID)
	})
	if err != nil {
		return identity.AccessToken{}, "", err
	}
	return token, in.Secret, nil
}

// DeleteOwnToken deletes an access token of the caller. With a token that has scopes, the caller can delete only that token;
// otherwise it is a Forbidden fault.
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
