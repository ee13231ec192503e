package transfer

import (
	"crypto/rand"
	"fmt"

	"golang.org/x/crypto/argon2"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Secrets seals what is secret in an archive under a passphrase (Argon2id, RFC 9106, then AES-256-GCM). Without one, an
// archive has no secrets: whoever has it could sign in at mail servers, and as members.
type Secrets struct {
	sealer storage.Sealer
	salt   []byte
}

// MinPassphrase is how many characters a passphrase has at least.
const MinPassphrase = 12

const proofContext = "transfer/proof"

// NewSecrets are the secrets of a new archive.
func NewSecrets(passphrase string) (*Secrets, error) {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails, see crypto/rand
	return newSecrets(passphrase, salt)
}

func newSecrets(passphrase string, salt []byte) (*Secrets, error) {
	if len([]rune(passphrase)) < MinPassphrase {
		return nil, fault.Field("passphrase", fmt.Sprintf("must have at least %d characters", MinPassphrase))
	}
	sealer, err := storage.NewSealer(argon2.IDKey([]byte(passphrase), salt, 3, 64<<10, 4, 32))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "transfer.NewSecrets", err)
	}
	return &Secrets{sealer, salt}, nil
}

// OpenSecrets are those of an archive: nil when it has none. A wrong passphrase is an Invalid fault.
func OpenSecrets(m Manifest, passphrase string) (*Secrets, error) {
	if len(m.Salt) == 0 {
		return nil, nil //nolint:nilnil // the archive has no secrets
	}
	if len(m.Salt) != 16 {
		return nil, damaged("%s cannot be read", nameManifest)
	}
	s, err := newSecrets(passphrase, m.Salt)
	if err != nil {
		return nil, err
	}
	if _, err := s.sealer.Open(m.Proof, proofContext); err != nil {
		return nil, fault.Field("passphrase", "is not that of the archive")
	}
	return s, nil
}

func (s *Secrets) describe(m *Manifest) (err error) {
	m.Salt = s.salt
	m.Proof, err = s.sealer.Seal([]byte(m.ID), proofContext)
	return err
}

// Seal seals a secret for a place in the archive.
func (s *Secrets) Seal(secret []byte, place string) ([]byte, error) {
	return s.sealer.Seal(secret, "transfer/"+place)
}

// Open opens a secret. One that does not open is an Invalid fault.
func (s *Secrets) Open(sealed []byte, place string) ([]byte, error) {
	secret, err := s.sealer.Open(sealed, "transfer/"+place)
	if err != nil {
		return nil, damaged("a secret does not open")
	}
	return secret, nil
}
