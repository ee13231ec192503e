package signature_test

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/webhook/signature"
	"github.com/helpwright/helpwright/storage/testenv"
)

// TestVerifyGrows doubles the input of a receiver: the body, and arbitrary signatures.
func TestVerifyGrows(t *testing.T) {
	t.Parallel()
	secret := signature.SecretPrefix + base64.StdEncoding.EncodeToString(make([]byte, 32))
	now := time.Unix(1_800_000_000, 0)
	for name, request := range map[string]func(n int) (signatures string, body []byte){
		"a body":               func(n int) (string, []byte) { return "v1,x", bytes.Repeat([]byte("x"), 64*n) },
		"signatures":           func(n int) (string, []byte) { return strings.Repeat("v1,x ", n/5), nil },
		"one signature":        func(n int) (string, []byte) { return "v1," + strings.Repeat("x", n), nil },
		"blanks":               func(n int) (string, []byte) { return strings.Repeat(" ", n), nil },
		"blanks of other kind": func(n int) (string, []byte) { return strings.Repeat("\u2003", n/3), nil },
	} {
		testenv.Growth(t, 64<<10, func(n int) func() {
			signatures, body := request(n)
			header := http.Header{}
			header.Set(signature.HeaderID, "id")
			header.Set(signature.HeaderTimestamp, "1800000000")
			header.Set(signature.HeaderSignature, signatures)
			return func() {
				if err := signature.Verify(secret, header, body, now); err == nil {
					t.Error("it is verified")
				}
			}
		})
		if t.Failed() {
			t.Fatal(name)
		}
	}
}
