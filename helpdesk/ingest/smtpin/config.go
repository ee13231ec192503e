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
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage/fault"
)

// Config configures a [Server]. Zero fields have their defaults.
type Config struct {
	Intake *helpdesk.Intake // required

	// Listen is the address to listen on, such as ":25", or "unix:/run/hw.sock" for a socket; required without a Listener.
	Listen   string
	Listener net.Listener // used instead of Listen, and closed by Run
	Domain   string       // name in the greeting and in Received; default "localhost"
	TLS      *tls.Config  // offers STARTTLS (RFC 3207); nil: not offered
	// LMTP uses the local delivery protocol (RFC 2033) instead of SMTP: each recipient gets its own reply, so that the client
	// need not retry what was stored. It is for a mail server in front, not for the internet.
	LMTP bool

	// MaxSize is the maximum size of a message in bytes; default 50 MiB less 64 KiB, so that it stays within [mail.DefaultSize]
	// with the prepended header fields.
	MaxSize int64
	// MaxBuffered limits the bytes of all messages being received; above it, messages are rejected temporarily (452). Default
	// four times MaxSize.
	MaxBuffered int64
	// TempDir is the directory for messages of more than 1 MiB while they are received; "" means [os.TempDir].
	TempDir string
	// MaxConnections limits the connections; default 100. A further one replaces the connection that has waited longest for a
	// command, of the client with the most connections. If none is waiting, the further one is rejected temporarily (421).
	MaxConnections int
	// MaxPerPeer limits the connections of one client, an address or an IPv6 /64 network; default
	// 20. Relays and sockets are not limited.
	MaxPerPeer    int
	Relays        []netip.Prefix // our own mail servers that relay mail
	MaxRecipients int            // per message; default 100, the minimum in RFC 5321 section 4.5.3.1.8

	// CommandTimeout is the longest wait for a command, or for the client to read a reply; default 1 min. A connection that
	// delivers no message for ten times as long is closed.
	CommandTimeout time.Duration
	// DataTimeout is the time for a message's data, and again for every MiB of it; default 5 min.
	DataTimeout time.Duration
	// Drain is the time for completing messages in transfer when Run is to end; default 8 s.
	Drain time.Duration

	// Authenticate checks a message's sender before the message is acknowledged. It must end in time, and its result never
	// rejects a message. nil: unchecked. ingest.Authenticator returns one.
	Authenticate func(ctx context.Context, d Delivery) ledger.Authentication

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
	problems.Check(c.Domain == "" || isHostName(c.Domain), "Domain", "is not a host name")
	return problems.Err()
}

// isHostName reports whether s is valid in a greeting: a domain or an address literal.
func isHostName(s string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]"
	return s != "" && len(s) <= 255 && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(allowed, r) })
}

// protocol returns the protocol name in the greeting.
func (c Config) protocol() string {
	if c.LMTP {
		return "LMTP"
	}
	return "ESMTP"
}

// source returns the ledger's source name for the server's messages.
func (c Config) source() string {
	if c.LMTP {
		return "lmtp"
	}
	return "smtp"
}
