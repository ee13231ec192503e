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

// Argon2id with the second recommended option of RFC 9106 section 4: 64 MiB, three passes, four lanes.
const (
	argonTime    = 3
	argonMemory  = 64 << 10 // KiB
	argonThreads = 4
	argonKey     = 32
)

// noPassword is the hash that is checked when there is none, so that the time is the same.
const noPassword = "$argon2id$v=19$m=65536,t=3,p=4$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// hashPassword returns a salted hash in PHC string form.
func (s *Service) hashPassword(ctx context.Context, password string) (string, error) {
	salt, err := s.random(16)
	if err != nil {
		return "", err
	}
	var key []byte
	err = s.gate.pass(ctx, func() {
		key = argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey)
	})
	if err != nil {
		return "", err
	}
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, argonMemory, argonTime, argonThreads, b64.EncodeToString(salt), b64.EncodeToString(key)), nil
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
		version != argon2.Version || memory > argonMemory || time > 16 || threads < 1 || threads > 16 || time < 1 {
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
