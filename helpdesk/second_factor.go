package helpdesk

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

const (
	// SecondFactorRequired is the code of the Unauthenticated fault about a sign-in that lacks a code of the second factor,
	// and of the Forbidden one about a member who has to set one up before working in an account.
	SecondFactorRequired = "second_factor_required"
	// SecondFactorPresent is the code of the Conflict fault about setting up a second factor where there is one.
	SecondFactorPresent = "second_factor_present"
)

const (
	recoveryCodes   = 10
	recoveryLength  = 12 // characters of a recovery code, 5 bits each
	secondStepLife  = 10 * time.Minute
	secondStepStart = "hws_"
	// codeTries stands in the place of an address where codes of a user are counted.
	codeTries = "second factor"
)

// secondFactor is what is sealed with a user: only a user with a SecondFactorAt has confirmed it.
type secondFactor struct {
	Secret   []byte   `json:"secret"`
	Step     int64    `json:"step,omitempty"`     // of the last code that was taken: none up to it is taken again
	Recovery [][]byte `json:"recovery,omitempty"` // SHA-256 of the codes that are left
}

func (u User) factorContext() string { return fmt.Sprintf("user/%d/second_factor", u.ID) }

// HasSecondFactor reports whether signing in with the password takes a code too.
func (u User) HasSecondFactor() bool { return !u.SecondFactorAt.IsZero() }

func (s *Service) factorOf(u User) (f secondFactor, err error) {
	if len(u.SealedSecondFactor) == 0 {
		return f, nil
	}
	text, err := s.cfg.Sealer.Open(u.SealedSecondFactor, u.factorContext())
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		return f, fault.Wrap(fault.Internal, "opening a second factor", err)
	}
	return f, nil
}

func (s *Service) keepFactor(ctx context.Context, tx SystemTx, u *User, f secondFactor) error {
	text, err := json.Marshal(f)
	if err == nil {
		u.SealedSecondFactor, err = s.cfg.Sealer.Seal(text, u.factorContext())
	}
	if err != nil {
		return fault.Wrap(fault.Internal, "sealing a second factor", err)
	}
	u.UpdatedAt = s.now()
	return tx.UpdateUser(ctx, u)
}

// take uses a code up, if it is right: one of an authenticator app that is not older than the last, or one for recovery.
func (f *secondFactor) take(code string, now time.Time) (right, recovery bool) {
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

// renew makes new codes for recovery and returns them as they are shown.
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

// SecondFactor is how the caller signs in.
type SecondFactor struct {
	Since         time.Time // zero: with the password alone
	RecoveryCodes int       // that are left
}

// SecondFactor returns how the caller signs in.
func (a *Admin) SecondFactor(ctx context.Context) (SecondFactor, error) {
	dir, err := a.guard.Read(ownUser)
	if err != nil {
		return SecondFactor{}, err
	}
	user, err := dir.User(ctx, a.userID)
	if err != nil || !user.HasSecondFactor() {
		return SecondFactor{}, err
	}
	f, err := a.svc.factorOf(user)
	return SecondFactor{Since: user.SecondFactorAt, RecoveryCodes: len(f.Recovery)}, err
}

// NewSecondFactor is what an authenticator app is given, once.
type NewSecondFactor struct {
	Secret string // base32, to type
	URI    string // otpauth, for a QR code
}

// BeginSecondFactor makes the secret of a second factor of the caller, whose password proves who asks. The issuer is what
// authenticator apps call the server. It counts from [Admin.ConfirmSecondFactor] on; another call makes another secret. A
// caller who has a second factor gets a Conflict fault with code second_factor_present. A caller with a token that has scopes
// may not.
func (a *Admin) BeginSecondFactor(ctx context.Context, password, issuer string) (NewSecondFactor, error) {
	begin, err := a.provenBy(ctx, password)
	if err != nil {
		return NewSecondFactor{}, err
	}
	f := secondFactor{Secret: make([]byte, totpSecret)}
	_, _ = rand.Read(f.Secret) // never fails, see crypto/rand
	var user User
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		if user, err = tx.UserForUpdate(ctx, a.userID); err != nil {
			return err
		}
		if user.HasSecondFactor() {
			return &fault.Error{Kind: fault.Conflict, Resource: "user", ID: user.ID, Code: SecondFactorPresent, Message: "You have a second factor already. Switch it off first."}
		}
		return a.svc.keepFactor(ctx, tx, &user, f)
	})
	if err != nil {
		return NewSecondFactor{}, err
	}
	return NewSecondFactor{Secret: totpEncoding.EncodeToString(f.Secret), URI: totpURI(f.Secret, cleanLine(issuer), user.Email)}, nil
}

