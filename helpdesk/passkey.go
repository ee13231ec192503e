package helpdesk

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

const (
	maxPasskeyName  = 100 // characters
	passkeyContext  = "passkey attempt"
	passkeyLife     = 5 * time.Minute
	maxCredentialID = 1023 // WebAuthn Level 3, section 4
	maxPublicKey    = 4 << 10
	maxTransports   = 10
)

// passkeyAttempt is what the browser keeps, sealed, while its user answers a challenge.
type passkeyAttempt struct {
	Secret []byte    `json:"secret"`
	Handle []byte    `json:"handle,omitempty"`
	User   int64     `json:"user,omitempty"`  // who registers a passkey; 0: somebody signs in
	Token  int64     `json:"token,omitempty"` // their session
	Began  time.Time `json:"began"`
}

// PasskeyOrigin is where pages must be for passkeys to work; "": nowhere, passkeys are off.
func (s SignIn) PasskeyOrigin() string {
	if s.svc.cfg.Passkeys == nil {
		return ""
	}
	return s.svc.cfg.Passkeys.Origin()
}

func (s *Service) passkeys() (identity.PasskeyVerifier, error) {
	if s.cfg.Passkeys == nil {
		return nil, &fault.Error{
			Kind: fault.Disabled, Code: identity.PasskeysOff,
			Message: "Passkeys need an https:// address with a host name. Ask whoever runs this server.",
		}
	}
	return s.cfg.Passkeys, nil
}

func (s *Service) keepAttempt(options []byte, a passkeyAttempt) (identity.PasskeyStart, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return identity.PasskeyStart{}, fault.Wrap(fault.Internal, "making an attempt", err)
	}
	sealed, err := s.cfg.Sealer.Seal(text, passkeyContext)
	if err != nil {
		return identity.PasskeyStart{}, fault.Wrap(fault.Internal, "sealing an attempt", err)
	}
	return identity.PasskeyStart{Options: options, Kept: passwordTokens.EncodeToString(sealed)}, nil
}

// resumePasskey opens what a browser has kept: of a user's registration, or for 0 of a sign-in.
func (s *Service) resumePasskey(kept string, userID int64) (passkeyAttempt, error) {
	over := &fault.Error{Kind: fault.Unauthenticated, Code: identity.PasskeyExpired, Message: "This took too long or was started in another browser. Try again."}
	var a passkeyAttempt
	sealed, err := passwordTokens.DecodeString(kept)
	if err != nil || kept == "" {
		return a, over
	}
	text, err := s.cfg.Sealer.Open(sealed, passkeyContext)
	if err != nil || json.Unmarshal(text, &a) != nil || a.User != userID || !s.now().Before(a.Began.Add(passkeyLife)) {
		return passkeyAttempt{}, over
	}
	return a, nil
}

// BeginPasskey begins to register a passkey of the caller, whose password proves who asks, where there is one.
// [Admin.FinishPasskey] goes on. A caller with a token that has scopes may not. A server whose address does not allow
// passkeys is a Disabled fault with code passkeys_off.
func (a *Admin) BeginPasskey(ctx context.Context, password string) (identity.PasskeyStart, error) {
	if _, err := a.guard.Write(ownUser); err != nil {
		return identity.PasskeyStart{}, err
	}
	verifier, err := a.svc.passkeys()
	if err != nil {
		return identity.PasskeyStart{}, err
	}
	if _, err := a.provenBy(ctx, password); err != nil {
		return identity.PasskeyStart{}, err
	}
	dir, err := a.guard.Read(ownUser)
	if err != nil {
		return identity.PasskeyStart{}, err
	}
	user, err := dir.User(ctx, a.userID)
	if err != nil {
		return identity.PasskeyStart{}, err
	}
	all, err := dir.PasskeysOf(ctx, user.ID)
	if err != nil {
		return identity.PasskeyStart{}, err
	}
	if len(all) >= identity.MaxPasskeys {
		return identity.PasskeyStart{}, tooManyPasskeys()
	}
	attempt := passkeyAttempt{User: user.ID, Token: a.caller.tokenID, Began: a.svc.now()}
	if len(all) > 0 {
		attempt.Handle = all[0].Handle
	} else if attempt.Handle, err = a.svc.random(32); err != nil {
		return identity.PasskeyStart{}, err
	}
	others := make([]identity.PasskeyKey, len(all))
	for i, p := range all {
		others[i] = p.PasskeyKey
	}
	var options []byte
	if options, attempt.Secret, err = verifier.BeginRegistration(attempt.Handle, user.Email, user.Name, others); err != nil {
		return identity.PasskeyStart{}, err
	}
	return a.svc.keepAttempt(options, attempt)
}

