package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// Server is a mail server's address and credentials. Zero fields have their defaults, where given.
type Server struct {
	Host     string // name or address of the server; required
	Port     int    // default: the protocol's
	Username string // required
	Password string // never logged

	// Token returns an access token (RFC 6749, section 1.4) to use instead of Password; renew requests a new one, because the
	// server rejected the last. An [ErrReauth] error means that none is available until someone grants access again. Default:
	// Password is used.
	Token func(ctx context.Context, renew bool) (string, error)

	Encryption         mailserver.Encryption // default: implicit TLS
	InsecureSkipVerify bool                  // accepts any certificate
	RootCAs            *x509.CertPool        // for validating certificates; default: the system's

	// Dial opens the connection; it can restrict private addresses. Default: a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	StepTimeout time.Duration // longest silence of the server during one step; default 60 s

	// Room limits fetched mail in memory, together with other sources. Default: no limit.
	Room *Room
}

// WithDefaults sets the fields that are zero. The ports are the protocol's, with implicit TLS and without.
func (s Server) WithDefaults(sslPort, port int) Server {
	Default(&s.Encryption, mailserver.TLS)
	if s.Encryption == mailserver.TLS {
		Default(&s.Port, sslPort)
	}
	Default(&s.Port, port)
	Default(&s.StepTimeout, time.Minute)
	if s.Dial == nil {
		s.Dial = new(net.Dialer).DialContext
	}
	return s
}

// Default sets a field that is zero.
func Default[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Problems returns all problems of a server with defaults, each beginning with the protocol's name.
func (s Server) Problems(protocol string) []error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(protocol+": "+format, args...))
		}
	}
	check(s.Host != "" && Clean(s.Host) && !strings.ContainsAny(s.Host, " /"), "the host %q is not a name or an address", s.Host)
	check(s.Port > 0 && s.Port < 1<<16, "the port %d is not between 1 and 65535", s.Port)
	check(s.Username != "" && Clean(s.Username), "the username is empty or has control characters")
	check(Clean(s.Password), "the password has control characters or is not UTF-8")
	check(s.Encryption.Valid(),
		"the encryption %q is none of TLS, SSL, NONE", s.Encryption)
	check(s.StepTimeout > 0, "StepTimeout is negative")
	return problems
}

// Clean reports whether s is UTF-8 without control characters, so that it cannot break out of a command.
func Clean(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// Link is a protocol's connection to a server.
type Link struct {
	*Conn          // the network connection, for its steps
	Plain net.Conn // decrypted
}

// connectBytes is how much a server may send before the dialogue begins.
const connectBytes = 1 << 20

// Connect dials and secures the connection according to Encryption. startTLS requests TLS on a plain connection; it must not
// read beyond the server's consent. explain is [Conn].Explain. Errors are *StepError, or ctx's.
func (s *Server) Connect(ctx context.Context, protocol string, explain func(err, cause error) error,
	startTLS func(net.Conn) error) (*Link, error) {
	dialCtx, cancel := context.WithTimeout(ctx, s.StepTimeout)
	defer cancel()
	raw, err := s.Dial(dialCtx, "tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		return nil, dialError(ctx, protocol, err)
	}
	conn := &Conn{Conn: raw, Protocol: protocol, Timeout: s.StepTimeout, Explain: explain, left: idleBytes}
	if s.Encryption == mailserver.None {
		return &Link{Conn: conn, Plain: conn}, nil
	}
	if s.Encryption == mailserver.STARTTLS {
		if err := conn.Step(ctx, StepSTARTTLS, connectBytes, 0, func() error { return startTLS(conn) }); err != nil {
			conn.Fail(err)
			return nil, err
		}
	}
	secured := tls.Client(conn, &tls.Config{
		ServerName:         s.Host,
		RootCAs:            s.RootCAs,
		InsecureSkipVerify: s.InsecureSkipVerify, // the mailbox's own setting
		MinVersion:         tls.VersionTLS12,
	})
	if err := conn.Step(ctx, StepTLS, connectBytes, 0, func() error { return secured.HandshakeContext(ctx) }); err != nil {
		conn.Fail(err)
		return nil, err
	}
	return &Link{Conn: conn, Plain: secured}, nil
}

func dialError(ctx context.Context, protocol string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	step := StepConnect
	var resolve *net.DNSError
	if errors.As(err, &resolve) {
		step = StepResolve
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) { // whichever the network reports
		err = ErrTimeout
	}
	return &StepError{Protocol: protocol, Step: step, Err: Outward(err)}
}

// Outward returns a network error without the addresses of this machine and its resolver.
func Outward(err error) error {
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		plain := *lookup
		plain.Server = ""
		return &plain
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Err != nil {
		return network.Err
	}
	return err
}
