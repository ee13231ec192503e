package identity

import (
	"time"
)

// Passkey lets a user sign in without a password: a WebAuthn credential that verifies its holder, by
// a fingerprint or a PIN, before it signs. It counts as both factors.
type Passkey struct {
	ID     int64
	UserID int64
	Name   string // by which the user knows it
	PasskeyKey
	// ChallengeAt is when the last challenge that it answered was issued. No earlier one is accepted.
	ChallengeAt time.Time
	CreatedAt   time.Time
	UsedAt      time.Time // last sign-in; zero: none yet
}

// PasskeyKey is what is needed to verify a passkey's signatures.
type PasskeyKey struct {
	CredentialID   []byte   // unique over all users
	Handle         []byte   // stands for the user in the authenticator: random, the same for all passkeys of a user
	PublicKey      []byte   // in COSE form
	SignCount      int64    // of the last signature; 0 in authenticators that do not count
	BackupEligible bool     // may exist on several devices
	BackedUp       bool     // does exist on several devices, or in an account
	Transports     []string // how browsers reach the authenticator, as they named it
}

// PasskeyVerifier speaks WebAuthn; package passkey implements it. Options are for the browser, in
// JSON: parseCreationOptionsFromJSON and parseRequestOptionsFromJSON read them. Answers are the
// credential's toJSON. A secret of at most 1,000 bytes is kept until the answer comes. Refused answers are Unauthenticated
// faults.
type PasskeyVerifier interface {
	// Origin is where pages must be for passkeys to work, such as https://help.example.org.
	Origin() string
	// BeginRegistration starts registering a passkey of a user who already has others.
	BeginRegistration(handle []byte, name, displayName string, others []PasskeyKey) (options, secret []byte, err error)
	// FinishRegistration verifies the answer and returns the new key.
	FinishRegistration(handle, secret, answer []byte) (PasskeyKey, error)
	// BeginSignIn starts a sign-in by whatever passkey the user chooses.
	BeginSignIn() (options, secret []byte, err error)
	// FinishSignIn verifies the answer with the key that find returns, and returns the key after the
	// signature. cloned reports that the signature was valid, but not counted upwards.
	FinishSignIn(secret, answer []byte, find func(credentialID []byte) (PasskeyKey, error)) (key PasskeyKey, cloned bool, err error)
}

// Codes of the faults about passkeys.
const (
	PasskeysOff    = "passkeys_off"    // Disabled: the server's address does not allow them
	PasskeyExpired = "sign_in_expired" // Unauthenticated: it took too long, or another browser began it
	PasskeyUnknown = "passkey_unknown" // Unauthenticated: no user has it, or no longer
	PasskeyRefused = "passkey_refused" // Unauthenticated: the signature is not valid here
	PasskeyCloned  = "passkey_cloned"  // Unauthenticated: a copy of it exists
)

const (
	// MaxPasskeys is how many passkeys a user may have.
	MaxPasskeys = 20
	// MaxPasskeyAnswer is the maximum size of a browser's answer in bytes.
	MaxPasskeyAnswer = 32 << 10
)

// PasskeyStart is how registering a passkey, or signing in with one, begins.
type PasskeyStart struct {
	Options []byte // for the browser, in JSON
	// Kept stays in a cookie of this browser, which scripts cannot read, for five minutes: only the
	// browser that has begun can finish. At most 3,000 bytes.
	Kept string
}
