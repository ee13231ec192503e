package helpdesk

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// passwordTokens is an encoding that is safe in URLs.
var passwordTokens = base32.StdEncoding.WithPadding(base32.NoPadding)

// CreatePasswordToken creates a token with which its holder can choose a user's password, see [SignIn.ChoosePassword]. It
// is valid once, until the password changes, and for life at most (0: no limit). Operators create one for any user. Others
// create one for themselves while they have no password; a token with scopes may not.
func (a *Admin) CreatePasswordToken(ctx context.Context, userID int64, life time.Duration) (string, error) {
	dir, err := a.guard.Read(ownUser)
	if err != nil {
		return "", err
	}
	user, err := dir.User(ctx, userID)
	if err != nil {
		return "", err
	}
	if a.userID != 0 && (userID != a.userID || user.PasswordHash != "") {
		return "", fault.New(fault.Forbidden, "Only the operator can issue a password reset.")
	}
	if user.Disabled() {
		return "", &fault.Error{Kind: fault.Conflict, Resource: "user", ID: userID, Code: identity.UserDisabled, Message: "This user is disabled. Enable the user first."}
	}
	var expires time.Time
	if life > 0 {
		expires = a.svc.now().Add(life)
	}
	return a.svc.passwordToken(user, expires), nil
}

// passwordToken returns a token for a user. With the zero time it does not expire.
func (s *Service) passwordToken(user identity.User, at time.Time) string {
	var expires int64
	if !at.IsZero() {
		expires = at.Unix()
	}
	body := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(user.ID)), uint64(expires))
	return identity.PasswordTokenPrefix + passwordTokens.EncodeToString(append(body, passwordMAC(s.cfg.SigningKey, body, user)...))
}

// passwordMAC binds a token to the user's current password.
func passwordMAC(key, body []byte, user identity.User) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("password token v1\x00" + user.PasswordHash + "\x00" + user.CreatedAt.UTC().Format(time.RFC3339Nano) + "\x00"))
	mac.Write(body)
	return mac.Sum(nil)[:20]
}

// PasswordTokenUser returns the user whose password a token lets its holder choose. A token that is forged, used or expired,
// or belongs to a disabled user, is a NotFound fault.
func (s SignIn) PasswordTokenUser(ctx context.Context, token string) (identity.User, error) {
	missing := fault.Missing("password token", 0)
	text, found := strings.CutPrefix(token, identity.PasswordTokenPrefix)
	raw, err := passwordTokens.DecodeString(text)
	if !found || err != nil || len(raw) <= 20 {
		return identity.User{}, missing
	}
	body, mac := raw[:len(raw)-20], raw[len(raw)-20:]
	id, n := binary.Uvarint(body)
	if n <= 0 {
		return identity.User{}, missing
	}
	expires, m := binary.Uvarint(body[n:])
	if m <= 0 || n+m != len(body) {
		return identity.User{}, missing
	}
	user, err := s.svc.cfg.Store.User(ctx, int64(id))
	if err != nil {
		if fault.Is(err, fault.NotFound) {
			return identity.User{}, missing
		}
		return identity.User{}, err
	}
	genuine := s.svc.signedBy(func(key []byte) bool { return hmac.Equal(mac, passwordMAC(key, body, user)) })
	if !genuine || user.Disabled() || expires != 0 && s.svc.now().Unix() >= int64(expires) {
		return identity.User{}, missing
	}
	return user, nil
}

// ChoosePassword sets the password of a token's user, ends their sessions and returns them as the caller. For a user with a
// second factor the returned caller is anonymous, and they must sign in. Access tokens stay valid. The token is used up:
// afterwards it is a NotFound fault. An address that another user has is an Invalid fault.
func (s SignIn) ChoosePassword(ctx context.Context, token string, in identity.PasswordChoice) (Caller, error) {
	before, err := s.svc.SignIn().PasswordTokenUser(ctx, token)
	if err != nil {
		return Caller{}, err
	}
	in.Name, in.Email = plain.Line(in.Name), plain.Line(in.Email)
	var problems fault.Collector
	problems.Check(plain.Length(in.Password) >= 8 && plain.Length(in.Password) <= 200, "password", "must have 8 to 200 characters")
	bounded(&problems, "name", in.Name, 200)
	problems.Check(in.Email == "" || mailaddr.Valid(in.Email), "email", "is not an email address")
	if err := problems.Err(); err != nil {
		return Caller{}, err
	}
	hash, err := s.svc.hashPassword(ctx, in.Password)
	if err != nil {
		return Caller{}, err
	}
	err = s.svc.beginSystem(0)(ctx, func(ctx context.Context, tx SystemTx) error {
		user, err := tx.UserForUpdate(ctx, before.ID)
		if err != nil {
			return err
		}
		if user.PasswordHash != before.PasswordHash {
			return fault.Missing("password token", 0) // used by a concurrent request
		}
		if before.PasswordHash == "" {
			introduce(&user, in)
		}
		user.PasswordHash, user.UpdatedAt = hash, s.svc.now()
		if err := tx.UpdateUser(ctx, &user); err != nil {
			return takenField(err, identity.UniqueUserEmail, "email")
		}
		if err := tx.DeleteOtherSessions(ctx, user.ID, 0); err != nil {
			return err
		}
		if user.EmailKey != before.EmailKey {
			if err := s.svc.ownCredentialChanged(ctx, tx, auditEmail, user.ID, user.ID, 0, before.Email); err != nil {
				return err
			}
			return s.svc.note(ctx, tx, auditPassword, user.ID, user.ID, 0) // the new address is theirs who chose both
		}
		return s.svc.ownCredentialChanged(ctx, tx, auditPassword, user.ID, user.ID, 0, "")
	})
	if err != nil || before.HasSecondFactor() {
		return Caller{}, err
	}
	return s.svc.AsSignedIn(before.ID), nil
}

// introduce copies a new user's name and address.
func introduce(u *identity.User, in identity.PasswordChoice) {
	if in.Name != "" {
		u.Name = in.Name
	}
	if in.Email != "" && mailaddr.Key(in.Email) != u.EmailKey {
		u.Email, u.EmailKey, u.EmailVerifiedAt = in.Email, mailaddr.Key(in.Email), time.Time{}
	}
}
