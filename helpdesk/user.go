package helpdesk

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// UpdateMe changes the caller's own name, password and preferences. A new password ends the caller's other sessions; access tokens stay
// valid. It is forbidden to tokens with scopes.
func (a *Admin) UpdateMe(ctx context.Context, in identity.UserUpdate) (identity.User, error) {
	begin, err := a.guard.Write(ownUser)
	if err != nil {
		return identity.User{}, err
	}
	dir, err := a.guard.Read(ownUser)
	if err != nil {
		return identity.User{}, err
	}
	name := plain.Line(in.Name.Or(""))
	var problems fault.Collector
	in.Preferences.Check(&problems)
	tag := in.Preferences.Language.Or("")
	problems.Check(tag == "" || validLocale(tag), "language", "must be a language tag, such as en or pt-BR")
	if in.Name.IsSet() || in.Password == "" && !in.Preferences.IsSet() {
		required(&problems, "name", name, 200)
	}
	problems.Check(in.Password == "" || plain.Length(in.Password) >= 8 && plain.Length(in.Password) <= 200, "password", "must have 8 to 200 characters")
	problems.Check(in.Password != "" || in.CurrentPassword == "", "password", "is required with current_password")
	if in.Password != "" {
		if err := a.provePassword(ctx, dir, in.CurrentPassword, &problems); err != nil {
			return identity.User{}, err
		}
	}
	if err := problems.Err(); err != nil {
		return identity.User{}, err
	}
	hash := ""
	if in.Password != "" {
		if hash, err = a.svc.hashPassword(ctx, in.Password); err != nil {
			return identity.User{}, err
		}
	}
	var user identity.User
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		if user, err = tx.UserForUpdate(ctx, a.userID); err != nil {
			return err
		}
		user.UpdatedAt = a.svc.now()
		in.Preferences.Apply(&user.Preferences)
		if in.Name.IsSet() {
			user.Name = name
		}
		if hash != "" {
			user.PasswordHash = hash
			if err := tx.DeleteOtherSessions(ctx, user.ID, a.caller.tokenID); err != nil {
				return err
			}
			if err := a.svc.ownCredentialChanged(ctx, tx, auditPassword, user.ID, user.ID, a.caller.tokenID, ""); err != nil {
				return err
			}
		}
		return tx.UpdateUser(ctx, &user)
	})
	return user, err
}

// provePassword adds a problem if the current password is not the caller's.
func (a *Admin) provePassword(ctx context.Context, dir Directory, password string, problems *fault.Collector) error {
	user, err := dir.User(ctx, a.userID)
	if err != nil || user.PasswordHash == "" {
		return err
	}
	if !problems.Check(password != "", "current_password", "is required") {
		return nil
	}
	err = a.svc.prove(ctx, user, user.Email, password)
	if fault.Is(err, fault.Unauthenticated) {
		problems.Add("current_password", "is incorrect")
		return nil
	}
	return err
}
