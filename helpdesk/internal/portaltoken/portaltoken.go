// Package portaltoken verifies the JSON Web Tokens (RFC 7519) with which an application signs in its customers. It handles
// the format and does not depend on the help desk.
package portaltoken

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The algorithms (RFC 8037, RFC 7518 section 3.2).
const (
	EdDSA = "EdDSA"
	HS256 = "HS256"
)

const (
	// MaxLife is the maximum lifetime of a token.
	MaxLife = time.Hour
	// Leeway is the tolerated difference between the clocks of two machines.
	Leeway = 30 * time.Second
	// maxToken is the maximum size of a token in bytes.
	maxToken = 8 << 10
)

// Key verifies tokens. The algorithm is the key's, never the token's.
type Key struct {
	Algorithm string
	Public    ed25519.PublicKey // of EdDSA
	Secret    []byte            // of HS256
}

// Claims are a token's claims.
type Claims struct {
	Email string
	Name  string
}

// Problem is the reason why a token is rejected: a sentence that may be shown.
type Problem string

func (p Problem) Error() string { return string(p) }

// The problems.
const (
	ErrMalformed Problem = "The portal token is no JWT that can be read."
	ErrCritical  Problem = "The portal token has a crit header: none is understood."
	ErrAlgorithm Problem = "The alg of the portal token is not that of its key."
	ErrSignature Problem = "The portal token's signature is invalid."
	ErrAudience  Problem = "The aud of the portal token is not this account: it must be account:<id>."
	ErrExpired   Problem = "The portal token has expired."
	ErrTooEarly  Problem = "The portal token is not valid yet."
	ErrLife      Problem = "The portal token needs exp and iat, at most an hour apart."
	ErrEmail     Problem = "The portal token needs an email."
)

// Looks reports whether a bearer token looks like a JWT: three parts, the first of which begins like a JSON object in
// base64url.
func Looks(token string) bool {
	return strings.HasPrefix(token, "ey") && strings.Count(token, ".") == 2
}

type claims struct {
	jwt.RegisteredClaims
	Email string `json:"email"`
	Name  string `json:"name"`
}

// KeyID returns a token's kid without verifying its signature, "" for none.
func KeyID(token string) (string, error) {
	parsed, err := unverified(token)
	if err != nil {
		return "", err
	}
	kid, _ := parsed.Header["kid"].(string)
	return kid, nil
}

func unverified(token string) (*jwt.Token, error) {
	if len(token) > maxToken {
		return nil, ErrMalformed
	}
	parsed, _, err := jwt.NewParser(jwt.WithStrictDecoding()).ParseUnverified(token, &claims{})
	if parsed == nil || err != nil && parsed.Header == nil {
		return nil, ErrMalformed
	}
	if err != nil && !errors.Is(err, jwt.ErrTokenUnverifiable) { // an unknown alg
		return nil, ErrMalformed
	}
	return parsed, nil
}

// Verify returns a token's claims if a key signed it for an audience and it is valid now. The error is a [Problem].
func Verify(token string, key Key, audience string, now time.Time) (Claims, error) {
	parsed, err := unverified(token)
	if err != nil {
		return Claims{}, err
	}
	if alg, _ := parsed.Header["alg"].(string); alg != key.Algorithm {
		return Claims{}, ErrAlgorithm
	}
	if _, critical := parsed.Header["crit"]; critical { // RFC 7515 section 4.1.11
		return Claims{}, ErrCritical
	}
	var c claims
	parser := jwt.NewParser(jwt.WithValidMethods([]string{key.Algorithm}), jwt.WithAudience(audience), jwt.WithLeeway(Leeway),
		jwt.WithIssuedAt(), jwt.WithStrictDecoding(), jwt.WithExpirationRequired(), jwt.WithTimeFunc(func() time.Time { return now }))
	_, err = parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) {
		if key.Algorithm == HS256 {
			return key.Secret, nil
		}
		return key.Public, nil
	})
	if err != nil {
		return Claims{}, problemOf(err, c)
	}
	if c.IssuedAt == nil || c.ExpiresAt.Sub(c.IssuedAt.Time) > MaxLife {
		return Claims{}, ErrLife
	}
	if c.Email == "" {
		return Claims{}, ErrEmail
	}
	return Claims{Email: c.Email, Name: c.Name}, nil
}

func problemOf(err error, c claims) Problem {
	if errors.Is(err, jwt.ErrTokenRequiredClaimMissing) && c.ExpiresAt == nil {
		return ErrLife
	}
	for _, known := range []struct {
		err     error
		problem Problem
	}{
		{jwt.ErrTokenMalformed, ErrMalformed},
		{jwt.ErrTokenUnverifiable, ErrSignature},
		{jwt.ErrTokenSignatureInvalid, ErrSignature},
		{jwt.ErrTokenRequiredClaimMissing, ErrAudience},
		{jwt.ErrTokenInvalidAudience, ErrAudience},
		{jwt.ErrTokenExpired, ErrExpired},
		{jwt.ErrTokenNotValidYet, ErrTooEarly},
		{jwt.ErrTokenUsedBeforeIssued, ErrTooEarly},
	} {
		if errors.Is(err, known.err) {
			return known.problem
		}
	}
	return ErrMalformed
}

// ParsePublicKey parses an Ed25519 public key: PEM, or the raw 32 bytes in base64, like x in a JSON Web Key. The problem is
// worded to follow a field's name.
func ParsePublicKey(text string) (key ed25519.PublicKey, problem string) {
	const wanted = "must be an Ed25519 public key, in PEM or its 32 bytes in base64"
	if strings.Contains(text, "PRIVATE KEY") {
		return nil, "is a private key: nobody else should have it, make a new one"
	}
	if block, _ := pem.Decode([]byte(text)); block != nil {
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		if public, ok := parsed.(ed25519.PublicKey); ok && err == nil {
			return public, ""
		}
		return nil, wanted
	}
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(strings.TrimSpace(text), "="))
	raw, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, wanted
	}
	return raw, ""
}
