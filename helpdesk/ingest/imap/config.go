package imap

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The values of [Config].Encryption.
const (
	EncryptionTLS  = "TLS"  // STARTTLS on a plain connection (RFC 9051, section 6.2.1)
	EncryptionSSL  = "SSL"  // TLS from the first byte (RFC 8314)
	EncryptionNone = "NONE" // no encryption at all
)

// Config says what to read and how. The zero value of a field is its default, where one is named; [New] refuses a
// configuration that cannot work.
type Config struct {
	Host     string // name or address of the server; required
	Port     int    // default 993 with SSL, else 143
	Username string // required
	Password string // never logged

	Encryption          string         // TLS, SSL or NONE; default SSL
	ValidateCertificate bool           // false accepts any certificate
	RootCAs             *x509.CertPool // of certificates that are validated; default: the system's

	// Folders are the folders to import, named in UTF-8; default INBOX. IDLE watches INBOX if it is one of them, else
	// the first; the others are polled.
	Folders []string

	// Dial makes the connection; the place for a policy about private addresses. Default: a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	PollInterval time.Duration // between two looks at a folder that IDLE does not watch; default 60 s
	IdleInterval time.Duration // between two looks at the folder that IDLE watches; default 5 min
	StepTimeout  time.Duration // longest silence of the server during one step; default 60 s

	MaxMessage int64 // bytes; of a larger mail only the header is fetched; default 50 MiB
	BatchBytes int64 // raw mail held in memory at a time, one mail excepted; default 8 MiB
	BatchSize  int   // mails held in memory at a time; default 100

	// After a failure Run waits BackoffMin (default 1 s), and twice as long after each further one, up to BackoffMax
	// (default 5 min); after a refused login BackoffMax at once. Each wait is shortened at random by up to a half.
	BackoffMin, BackoffMax time.Duration

	Logger *slog.Logger     // default: logs nothing
	Now    func() time.Time // of the times in Status; default time.Now
	Rand   func() float64   // in [0, 1), shortens the waits; default math/rand/v2
}

func (c Config) withDefaults() Config {
	setDefault(&c.Encryption, EncryptionSSL)
	if c.Encryption == EncryptionSSL {
		setDefault(&c.Port, 993)
	}
	setDefault(&c.Port, 143)
	setDefault(&c.PollInterval, time.Minute)
	setDefault(&c.IdleInterval, 5*time.Minute)
	setDefault(&c.StepTimeout, time.Minute)
	setDefault(&c.MaxMessage, 50<<20)
	setDefault(&c.BatchBytes, 8<<20)
	setDefault(&c.BatchSize, 100)
	setDefault(&c.BackoffMin, time.Second)
	setDefault(&c.BackoffMax, 5*time.Minute)
	c.Folders = uniqueFolders(c.Folders)
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// uniqueFolders drops repeated names. INBOX has no case (RFC 9051, section 5.1).
func uniqueFolders(names []string) []string {
	if len(names) == 0 {
		return []string{inbox}
	}
	unique := make([]string, 0, len(names))
	for _, name := range names {
		if strings.EqualFold(name, inbox) {
			name = inbox
		}
		if !slices.Contains(unique, name) {
			unique = append(unique, name)
		}
	}
	return unique
}

const inbox = "INBOX"

// validate checks a configuration that has its defaults. It tells all problems at once.
func (c Config) validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf("imap: "+format, args...))
		}
	}
	check(c.Host != "" && clean(c.Host) && !strings.ContainsAny(c.Host, " /"), "the host %q is not a name or an address", c.Host)
	check(c.Port > 0 && c.Port < 1<<16, "the port %d is not between 1 and 65535", c.Port)
	check(c.Username != "" && clean(c.Username), "the username is empty or has control characters")
	check(clean(c.Password), "the password has control characters or is not UTF-8")
	check(slices.Contains([]string{EncryptionTLS, EncryptionSSL, EncryptionNone}, c.Encryption),
		"the encryption %q is none of TLS, SSL, NONE", c.Encryption)
	for _, name := range c.Folders {
		check(name != "" && clean(name), "the folder name %q is empty, not UTF-8, or has control characters", name)
	}
	for name, d := range map[string]time.Duration{
		"PollInterval": c.PollInterval, "IdleInterval": c.IdleInterval, "StepTimeout": c.StepTimeout,
		"BackoffMin": c.BackoffMin, "BackoffMax": c.BackoffMax,
	} {
		check(d > 0, "%s is negative", name)
	}
	check(c.MaxMessage > 0 && c.BatchBytes > 0 && c.BatchSize > 0, "a limit is negative")
	return errors.Join(problems...)
}

// clean tells whether s is UTF-8 without control characters, and so cannot break out of a command.
func clean(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
