// Package signature signs webhooks, and verifies them at the receiver, as Standard Webhooks specifies. It needs only the
// standard library.
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

// The headers of a request. Each attempt has its own timestamp.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp" // seconds since 1970
	HeaderSignature = "webhook-signature"
)

// tolerance is the allowed difference between the clocks of sender and receiver.
const tolerance = 5 * time.Minute

// Sign returns the webhook-signature header of a request: one signature per key, separated by spaces, as Standard Webhooks
// specifies for key rotation.
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

// Reasons for which [Verify] rejects a request.
var (
	ErrHeader    = errors.New("webhook: a header is missing or not right")
	ErrTimestamp = errors.New("webhook: the timestamp is more than 5 minutes off")
	ErrSignature = errors.New("webhook: no signature is right")
)

// Verify is for receivers: it returns nil if a request was signed with the secret (whsec_...) within five minutes of now.
// The body must be the exact request body. Events may be delivered twice; their webhook-id identifies them.
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
