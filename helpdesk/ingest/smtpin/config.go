package smtpin

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage/fault"
)

// Config says what a [Server] does. A zero field is its default.
type Config struct {
	Intake *helpdesk.Intake // required

	// Listen is the address to listen on, such as ":25", or "unix:/run/hw.sock" for a
	// socket; required without a Listener.
	Listen   string
	Listener net.Listener // used instead of Listen, and closed by Run
	Domain   string       // name in the greeting and in Received; default "localhost"
	TLS      *tls.Config  // offers STARTTLS (RFC 3207); nil: it is not offered
	// LMTP speaks the protocol of local delivery (RFC 2033) in place of SMTP: each
	// recipient gets an answer of its own, so that the client need not try again what
	// was stored. It is for a mail server in front, not for the internet.
	LMTP bool

	// MaxSize is the largest mail in bytes; default 50 MiB less 64 KiB, so that it
	// stays within [mail.DefaultSize] with the fields that are put in front.
	MaxSize int64
	// MaxBuffered bounds the bytes of all mails that are being received at a time;
	// above it mails are refused for now (452). Default four times MaxSize.
	MaxBuffered int64
	// TempDir is the folder of mails of more than 1 MiB while they are received; "" means
	// that of [os.TempDir].
	TempDir string
	// MaxConnections bounds the connections; default 100. For a further one that of the
	// client with the most connections is ended which has waited longest for a command;
	// where none waits, the further one is refused for now (421).
	MaxConnections int
	// MaxPerPeer bounds the connections of one client, an address or an IPv6 network of
	// 64 bits; default 20. Relays and sockets are not bounded.
	MaxPerPeer    int
	Relays        []netip.Prefix // mail servers of ours that hand mail on
	MaxRecipients int            // of one mail; default 100, which RFC 5321 section 4.5.3.1.8 demands

	// CommandTimeout is the longest wait for one command or for the client to read
	// an answer; default 1 min. A connection that brings no mail for ten times as
	// long is ended.
	CommandTimeout time.Duration
	// DataTimeout is how long the data of a mail may take, and as long again for
	// every MiB of it; default 5 min.
	DataTimeout time.Duration
	// Drain is how long mails that are being received may take when Run is to end;
	// default 8 s.
	Drain time.Duration

	// Authenticate finds out where a mail comes from, before it is acknowledged. It has
	// to end in time, and nothing is refused for what it says. nil: nothing is known.
	// ingest.Authenticator makes one.
	Authenticate func(ctx context.Context, d Delivery) helpdesk.MailAuthentication

	Now    func() time.Time // of Received; nil: time.Now
	Logger *slog.Logger     // nil: discards
}

func (c Config) withDefaults() Config {
	if c.Domain == "" {
		c.Domain = "localhost"
	}
	if c.MaxSize <= 0 {
		c.MaxSize = mail.DefaultSize - 64<<10
	}
	if c.MaxBuffered <= 0 {
		c.MaxBuffered = 4 * c.MaxSize
	}
	if c.MaxConnections <= 0 {
		c.MaxConnections = 100
	}
	if c.MaxPerPeer <= 0 {
		c.MaxPerPeer = 20
	}
	if c.MaxRecipients <= 0 {
		c.MaxRecipients = 100
	}
	if c.CommandTimeout <= 0 {
		c.CommandTimeout = time.Minute
	}
	if c.DataTimeout <= 0 {
		c.DataTimeout = 5 * time.Minute
	}
	if c.Drain <= 0 {
		c.Drain = 8 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c Config) validate() error {
	var problems fault.Collector
	problems.Check(c.Intake != nil, "Intake", "is required")
	problems.Check(c.Listen != "" || c.Listener != nil, "Listen", "is required")
	problems.Check(c.Domain == "" || isHostName(c.Domain), "Domain", "is no host name")
	return problems.Err()
}

// isHostName accepts what may stand in a greeting: a domain or an address literal.
func isHostName(s string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]"
	return s != "" && len(s) <= 255 && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(allowed, r) })
}

// protocol is what the greeting says.
func (c Config) protocol() string {
	if c.LMTP {
		return "LMTP"
	}
	return "ESMTP"
}

// source is the name of the server's mails in the ledger.
func (c Config) source() string {
	if c.LMTP {
		return "lmtp"
	}
	return "smtp"
}
