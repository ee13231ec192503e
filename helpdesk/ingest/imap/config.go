package imap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
)

// Server is a mail server's address and credentials. Host and Username are required, and Password or Token. By default the
// connection has implicit TLS, and the server's certificate is validated. Room remains nil outside this module.
type Server = wire.Server

// Config configures a [Source]. Zero fields have their defaults, where given; [New] rejects an invalid configuration.
type Config struct {
	Server // the port is 993 with SSL, else 143, unless it is set

	// Folders are the folders to import, in UTF-8; default INBOX. IDLE watches INBOX if it is among them, otherwise the first;
	// the others are polled.
	Folders []string

	// Since skips messages that the server received before that day; default: none. A message's position is its UID in any
	// case.
	Since time.Time

	PollInterval time.Duration // interval of polling folders not watched by IDLE; default 60 s
	IdleInterval time.Duration // interval of polling the folder watched by IDLE; default 5 min

	// PulseInterval is the interval of probing an idle server, so that a dead connection is detected within a minute; default
	// 25 s. The server has 20 s to answer, or StepTimeout if that is less.
	PulseInterval time.Duration

	MaxMessage int64 // bytes; of a larger message only the header is fetched; default 50 MiB
	BatchBytes int64 // bytes of raw messages in memory at a time, except for a single larger one; default 8 MiB
	BatchSize  int   // messages in memory at a time; default 100

	// After a failure Run waits BackoffMin (default 1 s), doubled with each further failure up to BackoffMax (default 5 min);
	// after a rejected login, BackoffMax at once. Each wait is randomly shortened by up to a half.
	BackoffMin, BackoffMax time.Duration

	// Work runs all communication with the server, except waiting, so that the caller can record what the process works on.
	// Default: calls do.
	Work func(ctx context.Context, do func(context.Context) error) error

	Logger *slog.Logger     // nil: discards
	Now    func() time.Time // of the times in Status; default time.Now
	Rand   func() float64   // in [0, 1), shortens the waits; default math/rand/v2
}

func (c Config) withDefaults() Config {
	c.Server = c.Server.WithDefaults(993, 143)
	wire.Default(&c.PollInterval, time.Minute)
	wire.Default(&c.IdleInterval, 5*time.Minute)
	wire.Default(&c.PulseInterval, 25*time.Second)
	wire.Default(&c.MaxMessage, 50<<20)
	wire.Default(&c.BatchBytes, 8<<20)
	wire.Default(&c.BatchSize, 100)
	wire.Default(&c.BackoffMin, time.Second)
	wire.Default(&c.BackoffMax, 5*time.Minute)
	c.Folders = uniqueFolders(c.Folders)
	if c.Work == nil {
		c.Work = func(ctx context.Context, do func(context.Context) error) error { return do(ctx) }
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

// uniqueFolders drops repeated names. INBOX is case-insensitive (RFC 9051, section 5.1).
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

// validate checks a configuration with defaults. Its error lists all problems.
func (c Config) validate() error {
	problems := c.Problems(protocol)
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf("imap: "+format, args...))
		}
	}
	for _, name := range c.Folders {
		check(name != "" && wire.Clean(name), "the folder name %q is empty, not UTF-8, or has control characters", name)
	}
	for name, d := range map[string]time.Duration{
		"PollInterval": c.PollInterval, "IdleInterval": c.IdleInterval, "PulseInterval": c.PulseInterval,
		"BackoffMin": c.BackoffMin, "BackoffMax": c.BackoffMax,
	} {
		check(d > 0, "%s is negative", name)
	}
	check(c.MaxMessage > 0 && c.BatchBytes > 0 && c.BatchSize > 0, "a limit is negative")
	return errors.Join(problems...)
}