// provenBy is the right to change how the caller signs in, for who knows the password.
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

// ConfirmSecondFactor makes the second factor count that [Admin.BeginSecondFactor] has begun, with a code that shows that the
// authenticator app has it; the caller's other sessions end. It returns ten codes for recovery, each good once instead of an
// app's, which are not kept. A code that is not right is an Invalid fault on code.
func (a *Admin) ConfirmSecondFactor(ctx context.Context, code string) ([]string, error) {
	return a.withCode(ctx, code, func(ctx context.Context, tx SystemTx, user *User, f *secondFactor) error {
		if user.HasSecondFactor() || len(f.Secret) == 0 {
			return fault.New(fault.Conflict, "Begin to set up a second factor first.")
		}
		user.SecondFactorAt = a.svc.now()
		if err := tx.DeleteOtherSessions(ctx, user.ID, a.caller.tokenID); err != nil {
			return err
		}
		return a.svc.note(ctx, tx, auditFactor, user.ID, user.ID, a.caller.tokenID)
	})
}

// RenewRecoveryCodes returns ten new codes for recovery; those of before are good for nothing any more. The code proves who
// asks, as in [Admin.ConfirmSecondFactor].
func (a *Admin) RenewRecoveryCodes(ctx context.Context, code string) ([]string, error) {
	return a.withCode(ctx, code, func(ctx context.Context, tx SystemTx, user *User, _ *secondFactor) error {
		if !user.HasSecondFactor() {
			return fault.New(fault.Conflict, "You have no second factor.")
		}
		return a.svc.note(ctx, tx, auditRecoveryNew, user.ID, user.ID, a.caller.tokenID)
	})
}

// withCode makes codes for recovery for a caller who has a right code, after fn.
func (a *Admin) withCode(ctx context.Context, code string, fn func(ctx context.Context, tx SystemTx, user *User, f *secondFactor) error) (codes []string, err error) {
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
			if len(f.Secret) > 0 { // else fn refuses
				if right, _ := f.take(code, a.svc.now()); !right {
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
	if fault.Is(err, fault.Unauthenticated) { // the caller is who they are
		err = fault.Field("code", "is not right")
	}
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// RemoveSecondFactor lets the caller sign in with the password alone. Password and code prove who asks: what is not right is
// an Invalid fault on current_password or code.
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
		err = fault.Field("code", "is not right")
	}
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx SystemTx) error {
		return a.svc.dropFactor(ctx, tx, a.userID, a.userID, a.caller.tokenID)
	})
}

// ResetSecondFactor removes the second factor of a user who has lost it, who signs in with the password alone then; the
// user's sessions end. Make sure first that it is the user who asks. Operators only.
func (a *Admin) ResetSecondFactor(ctx context.Context, userID int64) error {
	begin, err := a.guard.Write(operate)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx SystemTx) error {
		return a.svc.dropFactor(ctx, tx, userID, 0, 0)
	})
}

// ResetMemberSecondFactor is [Admin.ResetSecondFactor] of a member, under the conditions of [Desk.DisableMember].
func (d *Desk) ResetMemberSecondFactor(ctx context.Context, membershipID int64) error {
	return d.aboutUser(ctx, membershipID, func(ctx context.Context, tx SystemTx, userID int64) error {
		return d.svc.dropFactor(ctx, tx, userID, d.userID, d.caller.tokenID)
	})
}

// dropFactor removes a second factor, if there is one, for who came with a token.
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
	return s.noteFor(ctx, tx, userID, s.entry(auditFactorGone, userID, actorID, tokenID, s.now()))
}

// SecondStep is what [Service.SignIn] fails because of when the password is right and a code is needed: the cause of an
// Unauthenticated fault with code second_factor_required, to be found with errors.As. Its Token stands for the password in
// [Service.FinishSignIn], for ten minutes.
type SecondStep struct{ Token string }

