package helpdesk

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage/plain"
)

// sealing determines how a reply is encrypted.
type sealing struct {
	required bool
	mails    []sending.EncryptedMail
	// refused is the reason why it cannot be encrypted for all waiting recipients; "" if it can.
	refused string
}

// seal determines how a reply is encrypted. Encryption is required as soon as one recipient has a key, even an expired one,
// and then for all recipients. If one lacks a usable key, nobody gets the message, since all copies have the same text.
//
// Recipients in To and Cc see each other and share one message. Each recipient in Bcc gets a separate one, because every
// recipient can see the keys that a message is encrypted for.
func (s *Service) seal(ctx context.Context, tx Tx, deliveries, ready []sending.Delivery, now time.Time) (sealing, error) {
	if s.cfg.ParseKey == nil {
		return sealing{}, nil
	}
	addresses := make([]string, len(deliveries))
	for i, d := range deliveries {
		addresses[i] = d.AddressKey
	}
	found, err := keysOfAddresses(ctx, tx.Reader(), addresses)
	if err != nil || len(found) == 0 {
		return sealing{}, err
	}
	out := sealing{required: true}
	keys := s.usable(found, now)
	visible := sending.EncryptedMail{}
	var hidden []sending.EncryptedMail
	for _, d := range deliveries {
		of := keys[d.AddressKey]
		waits := d.State == sending.Queued || d.State == sending.Deferred
		if waits && len(of.contents) == 0 && out.refused == "" {
			out.refused = "The mail was not sent to anybody: it has to be encrypted, and " + d.Address + " " + of.problem() + "."
		}
		isDue := slices.ContainsFunc(ready, func(r sending.Delivery) bool { return r.ID == d.ID })
		switch {
		case d.Field != "bcc":
			visible.Keys = append(visible.Keys, of.contents...)
			if isDue {
				visible.Due = append(visible.Due, d)
			}
		case isDue:
			hidden = append(hidden, sending.EncryptedMail{Due: []sending.Delivery{d}, Keys: of.contents})
		}
	}
	if len(visible.Due) > 0 {
		out.mails = append(out.mails, visible)
	}
	out.mails = append(out.mails, hidden...)
	return out, nil
}

// addressKeys are an address's keys.
type addressKeys struct {
	contents [][]byte // valid keys
	unusable string   // why one of the others is invalid; "" if there are none
}

// problem returns the reason why no key is usable, to be displayed after an address.
func (k addressKeys) problem() string {
	if k.unusable == "" {
		return "has no PGP key"
	}
	return "has no PGP key that can be used: it " + k.unusable
}

// usable groups keys by address and omits unusable ones.
func (s *Service) usable(found []keyOfAddress, now time.Time) map[string]addressKeys {
	out := map[string]addressKeys{}
	for _, k := range found {
		of := out[k.EmailKey]
		if public, err := s.cfg.ParseKey(k.Content, now); err != nil {
			of.unusable = plain.Text(err.Error())
		} else {
			of.contents = append(of.contents, public.Content)
		}
		out[k.EmailKey] = of
	}
	return out
}
