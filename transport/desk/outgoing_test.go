package desk_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/transport/desk"
)

// relays are mailboxes' relays whose tests fail with a text.
type relays string

func (r relays) Test(context.Context, sending.Relay, string) error {
	if r == "" {
		return nil
	}
	return errors.New(string(r))
}

// The page of a mailbox names the step at which its outgoing mail fails, and what to do.
func TestOutgoingSteps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure string
		shows   []string
		hides   []string
	}{
		"works":        {"", []string{"Server reached", "Signed in", "Accepts mail"}, []string{"Could not connect"}},
		"no server":    {"outbound: relay: connect: connection refused", []string{"Could not connect", "Check the server and port. (connection refused)"}, []string{"Signed in"}},
		"encryption":   {"outbound: relay: TLS handshake: bad certificate", []string{"Could not connect", "Try the other encryption"}, []string{"Signed in"}},
		"password":     {"outbound: relay: authenticate: 535 no", []string{"Server reached", "Sign-in failed", "app password. (535 no)"}, []string{"Accepts mail"}},
		"sender":       {"outbound: relay: sender: 550 not yours", []string{"Server reached", "Signed in", "Sender address rejected", "(550 not yours)"}, []string{"Accepts mail"}},
		"another text": {"The stored password cannot be read.", []string{"Could not connect", "The stored password cannot be read."}, []string{"Signed in"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundleWith(t, nil, nil, func(cfg *helpdesk.Config) { cfg.Relays = relays(c.failure) })
			form := url.Values{
				"type": {"SMTP"}, "host": {"smtp.example.org"}, "port": {"465"}, "encryption": {"SSL"}, "username": {"support"}, "password": {"geheim"},
			}
			var cookies []string
			for _, c := range b.post("/settings/mailboxes/1/outgoing", form).header.Values("Set-Cookie") {
				pair, _, _ := strings.Cut(c, ";")
				cookies = append(cookies, pair)
			}
			page := b.get("/settings/mailboxes/1", "Cookie", strings.Join(cookies, "; ")).body
			_, page, _ = strings.Cut(page, `id="sending"`)
			page, _, _ = strings.Cut(page, "</section>")
			for _, text := range c.shows {
				if !strings.Contains(page, text) {
					t.Errorf("%q is missing in %s", text, page)
				}
			}
			for _, text := range c.hides {
				if strings.Contains(page, text) {
					t.Errorf("%q is in %s", text, page)
				}
			}
		})
	}
}

// A server without a relay says so on the page of the mailbox, in Health and in set-up, until the mailbox has its own.
func TestNoOutgoingMail(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(cfg *desk.Config) { cfg.NoRelay = true })
	pages := map[string]string{
		"/settings/mailboxes/1": "No outgoing mail is set up on this server.",
		"/health":               "Support cannot send mail",
		"/setup/colleagues":     "Set up outgoing mail",
	}
	for path, text := range pages {
		if got := b.get(path).body; !strings.Contains(got, text) {
			t.Errorf("%s does not say %q", path, text)
		}
	}
	b.post("/settings/mailboxes/1/outgoing", url.Values{"type": {"SMTP"}, "host": {"smtp.example.org"}, "port": {"25"}, "encryption": {"NONE"}})
	for path, text := range pages {
		if got := b.get(path).body; strings.Contains(got, text) {
			t.Errorf("%s still says %q", path, text)
		}
	}
}
