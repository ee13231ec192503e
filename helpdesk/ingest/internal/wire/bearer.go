package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/emersion/go-sasl"
)

// Authorize calls connect with an access token, and with a new one if the server rejects the first, since a token can become
// invalid early. Without Token it calls connect once, with "". Errors are connect's, or a *StepError of [StepToken].
func (s *Server) Authorize(ctx context.Context, protocol string, connect func(token string) error) error {
	if s.Token == nil {
		return connect("")
	}
	for renew := false; ; renew = true {
		token, err := s.Token(ctx, renew)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return &StepError{Protocol: protocol, Step: StepToken, Err: err}
		}
		err = connect(token)
		var step *StepError
		if renew || !errors.As(err, &step) || step.Step != StepLogin || !NeedsReauth(err) {
			return err
		}
	}
}

// Bearer returns the client side of a login with an access token: OAUTHBEARER (RFC 7628) if the server supports it, else the
// older XOAUTH2.
func (s *Server) Bearer(token string, standard bool) sasl.Client {
	if standard {
		return &bearer{mechanism: sasl.OAuthBearer, first: fmt.Sprintf(
			"n,a=%s,\x01host=%s\x01port=%d\x01auth=Bearer %s\x01\x01", gs2(s.Username), s.Host, s.Port, token)}
	}
	return &bearer{mechanism: XOAuth2, first: fmt.Sprintf("user=%s\x01auth=Bearer %s\x01\x01", s.Username, token)}
}

// XOAuth2 is the name of a mechanism that go-sasl lacks.
const XOAuth2 = "XOAUTH2"

// bearer sends an initial response. A rejection arrives as a challenge with the reason; the reply to it makes the server end
// the exchange with its own error (RFC 7628, section 3.2.3). XOAUTH2 expects an empty line but accepts anything.
type bearer struct{ mechanism, first string }

// Start implements sasl.Client.
func (b *bearer) Start() (mechanism string, response []byte, err error) {
	return b.mechanism, []byte(b.first), nil
}

// Next implements sasl.Client.
func (b *bearer) Next([]byte) ([]byte, error) { return []byte{1}, nil }

// gs2 escapes a name for GS2 (RFC 5801, section 4).
func gs2(name string) string {
	var escaped []byte
	for i := range len(name) {
		switch name[i] {
		case ',':
			escaped = append(escaped, "=2C"...)
		case '=':
			escaped = append(escaped, "=3D"...)
		default:
			escaped = append(escaped, name[i])
		}
	}
	return string(escaped)
}