func tooManyPasskeys() error {
	return fault.Newf(fault.Conflict, "A user has at most %d passkeys. Remove one first.", identity.MaxPasskeys)
}

// FinishPasskey registers the passkey that [Admin.BeginPasskey] began, by what the browser kept and answered. It counts
// once, for the session that began it, and not after the user was changed. The name has 1 to 100 characters.
func (a *Admin) FinishPasskey(ctx context.Context, kept, name string, answer []byte) (identity.Passkey, error) {
	begin, err := a.guard.Write(ownUser)
	if err != nil {
		return identity.Passkey{}, err
	}
	verifier, err := a.svc.passkeys()
	if err != nil {
		return identity.Passkey{}, err
	}
	name = plain.Line(name)
	var problems fault.Collector
	required(&problems, "name", name, maxPasskeyName)
	problems.Check(len(answer) > 0 && len(answer) <= identity.MaxPasskeyAnswer, "answer", "is not the answer of a browser")
	if err := problems.Err(); err != nil {
		return identity.Passkey{}, err
	}
	attempt, err := a.svc.resumePasskey(kept, a.userID)
	if err != nil {
		return identity.Passkey{}, err
	}
	if attempt.Token != a.caller.tokenID {
		return identity.Passkey{}, &fault.Error{Kind: fault.Forbidden, Code: identity.PasskeyExpired, Message: "This was started in another session. Start again."}
	}
	key, err := verifier.FinishRegistration(attempt.Handle, attempt.Secret, answer)
	if err != nil {
		return identity.Passkey{}, err
	}
	if !plausibleKey(key) {
		return identity.Passkey{}, &fault.Error{Kind: fault.Unauthenticated, Code: identity.PasskeyRefused, Message: "This passkey is too large for this server."}
	}
	key.Handle = attempt.Handle
	var made identity.Passkey
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		user, err := a.registering(ctx, tx, attempt)
		if err != nil {
			return err
		}
		now := a.svc.now()
		made = identity.Passkey{UserID: user.ID, Name: name, PasskeyKey: key, ChallengeAt: attempt.Began, CreatedAt: now}
		if err := tx.InsertPasskey(ctx, &made); err != nil {
			return err
		}
		return a.svc.passkeysChanged(ctx, tx, &user, made, auditPasskey, user.ID, a.caller.tokenID)
	})
	if isUnique(err, identity.UniquePasskey) {
		err = &fault.Error{Kind: fault.Conflict, Code: identity.UniquePasskey, Message: "This passkey is already registered."}
	}
	return made, err
}

// registering locks a user who registers a passkey. An attempt ends with any change of the user, so that it counts once.
func (a *Admin) registering(ctx context.Context, tx SystemTx, attempt passkeyAttempt) (identity.User, error) {
	user, err := tx.UserForUpdate(ctx, a.userID)
	if err != nil {
		return user, err
	}
	if user.Disabled() {
		return user, disabledUser()
	}
	if user.UpdatedAt.After(attempt.Began) {
		return user, &fault.Error{Kind: fault.Conflict, Code: identity.PasskeyExpired, Message: "Your user was changed in the meantime. Start again."}
	}
	all, err := tx.PasskeysOf(ctx, user.ID)
	if err != nil {
		return user, err
	}
	if len(all) >= identity.MaxPasskeys {
		return user, tooManyPasskeys()
	}
	return user, nil
}

