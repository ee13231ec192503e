package helpdesk

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

const (
	recoveryCodes   = 10
	recoveryLength  = 12 // characters of a recovery code, 5 bits each
	secondStepLife  = 10 * time.Minute
	secondStepStart = "hws_"
	// codeTries replaces the client address in the count of code attempts, which is per user.
	codeTries = "second factor"
)

// secondFactor is sealed with a user. It is confirmed only if the user has a SecondFactorAt.
type secondFactor struct {
	Secret   []byte   `json:"secret"`
	Step     int64    `json:"step,omitempty"`     // of the last accepted code: codes up to it are rejected
	Recovery [][]byte `json:"recovery,omitempty"` // SHA-256 of the unused codes
}

func (s *Service) factorOf(u identity.User) (f secondFactor, err error) {
	if len(u.SealedSecondFactor) == 0 {
		return f, nil
	}
	text, err := s.cfg.Sealer.Open(u.SealedSecondFactor, u.FactorContext())
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		return f, fault.Wrap(fault.Internal, "opening a second factor", err)
	}
	return f, nil
}

func (s *Service) keepFactor(ctx context.Context, tx SystemTx, u *identity.User, f secondFactor) error {
	text, err := json.Marshal(f)
	if err == nil {
		u.SealedSecondFactor, err = s.cfg.Sealer.Seal(text, u.FactorContext())
	}
	if err != nil {
		return fault.Wrap(fault.Internal, "sealing a second factor", err)
	}
	u.UpdatedAt = s.now()
	return tx.UpdateUser(ctx, u)
}

// consumeCode consumes a valid code: a code of an authenticator app newer than the last one, or a recovery code.
func (f *secondFactor) consumeCode(code string, now time.Time) (right, recovery bool) {
	code = strings.ToUpper(strings.NewReplacer(" ", "", "-", "", "\u00a0", "").Replace(code))
	if len(code) == recoveryLength {
		sum := sha256.Sum256([]byte(code))
		at := slices.IndexFunc(f.Recovery, func(kept []byte) bool { return hmac.Equal(kept, sum[:]) })
		if at >= 0 {
			f.Recovery = slices.Delete(f.Recovery, at, at+1)
		}
		return at >= 0, true
	}
	for step := totpStep(now) - totpSlack; step <= totpStep(now)+totpSlack; step++ {
		if step > f.Step && hmac.Equal([]byte(totpCode(f.Secret, step)), []byte(code)) {
			f.Step = step
			return true, false
		}
	}
	return false, false
}

// renew generates new recovery codes and returns them for display.
func (f *secondFactor) renew() []string {
	f.Recovery = nil
	codes := make([]string, recoveryCodes)
	for i := range codes {
		var random [8]byte
		_, _ = rand.Read(random[:]) // never fails, see crypto/rand
		code := base32.StdEncoding.EncodeToString(random[:])[:recoveryLength]
		sum := sha256.Sum256([]byte(code))
		f.Recovery = append(f.Recovery, sum[:])
		codes[i] = code[:4] + "-" + code[4:8] + "-" + code[8:]
	}
	return codes
}

// SecondFactor returns the state of the caller's second factor.
func (a *Admin) SecondFactor(ctx context.Context) (identity.SecondFactor, error) {
	dir, err := a.guard.Read(ownUser)
	if err != nil {
		return identity.SecondFactor{}, err
	}
	user, err := dir.User(ctx, a.userID)
	if err != nil || !user.HasSecondFactor() {
		return identity.SecondFactor{}, err
	}
	f, err := a.svc.factorOf(user)
	return identity.SecondFactor{Since: user.SecondFactorAt, RecoveryCodes: len(f.Recovery)}, err
}

