package signature_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	reference "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/helpdesk/webhook/signature"
)

// The help desk makes secrets that a receiver takes.
func TestSecretPrefix(t *testing.T) {
	t.Parallel()
	if signature.SecretPrefix != subscription.WebhookSecretPrefix {
		t.Errorf("%s is not %s", signature.SecretPrefix, subscription.WebhookSecretPrefix)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	now := time.Unix(1_700_000_000, 0)
	header := func(id, at, signed string) http.Header {
		h := http.Header{}
		h.Set("webhook-id", id)
		h.Set("webhook-timestamp", at)
		h.Set("webhook-signature", signed)
		return h
	}
	known, err := reference.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	good, err := known.Sign("msg_1", now, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		header http.Header
		secret string
		now    time.Time
		want   error
	}{
		"good":             {header("msg_1", "1700000000", good), secret, now, nil},
		"among others":     {header("msg_1", "1700000000", "v1a,x v1,AAAA  "+good), secret, now, nil},
		"just in time":     {header("msg_1", "1700000000", good), secret, now.Add(5 * time.Minute), nil},
		"early, in time":   {header("msg_1", "1700000000", good), secret, now.Add(-5 * time.Minute), nil},
		"late":             {header("msg_1", "1700000000", good), secret, now.Add(5*time.Minute + time.Second), signature.ErrTimestamp},
		"early":            {header("msg_1", "1700000000", good), secret, now.Add(-5*time.Minute - time.Second), signature.ErrTimestamp},
		"another id":       {header("msg_2", "1700000000", good), secret, now, signature.ErrSignature},
		"another time":     {header("msg_1", "1700000001", good), secret, now, signature.ErrSignature},
		"another secret":   {header("msg_1", "1700000000", good), "whsec_AAAA", now, signature.ErrSignature},
		"no id":            {header("", "1700000000", good), secret, now, signature.ErrHeader},
		"no time":          {header("msg_1", "", good), secret, now, signature.ErrHeader},
		"no signature":     {header("msg_1", "1700000000", ""), secret, now, signature.ErrSignature},
		"time is no count": {header("msg_1", "1e9", good), secret, now, signature.ErrHeader},
		"no secret":        {header("msg_1", "1700000000", good), "", now, cmpopts.AnyError},
		"empty secret":     {header("msg_1", "1700000000", good), "whsec_", now, cmpopts.AnyError},
	} {
		err := signature.Verify(test.secret, test.header, []byte("{}"), test.now)
		if diff := cmp.Diff(test.want, err, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if signature.Sign("msg_1", now, []byte("{}"), []byte("a"), []byte("b")) != signature.Sign("msg_1", now, []byte("{}"), []byte("a"))+" "+signature.Sign("msg_1", now, []byte("{}"), []byte("b")) {
		t.Error("several signatures are not those of each key")
	}
}

// For arbitrary headers, we accept exactly what the reference implementation accepts.
func FuzzVerify(f *testing.F) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	f.Add("msg_1", "1700000000", "v1,AAAA", []byte("{}"), false)
	f.Add("msg_1", "1700000000", "v1a,x ", []byte("{}"), true)
	f.Add("", "-1", " ", []byte(nil), true)
	f.Fuzz(func(t *testing.T, id, at, signatures string, body []byte, signed bool) {
		known, err := reference.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		seconds, err := strconv.ParseInt(at, 10, 64)
		now := time.Unix(seconds, 0)
		if err == nil && signed {
			good, err := known.Sign(id, now, body)
			if err != nil {
				t.Fatal(err)
			}
			signatures += " " + good
		}
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header["Webhook-Id"], r.Header["Webhook-Timestamp"], r.Header["Webhook-Signature"] = []string{id}, []string{at}, []string{signatures}
		ours, theirs := signature.Verify(secret, r.Header, body, now), known.VerifyIgnoringTimestamp(body, r.Header)
		if (ours == nil) != (theirs == nil) {
			t.Errorf("ours says %v, the reference %v", ours, theirs)
		}
		if err == nil && signed && id != "" && ours != nil {
			t.Errorf("what was signed is refused: %v", ours)
		}
	})
}
