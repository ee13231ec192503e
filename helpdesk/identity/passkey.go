package identity

import (
	"time"
)

// Passkey lets a user sign in without a password: a WebAuthn credential that verifies its holder, by a fingerprint or a PIN,
// before it signs. It counts as both factors.
type Passkey struct {
	ID     int64
	UserID int64
	Name   string // chosen by the user
	PasskeyKey
	// ChallengeAt is the time of the last challenge that it answered. Earlier ones are rejected.
	ChallengeAt time.Time
	CreatedAt   time.Time
	UsedAt      time.Time // last sign-in; zero: none yet
}

// PasskeyKey is what is needed to verify a passkey's signatures.
type PasskeyKey struct {
	CredentialID   []byte   // unique over all users
	Handle         []byte   // WebAuthn user handle: random, the same for all passkeys of a user
	PublicKey      []byte   // in COSE form
	SignCount      int64    // of the last signature; 0 in authenticators that do not count
	BackupEligible bool     // may exist on several devices
	BackedUp       bool     // does exist on several devices, or in an account
	Transports     []string // ways to reach the authenticator, as the browser reported them
}

// PasskeyVerifier speaks WebAuthn; package passkey implements it. Options are JSON for the browser's
// parseCreationOptionsFromJSON and parseRequestOptionsFromJSON; answers are the credential's toJSON. The secret of a
// beginning has at most 1,000 bytes and is given to the end. A rejected answer is an Unauthenticated fault.
type PasskeyVerifier interface {
	// Origin is the origin of the pages that can use passkeys, such as https://help.example.org.
	Origin() string
	// BeginRegistration starts registering a passkey of a user who already has others.
	BeginRegistration(handle []byte, name, displayName string, others []PasskeyKey) (options, secret []byte, err error)
	// FinishRegistration verifies the answer and returns the new key.
	FinishRegistration(handle, secret, answer []byte) (PasskeyKey, error)
	// BeginSignIn starts a sign-in with a passkey that the user chooses.
	BeginSignIn() (options, secret []byte, err error)
	// FinishSignIn verifies the answer with the key that find returns, and returns the key after the signature. cloned reports
	// that the signature was valid, but its counter did not increase.
	FinishSignIn(secret, answer []byte, find func(credentialID []byte) (PasskeyKey, error)) (key PasskeyKey, cloned bool, err error)
}

// Codes of the faults about passkeys.
const (
	PasskeysOff    = "passkeys_off"    // Disabled: the server's address does not allow them
	PasskeyExpired = "sign_in_expired" // Unauthenticated: it took too long, or began in another browser
	PasskeyUnknown = "passkey_unknown" // Unauthenticated: no user has it
	PasskeyRefused = "passkey_refused" // Unauthenticated: the signature is not valid here
	PasskeyCloned  = "passkey_cloned"  // Unauthenticated: a copy of it exists
)

const (
	// MaxPasskeys is how many passkeys a user may have.
	MaxPasskeys = 20
	// MaxPasskeyAnswer is the maximum size of a browser's answer in bytes.
	MaxPasskeyAnswer = 32 << 10
)

// PasskeyStart begins the registration of a passkey, or a sign-in with one.
type PasskeyStart struct {
	Options []byte // for the browser, in JSON
	// Kept belongs in an HttpOnly cookie of this browser for five minutes, so that no other browser can finish. It has at most
	// 3,000 bytes.
	Kept string
}
