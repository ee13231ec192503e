package helpdesk

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Passkey lets a user sign in without a password: a WebAuthn credential that verifies its holder, by
// a fingerprint or a PIN, before it signs. It counts as both factors.
type Passkey struct {
	ID     int64
	UserID int64
	Name   string // by which the user knows it
	PasskeyKey
	// ChallengeAt is when the last challenge that it answered was issued. No earlier one is accepted.
	ChallengeAt time.Time
	CreatedAt   time.Time
	UsedAt      time.Time // last sign-in; zero: none yet
}

// PasskeyKey is what is needed to verify a passkey's signatures.
type PasskeyKey struct {
	CredentialID   []byte   // unique over all users
	Handle         []byte   // stands for the user in the authenticator: random, the same for all passkeys of a user
	PublicKey      []byte   // in COSE form
	SignCount      int64    // of the last signature; 0 in authenticators that do not count
	BackupEligible bool     // may exist on several devices
	BackedUp       bool     // does exist on several devices, or in an account
	Transports     []string // how browsers reach the authenticator, as they named it
}

// PasskeyVerifier speaks WebAuthn; package passkey implements it. Options are for the browser, in
// JSON: parseCreationOptionsFromJSON and parseRequestOptionsFromJSON read them. Answers are the
// credential's toJSON. A secret of at most 1,000 bytes is kept until the answer comes. Refused answers are Unauthenticated
// faults.
type PasskeyVerifier interface {
	// Origin is where pages must be for passkeys to work, such as https://help.example.org.
	Origin() string
	// BeginRegistration starts registering a passkey of a user who already has others.
	BeginRegistration(handle []byte, name, displayName string, others []PasskeyKey) (options, secret []byte, err error)
	// FinishRegistration verifies the answer and returns the new key.
	FinishRegistration(handle, secret, answer []byte) (PasskeyKey, error)
	// BeginSignIn starts a sign-in by whatever passkey the user chooses.
	BeginSignIn() (options, secret []byte, err error)
	// FinishSignIn verifies the answer with the key that find returns, and returns the key after the
	// signature. cloned reports that the signature was valid, but not counted upwards.
	FinishSignIn(secret, answer []byte, find func(credentialID []byte) (PasskeyKey, error)) (key PasskeyKey, cloned bool, err error)
}

// Codes of the faults about passkeys.
const (
	PasskeysOff    = "passkeys_off"    // Disabled: the server's address does not allow them
	PasskeyExpired = "sign_in_expired" // Unauthenticated: it took too long, or another browser began it
	PasskeyUnknown = "passkey_unknown" // Unauthenticated: no user has it, or no longer
	PasskeyRefused = "passkey_refused" // Unauthenticated: the signature is not valid here
	PasskeyCloned  = "passkey_cloned"  // Unauthenticated: a copy of it exists
)

const (
	// MaxPasskeys is how many passkeys a user may have.
	MaxPasskeys = 20
	// MaxPasskeyAnswer is the maximum size of a browser's answer in bytes.
	MaxPasskeyAnswer = 32 << 10

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

// PasskeyStart is how registering a passkey, or signing in with one, begins.
type PasskeyStart struct {
	Options []byte // for the browser, in JSON
	// Kept stays in a cookie of this browser, which scripts cannot read, for five minutes: only the
	// browser that has begun can finish. At most 3,000 bytes.
	Kept string
}

// PasskeyOrigin is where pages must be for passkeys to work; "": nowhere, passkeys are off.
func (s *Service) PasskeyOrigin() string {
	if s.cfg.Passkeys == nil {
		return ""
	}
	return s.cfg.Passkeys.Origin()
}

func (s *Service) passkeys() (PasskeyVerifier, error) {
	if s.cfg.Passkeys == nil {
		return nil, &fault.Error{
			Kind: fault.Disabled, Code: PasskeysOff,
			Message: "Passkeys need a server whose address begins with https:// and is a name. Ask whoever runs this server.",
		}
	}
	return s.cfg.Passkeys, nil
}

func (s *Service) keepAttempt(options []byte, a passkeyAttempt) (PasskeyStart, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return PasskeyStart{}, fault.Wrap(fault.Internal, "making an attempt", err)
	}
	sealed, err := s.cfg.Sealer.Seal(text, passkeyContext)
	if err != nil {
		return PasskeyStart{}, fault.Wrap(fault.Internal, "sealing an attempt", err)
	}
	return PasskeyStart{Options: options, Kept: passwordTokens.EncodeToString(sealed)}, nil
}

