package wire

import (
	"context"
	"errors"

	"github.com/emersion/go-sasl"

	"github.com/helpwright/helpwright/helpdesk/internal/bearer"
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

// Bearer returns the client side of a login with an access token, see [bearer.New].
func (s *Server) Bearer(token string, standard bool) sasl.Client {
	return bearer.New(s.Username, s.Host, s.Port, token, standard)
}
