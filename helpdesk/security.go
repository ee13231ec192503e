package helpdesk

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/plain"
)

// SenderKeys returns the packets of the OpenPGP keys that may sign messages from an address: those registered for it with a
// customer. enabled is false if keys are disabled.
//
// A signature covers a message's text and files, not its header. It proves who wrote them, but not that they were meant for
// this conversation or at this time.
func (in *Intake) SenderKeys(ctx context.Context, accountID int64, address string) (keys [][]byte, enabled bool, err error) {
	r, err := in.desk(accountID).Read(receive)
	if err != nil || in.svc.cfg.ParseKey == nil {
		return nil, false, err
	}
	found, err := keysOfAddresses(ctx, r, []string{mailaddr.Key(address)})
	for _, k := range found {
		keys = append(keys, k.Content)
	}
	return keys, true, err
}

// standIn returns the text shown in place of an unreadable body.
func standIn(s ledger.Security) string {
	name := map[string]string{"openpgp": "OpenPGP", "smime": "S/MIME"}[s.Protocol]
	switch {
	case name == "":
		return ""
	case s.Encrypted:
		return "This mail is encrypted (" + name + ") and cannot be shown. Its content is attached as it came."
	case s.Signature != ledger.SignatureNone:
		return "The text of this mail is inside of its signature (" + name + "), which is attached as it came."
	}
	return ""
}

// clean makes text from a received message valid for storage.
func cleanSecurity(s *ledger.Security) {
	states := []ledger.SignatureState{
		ledger.SignatureNone, ledger.SignatureValid, ledger.SignatureInvalid, ledger.SignatureUnknownKey, ledger.SignatureUnusableKey, ledger.SignatureUnreadable, ledger.SignatureUnchecked,
	}
	if s.Signature == "" {
		s.Signature = ledger.SignatureNone
	} else if !slices.Contains(states, s.Signature) {
		s.Signature = ledger.SignatureUnchecked
	}
	if s.Signature != ledger.SignatureValid {
		s.Fingerprint = ""
	}
	s.Protocol, s.Fingerprint = plain.Cut(plain.Line(s.Protocol), 20), plain.Cut(plain.Line(s.Fingerprint), 100)
}
