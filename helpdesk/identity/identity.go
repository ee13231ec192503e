package identity

import (
	"time"
)

// Identity links a user to their account at an identity provider. Issuer and Subject identify it, even when the address
// there changes.
type Identity struct {
	ID        int64
	UserID    int64
	Issuer    string
	Subject   string
	Email     string // as the provider last reported it; proves nothing
	CreatedAt time.Time
	UsedAt    time.Time // last sign-in
}

// Codes of the faults about signing in with an identity provider.
const (
	SignInExpired       = "sign_in_expired"      // Unauthenticated: it took too long, or began in another browser
	UnknownIdentity     = "identity_unknown"     // Forbidden: no user has it, and no rule admits it
	UnconfirmedIdentity = "identity_unconfirmed" // Forbidden: a user has the address, but has not confirmed it here
	OtherIdentity       = "identity_other"       // Forbidden: the user with the address has another identity at the provider
	TakenIdentity       = "identity_taken"       // Conflict: it is linked to another user
	LastSignIn          = "last_sign_in"         // Conflict: the user could no longer sign in without it
)

// SignInStart begins a sign-in with an identity provider.
type SignInStart struct {
	Address string // to redirect the browser to
	// Kept belongs in an HttpOnly cookie of this browser for ten minutes, so that no other browser can finish the sign-in. It
	// has at most 3,000 bytes.
	Kept string
}
