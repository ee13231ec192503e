package pop3

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
)

// Server is a mail server's address and credentials. Host and Username are required, and Password or Token. By default the
// connection has implicit TLS, and the server's certificate is validated. Room remains nil outside this module.
type Server = wire.Server

// Config configures a [Source]. Zero fields have their defaults, where given; [New] rejects an invalid configuration.
type Config struct {
	Server // the port is 995 with SSL, else 110, unless it is set

	// PollInterval is the interval of polling the maildrop; default 60 s. A longer interval requested by the server
	// (LOGIN-DELAY, RFC 2449) is respected, up to an hour.
	PollInterval time.Duration

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
	c.Server = c.WithDefaults(995, 110)
	wire.Default(&c.PollInterval, time.Minute)
	wire.Default(&c.MaxMessage, 50<<20)
	wire.Default(&c.BatchBytes, 8<<20)
	wire.Default(&c.BatchSize, 100)
	wire.Default(&c.BackoffMin, time.Second)
	wire.Default(&c.BackoffMax, 5*time.Minute)
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

// validate checks a configuration with defaults. Its error lists all problems.
func (c Config) validate() error {
	problems := c.Problems(protocol)
	for name, d := range map[string]time.Duration{
		"PollInterval": c.PollInterval, "BackoffMin": c.BackoffMin, "BackoffMax": c.BackoffMax,
	} {
		if d <= 0 {
			problems = append(problems, fmt.Errorf("pop3: %s is negative", name))
		}
	}
	if c.MaxMessage <= 0 || c.BatchBytes <= 0 || c.BatchSize <= 0 {
		problems = append(problems, errors.New("pop3: a limit is negative"))
	}
	return errors.Join(problems...)
}
