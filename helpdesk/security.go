package helpdesk

import (
	"context"
	"slices"
)

// SignatureState says what became of checking the OpenPGP signature of a mail.
type SignatureState string

// The states of a signature. More may be added.
const (
	SignatureNone        SignatureState = "none"
	SignatureValid       SignatureState = "valid"        // of exactly this mail, by a key of the sender's address
	SignatureInvalid     SignatureState = "invalid"      // the mail was changed after it was signed, or the signature is over
	SignatureUnknownKey  SignatureState = "unknown_key"  // by a key that is not registered for the sender's address
	SignatureUnusableKey SignatureState = "unusable_key" // by a registered key that is expired, revoked or not for signing
	SignatureUnreadable  SignatureState = "unreadable"   // it is damaged, or of an unknown kind
	// SignatureUnchecked is one that is not checked: S/MIME, inline OpenPGP, and all
	// while keys are switched off.
	SignatureUnchecked SignatureState = "unchecked"
)

// MailSecurity says how a customer's mail was signed or encrypted. What was is kept
// whole, as attachments and in the raw mail.
type MailSecurity struct {
	Protocol  string         `json:"protocol,omitempty"` // "openpgp" or "smime"; "" when it is neither
	Encrypted bool           `json:"encrypted,omitempty"`
	Signature SignatureState `json:"signature,omitempty"` // "" when it came by no mail
	// Fingerprint is that of the key of a valid signature, in upper-case hex.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// SenderKeys returns the OpenPGP keys, as their packets, that a signature of a mail
// from an address may be made with: those registered for it with a customer. enabled
// is false when keys are switched off.
//
// A signature covers the text and the files of a mail, not its header: it says who
// wrote them, and not that they were meant for this conversation or at this time.
func (in *Intake) SenderKeys(ctx context.Context, accountID int64, address string) (keys [][]byte, enabled bool, err error) {
	r, err := in.desk(accountID).Read(receive)
	if err != nil || in.svc.cfg.ParseKey == nil {
		return nil, false, err
	}
	found, err := r.PGPKeysByAddress(ctx, []string{EmailKey(address)})
	for _, k := range found {
		keys = append(keys, k.Content)
	}
	return keys, true, err
}

// standIn is what is shown in the place of a body that cannot be read.
func (s MailSecurity) standIn() string {
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

// clean makes what a program says of a mail storable.
func (s *MailSecurity) clean() {
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
	s.Protocol, s.Fingerprint = cut(cleanLine(s.Protocol), 20), cut(cleanLine(s.Fingerprint), 100)
}
