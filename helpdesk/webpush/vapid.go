package webpush

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"time"
)

// maxEndpoint is the most bytes of an endpoint.
const maxEndpoint = 1000

// tokenLife is how long a signature is valid; 24 hours are allowed (RFC 8292 section 2).
const tokenLife = 12 * time.Hour

// Key identifies a server to push services. Subscriptions are bound to it.
type Key struct{ private *ecdsa.PrivateKey }

// NewKey makes a key.
func NewKey() (Key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Key{}, fmt.Errorf("webpush: %w", err)
	}
	return Key{private}, nil
}

// ParseKey returns the key that [Key.Bytes] wrote.
func ParseKey(text []byte) (Key, error) {
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), text)
	if err != nil {
		return Key{}, fmt.Errorf("webpush: %w", err)
	}
	return Key{private}, nil
}

// Bytes returns the private key, which is a secret: 32 bytes.
func (k Key) Bytes() ([]byte, error) { return k.private.Bytes() }

// Public returns the public key as browsers need it ("applicationServerKey"): base64url without padding.
func (k Key) Public() (string, error) {
	point, err := k.private.PublicKey.Bytes()
	return base64.RawURLEncoding.EncodeToString(point), err
}

// authorization returns the header field Authorization of a request to an endpoint (RFC 8292 section 3). contact is a mailto
// or https address for the operators of the push service.
func (k Key) authorization(endpoint, contact string, now time.Time) (string, error) {
	to, _ := origin(endpoint)
	claims, err := json.Marshal(map[string]any{"aud": to, "exp": now.Add(tokenLife).Unix(), "sub": contact})
	if err != nil {
		return "", fmt.Errorf("webpush: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, k.private, digest[:])
	if err != nil {
		return "", fmt.Errorf("webpush: %w", err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	public, err := k.Public()
	return "vapid t=" + text + "." + base64.RawURLEncoding.EncodeToString(signature) + ", k=" + public, err
}

// origin returns the origin of an endpoint, and whether it is one that messages may be sent to.
func origin(endpoint string) (string, bool) {
	u, err := url.Parse(endpoint)
	if err != nil || len(endpoint) > maxEndpoint || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return "", false
	}
	return "https://" + u.Host, true
}