// Error implements error.
func (*SecondStep) Error() string { return "a code of the second factor is needed" }

func (s *Service) needsCode(u User) error {
	return &fault.Error{
		Kind: fault.Unauthenticated, Code: SecondFactorRequired, Message: "Signing in takes a code of your authenticator app too.",
		Err: &SecondStep{Token: s.secondStepToken(u)},
	}
}

func (s *Service) secondStepToken(u User) string {
	body := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(u.ID)), uint64(s.now().Add(secondStepLife).Unix()))
	return secondStepStart + passwordTokens.EncodeToString(append(body, secondStepMAC(s.cfg.SigningKey, body, u)...))
}

// secondStepMAC binds a token to the password and the second factor that the user has while it is made.
func secondStepMAC(key, body []byte, u User) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("second step v1\x00" + u.PasswordHash + "\x00" + u.SecondFactorAt.UTC().Format(time.RFC3339Nano) + "\x00"))
	mac.Write(body)
	return mac.Sum(nil)[:20]
}

// FinishSignIn finds the user whose password was right, see [SecondStep], with a code of their authenticator app, which is
// good once, or one for recovery. A wrong code, and a token that is not genuine or is too old, is an Unauthenticated fault;
// after several wrong codes of a user, from wherever they come, the next one has to wait: a RateLimited fault that says how
// long.
func (s *Service) FinishSignIn(ctx context.Context, token, code string) (Caller, error) {
	user, err := s.secondStepUser(ctx, token)
	if err != nil {
		return Caller{}, err
	}
	if err := s.takeCode(ctx, user, code); err != nil {
		return Caller{}, err
	}
	return s.AsSignedIn(user.ID), nil
}

func (s *Service) secondStepUser(ctx context.Context, token string) (User, error) {
	over := &fault.Error{Kind: fault.Unauthenticated, Code: "sign_in_expired", Message: "This took too long. Sign in again."}
	text, found := strings.CutPrefix(token, secondStepStart)
	raw, err := passwordTokens.DecodeString(text)
	if !found || err != nil || len(raw) <= 20 {
		return User{}, over
	}
	body, mac := raw[:len(raw)-20], raw[len(raw)-20:]
	id, n := binary.Uvarint(body)
	if n <= 0 {
		return User{}, over
	}
	expires, m := binary.Uvarint(body[n:])
	if m <= 0 || n+m != len(body) || s.now().Unix() >= int64(expires) {
		return User{}, over
	}
	user, err := s.cfg.Store.User(ctx, int64(id))
	if fault.Is(err, fault.NotFound) {
		return User{}, over
	}
	if err != nil {
		return User{}, err
	}
	if user.Disabled() || !s.signedBy(func(key []byte) bool { return hmac.Equal(mac, secondStepMAC(key, body, user)) }) {
		return User{}, over
	}
	return user, nil
}

func wrongCode() error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: "wrong_code", Message: "The code is not right, or was used already."}
}

// takeCode uses up a code of a user's second factor.
func (s *Service) takeCode(ctx context.Context, user User, code string) error {
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
			right, recovery := f.take(code, s.now())
			if !right || !user.HasSecondFactor() {
				return wrongCode()
			}
			if recovery {
				if err := s.note(ctx, tx, auditRecoveryUsed, user.ID, user.ID, 0); err != nil {
					return err
				}
			}
			return s.keepFactor(ctx, tx, &user, f)
		})
	})
}

// tryCode counts tries of codes of a user, from wherever they come: who tries has the password already.
func (s *Service) tryCode(ctx context.Context, user User, fn func() error) error {
	keys := []tryKey{{strconv.FormatInt(user.ID, 10), codeTries}}
	if wait := s.throttle.try(s.now(), keys); wait > 0 {
		return &fault.Error{
			Kind: fault.RateLimited, Code: "too_many_attempts", Err: retryLater(wait),
			Message: "Too many wrong codes. Wait as long as Retry-After says, then try again.",
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

// lacksSecondFactor reports whether the account asks for a second factor that the member has to set up first. Who has no
// password signs in by other means.
func (g Grant) lacksSecondFactor() bool {
	return g.RequireSecondFactor && g.HasPassword && !g.HasSecondFactor
}
