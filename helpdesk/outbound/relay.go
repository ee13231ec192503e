package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// RelayConfig says where a [Relay] is and how to talk to it. A zero field is its
// default.
type RelayConfig struct {
	Host       string     // required: name or IP address
	Port       int        // default 587, 465 for TLS and 25 for none
	Encryption Encryption // default STARTTLS
	// Username and Password are used with AUTH PLAIN or LOGIN, and only over TLS or
	// to a loopback address. Both empty: no authentication.
	Username, Password string
	// HelloName is how the relay is greeted; default the address literal of the
	// connection (RFC 5321 section 4.1.4).
	HelloName string

	RootCAs            *x509.CertPool // nil: the system's
	InsecureSkipVerify bool           // accepts any certificate: for tests only
	// Dial makes the connection; nil: a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	DialTimeout    time.Duration // default 30 s
	CommandTimeout time.Duration // of an answer or a write; default 5 min (RFC 5321 section 4.5.3.2)
	SubmitTimeout  time.Duration // of the answer to a whole mail; default 10 min
	// Silence is how long several mails wait for answers of a relay that says nothing at
	// all, to nobody; default 1 min. Then those end that are not sent whole, on which
	// CommandTimeout is lost: of a mail that the relay has whole nobody knows what
	// becomes of it, and SubmitTimeout is left for the answer.
	Silence time.Duration
	// MaxIdle connections are kept for IdleTimeout; defaults 4 and 30 s. A negative
	// MaxIdle keeps none.
	MaxIdle     int
	IdleTimeout time.Duration
}

// String leaves the password out.
func (c RelayConfig) String() string {
	return fmt.Sprintf("smtp://%s?tls=%s", net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), c.Encryption)
}

func (c RelayConfig) withDefaults() RelayConfig {
	if c.Encryption == "" {
		c.Encryption = EncryptionSTARTTLS
	}
	if c.Port == 0 {
		c.Port = c.Encryption.port()
	}
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.DialTimeout, 30 * time.Second}, {&c.CommandTimeout, 5 * time.Minute},
		{&c.SubmitTimeout, 10 * time.Minute}, {&c.IdleTimeout, 30 * time.Second}, {&c.Silence, time.Minute},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if c.MaxIdle == 0 {
		c.MaxIdle = 4
	}
	return c
}

// Relay is a [Transport] over an SMTP server that takes mail for everywhere (RFC
// 5321, RFC 6409). It uses SIZE, 8BITMIME and SMTPUTF8 where the server has them.
// It is safe for concurrent use; mails that are sent at the same time go over
// connections of their own.
type Relay struct {
	cfg  RelayConfig
	tls  *tls.Config
	word word

	mu     sync.Mutex
	idle   []*session
	closed bool
}

// NewRelay makes a relay. It connects with the first mail.
func NewRelay(cfg RelayConfig) (*Relay, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Relay{cfg: cfg, tls: &tls.Config{
		ServerName: cfg.Host, RootCAs: cfg.RootCAs, InsecureSkipVerify: cfg.InsecureSkipVerify, MinVersion: tls.VersionTLS12,
	}}, nil
}

// Close ends the idle connections. Mails that are being sent are not disturbed.
func (r *Relay) Close() error {
	r.mu.Lock()
	idle := r.idle
	r.idle, r.closed = nil, true
	r.mu.Unlock()
	for _, s := range idle {
		s.expiry.Stop()
		s.quit()
	}
	return nil
}

// Check connects, encrypts and authenticates as Send does, and says goodbye. Its
// error is a [*RelayError], which tells the step that failed.
func (r *Relay) Check(ctx context.Context) error {
	s, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer s.attend(ctx)()
	s.quit()
	return nil
}

// Ask finds out whether the relay would take a mail for each of some recipients, and hands it none: it names them, and
// takes that back (RSET). A Result without a State is of one that is accepted, which only says that the relay would try.
func (r *Relay) Ask(ctx context.Context, from string, to []string) ([]Result, error) {
	s, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer s.attend(ctx)()
	defer s.quit()
	t := transaction{session: s, ctx: ctx, results: make([]Result, len(to))}
	sender, problem := t.envelopeAddress(from)
	if problem != nil {
		t.settle(*problem)
		return t.results, nil
	}
	if err := s.client.Mail(sender, nil); err != nil {
		t.settle(t.outcome(err, "sender"))
		return t.results, nil
	}
	for i, address := range to {
		recipient, problem := t.envelopeAddress(address)
		if problem != nil {
			t.results[i] = *problem
		} else if err := s.client.Rcpt(recipient, nil); err != nil {
			t.results[i] = t.outcome(err, "recipient")
		}
	}
	_ = s.client.Reset() // the connection ends in any case
	return t.results, nil
}

