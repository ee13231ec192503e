package helpdesk

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// The default parameters of authenticator apps: RFC 6238 with HMAC-SHA-1, six digits and 30 seconds.
const (
	totpPeriod = 30 // seconds
	totpSlack  = 1  // periods that a clock may be ahead or behind, see RFC 6238 section 5.2
	totpSecret = 20 // bytes, see RFC 4226 section 4
)

var totpEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// totpStep returns the number of the period that contains a time.
func totpStep(at time.Time) int64 { return at.Unix() / totpPeriod }

// totpCode returns the code of a period, see RFC 4226 section 5.3.
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step)))
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[offset:])&0x7fffffff%1_000_000)
}

// totpURI returns the URI for an authenticator app's QR code (Key Uri Format).
func totpURI(secret []byte, issuer, account string) string {
	label := url.PathEscape(issuer) + ":" + url.PathEscape(account)
	// Some apps display a plus instead of a space.
	escaped := strings.ReplaceAll(url.QueryEscape(issuer), "+", "%20")
	return "otpauth://totp/" + label + "?secret=" + totpEncoding.EncodeToString(secret) + "&issuer=" + escaped
}
