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

	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage/jobs"
)

// RelayConfig configures the connection to a [Relay]. Zero fields have their defaults.
type RelayConfig struct {
	Host       string                // required: name or IP address
	Port       int                   // default 587, 465 for TLS and 25 for none
	Encryption mailserver.Encryption // default STARTTLS
	// Username and Password are used with AUTH PLAIN or LOGIN, and only over TLS or to a loopback address. Both empty: no
	// authentication.
	Username, Password string
	// Token returns access tokens, which are used instead of Password, by OAUTHBEARER (RFC 7628) or XOAUTH2. When the relay
	// rejects one, it is asked for a new one. nil: the password is used.
	Token func(ctx context.Context, renew bool) (string, error)
	// HelloName is the EHLO name; default the address literal of the connection (RFC 5321 section 4.1.4).
	HelloName string

	RootCAs            *x509.CertPool // nil: the system's
	InsecureSkipVerify bool           // accept any certificate: for tests, and where whoever sets up the relay chose so
	// Dial opens the connection; nil: a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	DialTimeout    time.Duration // default 30 s
	CommandTimeout time.Duration // for a reply or a write; default 5 min (RFC 5321 section 4.5.3.2)
	SubmitTimeout  time.Duration // for the reply to a complete message; default 10 min
	// Silence is how long several messages wait while the relay replies to none of them; default 1 min. Then the messages that
	// are not completely sent are ended without waiting for CommandTimeout. The outcome of a completely sent message is
	// unknown, so it waits SubmitTimeout for its reply.
	Silence time.Duration
	// MaxSending is the number of messages sent at the same time; default 8. Others wait for their turn. A message that the
	// relay leaves without a reply for a sixth of Silence no longer counts.
	MaxSending int
	// MaxWait is how long a message waits for its turn; then it is not sent, with [ErrBusy]. 0: as long as its context.
	MaxWait time.Duration
	// MaxIdle is the number of connections kept open for IdleTimeout; defaults MaxSending and 30 s. Negative keeps none.
	MaxIdle     int
	IdleTimeout time.Duration
}

// String returns the configuration without the password.
func (c RelayConfig) String() string {
	return fmt.Sprintf("smtp://%s?tls=%s", net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), tlsOption(c.Encryption))
}

func (c RelayConfig) withDefaults() RelayConfig {
	if c.Encryption == "" {
		c.Encryption = mailserver.STARTTLS
	}
	if c.Port == 0 {
		c.Port = defaultPort(c.Encryption)
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
	if c.MaxSending <= 0 {
		c.MaxSending = 8
	}
	if c.MaxIdle == 0 {
		c.MaxIdle = c.MaxSending
	}
	return c
}

// Relay is a [Transport] over an SMTP server that relays mail to any destination (RFC 5321, RFC 6409). It uses SIZE,
// 8BITMIME and SMTPUTF8 if offered. It is safe for concurrent use; concurrent messages use separate connections.
type Relay struct {
	cfg   RelayConfig
	tls   *tls.Config
	word  word
	turns chan struct{} // as many as messages are being sent, at most MaxSending

	mu     sync.Mutex
	idle   []*session
	closed bool
}

// NewRelay returns a relay. It connects with the first message.
func NewRelay(cfg RelayConfig) (*Relay, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Relay{cfg: cfg, turns: make(chan struct{}, cfg.MaxSending), tls: &tls.Config{
		ServerName: cfg.Host, RootCAs: cfg.RootCAs, InsecureSkipVerify: cfg.InsecureSkipVerify, MinVersion: tls.VersionTLS12,
	}}, nil
}

// Close closes the idle connections. Messages in progress are not affected.
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

// Check connects, encrypts and authenticates as Send does, and quits. Its error is a [*RelayError] with the failed step.
func (r *Relay) Check(ctx context.Context) error {
	s, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer s.attend(ctx)()
	s.quit()
	return nil
}

// Ask asks whether the relay would accept a message for each recipient, without sending one: it names them and resets the
// transaction (RSET). A Result without a State means accepted, which only means that the relay would try.
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
		t.completeResults(*problem)
		return t.results, nil
	}
	if err := s.client.Mail(sender, nil); err != nil {
		t.completeResults(t.outcome(err, "sender"))
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
	_ = s.client.Reset() // the connection ends anyway
	return t.results, nil
}

