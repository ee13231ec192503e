package pgp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
)

// Verdict is the result of checking a signature.
type Verdict string

// The verdicts.
const (
	Valid       Verdict = "valid"        // made with one of the keys, for exactly this content
	Invalid     Verdict = "invalid"      // names one of the keys, but does not match the content or its validity period
	UnknownKey  Verdict = "unknown_key"  // names none of the keys
	UnusableKey Verdict = "unusable_key" // names a key that is revoked, expired or not for signing
	Unreadable  Verdict = "unreadable"   // not a signature, or of an unknown kind
)

// Limits of a detached signature.
const (
	maxSignature  = 64 << 10 // bytes
	maxSignatures = 5        // each costs a pass over the content
)

// Verify checks a detached signature of content, armored or as packets, at the time now. keys are the possible signers, each
// as returned by [Parse] in Packets; an unreadable key is ignored. One valid signature of several is enough. fingerprint is
// that of the primary key of a valid signature, in upper-case hex.
func Verify(keys [][]byte, content, signature []byte, now time.Time) (verdict Verdict, fingerprint string) {
	packets, ok := signaturePackets(signature)
	if !ok {
		return Unreadable, ""
	}
	var ring openpgp.EntityList
	for _, key := range keys {
		if list, err := openpgp.ReadKeyRing(bytes.NewReader(key)); err == nil {
			ring = append(ring, list...)
		}
	}
	cfg := &packet.Config{Time: func() time.Time { return now }}
	details, err := openpgp.VerifyDetachedSignatureReader(ring, bytes.NewReader(content), bytes.NewReader(packets), cfg)
	if err != nil {
		return Unreadable, ""
	}
	if _, err := io.Copy(io.Discard, details.UnverifiedBody); err != nil {
		return Unreadable, ""
	}
	verdict = Unreadable
	for _, c := range details.SignatureCandidates {
		if c.SigType != packet.SigTypeBinary && c.SigType != packet.SigTypeText {
			continue // signs a key, not content
		}
		switch got := judge(c, now); {
		case got == Valid:
			return Valid, strings.ToUpper(hex.EncodeToString(c.SignedByEntity.PrimaryKey.Fingerprint))
		case got != UnknownKey || verdict == Unreadable:
			verdict = got
		}
	}
	return verdict, ""
}

// signaturePackets returns a signature's packets without armor, unless there are too many.
func signaturePackets(signature []byte) ([]byte, bool) {
	if len(signature) > maxSignature {
		return nil, false
	}
	if bytes.Contains(signature, []byte("-----BEGIN PGP ")) {
		block, err := armor.Decode(bytes.NewReader(signature))
		if err != nil {
			return nil, false
		}
		if signature, err = io.ReadAll(io.LimitReader(block.Body, maxSignature)); err != nil {
			return nil, false
		}
	}
	count := 0
	for r := packet.NewOpaqueReader(bytes.NewReader(signature)); ; count++ {
		_, err := r.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return signature, count > 0
		}
		if err != nil || count >= maxSignatures {
			return nil, false
		}
	}
}

// judge returns the verdict on one signature.
func judge(c *openpgp.SignatureCandidate, now time.Time) Verdict {
	if c.SignedByEntity == nil {
		return UnknownKey
	}
	err := c.SignatureError
	if err == nil {
		// It was made while the key was valid. A key that is no longer valid proves nothing, since its holder can choose a
		// signature's date.
		if _, err = c.SignedByEntity.VerifyPrimaryKey(now, nil); err == nil {
			return Valid
		}
	}
	for _, unusable := range []error{pgperrors.ErrKeyRevoked, pgperrors.ErrKeyExpired, pgperrors.ErrKeyIncorrect} {
		if errors.Is(err, unusable) {
			return UnusableKey
		}
	}
	if c.SignedBy == nil {
		return UnusableKey // the owner's key may not sign
	}
	return Invalid
}
