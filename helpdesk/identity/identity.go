package identity

import (
	"time"
)

// Identity is who a user is at an identity provider: issuer and subject, whatever becomes of the address there.
type Identity struct {
	ID        int64
	UserID    int64
	Issuer    string
	Subject   string
	Email     string // that the provider told last; it proves nothing
	CreatedAt time.Time
	UsedAt    time.Time // when the user signed in with it last
}

// Codes of the faults about signing in with an identity provider.
const (
	SignInExpired       = "sign_in_expired"      // Unauthenticated: it took too long, or another browser began it
	UnknownIdentity     = "identity_unknown"     // Forbidden: nobody here is known by it, and no rule makes a member
	UnconfirmedIdentity = "identity_unconfirmed" // Forbidden: a user has the address, but has not confirmed it here
	OtherIdentity       = "identity_other"       // Forbidden: the user of the address is somebody else at the provider
	TakenIdentity       = "identity_taken"       // Conflict: it is connected to another user
	LastSignIn          = "last_sign_in"         // Conflict: without it the user could not sign in any more
)

// SignInStart is how a sign-in with an identity provider begins.
type SignInStart struct {
	Address string // where the browser goes
	// Kept stays in a cookie of this browser, which scripts cannot read, for ten minutes: only the browser that has
	// begun can finish. At most 3,000 bytes.
	Kept string
}
