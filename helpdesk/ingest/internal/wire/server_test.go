package wire_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// A server that cannot be reached in time is one that does not answer, whatever the network calls it.
func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"the context's": &net.OpError{Op: "dial", Err: context.DeadlineExceeded},
		"the socket's":  &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &wire.Server{
				Host: "h", Encryption: mailserver.None,
				Dial: func(context.Context, string, string) (net.Conn, error) { return nil, err },
			}
			_, got := s.Connect(t.Context(), "imap", nil, nil)
			if !errors.Is(got, wire.ErrTimeout) {
				t.Errorf("got %v, want ErrTimeout", got)
			}
		})
	}
}
