package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// SessionLife is how long a session lasts.
const SessionLife = 14 * 24 * time.Hour

// Session is what signing in begins: an access token for a browser's cookie.
type Session struct {
	Secret    string
	ExpiresAt time.Time
}

// StartSession begins a session of a caller who has just signed in, see
// [Service.SignIn] and [Service.As]; a caller with an access token is Forbidden. A
// session may do all that its user may, and ends after 14 days or with
// [Service.EndSession].
func (s *Service) StartSession(ctx context.Context, c Caller) (Session, error) {
	if c.userID == 0 {
		return Session{}, fault.New(fault.Unauthenticated, "Sign in first.")
	}
	if c.tokenID != 0 {
		return Session{}, fault.New(fault.Forbidden, "An access token cannot begin a session.")
	}
	now := s.now()
	session := Session{Secret: newSecret(), ExpiresAt: now.Add(SessionLife)}
	token := AccessToken{
		UserID: c.userID, Name: "Session", Hash: hashSecret(session.Secret), ExpiresAt: session.ExpiresAt, CreatedAt: now, Session: true,
	}
	err := s.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
		if err := tx.DeleteSessions(ctx, c.userID, now); err != nil {
			return err
		}
		if err := tx.InsertToken(ctx, &token); err != nil {
			return err
		}
		return s.note(ctx, tx, auditLogin, c.userID, c.userID, token.ID)
	})
	if err != nil {
		return Session{}, err
	}
	return session, nil
}

// EndSession ends the session that the caller came with. For others, and for a
// session that has ended already, it does nothing.
func (s *Service) EndSession(ctx context.Context, c Caller) error {
	if !c.session {
		return nil
	}
	err := s.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
		if err := tx.DeleteToken(ctx, c.userID, c.tokenID); err != nil {
			return err
		}
		return s.note(ctx, tx, auditLogout, c.userID, c.userID, c.tokenID)
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
