package helpdesk

import "time"

// AccessToken lets a program act for a user. Only the hash of its secret is kept.
type AccessToken struct {
	ID         int64
	UserID     int64
	Name       string
	Hash       []byte       // SHA-256 of the secret
	Scopes     []Permission // at most these of the user's permissions; empty: all
	ExpiresAt  time.Time    // zero: never
	LastUsedAt time.Time    // exact to a minute
	CreatedAt  time.Time
}
