package helpdesk

import (
	"cmp"
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// StartSession starts a session for a caller who has just signed in, see [SignIn.WithPassword], [SignIn.FinishWith] and
// [Service.As]. A caller with an access token is a Forbidden fault, a disabled user an Unauthenticated fault. A session has
// all of its user's permissions, and ends after 14 days or with [SignIn.EndSession]. The device describes it in
// [Admin.Sessions], such as "Firefox on Linux": one line, cut to 200 characters; "" becomes "Session".
func (s SignIn) StartSession(ctx context.Context, c Caller, device string) (identity.Session, error) {
	if c.userID == 0 {
		return identity.Session{}, fault.New(fault.Unauthenticated, "Sign in first.")
	}
	if c.tokenID != 0 {
		return identity.Session{}, fault.New(fault.Forbidden, "An access token cannot start a session.")
	}
	now := s.svc.now()
	session := identity.Session{Secret: newSecret(), ExpiresAt: now.Add(identity.SessionLife)}
	token := identity.AccessToken{
		UserID: c.userID, Name: cmp.Or(plain.Cut(plain.Line(device), 200), "Session"), Hash: hashSecret(session.Secret), ExpiresAt: session.ExpiresAt, CreatedAt: now, Session: true, Factors: c.factors,
	}
	err := s.svc.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
		if user, err := tx.UserForUpdate(ctx, c.userID); err != nil {
			return err
		} else if user.Disabled() {
			return disabledUser()
		}
		if err := tx.DeleteSessions(ctx, c.userID, now); err != nil {
			return err
		}
		if err := tx.InsertToken(ctx, &token); err != nil {
			return err
		}
		return s.svc.note(ctx, tx, auditLogin, c.userID, c.userID, token.ID)
	})
	if err != nil {
		return identity.Session{}, err
	}
	return session, nil
}

// EndSession ends the caller's session. For other callers, and for an ended session, it does nothing.
func (s SignIn) EndSession(ctx context.Context, c Caller) error {
	if !c.session {
		return nil
	}
	err := s.svc.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
		if err := tx.DeleteToken(ctx, c.userID, c.tokenID); err != nil {
			return err
		}
		return s.svc.note(ctx, tx, auditLogout, c.userID, c.userID, c.tokenID)
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.svc.endPushDevices(ctx, c.userID, c.tokenID)
}

// Sessions lists the caller's unexpired sessions, newest first. The current one has the id [Caller.TokenID].
func (a *Admin) Sessions(ctx context.Context, req storage.PageRequest) (storage.Page[identity.AccessToken], error) {
	dir, err := a.guard.Read(anyMember)
	if err != nil {
		return storage.Page[identity.AccessToken]{}, err
	}
	page, err := storage.List(req, true, func(t identity.AccessToken) storage.Position { return storage.Position{ID: t.ID} },
		func(seek storage.Seek) ([]identity.AccessToken, error) {
			return dir.TokensOf(ctx, a.userID, true, seek)
		})
	now := a.svc.now()
	page.Items = slices.DeleteFunc(page.Items, func(t identity.AccessToken) bool { return !t.ExpiresAt.After(now) })
	return page, err
}

// EndOtherSessions ends all other sessions of the caller. A token with scopes is a Forbidden fault.
func (a *Admin) EndOtherSessions(ctx context.Context) error {
	begin, err := a.guard.Write(ownUser)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx SystemTx) error {
		if err := tx.DeleteOtherSessions(ctx, a.userID, a.caller.tokenID); err != nil {
			return err
		}
		return a.svc.note(ctx, tx, auditLogout, a.userID, a.userID, a.caller.tokenID)
	})
}
