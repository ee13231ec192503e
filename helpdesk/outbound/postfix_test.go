package outbound_test

import (
	"context"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage/testenv"
)

// postfixRelay is the configuration of a relay that is a Postfix.
func postfixRelay(t testing.TB, p testenv.PostfixServer) outbound.RelayConfig {
	t.Helper()
	host, port, err := net.SplitHostPort(p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(must[[]byte](t)(os.ReadFile(p.CAFile))) {
		t.Fatal("there is no certificate in the file of the authority")
	}
	return outbound.RelayConfig{Host: host, Port: must[int](t)(strconv.Atoi(port)), RootCAs: roots}
}

// tee records everything that passes through a transport.
type tee struct {
	outbound.Transport
	mu   sync.Mutex
	mail string
}

func (s *tee) Send(ctx context.Context, from string, to []string, m *outbound.Mail) ([]outbound.Result, error) {
	var b strings.Builder
	if _, err := m.WriteTo(&b); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.mail = b.String()
	s.mu.Unlock()
	return s.Transport.Send(ctx, from, to, m)
}

// arrived waits for the only mail of a box, with the newlines of mail.
func arrived(t testing.TB, p testenv.PostfixServer, box string) string {
	t.Helper()
	var mails []string
	testenv.Eventually(t, "a mail arrives at "+box, func() bool {
		mails = p.Mails(t, box)
		return len(mails) > 0
	})
	return strings.ReplaceAll(mails[0], "\n", "\r\n")
}

// Postfix delivers the composed mail byte for byte, below its own prepended lines; so both signatures are valid.
func TestPostfixDeliversTheBytes(t *testing.T) {
	t.Parallel()
	p := testenv.Postfix(t)
	for name, in := range map[string]helpdesk.InteractionInput{
		"plain":                 {Body: "Hello"},
		"dots and tail":         {Body: "<p>.</p><pre>.\n..\n.x\n \n\n\n</pre>  "},
		"other letters":         {Body: "<p>Größe, 東京, שלום</p>"},
		"a long line":           {Body: "<p>" + strings.Repeat("Lorem", 2000) + "</p>"},
		"international address": {Body: "Hallo"},
		"attachment":            {Body: "See the file."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, box := newWorld(t), testenv.Name("box")
			if name == "international address" {
				box += "-größe" // needs SMTPUTF8
			}
			zone := w.publish("example.org")
			in.To = []string{p.Box(box)}
			i := w.answer(in)
			if name == "attachment" {
				w.attach(i, "Größe.png", png+strings.Repeat("0123456789", 150_000), false) // more than is kept in memory
			}
			transport := &tee{Transport: newRelay(t, postfixRelay(t, p))}
			if err := w.handle(w.sender(transport)); err != nil {
				t.Fatal(err)
			}
			for _, d := range w.deliveries(i) {
				if d.State != sending.Sent || d.Code != 250 || d.EnhancedCode != "2.0.0" || !strings.Contains(d.Response, "queued as") {
					t.Errorf("the delivery is %+v", d)
				}
			}
			got := arrived(t, p, box)
			above, found := strings.CutSuffix(got, transport.mail)
			if !found {
				t.Fatalf("composed was\n%.2000s\n\narrived is\n%.2000s", transport.mail, got)
			}
			for line := range strings.SplitSeq(strings.TrimSuffix(above, "\r\n"), "\r\n") {
				field, _, _ := strings.Cut(line, ":")
				if !strings.HasPrefix(line, "\t") && field != "Return-Path" && field != "X-Original-To" && field != "Delivered-To" && field != "Received" {
					t.Errorf("a line above the mail: %q", line)
				}
			}
			if !strings.Contains(above, "SMTPS id ") {
				t.Errorf("it came without TLS:\n%s", above)
			}
			if utf8 := strings.Contains(above, "with UTF8SMTPS"); utf8 != (name == "international address") {
				t.Errorf("SMTPUTF8 is %v:\n%s", utf8, above)
			}
			if diff := cmp.Diff([]string{"rsa-sha256", "ed25519-sha256"}, verdicts(t, got, zone)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]bool{true, true}, python(t, got, zone)); diff != "" {
				t.Error("dkimpy: " + diff)
			}
		})
	}
}

// Postfix requires a password, over TLS only, limits the size of mails, and rejects unknown recipients.
func TestPostfixAsSubmissionServer(t *testing.T) {
	t.Parallel()
	dovecot := testenv.OwnDovecot(t, "service auth {", "  unix_listener auth-client {", "    mode = 0666", "  }", "}")
	p := testenv.OwnPostfix(t,
		"smtpd_sasl_auth_enable = yes", "smtpd_sasl_type = dovecot", "smtpd_sasl_path = "+filepath.Join(filepath.Dir(dovecot.Ctl), "run", "auth-client"),
		"smtpd_tls_security_level = encrypt", "smtpd_tls_auth_only = yes", "smtpd_relay_restrictions = permit_sasl_authenticated, reject",
		"message_size_limit = 100000")
	good := postfixRelay(t, p)
	good.Username, good.Password = "desk", dovecot.Password
	wrong, stranger := good, good
	wrong.Password = "wrong"
	stranger.RootCAs = x509.NewCertPool()
	for what, cfg := range map[string]outbound.RelayConfig{"a wrong password": wrong, "a certificate of a stranger": stranger} {
		if err := newRelay(t, cfg).Check(t.Context()); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	anonymous := good
	anonymous.Username, anonymous.Password = "", ""
	box := testenv.Name("box")
	small, large := newMail(t, text(body)), newMail(t, text(body+strings.Repeat(strings.Repeat("x", 70)+"\r\n", 2000)))
	refused := must[[]outbound.Result](t)(newRelay(t, anonymous).Send(t.Context(), "desk@example.org", []string{p.Box(box)}, small))
	if refused[0].State != sending.Failed || refused[0].Code != 554 {
		t.Errorf("without a password: %+v", refused)
	}
	relay := newRelay(t, good)
	got := must[[]outbound.Result](t)(relay.Send(t.Context(), "desk@example.org", []string{p.Box(box), p.Box("nobody")}, small))
	if got[0].State != sending.Sent || got[1].State != sending.Failed || got[1].EnhancedCode != "5.1.1" {
		t.Errorf("with a password: %+v", got)
	}
	if got := must[[]outbound.Result](t)(relay.Send(t.Context(), "desk@example.org", []string{p.Box(box)}, large)); got[0].State != sending.Failed ||
		got[0].EnhancedCode != "5.3.4" || !strings.Contains(got[0].Response, "100000") {
		t.Errorf("a large mail: %+v", got)
	}
	_, said, _ := strings.Cut(body, "\r\n\r\n") // Postfix completes its header
	if mail := arrived(t, p, box); !strings.HasSuffix(mail, "\r\n\r\n"+said) || !strings.Contains(mail, "with ESMTPSA") {
		t.Errorf("arrived is %s", mail)
	}
}
