package pgp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
)

// Limits of input.
const (
	MaxSize    = 256 << 10 // bytes of a key, armored or not
	maxPackets = 1000
	maxUserID  = 500 // bytes of a returned user ID
	// maxBits limits the size of a key's numbers: computing with them takes cubic time, for every mail to the key's owner.
	maxBits = 16384
)

// PublicKey describes a key.
type PublicKey struct {
	UserID      string   // the primary one, or the first; "" if none
	Emails      []string // addresses of the valid user IDs, in the key's order
	Fingerprint string   // upper-case hex
	// ExpiresAt is when the key can no longer encrypt mail; zero: never.
	ExpiresAt time.Time
	Packets   []byte // the key without armor
}

// Error is the reason why a key cannot be used, worded to follow its name: "is expired".
type Error struct {
	Reason string
	Err    error // cause; may be nil
}

func (e *Error) Error() string { return e.Reason }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func refuse(reason string) error { return &Error{Reason: reason} }

// Tags of the packets that matter here (RFC 9580 section 5).
const (
	tagSecretKey    = 5
	tagPublicKey    = 6
	tagSecretSubkey = 7
	tagUserID       = 13
	tagPublicSubkey = 14
)

// Parse parses one public key, armored or as packets, that can encrypt mail at the time now. All errors are of type
// *[Error].
func Parse(content []byte, now time.Time) (PublicKey, error) {
	if len(content) > MaxSize {
		return PublicKey{}, refuse("is too large for a key")
	}
	packets, err := unarmor(content)
	if err != nil {
		return PublicKey{}, err
	}
	names, err := inspect(packets)
	if err != nil {
		return PublicKey{}, err
	}
	list, err := openpgp.ReadKeyRing(bytes.NewReader(packets))
	if err != nil || len(list) != 1 { // the library may skip unreadable packets without an error
		return PublicKey{}, &Error{Reason: "is damaged, or of a kind that is not supported", Err: err}
	}
	entity := list[0]
	key, err := entity.EncryptionKeyWithError(now, nil)
	if err != nil {
		return PublicKey{}, unusable(entity, err, now)
	}
	out := PublicKey{
		Fingerprint: strings.ToUpper(hex.EncodeToString(entity.PrimaryKey.Fingerprint)),
		ExpiresAt:   expiry(entity, key), Packets: packets,
	}
	out.UserID, out.Emails = identities(entity, names, now)
	return out, nil
}

// unarmor returns a key's packets. It rejects several blocks, since the library would read only the first.
func unarmor(content []byte) ([]byte, error) {
	const begin = "-----BEGIN PGP "
	switch bytes.Count(content, []byte(begin)) {
	case 0:
		if len(bytes.TrimSpace(content)) == 0 {
			return nil, refuse("is empty")
		}
		return content, nil
	case 1:
	default:
		return nil, refuse("holds more than one armored block")
	}
	block, err := armor.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, &Error{Reason: "has armor that cannot be read", Err: err}
	}
	switch block.Type {
	case openpgp.PrivateKeyType:
		return nil, refuse(private)
	case openpgp.PublicKeyType:
	default:
		return nil, refuse("is no OpenPGP public key")
	}
	packets, err := io.ReadAll(io.LimitReader(block.Body, MaxSize))
	if err != nil {
		return nil, &Error{Reason: "has armor that cannot be read", Err: err}
	}
	return packets, nil
}

const private = "holds a private key: give the public one only, and consider the private one known"

// inspect checks the packets before they are parsed. It returns the user IDs in order.
func inspect(packets []byte) (names []string, err error) {
	keys, count := 0, 0
	for r := packet.NewOpaqueReader(bytes.NewReader(packets)); ; count++ {
		p, err := r.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, &Error{Reason: "is no OpenPGP key", Err: err}
		}
		if (p.Tag == tagPublicKey || p.Tag == tagPublicSubkey) && bits(p.Contents) > maxBits {
			return nil, refuse("is longer than 16384 bits")
		}
		switch p.Tag {
		case tagSecretKey, tagSecretSubkey:
			return nil, refuse(private)
		case tagPublicKey:
			keys++
		case tagUserID:
			names = append(names, string(p.Contents))
		}
		if count == maxPackets {
			return nil, refuse("has too many packets for a key")
		}
	}
	switch {
	case keys == 0:
		return nil, refuse("is no OpenPGP key")
	case keys > 1:
		return nil, refuse("holds more than one key")
	}
	return names, nil
}

