package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/helpwright/helpwright/cmd/helpwright/internal/metrics"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/api"
)

type migrateCmd struct{}

// Run brings the schema up to date and prints the changes.
func (migrateCmd) Run(s *session) error {
	if err := s.settings.check(); err != nil {
		return err
	}
	db, err := s.openDatabase(true)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.stdout, "the schema is up to date")
	return db.Close()
}

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Create an access token for a user and print it once, on the last line."`
}

type tokenCreateCmd struct {
	User    string                `required:"" help:"The user's email address." placeholder:"EMAIL"`
	Name    string                `required:"" help:"What the token is for."`
	Scopes  []identity.Permission `help:"Limit the token to these permissions, separated by commas. Default: all of the user's."`
	Expires string                `help:"When it expires: a time (2027-01-31T00:00:00Z), a date, or a duration from now (720h)."`
}

// Run creates the token.
func (c *tokenCreateCmd) Run(s *session) error {
	expires, err := parseExpiry(c.Expires, time.Now())
	if err != nil {
		return usageError{err}
	}
	a, err := s.open(true)
	if err != nil {
		return err
	}
	defer a.close()
	operator := a.Service().Operator()
	user, err := operator.UserByEmail(s.ctx, c.User)
	if fault.Is(err, fault.NotFound) {
		return errors.New("there is no user with this address")
	}
	if err != nil {
		return err
	}
	token, secret, err := operator.CreateToken(s.ctx, user.ID, identity.TokenInput{Name: c.Name, Scopes: c.Scopes, ExpiresAt: expires})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "token %d of user %d\n%s\n", token.ID, user.ID, secret)
	return nil
}

func parseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("--expires must be a time such as 2027-01-31T00:00:00Z, a date, or a duration such as 720h")
}

type openapiCmd struct{}

// Run prints the document.
func (openapiCmd) Run(s *session) error {
	_, err := s.stdout.Write(api.OpenAPI())
	return err
}

type versionCmd struct{}

// Run prints version, commit and toolchain.
func (versionCmd) Run(s *session) error {
	fmt.Fprintf(s.stdout, "helpwright %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

// version returns the program's version, with its commit.
func version() string {
	b := build()
	return strings.TrimSpace(b.Version + " " + b.Revision)
}

// build returns the program's build information.
func build() metrics.Build {
	b := metrics.Build{Version: "(devel)", GoVersion: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version = info.Main.Version
		for _, kv := range info.Settings {
			if kv.Key == "vcs.revision" {
				b.Revision = kv.Value
			}
		}
	}
	return b
}

// probe stores, reads and removes a file.
func probe(ctx context.Context, blobs storage.Blobs) error {
	const key = "doctor/probe"
	if _, err := blobs.Put(ctx, key, probeReader()); err != nil {
		return err
	}
	if _, err := blobs.Stat(ctx, key); err != nil {
		return err
	}
	return blobs.Delete(ctx, key)
}
