package ledger

// Security describes the signature or encryption of a customer's message. The original is kept, as attachments and in the
// raw message.
type Security struct {
	Protocol  string         `json:"protocol,omitempty"` // "openpgp" or "smime"; "" if neither
	Encrypted bool           `json:"encrypted,omitempty"`
	Signature SignatureState `json:"signature,omitempty"` // "" if not received by mail
	// Fingerprint is the fingerprint of a valid signature's key, in upper-case hex.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// SignatureState is the result of checking a message's OpenPGP signature.
type SignatureState string

// The states of a signature. More may be added.
const (
	SignatureNone        SignatureState = "none"
	SignatureValid       SignatureState = "valid"        // valid for exactly this message, by a key of the sender's address
	SignatureInvalid     SignatureState = "invalid"      // the message was changed after signing, or the signature has expired
	SignatureUnknownKey  SignatureState = "unknown_key"  // by a key not registered for the sender's address
	SignatureUnusableKey SignatureState = "unusable_key" // by a registered key that is expired, revoked or not for signing
	SignatureUnreadable  SignatureState = "unreadable"   // damaged, or of an unknown kind
	// SignatureUnchecked means not checked: S/MIME, inline OpenPGP, and everything while keys are disabled.
	SignatureUnchecked SignatureState = "unchecked"
)
