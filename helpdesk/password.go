package helpdesk

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/helpwright/helpwright/storage/plain"
	"golang.org/x/crypto/argon2"
)

// passwordCost is what hashing a password costs.
type passwordCost struct {
	time, memory uint32 // memory in KiB
	threads      uint8
}

// recommendedCost returns the second recommended option of RFC 9106 section 4: 64 MiB, three passes, four lanes.
func recommendedCost() passwordCost { return passwordCost{time: 3, memory: maxHashMemory, threads: 4} }

const (
	maxHashMemory = 64 << 10 // KiB
	hashLength    = 32
)

// hash hashes a password with Argon2id and returns the PHC string.
func (c passwordCost) hash(password string, salt []byte) string {
	return c.encode(salt, argon2.IDKey([]byte(password), salt, c.time, c.memory, c.threads, hashLength))
}

func (c passwordCost) encode(salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.time, c.threads, b64.EncodeToString(salt), b64.EncodeToString(key))
}

// none returns the hash to check when there is no password, so that the time is the same.
func (c passwordCost) none() string { return c.encode(make([]byte, 16), make([]byte, hashLength)) }

// hashPassword returns a salted hash in PHC string form.
func (s *Service) hashPassword(ctx context.Context, password string) (hash string, err error) {
	salt, err := s.random(16)
	if err != nil {
		return "", err
	}
	err = s.gate.pass(ctx, func() { hash = s.gate.cost.hash(password, salt) })
	return hash, err
}

// checkPassword runs verifyPassword within the memory limit; an impossible password fails at once.
func (s *Service) checkPassword(ctx context.Context, hash, password string) (right bool, err error) {
	if plain.Length(password) > 200 {
		return false, nil
	}
	err = s.gate.pass(ctx, func() { right = verifyPassword(hash, password) })
	return right, err
}

// verifyPassword reports whether a password matches a hash from hashPassword.
func verifyPassword(hash, password string) bool {
	var version, memory, time, threads int
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &time, &threads); err != nil ||
		version != argon2.Version || memory > maxHashMemory || time > 16 || threads < 1 || threads > 16 || time < 1 {
		return false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(want) == 0 {
		return false
	}
	got := argon2.IDKey([]byte(password), salt, uint32(time), uint32(memory), uint8(threads), uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1
}
