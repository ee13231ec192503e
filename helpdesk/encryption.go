package helpdesk

import (
	"context"
	"slices"
	"time"
)

// EncryptedMail is a copy of an answer that leaves encrypted to all of Keys.
type EncryptedMail struct {
	Due []Delivery // recipients of this try; all in To and Cc, or one in Bcc
	// Keys are the packets of OpenPGP keys in force, several for one recipient among
	// them.
	Keys [][]byte
}

// sealing says how an answer is to be encrypted.
type sealing struct {
	required bool
	mails    []EncryptedMail
	// refused says why it cannot be encrypted for all who wait; "" if it can.
	refused string
}

// seal decides how an answer is encrypted. It has to be as soon as one of its
// recipients has a key, though that be out of force, and then for all: one without
// a usable key keeps it from leaving to anybody, for the text of one is that of all.
//
// Those in To and Cc see each other and get one mail that all of them can read.
// Each in Bcc gets a mail of their own: the keys that a mail is encrypted to can be
// seen by all who get it.
func (s *Service) seal(ctx context.Context, tx Tx, deliveries, ready []Delivery, now time.Time) (sealing, error) {
	if s.cfg.ParseKey == nil {
		return sealing{}, nil
	}
	addresses := make([]string, len(deliveries))
	for i, d := range deliveries {
		addresses[i] = d.AddressKey
	}
	found, err := tx.PGPKeysByAddress(ctx, addresses)
	if err != nil || len(found) == 0 {
		return sealing{}, err
	}
	out := sealing{required: true}
	keys := s.usable(found, now)
	visible := EncryptedMail{}
	var hidden []EncryptedMail
	for _, d := range deliveries {
		of := keys[d.AddressKey]
		waits := d.State == DeliveryQueued || d.State == DeliveryDeferred
		if waits && len(of.contents) == 0 && out.refused == "" {
			out.refused = "The mail was not sent to anybody: it has to be encrypted, and " + d.Address + " " + of.problem() + "."
		}
		isDue := slices.ContainsFunc(ready, func(r Delivery) bool { return r.ID == d.ID })
		switch {
		case d.Field != "bcc":
			visible.Keys = append(visible.Keys, of.contents...)
			if isDue {
				visible.Due = append(visible.Due, d)
			}
		case isDue:
			hidden = append(hidden, EncryptedMail{Due: []Delivery{d}, Keys: of.contents})
		}
	}
	if len(visible.Due) > 0 {
		out.mails = append(out.mails, visible)
	}
	out.mails = append(out.mails, hidden...)
	return out, nil
}

// addressKeys are the keys of an address.
type addressKeys struct {
	contents [][]byte // of those in force
	unusable string   // why one of the others is not; "" if there are none
}

// problem says why there is no key to encrypt with, after an address.
func (k addressKeys) problem() string {
	if k.unusable == "" {
		return "has no PGP key"
	}
	return "has no PGP key that can be used: it " + k.unusable
}

// usable sorts keys by address and leaves out those that nothing can be encrypted to.
func (s *Service) usable(found []KeyOfAddress, now time.Time) map[string]addressKeys {
	out := map[string]addressKeys{}
	for _, k := range found {
		of := out[k.EmailKey]
		if public, err := s.cfg.ParseKey(k.Content, now); err != nil {
			of.unusable = clean(err.Error())
		} else {
			of.contents = append(of.contents, public.Content)
		}
		out[k.EmailKey] = of
	}
	return out
}
