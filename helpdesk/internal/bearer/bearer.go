// Package bearer is the client side of logins with access tokens, for IMAP, POP3 and SMTP.
package bearer

import (
	"fmt"
	"strings"

	"github.com/emersion/go-sasl"
)

// XOAuth2 is the name of a mechanism that go-sasl lacks.
const XOAuth2 = "XOAUTH2"

// New returns a login with an access token: OAUTHBEARER (RFC 7628) if the server supports that standard, else the older
// XOAUTH2.
func New(username, host string, port int, token string, standard bool) sasl.Client {
	if standard {
		name := strings.NewReplacer(",", "=2C", "=", "=3D").Replace(username) // for GS2 (RFC 5801, section 4)
		return &client{mechanism: sasl.OAuthBearer, first: fmt.Sprintf(
			"n,a=%s,\x01host=%s\x01port=%d\x01auth=Bearer %s\x01\x01", name, host, port, token)}
	}
	return &client{mechanism: XOAuth2, first: fmt.Sprintf("user=%s\x01auth=Bearer %s\x01\x01", username, token)}
}

// client sends an initial response. A rejection arrives as a challenge with the reason; the reply to it makes the server end
// the exchange with its own error (RFC 7628, section 3.2.3). XOAUTH2 expects an empty line but accepts anything.
type client struct{ mechanism, first string }

// Start implements sasl.Client.
func (c *client) Start() (mechanism string, response []byte, err error) {
	return c.mechanism, []byte(c.first), nil
}

// Next implements sasl.Client.
func (c *client) Next([]byte) ([]byte, error) { return []byte{1}, nil }