// bits returns the length of a public key's first number for RSA, Elgamal and DSA; 0 for others and for invalid input.
func bits(contents []byte) int {
	at, version := 5, byte(0) // offset of the algorithm: after the version and a time
	if len(contents) > 0 {
		version = contents[0]
	}
	if version < 4 {
		at += 2 // days until expiry
	}
	number := at + 1
	if version > 4 {
		number += 4 // length of what follows
	}
	if len(contents) < number+2 {
		return 0
	}
	switch contents[at] {
	case 1, 2, 3, 16, 17, 20:
		return int(binary.BigEndian.Uint16(contents[number:]))
	}
	return 0
}

// unusable returns the reason why a key cannot encrypt.
func unusable(entity *openpgp.Entity, err error, now time.Time) error {
	out := &Error{Reason: "has no subkey to encrypt with", Err: err}
	cause, ok := errors.AsType[pgperrors.ErrEncryptionKeySelection](err)
	if p, pointer := errors.AsType[*pgperrors.ErrEncryptionKeySelection](err); pointer {
		cause, ok = *p, true
	}
	if !ok {
		return out
	}
	weak := func(err error) bool { _, weak := errors.AsType[pgperrors.WeakAlgorithmError](err); return weak }
	switch early := entity.PrimaryKey.CreationTime.After(now); {
	case early:
		out.Reason = "is from the future"
	case errors.Is(cause.PrimaryKeyErr, pgperrors.ErrKeyRevoked), entity.Revoked(now):
		out.Reason = "is revoked"
	case errors.Is(cause.PrimaryKeyErr, pgperrors.ErrKeyExpired):
		out.Reason = "is expired"
	case weak(cause.PrimaryKeyErr), weak(cause.EncSelectionErr):
		out.Reason = "is too weak"
	case cause.PrimaryKeyErr != nil:
		out.Reason = "has no valid signature of its owner"
	case errors.Is(cause.EncSelectionErr, pgperrors.ErrKeyRevoked):
		out.Reason = "has no subkey to encrypt with that is not revoked"
	case errors.Is(cause.EncSelectionErr, pgperrors.ErrKeyExpired):
		out.Reason = "has no subkey to encrypt with that is not expired"
	}
	return out
}

// expiry returns when the key can no longer encrypt: when the primary key or the last subkey expires.
func expiry(entity *openpgp.Entity, key openpgp.Key) time.Time {
	primary := endOf(entity.PrimaryKey, key.PrimarySelfSignature)
	for range len(entity.Subkeys) + 1 {
		end := endOf(key.PublicKey, key.SelfSignature)
		if end.IsZero() || !primary.IsZero() && !end.Before(primary) {
			return primary
		}
		next, err := entity.EncryptionKeyWithError(end.Add(2*time.Second), nil)
		if err != nil || next.PublicKey == key.PublicKey {
			return end
		}
		key = next
	}
	return primary
}

// endOf returns when a key expires according to its self-signature; zero: never.
func endOf(key *packet.PublicKey, sig *packet.Signature) time.Time {
	if sig == nil || sig.KeyLifetimeSecs == nil || *sig.KeyLifetimeSecs == 0 {
		return time.Time{}
	}
	return key.CreationTime.Add(time.Duration(*sig.KeyLifetimeSecs) * time.Second).UTC()
}

// identities returns the primary user ID and the addresses of all valid ones. The library keeps them in a map; names has
// their order.
func identities(entity *openpgp.Entity, names []string, now time.Time) (primary string, emails []string) {
	marked, seen := false, map[string]bool{}
	for _, name := range names {
		identity, ok := entity.Identities[name]
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		sig, err := identity.Verify(now, nil)
		if err != nil {
			continue
		}
		if primary == "" || !marked && sig.IsPrimaryId != nil && *sig.IsPrimaryId {
			primary, marked = shown(name), sig.IsPrimaryId != nil && *sig.IsPrimaryId
		}
		if email := address(identity.UserId, name); email != "" {
			emails = append(emails, email)
		}
	}
	return primary, emails
}

// address returns the email address of a user ID, which may consist of only that.
func address(id *packet.UserId, name string) string {
	email := id.Email
	if email == "" && strings.Contains(name, "@") && !strings.ContainsAny(name, " <>") {
		email = name
	}
	if !utf8.ValidString(email) || len(email) > maxUserID {
		return ""
	}
	return email
}

func shown(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	for len(name) > maxUserID {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}
