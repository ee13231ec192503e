package helpdesk

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// BeginPasskey begins a sign-in with a passkey, whosever it is. [SignIn.FinishPasskey] goes on. A server whose
// address does not allow passkeys is a Disabled fault with code passkeys_off.
func (s SignIn) BeginPasskey(_ context.Context) (identity.PasskeyStart, error) {
	verifier, err := s.svc.passkeys()
	if err != nil {
		return identity.PasskeyStart{}, err
	}
	options, secret, err := verifier.BeginSignIn()
	if err != nil {
		return identity.PasskeyStart{}, err
	}
	return s.svc.keepAttempt(options, passkeyAttempt{Secret: secret, Began: s.svc.now()})
}

// FinishPasskey returns the user of a passkey, by what the browser kept and answered. The caller counts as signed in
// with two factors, so that no code is asked for. Each challenge is accepted once, for five minutes, and only while no later
// one was answered by the same passkey. Every refusal is an Unauthenticated fault; its code says which. A disabled user gets
// user_disabled.
func (s SignIn) FinishPasskey(ctx context.Context, kept string, answer []byte) (Caller, error) {
	verifier, err := s.svc.passkeys()
	if err != nil {
		return Caller{}, err
	}
	attempt, err := s.svc.resumePasskey(kept, 0)
	if err != nil {
		return Caller{}, err
	}
	if len(answer) > identity.MaxPasskeyAnswer {
		return Caller{}, &fault.Error{Kind: fault.Unauthenticated, Code: identity.PasskeyRefused, Message: "This is not a response from a passkey."}
	}
	var known identity.Passkey
	key, cloned, err := verifier.FinishSignIn(attempt.Secret, answer, func(credentialID []byte) (identity.PasskeyKey, error) {
		known, err = s.svc.cfg.Store.PasskeyByCredential(ctx, credentialID)
		if fault.Is(err, fault.NotFound) {
			return identity.PasskeyKey{}, unknownPasskey()
		}
		if err == nil && !attempt.Began.After(known.ChallengeAt) { // a replay, which must not look like a copy
			err = usedChallenge()
		}
		return known.PasskeyKey, err
	})
	if err != nil {
		return Caller{}, err
	}
	if !cloned {
		cloned, err = s.svc.usePasskey(ctx, known.CredentialID, key, attempt)
	}
	if err != nil {
		return Caller{}, err
	}
	if cloned {
		return Caller{}, s.svc.refuseClone(ctx, known)
	}
	return Caller{userID: known.UserID, signed: true, factors: 2}, nil
}

// usePasskey records a sign-in, in a transaction that sees what others recorded meanwhile.
func (s *Service) usePasskey(ctx context.Context, credentialID []byte, key identity.PasskeyKey, attempt passkeyAttempt) (cloned bool, err error) {
	err = s.beginSystem(0)(ctx, func(ctx context.Context, tx SystemTx) error {
		p, err := tx.PasskeyByCredential(ctx, credentialID)
		if err != nil {
			return err
		}
		user, err := tx.UserForUpdate(ctx, p.UserID)
		if err != nil {
			return err
		}
		if user.Disabled() {
			return disabledUser()
		}
		// Only now others who use the passkey wait.
		if p, err = tx.PasskeyByCredential(ctx, credentialID); err != nil {
			return err
		}
		if !attempt.Began.After(p.ChallengeAt) {
			return usedChallenge()
		}
		if cloned = key.SignCount <= p.SignCount && (key.SignCount != 0 || p.SignCount != 0); cloned {
			return nil
		}
		p.SignCount, p.BackedUp, p.ChallengeAt, p.UsedAt = key.SignCount, key.BackedUp, attempt.Began, s.now()
		return tx.UpdatePasskey(ctx, &p)
	})
	if fault.Is(err, fault.NotFound) {
		err = unknownPasskey()
	}
	return cloned, err
}

func unknownPasskey() error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: identity.PasskeyUnknown, Message: "This passkey is not registered here. It may have been removed."}
}

func usedChallenge() error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: identity.PasskeyExpired, Message: "This sign-in was already used. Try again."}
}

// refuseClone refuses a passkey whose count of signatures did not rise: another device has a copy of its key (WebAuthn Level
// 3, section 6.1.1).
func (s *Service) refuseClone(ctx context.Context, p identity.Passkey) error {
	s.cfg.Logger.WarnContext(ctx, "a passkey was refused: its count of signatures did not rise, so a copy of it may exist", "user_id", p.UserID, "passkey_id", p.ID)
	user, err := s.cfg.Store.User(ctx, p.UserID)
	if err != nil {
		return err
	}
	if err := s.failedLogin(ctx, user.ID, user.Email); err != nil {
		return err
	}
	return &fault.Error{
		Kind: fault.Unauthenticated, Code: identity.PasskeyCloned,
		Message: "This passkey may have been copied. Sign in with your password, then remove the passkey in your profile.",
	}
}
