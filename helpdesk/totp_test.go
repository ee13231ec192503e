package helpdesk

import (
	"net/url"
	"testing"
	"time"
)

// TestTOTP has the vectors of RFC 6238, appendix B, cut to six digits, and of RFC 4226, appendix D.
func TestTOTP(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890")
	for at, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130",
	} {
		if got := totpCode(secret, totpStep(time.Unix(at, 0))); got != want {
			t.Errorf("%d: %s, want %s", at, got, want)
		}
	}
	for counter, want := range []string{"755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"} {
		if got := totpCode(secret, int64(counter)); got != want {
			t.Errorf("counter %d: %s, want %s", counter, got, want)
		}
	}
	u, err := url.Parse(totpURI(secret, "Help & Desk: us", "ada+x@example.org"))
	if err != nil || u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/Help & Desk: us:ada+x@example.org" ||
		u.Query().Get("secret") != "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" || u.Query().Get("issuer") != "Help & Desk: us" {
		t.Errorf("%v %v", u, err)
	}
}
