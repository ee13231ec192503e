package identity

import (
	"time"
)

// SecondFactor is the state of the caller's second factor.
type SecondFactor struct {
	Since         time.Time // zero: none, only the password
	RecoveryCodes int       // number of unused ones
}

// NewSecondFactor is the setup for an authenticator app, shown once.
type NewSecondFactor struct {
	Secret string // base32, to type
	URI    string // otpauth, for a QR code
}

const (
	// SecondFactorRequired is the code of the Unauthenticated fault of a sign-in without the required second-factor code, and
	// of the Forbidden fault of a member who must first set up a second factor to work in an account.
	SecondFactorRequired = "second_factor_required"
	// SecondFactorPresent is the code of the Conflict fault for setting up a second factor that already exists.
	SecondFactorPresent = "second_factor_present"
)