// resumePasskey opens what a browser has kept: of a user's registration, or for 0 of a sign-in.
func (s *Service) resumePasskey(kept string, userID int64) (passkeyAttempt, error) {
	over := &fault.Error{Kind: fault.Unauthenticated, Code: PasskeyExpired, Message: "This took too long, or began in another browser. Try again."}
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

// BeginPasskey begins to register a passkey of the caller, whose password proves who asks, where
// there is one. [Admin.FinishPasskey] goes on. A caller with a token that has scopes may not. A
// server whose address does not allow passkeys is a Disabled fault with code passkeys_off.
func (a *Admin) BeginPasskey(ctx context.Context, password string) (PasskeyStart, error) {
	if _, err := a.guard.Write(ownUser); err != nil {
		return PasskeyStart{}, err
	}
	verifier, err := a.svc.passkeys()
	if err != nil {
		return PasskeyStart{}, err
	}
	if _, err := a.provenBy(ctx, password); err != nil {
		return PasskeyStart{}, err
	}
	dir, err := a.guard.Read(ownUser)
	if err != nil {
		return PasskeyStart{}, err
	}
	user, err := dir.User(ctx, a.userID)
	if err != nil {
		return PasskeyStart{}, err
	}
	all, err := dir.PasskeysOf(ctx, user.ID)
	if err != nil {
		return PasskeyStart{}, err
	}
	if len(all) >= MaxPasskeys {
		return PasskeyStart{}, tooManyPasskeys()
	}
	attempt := passkeyAttempt{User: user.ID, Token: a.caller.tokenID, Began: a.svc.now()}
	if len(all) > 0 {
		attempt.Handle = all[0].Handle
	} else if attempt.Handle, err = a.svc.random(32); err != nil {
		return PasskeyStart{}, err
	}
	others := make([]PasskeyKey, len(all))
	for i, p := range all {
		others[i] = p.PasskeyKey
	}
	var options []byte
	if options, attempt.Secret, err = verifier.BeginRegistration(attempt.Handle, user.Email, user.Name, others); err != nil {
		return PasskeyStart{}, err
	}
	return a.svc.keepAttempt(options, attempt)
}

func tooManyPasskeys() error {
	return fault.Newf(fault.Conflict, "A user has at most %d passkeys. Remove one first.", MaxPasskeys)
}

// FinishPasskey registers the passkey that [Admin.BeginPasskey] began, by what the browser kept and
// answered. It counts once, for the session that began it, and not after the user was changed.
// The name has 1 to 100 characters.
func (a *Admin) FinishPasskey(ctx context.Context, kept, name string, answer []byte) (Passkey, error) {
	begin, err := a.guard.Write(ownUser)
	if err != nil {
		return Passkey{}, err
	}
	verifier, err := a.svc.passkeys()
	if err != nil {
		return Passkey{}, err
	}
	name = plain.Line(name)
	var problems fault.Collector
	required(&problems, "name", name, maxPasskeyName)
	problems.Check(len(answer) > 0 && len(answer) <= MaxPasskeyAnswer, "answer", "is not the answer of a browser")
	if err := problems.Err(); err != nil {
		return Passkey{}, err
	}
	attempt, err := a.svc.resumePasskey(kept, a.userID)
	if err != nil {
		return Passkey{}, err
	}
	if attempt.Token != a.caller.tokenID {
		return Passkey{}, &fault.Error{Kind: fault.Forbidden, Code: PasskeyExpired, Message: "This began in another session. Begin again."}
	}
	key, err := verifier.FinishRegistration(attempt.Handle, attempt.Secret, answer)
	if err != nil {
		return Passkey{}, err
	}
	if !plausibleKey(key) {
		return Passkey{}, &fault.Error{Kind: fault.Unauthenticated, Code: PasskeyRefused, Message: "This passkey is larger than this server takes."}
	}
	key.Handle = attempt.Handle
	var made Passkey
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		user, err := a.registering(ctx, tx, attempt)
		if err != nil {
			return err
		}
		now := a.svc.now()
		made = Passkey{UserID: user.ID, Name: name, PasskeyKey: key, ChallengeAt: attempt.Began, CreatedAt: now}
		if err := tx.InsertPasskey(ctx, &made); err != nil {
			return err
		}
		return a.svc.passkeysChanged(ctx, tx, &user, made, auditPasskey, user.ID, a.caller.tokenID)
	})
	if isUnique(err, UniquePasskey) {
		err = &fault.Error{Kind: fault.Conflict, Code: UniquePasskey, Message: "This passkey is registered already."}
	}
	return made, err
}

