package outbound_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/outbound"
)

func portOf(cfg *outbound.RelayConfig) string { return strconv.Itoa(cfg.Port) }

func TestParseRelayURL(t *testing.T) {
	t.Parallel()
	const hidden = "s3cr3t"
	for raw, want := range map[string]*outbound.RelayConfig{
		"smtp://mail.example":                       {Host: "mail.example", Port: 587, Encryption: mailserver.STARTTLS},
		"smtp://mail.example/?tls=starttls":         {Host: "mail.example", Port: 587, Encryption: mailserver.STARTTLS},
		"smtp://mail.example?tls=tls":               {Host: "mail.example", Port: 465, Encryption: mailserver.TLS},
		"smtps://mail.example":                      {Host: "mail.example", Port: 465, Encryption: mailserver.TLS},
		"smtps://mail.example:1465?tls=tls":         {Host: "mail.example", Port: 1465, Encryption: mailserver.TLS},
		"smtp://127.0.0.1?tls=none":                 {Host: "127.0.0.1", Port: 25, Encryption: mailserver.None},
		"smtp://[::1]:2525?tls=none&hello=[::1]":    {Host: "::1", Port: 2525, Encryption: mailserver.None, HelloName: "[::1]"},
		"smtp://u%40x:p%2F%3A%25%40@h:26?hello=d.e": {Host: "h", Port: 26, Encryption: mailserver.STARTTLS, Username: "u@x", Password: "p/:%@", HelloName: "d.e"},
		"":                                   nil,
		"mail.example":                       nil,
		"http://mail.example":                nil,
		"smtp://":                            nil,
		"smtp:mail.example":                  nil,
		"smtp://mail.example/path":           nil,
		"smtp://mail.example#s3cr3t":         nil,
		"smtp://u:s3cr3t@":                   nil,
		"smtp://u:s3cr3t@h:0":                nil,
		"smtp://u:s3cr3t@h:99999":            nil,
		"smtp://u:s3cr3t@h:":                 nil,
		"smtp://u:s3cr3t@h?tls=yes":          nil,
		"smtp://u:s3cr3t@h?tls=tls&tls=none": nil,
		"smtps://u:s3cr3t@h?tls=none":        nil,
		"smtp://u:s3cr3t@h?other=x":          nil,
		"smtp://u:s3cr3t@h?hello=a%20b":      nil,
		"smtp://u:s3cr3t@h?hello=":           nil,
		"smtp://u:s3cr3t@h?x=%zz":            nil,
		"smtp://u:%zzs3cr3t@h":               nil,
		"smtp://u:s3cr3t/x@h":                nil,
		"smtp://u:s3cr3t?x@h":                nil,
		"smtp://u:s3cr3t%00@h":               nil,
		"smtp://u:s3cr3t@a b":                nil,
		"smtp://u@h":                         nil,
		"smtp://:s3cr3t@h":                   nil,
		"\x7fsmtp://u:s3cr3t@h":              nil,
	} {
		got, err := outbound.ParseRelayURL(raw)
		switch {
		case want == nil && err == nil:
			t.Errorf("%q: no error: %+v", raw, got)
		case want == nil && strings.Contains(err.Error(), hidden):
			t.Errorf("%q: the error shows the password: %v", raw, err)
		case want == nil:
		case err != nil:
			t.Errorf("%q: %v", raw, err)
		default:
			if diff := cmp.Diff(*want, got, cmpopts.IgnoreFields(outbound.RelayConfig{}, "Dial", "RootCAs")); diff != "" {
				t.Errorf("%q: %s", raw, diff)
			}
		}
	}
}

// Errors contain no part of the URL, and a parsed URL is valid for a relay.
func FuzzParseRelayURL(f *testing.F) {
	_, fixed := outbound.ParseRelayURL("")
	f.Fuzz(func(t *testing.T, raw string) {
		cfg, err := outbound.ParseRelayURL(raw)
		if err != nil {
			if fixed.Error() != err.Error() && !strings.HasPrefix(err.Error(), "outbound: ") || len(err.Error()) > 200 {
				t.Error(err)
			}
			if again, other := outbound.ParseRelayURL(raw + "\x00" + url.QueryEscape(raw)); other == nil {
				t.Errorf("a control character is taken: %+v", again)
			}
			return
		}
		if cfg.Port < 1 || cfg.Port > 65535 || cfg.Host == "" || strings.ContainsAny(cfg.Host+cfg.HelloName+cfg.Username+cfg.Password, "\r\n\x00") {
			t.Errorf("%+v", cfg)
		}
		relay, err := outbound.NewRelay(cfg)
		if err != nil {
			t.Fatal(err)
		}
		relay.Close()
	})
}
