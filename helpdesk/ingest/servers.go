package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/oauth"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/helpdesk/ingest/pop3"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/netguard"
	"github.com/helpwright/helpwright/helpdesk/sending"
)

// ServersConfig configures [Servers].
type ServersConfig struct {
	// AllowPrivateHosts allows servers at loopback and private addresses.
	AllowPrivateHosts bool
	// PollInterval is the interval of polling folders and maildrops whose server does not notify; 0 means 60 s.
	PollInterval time.Duration
	MaxMessage   int64 // bytes; 0 means 50 MiB
	// Memory limits the bytes of mail that all mailboxes together hold while fetching; 0 means 64 MiB. A larger message is held
	// alone. Fetches of up to 1 MiB are not counted, so that new mail does not wait for large mail on slow servers.
	Memory int64
	// Grants stores refresh tokens that token endpoints replace. nil: the intake of a [Fetcher], or nothing without one.
	Grants Grants
	// StepTimeout is the longest silence of a server; BackoffMin and BackoffMax bound the waits after failures; 0: see
	// [imap.Config].
	StepTimeout, BackoffMin, BackoffMax time.Duration
	Now                                 func() time.Time // nil: time.Now
	Logger                              *slog.Logger     // nil: discards
}

// Grants stores the refresh tokens of mailboxes. [helpdesk.Intake] implements it.
type Grants interface {
	// RefreshToken returns the stored token, "" if there is none.
	RefreshToken(ctx context.Context, accountID, mailboxID int64) (string, error)
	// KeepRefreshToken stores next in place of old, unless the stored token is another one.
	KeepRefreshToken(ctx context.Context, accountID, mailboxID int64, old, next string) error
}

// Servers connects to the servers from which mailboxes are fetched. It implements [ledger.MailServers] and keeps no
// connections.
type Servers struct {
	cfg  ServersConfig
	dial netguard.DialFunc
	room *wire.Room

	mu      sync.Mutex
	granted map[int64]granted // by mailbox
}

// granted are the access tokens of a mailbox, which everything that connects for it shares: a provider may replace the refresh
// token with each of them. They are made anew when its settings change.
type granted struct {
	settings sending.OAuth // without the refresh token
	tokens   *oauth.Tokens
}

// NewServers returns servers with a dial policy.
func NewServers(cfg ServersConfig) *Servers {
	wire.Default(&cfg.PollInterval, time.Minute)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	wire.Default(&cfg.Memory, 64<<20)
	return &Servers{cfg: cfg, room: wire.NewRoom(cfg.Memory), granted: map[int64]granted{}, dial: netguard.Dialer(cfg.AllowPrivateHosts, 30*time.Second)}
}

// tokens returns a mailbox's tokens, nil if it uses a password.
func (s *Servers) tokens(source ledger.FetchSource) *oauth.Tokens {
	if source.Inbound.Auth != ledger.AuthOAuth2 {
		return nil
	}
	settings := source.Inbound.OAuth
	return s.tokensOf(source.AccountID, source.MailboxID, sending.OAuth{
		ClientID: settings.ClientID, ClientSecret: source.ClientSecret, TokenURL: settings.TokenURL, Scope: settings.Scope, RefreshToken: source.RefreshToken,
	})
}

// tokensOf returns the tokens of a mailbox with these settings.
func (s *Servers) tokensOf(accountID, mailboxID int64, settings sending.OAuth) *oauth.Tokens {
	refresh := settings.RefreshToken
	settings.RefreshToken = ""
	s.mu.Lock()
	known, ok := s.granted[mailboxID]
	if !ok || known.settings != settings {
		known = granted{settings, oauth.New(s.oauthConfig(accountID, mailboxID, settings, refresh))}
		s.granted[mailboxID] = known
	}
	s.mu.Unlock()
	known.tokens.Renew(refresh)
	return known.tokens
}

// keepIn sets where refresh tokens are stored, unless that was configured.
func (s *Servers) keepIn(g Grants) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Grants == nil {
		s.cfg.Grants = g
	}
}

