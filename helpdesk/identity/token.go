package identity

import (
	"time"
)

// AccessToken lets a program act for a user. Only the hash of its secret is stored.
type AccessToken struct {
	ID         int64
	UserID     int64
	Name       string
	Hash       []byte       // SHA-256 of the secret
	Scopes     []Permission // limit of the user's permissions; empty: all
	ExpiresAt  time.Time    // zero: never
	LastUsedAt time.Time    // exact to a minute
	CreatedAt  time.Time
	Session    bool // created by signing in, and ended by signing out
	// Factors is the number of factors of the sign-in with an identity provider that created the token, 1 or 2. 0: it was
	// created otherwise.
	Factors int
	// UserDisabled reports whether the user is disabled; only helpdesk.Directory.TokenByHash sets it.
	UserDisabled bool
}

// TokenPrefix begins every access token's secret, so that secret scanners can find leaked ones.
const TokenPrefix = "hwp_"

// TokenInput is a new access token.
type TokenInput struct {
	Name      string       // required
	Scopes    []Permission // empty: all that the user holds
	ExpiresAt time.Time    // zero: never
	// Secret is a token chosen by the operator, 20 to 200 printable characters. Empty: a random one.
	Secret string
}

// Session is the result of signing in: an access token for a browser's cookie.
type Session struct {
	Secret    string
	ExpiresAt time.Time
}

// SessionLife is the lifetime of a session.
const SessionLife = 14 * 24 * time.Hour