// registering locks a user who registers a passkey. An attempt ends with any change of the user, so
// that it counts once.
func (a *Admin) registering(ctx context.Context, tx SystemTx, attempt passkeyAttempt) (User, error) {
	user, err := tx.UserForUpdate(ctx, a.userID)
	if err != nil {
		return user, err
	}
	if user.Disabled() {
		return user, disabledUser()
	}
	if user.UpdatedAt.After(attempt.Began) {
		return user, &fault.Error{Kind: fault.Conflict, Code: PasskeyExpired, Message: "Your user was changed meanwhile. Begin again."}
	}
	all, err := tx.PasskeysOf(ctx, user.ID)
	if err != nil {
		return user, err
	}
	if len(all) >= MaxPasskeys {
		return user, tooManyPasskeys()
	}
	return user, nil
}

// plausibleKey reports whether a verifier's key is within the limits of what is stored.
func plausibleKey(k PasskeyKey) bool {
	return len(k.CredentialID) > 0 && len(k.CredentialID) <= maxCredentialID && len(k.PublicKey) > 0 && len(k.PublicKey) <= maxPublicKey &&
		k.SignCount >= 0 && len(k.Transports) <= maxTransports &&
		!slices.ContainsFunc(k.Transports, func(t string) bool { return len(t) > 32 || plain.Line(t) != t })
}

// passkeysChanged records that a user's passkeys changed, and tells the user.
func (s *Service) passkeysChanged(ctx context.Context, tx SystemTx, user *User, p Passkey, action string, actorID, tokenID int64) error {
	user.UpdatedAt = s.now()
	if err := tx.UpdateUser(ctx, user); err != nil {
		return err
	}
	return s.credentialChanged(ctx, tx, user.ID, s.entry(action, p.ID, actorID, tokenID, s.now()), p.Name)
}

// RenamePasskey gives a passkey of the caller another name, of 1 to 100 characters. A caller with a
// token that has scopes may not.
func (a *Admin) RenamePasskey(ctx context.Context, id int64, name string) (Passkey, error) {
	begin, err := a.guard.Write(ownUser)
	if err != nil {
		return Passkey{}, err
	}
	name = plain.Line(name)
	var problems fault.Collector
	required(&problems, "name", name, maxPasskeyName)
	if err := problems.Err(); err != nil {
		return Passkey{}, err
	}
	var renamed Passkey
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
func (a *Admin) Passkeys(ctx context.Context) ([]Passkey, error) {
	dir, err := a.guard.Read(ownUser)
	if err != nil {
		return nil, err
	}
	return dir.PasskeysOf(ctx, a.userID)
}

// RemovePasskey removes a passkey of the caller, whose password proves who asks, where there is one.
// The last way to sign in is a Conflict fault with code last_sign_in. A caller with a token that has
// scopes may not.
func (a *Admin) RemovePasskey(ctx context.Context, password string, id int64) error {
	return passkeys().removeOwn(ctx, a, password, id)
}

func (s *Service) dropPasskey(ctx context.Context, tx SystemTx, user *User, p Passkey, actorID, tokenID int64) error {
	if err := tx.DeletePasskey(ctx, user.ID, p.ID); err != nil {
		return err
	}
	return s.passkeysChanged(ctx, tx, user, p, auditPasskeyGone, actorID, tokenID)
}

// RemoveMemberPasskeys removes all passkeys of a member, under the conditions of
// [Desk.DisableMember], and ends the member's sessions: for somebody who has lost a device. Who has
// no password can ask for one by mail, as in [Service.ForgotPassword].
func (d *Desk) RemoveMemberPasskeys(ctx context.Context, membershipID int64) error {
	return d.aboutUser(ctx, membershipID, func(ctx context.Context, tx SystemTx, userID int64) error {
		return passkeys().removeAll(ctx, tx, d.svc, userID, d.userID, d.caller.tokenID)
	})
}

// RemoveUserPasskeys is [Desk.RemoveMemberPasskeys] of any user; operators only.
func (a *Admin) RemoveUserPasskeys(ctx context.Context, userID int64) error {
	begin, err := a.guard.Write(operate)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx SystemTx) error {
		return passkeys().removeAll(ctx, tx, a.svc, userID, 0, 0)
	})
}
