package helpdesk

import "time"

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
