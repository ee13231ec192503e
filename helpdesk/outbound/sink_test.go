package outbound_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/outbound"
)

// sink is an SMTP server controlled by the test.
type sink struct {
	t          testing.TB
	listener   net.Listener
	extensions []string
	tls        *tls.Config // offers STARTTLS
	implicit   bool        // TLS from the first byte
	auth       string      // mechanisms
	// answer overrides the reply to a command, or to a whole mail, which is ".": "" is the usual reply, drop closes the
	// connection and silent sends nothing.
	answer func(line string) string

	mu       sync.Mutex
	commands []string
	mails    []string
	conns    int
}

const (
	drop   = "drop"
	silent = "silent"
)

func (s *sink) start(t testing.TB) *sink {
	t.Helper()
	s.t = t
	s.listener = must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			running.Go(func() {
				defer conn.Close()
				s.serve(conn)
			})
		}
	})
	t.Cleanup(func() { s.listener.Close() })
	return s
}

func (s *sink) serve(conn net.Conn) {
	s.mu.Lock()
	s.conns++
	s.mu.Unlock()
	secure := s.implicit
	if s.implicit {
		conn = tls.Server(conn, s.tls)
	}
	r := bufio.NewReader(conn)
	say := func(usual, line string) (ok bool) {
		answer := usual
		if s.answer != nil {
			if other := s.answer(line); other != "" {
				answer = other
			}
		}
		if answer == drop {
			return false
		}
		if answer != silent {
			fmt.Fprintf(conn, "%s\r\n", answer)
		}
		return answer == usual || answer == silent || strings.HasPrefix(answer, "3")
	}
	if !say("220 sink ESMTP", "") {
		return
	}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(line, "\r\n")
		s.mu.Lock()
		s.commands = append(s.commands, line)
		s.mu.Unlock()
		verb, _, _ := strings.Cut(line, " ")
		switch verb {
		case "EHLO":
			lines := append([]string{"sink"}, s.extensions...)
			if s.tls != nil && !secure {
				lines = append(lines, "STARTTLS")
			}
			if s.auth != "" {
				lines = append(lines, "AUTH "+s.auth)
			}
			text := ""
			for i, l := range lines {
				sep := "-"
				if i == len(lines)-1 {
					sep = " "
				}
				text += "250" + sep + l + "\r\n"
			}
			say(strings.TrimSuffix(text, "\r\n"), line)
		case "STARTTLS":
			if say("220 go", line) {
				conn, secure = tls.Server(conn, s.tls), true
				r = bufio.NewReader(conn)
			}
		case "AUTH":
			s.authenticate(line, r, say)
		case "DATA":
			if say("354 go", line) && !s.data(r, say) {
				return
			}
		case "QUIT":
			say("221 bye", line)
			return
		default:
			if s.answer != nil && s.answer(line) == drop {
				return
			}
			say("250 2.0.0 fine", line)
		}
	}
}

func (s *sink) data(r *bufio.Reader, say func(usual, line string) bool) bool {
	var mail strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		mail.WriteString(strings.TrimPrefix(line, "."))
	}
	s.mu.Lock()
	s.mails = append(s.mails, mail.String())
	s.mu.Unlock()
	if s.answer != nil && s.answer(".") == drop {
		return false
	}
	say("250 2.6.0 queued as 1", ".")
	return true
}

func (s *sink) authenticate(line string, r *bufio.Reader, say func(usual, line string) bool) {
	fields := strings.Fields(line)
	given := ""
	if len(fields) > 2 {
		b, _ := base64.StdEncoding.DecodeString(fields[2])
		given = string(b)
	}
	if fields[1] == "LOGIN" {
		given = "\x00"
		for _, ask := range []string{"VXNlcm5hbWU6", "UGFzc3dvcmQ6"} {
			say("334 "+ask, ".ask")
			answer, _ := r.ReadString('\n')
			b, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(answer))
			given += string(b) + "\x00"
		}
		given = strings.TrimSuffix(given, "\x00")
	}
	if given == "\x00user\x00secret" {
		say("235 2.7.0 welcome", line)
	} else {
		say("535 5.7.8 Authentication failed", line)
	}
}

func (s *sink) seen() (commands, mails []string, conns int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.commands...), append([]string(nil), s.mails...), s.conns
}

// config is of a relay that is the sink.
func (s *sink) config() outbound.RelayConfig {
	addr := s.listener.Addr().(*net.TCPAddr)
	cfg := outbound.RelayConfig{
		Host: "127.0.0.1", Port: addr.Port, Encryption: mailserver.None, HelloName: "desk.example", CommandTimeout: 20 * time.Second,
	}
	switch {
	case s.implicit:
		cfg.Encryption = mailserver.TLS
	case s.tls != nil:
		cfg.Encryption = mailserver.STARTTLS
	}
	return cfg
}

func (s *sink) relay(t testing.TB) *outbound.Relay {
	t.Helper()
	return newRelay(t, s.config())
}

func newRelay(t testing.TB, cfg outbound.RelayConfig) *outbound.Relay {
	t.Helper()
	relay := must[*outbound.Relay](t)(outbound.NewRelay(cfg))
	t.Cleanup(func() { relay.Close() })
	return relay
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func certificate(t testing.TB) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der := must[[]byte](t)(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	pool := x509.NewCertPool()
	pool.AddCert(must[*x509.Certificate](t)(x509.ParseCertificate(der)))
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}