// BeginSecondFactor generates the secret of the caller's second factor and requires the caller's password. Authenticator
// apps show the issuer as the server's name. It takes effect with [Admin.ConfirmSecondFactor]; calling it again generates
// another secret. An existing second factor is a Conflict fault with code second_factor_present. A token with scopes may not
// call it.
func (a *Admin) BeginSecondFactor(ctx context.Context, password, issuer string) (identity.NewSecondFactor, error) {
	begin, err := a.provenBy(ctx, password)
	if err != nil {
		return identity.NewSecondFactor{}, err
	}
	f := secondFactor{Secret: make([]byte, totpSecret)}
	_, _ = rand.Read(f.Secret) // never fails, see crypto/rand
	var user identity.User
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		if user, err = tx.UserForUpdate(ctx, a.userID); err != nil {
			return err
		}
		if user.HasSecondFactor() {
			return &fault.Error{Kind: fault.Conflict, Resource: "user", ID: user.ID, Code: identity.SecondFactorPresent, Message: "You already have a second factor. Turn it off first."}
		}
		return a.svc.keepFactor(ctx, tx, &user, f)
	})
	if err != nil {
		return identity.NewSecondFactor{}, err
	}
	return identity.NewSecondFactor{Secret: totpEncoding.EncodeToString(f.Secret), URI: totpURI(f.Secret, plain.Line(issuer), user.Email)}, nil
}

// provenBy checks the caller's password before a change of the second factor.
func (a *Admin) provenBy(ctx context.Context, password string) (func(context.Context, func(context.Context, SystemTx) error) error, error) {
	begin, err := a.guard.Write(ownUser)
	if err != nil {
		return nil, err
	}
	dir, err := a.guard.Read(ownUser)
	if err != nil {
		return nil, err
	}
	var problems fault.Collector
	if err := a.provePassword(ctx, dir, password, &problems); err != nil {
		return nil, err
	}
	return begin, problems.Err()
}

// ConfirmSecondFactor enables the second factor from [Admin.BeginSecondFactor] with a code from the authenticator app, and
// ends the caller's other sessions. It returns ten recovery codes, which are not stored; each is valid once in place of an
// app's code. A wrong code is an Invalid fault on code.
func (a *Admin) ConfirmSecondFactor(ctx context.Context, code string) ([]string, error) {
	return a.withCode(ctx, code, func(ctx context.Context, tx SystemTx, user *identity.User, f *secondFactor) error {
		if user.HasSecondFactor() || len(f.Secret) == 0 {
			return fault.New(fault.Conflict, "Start setting up a second factor first.")
		}
		user.SecondFactorAt = a.svc.now()
		if err := tx.DeleteOtherSessions(ctx, user.ID, a.caller.tokenID); err != nil {
			return err
		}
		return a.svc.ownCredentialChanged(ctx, tx, auditFactor, user.ID, user.ID, a.caller.tokenID, "")
	})
}

// RenewRecoveryCodes returns ten new recovery codes and invalidates the previous ones. It requires a code, as
// [Admin.ConfirmSecondFactor] does.
func (a *Admin) RenewRecoveryCodes(ctx context.Context, code string) ([]string, error) {
	return a.withCode(ctx, code, func(ctx context.Context, tx SystemTx, user *identity.User, _ *secondFactor) error {
		if !user.HasSecondFactor() {
			return fault.New(fault.Conflict, "You have no second factor.")
		}
		return a.svc.ownCredentialChanged(ctx, tx, auditRecoveryNew, user.ID, user.ID, a.caller.tokenID, "")
	})
}

