package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
)

// TokenFunc returns an access token, cached until it expires unless renew is set. A grant that is gone is
// [ledger.ErrReauth].
type TokenFunc = func(ctx context.Context, renew bool) (string, error)

// RelaysConfig configures [Relays].
type RelaysConfig struct {
	// Dial opens connections; it can refuse private addresses, see package netguard. nil: a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Tokens returns the access tokens of a mailbox. It is called again when the mailbox's settings change, but not for a new
	// refresh token alone, which providers may give with each access token: it has to read the current one by itself. nil:
	// OAuth 2 cannot be used.
	Tokens func(relay sending.Relay) TokenFunc
	// Relay has the settings that all relays share, such as time limits; what a mailbox configures is overwritten. MaxSending
	// defaults to 2, since providers limit the connections of a mailbox, and MaxWait to 2 s, so that a relay which does not
	// answer keeps the mail of its own mailbox, and no worker from that of others.
	Relay RelayConfig
}

// Relays are the relays of mailboxes that have one of their own. It implements [helpdesk.Relays] and is safe for concurrent
// use. Each mailbox has one relay, until its settings change.
type Relays struct {
	cfg RelaysConfig

	mu   sync.Mutex
	open map[int64]*mailboxRelay // by the mailbox
}

// mailboxRelay is the relay of a mailbox with the settings that it was made of.
type mailboxRelay struct {
	settings string
	relay    *Relay
}

// NewRelays returns the relays of mailboxes. It connects to none.
func NewRelays(cfg RelaysConfig) *Relays {
	if cfg.Relay.MaxSending <= 0 {
		cfg.Relay.MaxSending = 2
	}
	if cfg.Relay.MaxWait <= 0 {
		cfg.Relay.MaxWait = 2 * time.Second
	}
	return &Relays{cfg: cfg, open: map[int64]*mailboxRelay{}}
}

// Of returns the relay of a mailbox.
func (r *Relays) Of(relay sending.Relay) (Transport, error) {
	if relay.Problem != "" {
		return nil, errors.New(relay.Problem)
	}
	current := relay
	current.OAuth.RefreshToken = "" // it may change with each access token, which Tokens sees to
	settings := fmt.Sprintf("%+v", current)
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.open[relay.MailboxID]
	if known != nil && known.settings == settings {
		return known.relay, nil
	}
	made, err := r.relay(relay)
	if err != nil {
		return nil, err
	}
	if known != nil {
		_ = known.relay.Close()
	}
	r.open[relay.MailboxID] = &mailboxRelay{settings, made}
	return made, nil
}

// relay makes a mailbox's relay.
func (r *Relays) relay(relay sending.Relay) (*Relay, error) {
	cfg, out := r.cfg.Relay, relay.Outbound
	cfg.Host, cfg.Port, cfg.Encryption = out.Host, out.Port, out.Encryption
	cfg.Username, cfg.Password, cfg.Token = out.Username, relay.Password, nil
	cfg.InsecureSkipVerify = !out.ValidateCertificate
	if r.cfg.Dial != nil {
		cfg.Dial = r.cfg.Dial
	}
	if out.Auth == sending.OutboundOAuth2 {
		if r.cfg.Tokens == nil {
			return nil, errors.New("this server cannot use OAuth 2 for outgoing mail")
		}
		cfg.Token = r.cfg.Tokens(relay)
	}
	return NewRelay(cfg)
}

// Test implements [helpdesk.Relays].
func (r *Relays) Test(ctx context.Context, relay sending.Relay, from string) error {
	made, err := r.relay(relay)
	if err != nil {
		return err
	}
	s, err := made.connect(ctx)
	if err != nil {
		return reauthOf(err)
	}
	defer s.attend(ctx)()
	defer s.quit()
	t := transaction{session: s, ctx: ctx, results: make([]Result, 1)}
	sender, problem := t.envelopeAddress(from)
	if problem != nil {
		return &RelayError{Step: "sender", Err: errors.New(problem.Response)}
	}
	if err := s.client.Mail(sender, nil); err != nil {
		return s.failure(ctx, "sender", err)
	}
	_ = s.client.Reset() // the connection ends anyway
	return nil
}

// reauthOf makes an error [ledger.ErrReauth] if the relay rejected the credentials.
func reauthOf(err error) error {
	failed, ok := errors.AsType[*RelayError](err)
	if ok && failed.Step == "authenticate" && failed.Code/100 == 5 {
		return rejected{err}
	}
	return err
}

// rejected is an error that is also [ledger.ErrReauth].
type rejected struct{ error }

// Is implements the method for errors.Is.
func (rejected) Is(target error) bool { return target == ledger.ErrReauth }

// Unwrap returns the reason.
func (r rejected) Unwrap() error { return r.error }

// Close closes the idle connections of all relays.
func (r *Relays) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, known := range r.open {
		_ = known.relay.Close()
		delete(r.open, id)
	}
	return nil
}
