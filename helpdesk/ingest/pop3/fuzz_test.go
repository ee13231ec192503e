package pop3_test

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/pop3"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// FuzzServer reads from a server that answers each command with the next part of the input, which the byte 0 separates.
// Reading must end, no mail may be longer than allowed, and no mail may come twice.
func FuzzServer(f *testing.F) {
	f.Fuzz(func(t *testing.T, input string) {
		parts := strings.Split(input, "\x00")
		cfg := pop3.Config{
			Server: pop3.Server{
				Host: "h", Username: "u", Password: "p", Encryption: mailserver.None, StepTimeout: 10 * time.Millisecond,
			},
			MaxMessage: 1000, BackoffMin: time.Microsecond, BackoffMax: time.Microsecond,
		}
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
			if len(parts) == 0 { // one connection: a second one is refused
				return nil, net.ErrClosed
			}
			client, server := net.Pipe()
			rest := parts
			parts = nil
			go func() {
				defer func() { _ = server.Close() }()
				lines := bufio.NewReader(server)
				for i, part := range rest {
					if i > 0 {
						if _, err := lines.ReadString('\n'); err != nil {
							return
						}
					}
					if _, err := server.Write([]byte(part)); err != nil {
						return
					}
				}
			}()
			return client, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		sink := newSink()
		_ = newSource(t, cfg, sink).Once(ctx)
		if ctx.Err() != nil {
			t.Error("Once does not end by itself")
		}
		seen := map[string]bool{}
		for _, mail := range sink.taken() {
			if len(mail.Raw) > 1000 && !mail.Oversize && mail.Problem == "" {
				t.Errorf("a mail of %d bytes", len(mail.Raw))
			}
			if seen[mail.ID] || mail.ID == "" {
				t.Errorf("the mail %q came twice or has no id", mail.ID)
			}
			seen[mail.ID] = true
		}
	})
}