// Send hands one message to the relay for all its recipients. A 4xx reply, or no reply before the connection or ctx ended,
// defers a recipient; a 5xx reply fails it. An error, a [*RelayError], means that the relay could not be used: replies
// before the transaction begins are not about the message.
func (r *Relay) Send(ctx context.Context, from string, to []string, m *Mail) ([]Result, error) {
	results, _, err := r.send(ctx, from, to, m)
	return results, err
}

// send is Send. doubt means that the connection ended while the reply to the complete message was outstanding.
func (r *Relay) send(ctx context.Context, from string, to []string, m *Mail) (results []Result, doubt bool, err error) {
	ctx, leave, err := r.turn(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	s, err := r.session(ctx)
	if err != nil {
		return nil, false, err
	}
	release := s.attend(ctx)
	t := transaction{session: s, ctx: ctx, results: make([]Result, len(to))}
	t.send(from, to, m)
	release()
	r.releaseSession(s, t.clean && ctx.Err() == nil)
	if s.wire.silent && !slices.ContainsFunc(t.results, func(r Result) bool { return r.Code != 0 }) {
		return nil, false, s.failure(ctx, "answer", errSilent) // the message is not sent; nothing else is known
	}
	return t.results, t.doubt, nil
}

// leaveTurn is the key of the function that ends a message's turn early.
type leaveTurn struct{}

// turn waits until the message of ctx may be sent. leave ends its turn.
func (r *Relay) turn(ctx context.Context) (_ context.Context, leave func(), err error) {
	var tired <-chan time.Time // nil: never
	if r.cfg.MaxWait > 0 {
		timer := time.NewTimer(r.cfg.MaxWait)
		defer timer.Stop()
		tired = timer.C
	}
	select {
	case <-tired:
		return ctx, nil, &RelayError{Step: "connect", Err: ErrBusy}
	case r.turns <- struct{}{}:
		leave = sync.OnceFunc(func() { <-r.turns })
		return context.WithValue(ctx, leaveTurn{}, leave), leave, nil
	case <-ctx.Done():
		return ctx, nil, &RelayError{Step: "connect", Err: context.Cause(ctx)}
	}
}

// yield lets other messages be sent, and other jobs run, while that of ctx waits for the relay.
func yield(ctx context.Context) {
	if leave, ok := ctx.Value(leaveTurn{}).(func()); ok {
		leave()
	}
	jobs.Yield(ctx)
}

// session returns a connection that is ready for a message: an idle one that still answers, or a new one.
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

// Taking a session out of idle transfers its ownership.

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

// releaseSession makes a session idle, or ends it if its state is not clean.
func (r *Relay) releaseSession(s *session, clean bool) {
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

// RelayError is the reason why a relay cannot be used at all.
type RelayError struct {
	Step         string // connect, TLS handshake, greeting, hello, STARTTLS, authenticate or answer
	Code         int    // SMTP reply code; 0: none
	EnhancedCode string
	Err          error
}

// Error returns a text without email address and password.
func (e *RelayError) Error() string { return "outbound: relay: " + e.Step + ": " + e.Reason() }

// Unwrap returns the cause.
func (e *RelayError) Unwrap() error { return e.Err }

// Reason returns the cause, without network addresses.
func (e *RelayError) Reason() string { return reason(e.Err) }

// ErrBusy is the error of a message that had no turn within RelayConfig.MaxWait. It was not attempted.
var ErrBusy = errors.New("too many other messages wait for the relay")

var (
	errNoSTARTTLS = errors.New("the relay does not offer STARTTLS")
	errClearText  = errors.New("the password must not be sent without TLS")
	errNoAuth     = errors.New("the relay offers neither AUTH PLAIN nor AUTH LOGIN")
	errNoBearer   = errors.New("the relay offers neither AUTH OAUTHBEARER nor AUTH XOAUTH2")
	errOutOfTurn  = errors.New("the relay talks out of turn")
	errTalkative  = errors.New("the relay's answers are too long")
)
