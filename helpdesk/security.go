package helpdesk

import (
	"context"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/plain"
	"slices"
)

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
	// SignatureUnchecked means not checked: S/MIME, inline OpenPGP, and everything while keys are
	// disabled.
	SignatureUnchecked SignatureState = "unchecked"
)

// MailSecurity describes the signature or encryption of a customer's message. The original is kept,
// as attachments and in the raw message.
type MailSecurity struct {
	Protocol  string         `json:"protocol,omitempty"` // "openpgp" or "smime"; "" if neither
	Encrypted bool           `json:"encrypted,omitempty"`
	Signature SignatureState `json:"signature,omitempty"` // "" if not received by mail
	// Fingerprint is the fingerprint of a valid signature's key, in upper-case hex.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// SenderKeys returns the packets of the OpenPGP keys that may sign messages from an address: those
// registered for it with a customer. enabled is false if keys are disabled.
//
// A signature covers a message's text and files, not its header. It proves who wrote them, but not
// that they were meant for this conversation or at this time.
func (in *Intake) SenderKeys(ctx context.Context, accountID int64, address string) (keys [][]byte, enabled bool, err error) {
	r, err := in.desk(accountID).Read(receive)
	if err != nil || in.svc.cfg.ParseKey == nil {
		return nil, false, err
	}
	found, err := r.PGPKeysByAddress(ctx, []string{mailaddr.Key(address)})
	for _, k := range found {
		keys = append(keys, k.Content)
	}
	return keys, true, err
}

// standIn returns the text shown in place of an unreadable body.
func standIn(s MailSecurity) string {
	name := map[string]string{"openpgp": "OpenPGP", "smime": "S/MIME"}[s.Protocol]
	switch {
	case name == "":
		return ""
	case s.Encrypted:
		return "This mail is encrypted (" + name + ") and cannot be shown. Its content is attached as it came."
	case s.Signature != SignatureNone:
		return "The text of this mail is inside of its signature (" + name + "), which is attached as it came."
	}
	return ""
}

// clean makes text from a received message valid for storage.
func cleanSecurity(s *MailSecurity) {
	states := []SignatureState{
		SignatureNone, SignatureValid, SignatureInvalid, SignatureUnknownKey, SignatureUnusableKey, SignatureUnreadable, SignatureUnchecked,
	}
	if s.Signature == "" {
		s.Signature = SignatureNone
	} else if !slices.Contains(states, s.Signature) {
		s.Signature = SignatureUnchecked
	}
	if s.Signature != SignatureValid {
		s.Fingerprint = ""
	}
	s.Protocol, s.Fingerprint = plain.Cut(plain.Line(s.Protocol), 20), plain.Cut(plain.Line(s.Fingerprint), 100)
}
