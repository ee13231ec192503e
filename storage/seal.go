package storage

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Sealer encrypts small secrets, such as mailbox passwords, before they are stored. The context ("mailbox/12/password") is
// authenticated with the secret, so that a sealed value copied to another row cannot be opened there.
type Sealer interface {
	Seal(secret []byte, context string) ([]byte, error)
	// Open returns the secret. It fails when the value was sealed with an unknown key or for another context, or was modified.
	Open(sealed []byte, context string) ([]byte, error)
}

// KeyedSealer is a [Sealer] whose sealed values name the key they need, so that keys can be rotated.
type KeyedSealer interface {
	Sealer
	// KeyIDs returns the ids of its keys. The first one seals.
	KeyIDs() []string
	// KeyOf returns the id of the key that a value was sealed with, which the sealer may not have. It returns "" for a value
	// that is too short to be sealed.
	KeyOf(sealed []byte) string
}

// NewSealer returns a Sealer that encrypts with AES-256-GCM under a key derived from the first of keys, and decrypts with
// any of them, so that keys can be rotated. Each key has at least 32 bytes. The sealer is a [KeyedSealer]. A key's id is 8
// hexadecimal digits derived from it.
func NewSealer(keys ...[]byte) (Sealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("storage: a sealer needs a key")
	}
	s := &aesSealer{byID: map[uint32]cipher.AEAD{}}
	for _, key := range keys {
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
		if _, twice := s.byID[id]; !twice {
			s.ids = append(s.ids, id)
		}
		s.byID[id] = aead
	}
	return s, nil
}

type aesSealer struct {
	ids  []uint32 // the first seals
	byID map[uint32]cipher.AEAD
}

// KeyIDs implements [KeyedSealer].
func (s *aesSealer) KeyIDs() []string {
	all := make([]string, len(s.ids))
	for i, id := range s.ids {
		all[i] = keyID(id)
	}
	return all
}

// KeyOf implements [KeyedSealer].
func (s *aesSealer) KeyOf(sealed []byte) string {
	if len(sealed) < 4 {
		return ""
	}
	return keyID(binary.BigEndian.Uint32(sealed))
}

func keyID(id uint32) string { return fmt.Sprintf("%08x", id) }

// Seal writes the key's id (4 bytes), then nonce, ciphertext and tag.
func (s *aesSealer) Seal(secret []byte, context string) ([]byte, error) {
	out := binary.BigEndian.AppendUint32(nil, s.ids[0])
	return s.byID[s.ids[0]].Seal(out, nil, secret, []byte(context)), nil
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

// Secret is a sealed field of a row, and what it is sealed for.
type Secret struct {
	Sealed  *[]byte
	Context string // as a [storage.Sealer] takes it
}
