package server

import (
	"crypto/hkdf"
	"crypto/sha256"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// secrets are the keys derived from the secret keys, one set for each purpose.
type secrets struct {
	sealer   storage.Sealer
	ids      []string // of the keys, in order
	signing  [][]byte // the first signs, all verify
	visitors []byte   // to distinguish visitors
	sites    [][]byte // for the forms, sessions and previews of sites; the first signs, all verify
}

// newSecrets derives a key for each purpose from the secret keys.
func newSecrets(keys [][]byte) (s secrets, err error) {
	if s.sealer, err = storage.NewSealer(keys...); err != nil {
		return s, err
	}
	if keyed, ok := s.sealer.(storage.KeyedSealer); ok {
		s.ids = keyed.KeyIDs()
	}
	if s.signing, err = derive(keys, "helpwright sign v1"); err != nil {
		return s, err
	}
	visitors, err := derive(keys[:1], "helpwright visitors v1")
	if err != nil {
		return s, err
	}
	s.visitors = visitors[0]
	s.sites, err = derive(keys, "helpwright sites v1")
	return s, err
}

// derive makes a key for one purpose from each secret key.
func derive(keys [][]byte, purpose string) ([][]byte, error) {
	all := make([][]byte, len(keys))
	for i, key := range keys {
		derived, err := hkdf.Key(sha256.New, key, nil, purpose, 32)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "deriving a key", err)
		}
		all[i] = derived
	}
	return all, nil
}