// withCode checks the caller's code, runs fn and generates recovery codes.
func (a *Admin) withCode(ctx context.Context, code string, fn func(ctx context.Context, tx SystemTx, user *identity.User, f *secondFactor) error) (codes []string, err error) {
	begin, err := a.guard.Write(ownUser)
	if err != nil {
		return nil, err
	}
	dir, err := a.guard.Read(ownUser)
	if err != nil {
		return nil, err
	}
	user, err := dir.User(ctx, a.userID)
	if err != nil {
		return nil, err
	}
	err = a.svc.tryCode(ctx, user, func() error {
		return begin(ctx, func(ctx context.Context, tx SystemTx) error {
			user, err := tx.UserForUpdate(ctx, a.userID)
			if err != nil {
				return err
			}
			f, err := a.svc.factorOf(user)
			if err != nil {
				return err
			}
			if len(f.Secret) > 0 { // otherwise fn fails
				if right, _ := f.consumeCode(code, a.svc.now()); !right {
					return wrongCode()
				}
			}
			if err := fn(ctx, tx, &user, &f); err != nil {
				return err
			}
			codes = f.renew()
			return a.svc.keepFactor(ctx, tx, &user, f)
		})
	})
	if fault.Is(err, fault.Unauthenticated) { // the caller is authenticated
		err = fault.Field("code", "is incorrect")
	}
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// RemoveSecondFactor removes the caller's second factor. It requires password and code: a wrong one is an Invalid fault on
// current_password or code.
func (a *Admin) RemoveSecondFactor(ctx context.Context, password, code string) error {
	begin, err := a.provenBy(ctx, password)
	if err != nil {
		return err
	}
	dir, err := a.guard.Read(ownUser)
	if err != nil {
		return err
	}
	user, err := dir.User(ctx, a.userID)
	if err != nil || !user.HasSecondFactor() {
		return err
	}
	err = a.svc.takeCode(ctx, user, code)
	if fault.Is(err, fault.Unauthenticated) {
		err = fault.Field("code", "is incorrect")
	}
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx SystemTx) error {
		return a.svc.dropFactor(ctx, tx, a.userID, a.userID, a.caller.tokenID)
	})
}

// ResetSecondFactor removes the second factor of a user who has lost it, so that the password is enough, and ends the user's
// sessions. Verify first that the request is the user's. Operators only.
func (a *Admin) ResetSecondFactor(ctx context.Context, userID int64) error {
	begin, err := a.guard.Write(operate)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx SystemTx) error {
		return a.svc.dropFactor(ctx, tx, userID, 0, 0)
	})
}

// ResetSecondFactor is [Admin.ResetSecondFactor] for a member, under the conditions of [Members.Disable].
func (d Members) ResetSecondFactor(ctx context.Context, membershipID int64) error {
	return d.aboutUser(ctx, membershipID, func(ctx context.Context, tx SystemTx, userID int64) error {
		return d.svc.dropFactor(ctx, tx, userID, d.userID, d.caller.tokenID)
	})
}

// dropFactor removes a second factor, if any, and records the acting token.
func (s *Service) dropFactor(ctx context.Context, tx SystemTx, userID, actorID, tokenID int64) error {
	user, err := tx.UserForUpdate(ctx, userID)
	if err != nil || !user.HasSecondFactor() {
		return err
	}
	user.SecondFactorAt, user.SealedSecondFactor, user.UpdatedAt = time.Time{}, nil, s.now()
	if err := tx.UpdateUser(ctx, &user); err != nil {
		return err
	}
	if actorID != userID {
		if err := tx.DeleteOtherSessions(ctx, userID, 0); err != nil {
			return err
		}
	}
	return s.credentialChanged(ctx, tx, userID, s.entry(auditFactorGone, userID, actorID, tokenID, s.now()), "")
}

// SecondStep is the cause of the Unauthenticated fault with code second_factor_required that [SignIn.WithPassword] returns when
// the password is right and a code is needed; find it with errors.As. For ten minutes, its Token replaces the password in
// [SignIn.WithCode].
type SecondStep struct {
	Token      string
	HasPasskey bool // the user has one, and could sign in with it instead, see [SignIn.BeginPasskey]
}

// Error implements error.
func (*SecondStep) Error() string { return "a code of the second factor is needed" }

func (s *Service) needsCode(ctx context.Context, u identity.User) error {
	step := &SecondStep{Token: s.secondStepToken(u)}
	if s.cfg.Passkeys != nil {
		all, err := s.cfg.Store.PasskeysOf(ctx, u.ID)
		if err != nil {
			return err
		}
		step.HasPasskey = len(all) > 0
	}
	return &fault.Error{
		Kind: fault.Unauthenticated, Code: identity.SecondFactorRequired, Message: "Enter a code from your authenticator app to finish signing in.", Err: step,
	}
}

func (s *Service) secondStepToken(u identity.User) string {
	body := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(u.ID)), uint64(s.now().Add(secondStepLife).Unix()))
	return secondStepStart + passwordTokens.EncodeToString(append(body, secondStepMAC(s.cfg.SigningKey, body, u)...))
}

