// Package signature signs webhooks, and verifies them where they are received, as Standard Webhooks has it. It needs the
// standard library only.
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// SecretPrefix begins every secret.
const SecretPrefix = "whsec_"

// The headers of a request, of which each try has its own timestamp.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp" // seconds since 1970
	HeaderSignature = "webhook-signature"
)

// tolerance is how far the clocks of sender and receiver may be apart.
const tolerance = 5 * time.Minute

// Sign returns the webhook-signature of a request: one for each key, separated by
// spaces, as Standard Webhooks has it for keys that are rotated.
func Sign(id string, at time.Time, body []byte, keys ...[]byte) string {
	signatures := make([]string, len(keys))
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " ")
}

// Why [Verify] refuses a request.
var (
	ErrHeader    = errors.New("webhook: a header is missing or not right")
	ErrTimestamp = errors.New("webhook: the timestamp is more than 5 minutes off")
	ErrSignature = errors.New("webhook: no signature is right")
)

// Verify is for receivers: it returns nil when a request was signed with the secret
// (whsec_...) within five minutes of now. The body is that of the request, byte for
// byte. An event may come again: its webhook-id says so.
func Verify(secret string, header http.Header, body []byte, now time.Time) error {
	text, ok := strings.CutPrefix(secret, SecretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) == 0 {
		return errors.New("webhook: the secret is none")
	}
	id := header.Get(HeaderID)
	seconds, err := strconv.ParseInt(header.Get(HeaderTimestamp), 10, 64)
	if id == "" || err != nil {
		return ErrHeader
	}
	at := time.Unix(seconds, 0)
	if at.Before(now.Add(-tolerance)) || at.After(now.Add(tolerance)) {
		return ErrTimestamp
	}
	want := Sign(id, at, body, key)
	for signature := range strings.FieldsSeq(header.Get(HeaderSignature)) {
		if hmac.Equal([]byte(signature), []byte(want)) {
			return nil
		}
	}
	return ErrSignature
}
