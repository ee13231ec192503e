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

// RemoteImage is an image of another server.
type RemoteImage struct {
	ContentType string // image/png, image/jpeg, image/gif, image/webp, ...: what the content is
	Content     []byte
}

// RemoteImage fetches an image for who shows a mail: the sender sees our server's
// address and no cookie. The token is that of [BodyView].ProxyURL, and whoever has it
// may see the image: a browser asks for images without an access token. One that we did
// not make, and what is no image or cannot be had, is a NotFound fault.
func (s *Service) RemoteImage(ctx context.Context, accountID int64, token string) (RemoteImage, error) {
	if s.cfg.FetchImage == nil {
		return RemoteImage{}, fault.New(fault.Disabled, "Remote images are not fetched by this server.")
	}
	address, ok := RemoteAddress(token)
	genuine := func(key []byte) bool { return hmac.Equal([]byte(token), []byte(imageToken(key, accountID, address))) }
	if !ok || !s.signedBy(genuine) {
		return RemoteImage{}, fault.New(fault.NotFound, "There is no such image.")
	}
	return s.cfg.FetchImage(ctx, address)
}

// RemoteAddress gives the address of the image that a token was made for, whoever
// made it.
func RemoteAddress(token string) (address string, ok bool) {
	_, encoded, _ := strings.Cut(token, ".")
	b, err := base64.RawURLEncoding.DecodeString(encoded)
	return string(b), err == nil && mailhtml.Remote(string(b))
}

// imageToken holds an address and proves that a mail of the account has it.
func imageToken(key []byte, accountID int64, address string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("remote image v1\x00"))
	mac.Write(binary.AppendVarint(nil, accountID))
	mac.Write([]byte(address))
	return tokenEncoding.EncodeToString(mac.Sum(nil)[:20]) + "." + base64.RawURLEncoding.EncodeToString([]byte(address))
}
