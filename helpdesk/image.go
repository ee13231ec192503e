package helpdesk

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage/fault"
)

// RemoteImage is an image from another server.
type RemoteImage struct {
	ContentType string // actual type of the content: image/png, image/jpeg, image/gif, image/webp, ...
	Content     []byte
}

// RemoteImage fetches an image in a message on a reader's behalf: the sender sees our server's address and no cookie. The
// token comes from [BodyView].ProxyURL. It alone grants access, because browsers request images without an access token. A
// forged token, an unavailable image and content that is no image are NotFound faults.
func (s *Service) RemoteImage(ctx context.Context, accountID int64, token string) (RemoteImage, error) {
	if s.cfg.FetchImage == nil {
		return RemoteImage{}, fault.New(fault.Disabled, "This server does not fetch remote images.")
	}
	address, ok := RemoteAddress(token)
	genuine := func(key []byte) bool { return hmac.Equal([]byte(token), []byte(imageToken(key, accountID, address))) }
	if !ok || !s.signedBy(genuine) {
		return RemoteImage{}, fault.New(fault.NotFound, "There is no such image.")
	}
	return s.cfg.FetchImage(ctx, address)
}

// RemoteAddress returns the image address in a token, without verifying the token.
func RemoteAddress(token string) (address string, ok bool) {
	_, encoded, _ := strings.Cut(token, ".")
	b, err := base64.RawURLEncoding.DecodeString(encoded)
	return string(b), err == nil && mailhtml.Remote(string(b))
}

// imageToken returns a token for an address, which proves that a message of the account contains it.
func imageToken(key []byte, accountID int64, address string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("remote image v1\x00"))
	mac.Write(binary.AppendVarint(nil, accountID))
	mac.Write([]byte(address))
	return tokenEncoding.EncodeToString(mac.Sum(nil)[:20]) + "." + base64.RawURLEncoding.EncodeToString([]byte(address))
}
