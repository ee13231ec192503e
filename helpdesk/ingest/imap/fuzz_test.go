package imap_test

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// FuzzServer has a server send anything: each line of the client is answered with the next part of the input, separated by
// NUL. Reading must end, and no mail may exceed the limit.
func FuzzServer(f *testing.F) {
	f.Fuzz(func(t *testing.T, input string) {
		parts := strings.Split(input, "\x00")
		cfg := imap.Config{
			Server: imap.Server{
				Host: "h", Username: "u", Password: "p", Encryption: mailserver.None, StepTimeout: 10 * time.Millisecond,
			},
			MaxMessage: 1000, BackoffMin: time.Microsecond, BackoffMax: time.Microsecond,
		}
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
			if len(parts) == 0 {
				return nil, net.ErrClosed
			}
			client, server := net.Pipe()
			greeting := parts[0]
			parts = parts[1:]
			rest := make(chan []string, 1)
			rest <- parts
			parts = nil // one connection: a second one is refused
			go func() {
				defer func() { _ = server.Close() }()
				if _, err := server.Write([]byte(greeting)); err != nil {
					return
				}
				lines := bufio.NewReader(server)
				for _, part := range <-rest {
					if _, err := lines.ReadString('\n'); err != nil {
						return
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
		source := newSource(t, cfg, sink)
		_ = source.Once(ctx)
		if ctx.Err() != nil {
			t.Error("Once does not end by itself")
		}
		for _, mail := range sink.taken(t, "INBOX") {
			if len(mail.Raw) > 1000 && !mail.Oversize && mail.Problem == "" {
				t.Errorf("a mail of %d bytes", len(mail.Raw))
			}
		}
	})
}