// plausibleKey reports whether a verifier's key is within the limits of what is stored.
func plausibleKey(k identity.PasskeyKey) bool {
	return len(k.CredentialID) > 0 && len(k.CredentialID) <= maxCredentialID && len(k.PublicKey) > 0 && len(k.PublicKey) <= maxPublicKey &&
		k.SignCount >= 0 && len(k.Transports) <= maxTransports &&
		!slices.ContainsFunc(k.Transports, func(t string) bool { return len(t) > 32 || plain.Line(t) != t })
}

// passkeysChanged records that a user's passkeys changed, and tells the user.
func (s *Service) passkeysChanged(ctx context.Context, tx SystemTx, user *identity.User, p identity.Passkey, action string, actorID, tokenID int64) error {
	user.UpdatedAt = s.now()
	if err := tx.UpdateUser(ctx, user); err != nil {
		return err
	}
	return s.credentialChanged(ctx, tx, user.ID, s.entry(action, p.ID, actorID, tokenID, s.now()), p.Name)
}

// RenamePasskey gives a passkey of the caller another name, of 1 to 100 characters. A caller with a token that has scopes
// may not.
func (a *Admin) RenamePasskey(ctx context.Context, id int64, name string) (identity.Passkey, error) {
	begin, err := a.guard.Write(ownUser)
	if err != nil {
		return identity.Passkey{}, err
	}
	name = plain.Line(name)
	var problems fault.Collector
	required(&problems, "name", name, maxPasskeyName)
	if err := problems.Err(); err != nil {
		return identity.Passkey{}, err
	}
	var renamed identity.Passkey
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		if _, err := tx.UserForUpdate(ctx, a.userID); err != nil { // who signs in with it waits
			return err
		}
		if renamed, err = passkeys().find(ctx, tx, a.userID, id); err != nil {
			return err
		}
		renamed.Name = name
		return tx.UpdatePasskey(ctx, &renamed)
	})
	return renamed, err
}

// Passkeys are those of the caller, by id.
func (a *Admin) Passkeys(ctx context.Context) ([]identity.Passkey, error) {
	dir, err := a.guard.Read(ownUser)
	if err != nil {
		return nil, err
	}
	return dir.PasskeysOf(ctx, a.userID)
}

// RemovePasskey removes a passkey of the caller, whose password proves who asks, where there is one. The last way to sign in
// is a Conflict fault with code last_sign_in. A caller with a token that has scopes may not.
func (a *Admin) RemovePasskey(ctx context.Context, password string, id int64) error {
	return passkeys().removeOwn(ctx, a, password, id)
}

func (s *Service) dropPasskey(ctx context.Context, tx SystemTx, user *identity.User, p identity.Passkey, actorID, tokenID int64) error {
	if err := tx.DeletePasskey(ctx, user.ID, p.ID); err != nil {
		return err
	}
	return s.passkeysChanged(ctx, tx, user, p, auditPasskeyGone, actorID, tokenID)
}

// RemovePasskeys removes all passkeys of a member, under the conditions of [Members.Disable], and ends the member's
// sessions: for somebody who has lost a device. Who has no password can ask for one by mail, as in [SignIn.ForgotPassword].
func (d Members) RemovePasskeys(ctx context.Context, membershipID int64) error {
	return d.aboutUser(ctx, membershipID, func(ctx context.Context, tx SystemTx, userID int64) error {
		return passkeys().removeAll(ctx, tx, d.svc, userID, d.userID, d.caller.tokenID)
	})
}

// RemoveUserPasskeys is [Members.RemovePasskeys] of any user; operators only.
func (a *Admin) RemoveUserPasskeys(ctx context.Context, userID int64) error {
	begin, err := a.guard.Write(operate)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx SystemTx) error {
		return passkeys().removeAll(ctx, tx, a.svc, userID, 0, 0)
	})
}
