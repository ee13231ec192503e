package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// User is a person who signs in. A user works in accounts through memberships.
type User struct {
	ID              int64
	Name            string
	Email           string
	EmailKey        string // normalised Email, see [EmailKey]; unique over all accounts
	EmailVerifiedAt time.Time
	PasswordHash    string // Argon2id in PHC string form; "": the user has no password
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// Initials are the first letters of the first and the last word of the name.
func (u User) Initials() string { return initials(u.Name) }

// Rename changes the caller's own name: 1 to 200 characters. A caller with a token
// that has scopes may not.
func (a *Admin) Rename(ctx context.Context, name string) (User, error) {
	begin, err := a.guard.Write(ownUser)
	if err != nil {
		return User{}, err
	}
	name = cleanLine(name)
	var problems fault.Collector
	required(&problems, "name", name, 200)
	if err := problems.Err(); err != nil {
		return User{}, err
	}
	var user User
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		if user, err = tx.User(ctx, a.userID); err != nil {
			return err
		}
		user.Name, user.UpdatedAt = name, a.svc.now()
		return tx.UpdateUser(ctx, &user)
	})
	return user, err
}