// secondStepMAC binds a token to the user's current password and second factor.
func secondStepMAC(key, body []byte, u identity.User) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("second step v1\x00" + u.PasswordHash + "\x00" + u.SecondFactorAt.UTC().Format(time.RFC3339Nano) + "\x00"))
	mac.Write(body)
	return mac.Sum(nil)[:20]
}

// WithCode completes a sign-in, see [SecondStep], with a code from the authenticator app, valid once, or a recovery
// code. A wrong code, or a forged or expired token, is an Unauthenticated fault. After several wrong codes for a user, from
// any address, the next attempt is a RateLimited fault that contains the waiting time.
func (s SignIn) WithCode(ctx context.Context, token, code string) (Caller, error) {
	user, err := s.svc.secondStepUser(ctx, token)
	if err != nil {
		return Caller{}, err
	}
	if err := s.svc.takeCode(ctx, user, code); err != nil {
		return Caller{}, err
	}
	return s.svc.AsSignedIn(user.ID), nil
}

func (s *Service) secondStepUser(ctx context.Context, token string) (identity.User, error) {
	over := &fault.Error{Kind: fault.Unauthenticated, Code: "sign_in_expired", Message: "Your sign-in has expired. Sign in again."}
	text, found := strings.CutPrefix(token, secondStepStart)
	raw, err := passwordTokens.DecodeString(text)
	if !found || err != nil || len(raw) <= 20 {
		return identity.User{}, over
	}
	body, mac := raw[:len(raw)-20], raw[len(raw)-20:]
	id, n := binary.Uvarint(body)
	if n <= 0 {
		return identity.User{}, over
	}
	expires, m := binary.Uvarint(body[n:])
	if m <= 0 || n+m != len(body) || s.now().Unix() >= int64(expires) {
		return identity.User{}, over
	}
	user, err := s.cfg.Store.User(ctx, int64(id))
	if fault.Is(err, fault.NotFound) {
		return identity.User{}, over
	}
	if err != nil {
		return identity.User{}, err
	}
	if user.Disabled() || !s.signedBy(func(key []byte) bool { return hmac.Equal(mac, secondStepMAC(key, body, user)) }) {
		return identity.User{}, over
	}
	return user, nil
}

func wrongCode() error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: "wrong_code", Message: "The code is incorrect or has already been used."}
}

// takeCode consumes a code of a user's second factor.
func (s *Service) takeCode(ctx context.Context, user identity.User, code string) error {
	return s.tryCode(ctx, user, func() error {
		return s.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
			user, err := tx.UserForUpdate(ctx, user.ID)
			if err != nil {
				return err
			}
			f, err := s.factorOf(user)
			if err != nil {
				return err
			}
			right, recovery := f.consumeCode(code, s.now())
			if !right || !user.HasSecondFactor() {
				return wrongCode()
			}
			if recovery {
				if err := s.ownCredentialChanged(ctx, tx, auditRecoveryUsed, user.ID, user.ID, 0, ""); err != nil {
					return err
				}
			}
			return s.keepFactor(ctx, tx, &user, f)
		})
	})
}

// tryCode counts attempts with a user's codes from all addresses together, since the password is already known.
func (s *Service) tryCode(ctx context.Context, user identity.User, fn func() error) error {
	keys := []tryKey{{strconv.FormatInt(user.ID, 10), codeTries}}
	if wait := s.throttle.try(s.now(), keys); wait > 0 {
		return &fault.Error{
			Kind: fault.RateLimited, Code: "too_many_attempts", Err: retryLater(wait),
			Message: "Too many incorrect codes. Try again after the time in Retry-After.",
		}
	}
	err := fn()
	switch {
	case err == nil:
		s.throttle.succeed(user.ID, "", keys)
	case !fault.Is(err, fault.Unauthenticated):
		s.throttle.release(keys)
	default:
		if err := s.failedLogin(ctx, user.ID, user.Email); err != nil {
			return err
		}
	}
	return err
}