// oauthConfig is called with mu held.
func (s *Servers) oauthConfig(accountID, mailboxID int64, settings sending.OAuth, refresh string) oauth.Config {
	cfg := oauth.Config{
		TokenURL: settings.TokenURL, ClientID: settings.ClientID, ClientSecret: settings.ClientSecret, RefreshToken: refresh,
		Scope: settings.Scope, Dial: s.dial, Now: s.cfg.Now,
	}
	if grants := s.cfg.Grants; grants != nil {
		cfg.Kept = func(ctx context.Context) (string, error) { return grants.RefreshToken(ctx, accountID, mailboxID) }
		cfg.Rotated = func(ctx context.Context, old, next string) error {
			return grants.KeepRefreshToken(ctx, accountID, mailboxID, old, next)
		}
	}
	return cfg
}

// RelayTokens returns the access tokens of a mailbox for its own relay; see [outbound.RelaysConfig].
func (s *Servers) RelayTokens(relay sending.Relay) func(ctx context.Context, renew bool) (string, error) {
	tokens := s.tokensOf(relay.AccountID, relay.MailboxID, relay.OAuth)
	return func(ctx context.Context, renew bool) (string, error) {
		token, err := tokens.Token(ctx, renew)
		return token, shown(err)
	}
}

// server returns the address and credentials of a mailbox's server.
func (s *Servers) server(source ledger.FetchSource, tokens *oauth.Tokens) wire.Server {
	in := source.Inbound
	server := wire.Server{
		Host: in.Host, Port: in.Port, Username: in.Username, Password: source.Password,
		Encryption: in.Encryption, InsecureSkipVerify: !in.ValidateCertificate, Dial: s.dial,
		StepTimeout: s.cfg.StepTimeout, Room: s.room,
	}
	if tokens != nil {
		server.Token = tokens.Token
	}
	return server
}

func (s *Servers) imapConfig(source ledger.FetchSource, tokens *oauth.Tokens) imap.Config {
	return imap.Config{
		Server: s.server(source, tokens), Folders: source.Inbound.Folders, Since: source.Inbound.ImportSince, PollInterval: s.cfg.PollInterval,
		MaxMessage: s.cfg.MaxMessage, Logger: s.cfg.Logger.With("mailbox_id", source.MailboxID), Now: s.cfg.Now,
		BackoffMin: s.cfg.BackoffMin, BackoffMax: s.cfg.BackoffMax,
	}
}

func (s *Servers) pop3Config(source ledger.FetchSource, tokens *oauth.Tokens) pop3.Config {
	return pop3.Config{
		Server: s.server(source, tokens), PollInterval: s.cfg.PollInterval, MaxMessage: s.cfg.MaxMessage,
		Logger: s.cfg.Logger.With("mailbox_id", source.MailboxID), Now: s.cfg.Now,
		BackoffMin: s.cfg.BackoffMin, BackoffMax: s.cfg.BackoffMax,
	}
}

// source imports a mailbox's mail.
type source interface {
	Run(ctx context.Context) error
}

// open returns a mailbox's source, which writes to l.
func (s *Servers) open(from ledger.FetchSource, tokens *oauth.Tokens, l *mailboxLedger) (source, error) {
	switch from.Inbound.Type {
	case ledger.InboundIMAP:
		cfg := s.imapConfig(from, tokens)
		cfg.Work = l.work
		return imap.New(cfg, imapLedger{l})
	case ledger.InboundPOP3:
		cfg := s.pop3Config(from, tokens)
		cfg.Work = l.work
		return pop3.New(cfg, pop3Ledger{l})
	}
	return nil, notFetched(from.Inbound.Type)
}

func notFetched(t ledger.InboundType) error { return fmt.Errorf("mail is not fetched by %s", t) }

// Test implements [ledger.MailServers].
func (s *Servers) Test(ctx context.Context, from ledger.FetchSource) error {
	tokens := s.tokens(from)
	var err error
	switch from.Inbound.Type {
	case ledger.InboundIMAP:
		err = imap.Test(ctx, s.imapConfig(from, tokens))
	case ledger.InboundPOP3:
		err = pop3.Test(ctx, s.pop3Config(from, tokens))
	default:
		return notFetched(from.Inbound.Type)
	}
	return shown(err)
}

// shown converts an error for the help desk.
func shown(err error) error {
	if wire.NeedsReauth(err) {
		return reauth{err}
	}
	return err
}

// reauth is an error that is also [ledger.ErrReauth].
type reauth struct{ error }

// Is implements the method for errors.Is.
func (reauth) Is(target error) bool { return target == ledger.ErrReauth }

// Unwrap returns the reason.
func (r reauth) Unwrap() error { return r.error }