// Send hands one mail to the relay for all of its recipients. A recipient whose
// answer is 4xx, or who had none when the connection or ctx ended, is deferred; one
// whose answer is 5xx has failed. Its error, a [*RelayError], means that the relay
// could not be used: what a relay says before a mail is begun is not about the mail.
func (r *Relay) Send(ctx context.Context, from string, to []string, m *Mail) ([]Result, error) {
	results, _, err := r.send(ctx, from, to, m)
	return results, err
}

// send is Send; in doubt, the connection ended while the answer to the whole mail
// was to come.
func (r *Relay) send(ctx context.Context, from string, to []string, m *Mail) (results []Result, doubt bool, err error) {
	s, err := r.session(ctx)
	if err != nil {
		return nil, false, err
	}
	release := s.attend(ctx)
	t := transaction{session: s, ctx: ctx, results: make([]Result, len(to))}
	t.send(from, to, m)
	release()
	r.keep(s, t.clean && ctx.Err() == nil)
	if s.wire.silent && !slices.ContainsFunc(t.results, func(r Result) bool { return r.Code != 0 }) {
		return nil, false, s.failure(ctx, "answer", errSilent) // nothing is known of the mail, but that it is not sent
	}
	return t.results, t.doubt, nil
}

// session gives a connection that is ready for a mail: an idle one that still
// answers, or a new one.
func (r *Relay) session(ctx context.Context) (*session, error) {
	for {
		s := r.takeIdle()
		if s == nil {
			return r.connect(ctx)
		}
		release := s.attend(ctx)
		err := s.client.Noop()
		release()
		if err == nil {
			return s, nil
		}
		s.client.Close()
		if ctx.Err() != nil || errors.Is(err, errSilent) {
			return nil, s.failure(ctx, "connect", err)
		}
	}
}

// Whoever takes a session out of idle owns it.

func (r *Relay) takeIdle() *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.idle) == 0 {
		return nil
	}
	s := r.idle[len(r.idle)-1]
	r.idle = r.idle[:len(r.idle)-1]
	s.expiry.Stop()
	return s
}

// keep makes a session idle, or ends it when its state is not clean.
func (r *Relay) keep(s *session, clean bool) {
	switch {
	case !clean:
		s.client.Close()
	case !r.putIdle(s):
		s.quit()
	}
}

func (r *Relay) putIdle(s *session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.idle) >= r.cfg.MaxIdle {
		return false
	}
	s.expiry = time.AfterFunc(r.cfg.IdleTimeout, func() { r.expire(s) })
	r.idle = append(r.idle, s)
	return true
}

func (r *Relay) expire(s *session) {
	r.mu.Lock()
	at := slices.Index(r.idle, s)
	if at >= 0 {
		r.idle = slices.Delete(r.idle, at, at+1)
	}
	r.mu.Unlock()
	if at >= 0 {
		s.quit()
	}
}

// RelayError says why a relay cannot be used at all.
type RelayError struct {
	Step         string // connect, TLS handshake, greeting, hello, STARTTLS, authenticate or answer
	Code         int    // of the relay's answer; 0: none
	EnhancedCode string
	Err          error
}

// Error names no mail address and no password.
func (e *RelayError) Error() string { return "outbound: relay: " + e.Step + ": " + e.Reason() }

// Unwrap returns the cause.
func (e *RelayError) Unwrap() error { return e.Err }

// Reason is what went wrong, without network addresses.
func (e *RelayError) Reason() string { return reason(e.Err) }

var (
	errNoSTARTTLS = errors.New("the relay does not offer STARTTLS")
	errClearText  = errors.New("the password must not be sent without TLS")
	errNoAuth     = errors.New("the relay offers neither AUTH PLAIN nor AUTH LOGIN")
	errOutOfTurn  = errors.New("the relay talks out of turn")
	errTalkative  = errors.New("the relay's answers are too long")
)
