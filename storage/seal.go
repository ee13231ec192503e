package storage

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// Sealer encrypts small secrets, such as mailbox passwords, before they are stored.
// The context ("mailbox/12/password") is authenticated with the secret, so that a
// sealed value copied to another row does not open there.
type Sealer interface {
	Seal(secret []byte, context string) ([]byte, error)
	// Open returns the secret, or an error when the value was sealed with another
	// key or for another context, or was changed.
	Open(sealed []byte, context string) ([]byte, error)
}

// NewSealer seals with AES-256-GCM under a key derived from the first of keys and
// opens with any of them, so that keys can be rotated. A key has at least 32 bytes.
func NewSealer(keys ...[]byte) (Sealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("storage: a sealer needs a key")
	}
	s := &aesSealer{byID: map[uint32]cipher.AEAD{}}
	for i, key := range keys {
		if len(key) < 32 {
			return nil, errors.New("storage: a sealing key must have at least 32 bytes")
		}
		derived, err := hkdf.Key(sha256.New, key, nil, "helpwright seal v1", 36)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(derived[:32])
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		id := binary.BigEndian.Uint32(derived[32:])
		s.byID[id] = aead
		if i == 0 {
			s.current = id
		}
	}
	return s, nil
}

type aesSealer struct {
	current uint32
	byID    map[uint32]cipher.AEAD
}

// Seal writes the key's id (4 bytes), then nonce, ciphertext and tag.
func (s *aesSealer) Seal(secret []byte, context string) ([]byte, error) {
	out := binary.BigEndian.AppendUint32(nil, s.current)
	return s.byID[s.current].Seal(out, nil, secret, []byte(context)), nil
}

func (s *aesSealer) Open(sealed []byte, context string) ([]byte, error) {
	if len(sealed) < 4 {
		return nil, errors.New("storage: sealed value is too short")
	}
	aead, ok := s.byID[binary.BigEndian.Uint32(sealed)]
	if !ok {
		return nil, errors.New("storage: sealed with a key that is not configured")
	}
	secret, err := aead.Open(nil, nil, sealed[4:], []byte(context))
	if err != nil {
		return nil, errors.New("storage: sealed value does not open: wrong key, wrong place or changed")
	}
	return secret, nil
}

// NewSecretKey returns 32 random bytes for [NewSealer].
func NewSecretKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails, see crypto/rand
	return key
}
