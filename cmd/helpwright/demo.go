package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/helpwright/helpwright/cmd/helpwright/internal/demo"
	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport/server"
)

type demoCmd struct{}

// Run serves an invented company until the session's context ends.
func (demoCmd) Run(s *session) error {
	return s.withTemporary(func(own *session, listener net.Listener) error { return own.show(listener) })
}

// withTemporary runs serve with a session of its own, whose database and files are removed at the end.
func (s *session) withTemporary(serve func(own *session, listener net.Listener) error) (err error) {
	ctx, stop := signal.NotifyContext(s.ctx, syscall.SIGHUP) // the terminal was closed
	defer stop()
	listener, err := net.Listen("tcp", s.settings.Listen)
	if err != nil {
		return usageError{fmt.Errorf("HELPWRIGHT_LISTEN: %w: stop what listens there, or choose another address, such as --listen=127.0.0.1:8090", err)}
	}
	defer func() { _ = listener.Close() }() // the server has closed it already
	folder, err := demo.NewFolder()
	if err != nil {
		return fmt.Errorf("the temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	err = serve(s.pretend(ctx, folder.Path, listener.Addr()), listener)
	if ctx.Err() != nil {
		return nil // errors of interrupted work do not matter any more
	}
	return err
}

// show creates the company and serves it.
func (s *session) show(listener net.Listener) error {
	clock := &demo.Clock{}
	s.now = clock.Now
	a, err := s.open(true, s.work, func(cfg *server.Config) error { cfg.Listener = listener; return nil })
	if err != nil {
		return err
	}
	defer a.close()
	company, err := a.fill(clock)
	if err != nil {
		return fmt.Errorf("the demo cannot be made: %w", err)
	}
	if err := a.tellLatest(); err != nil {
		return fmt.Errorf("the demo cannot be made: %w", err)
	}
	a.present(company)
	return a.Run(s.ctx)
}

// pretend returns a separate session, which uses none of the stores in the settings.
func (s *session) pretend(ctx context.Context, dir string, address net.Addr) *session {
	own := *s.settings
	own.Listen, own.Data = reachable(address), dir
	own.DatabaseURL, own.ReplicaURL, own.BlobURL = "sqlite:"+filepath.Join(dir, "demo.db"), "", "file:"+filepath.Join(dir, "blobs")
	own.IntakeListen, own.LMTPListen, own.SMTPURL, own.EnablePGP = "", "", "", false
	own.SecretKey = hex.EncodeToString(storage.NewSecretKey())
	log := slog.New(slog.NewJSONHandler(s.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return &session{ctx: ctx, settings: &own, stdout: s.stdout, stderr: s.stderr, log: log, data: dir, fleeting: true}
}

// reachable returns an address that a browser on this machine can open.
func reachable(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// fill creates the company, and shows its progress on a terminal.
func (a *app) fill(clock *demo.Clock) (demo.Company, error) {
	progress := func(float64) {}
	if isTerminal(a.stderr) {
		progress = func(done float64) { fmt.Fprintf(a.stderr, "\rmaking the company: %3.0f %%", done*100) }
		defer fmt.Fprint(a.stderr, "\r\x1b[K")
	}
	return demo.Fill(a.ctx, demo.Config{
		Desk: a.Service(), KB: a.KB(), Units: a.db, Clock: clock, Progress: progress, Logger: a.log,
	})
}

// latest is the age up to which the members' notifications are unread.
const latest = 2 * 24 * time.Hour

// tellLatest creates the members' notifications of recent events only.
func (a *app) tellLatest() error {
	for {
		now := time.Now()
		jobs, err := a.db.Claim(a.ctx, map[string]int{helpdesk.JobNotify: 500}, now, now.Add(time.Minute))
		if err != nil || len(jobs) == 0 {
			return err
		}
		for _, job := range jobs {
			var told struct{ At time.Time }
			err := json.Unmarshal(job.Payload, &told)
			if err == nil && now.Sub(told.At) < latest {
				err = a.Service().Jobs().Notify(a.ctx, job)
			}
			if err == nil {
				err = a.db.Finish(a.ctx, job)
			}
			if err != nil {
				return err
			}
		}
	}
}

// present prints what the demo offers, and where.
func (a *app) present(c demo.Company) {
	api := a.APIURL()
	fmt.Fprintf(a.stdout, `%[1]s makes coffee machines. It does not exist, and its help desk is yours to try.

  Desk          %[9]s
  Help centre   %[2]s
  API           %[3]s (described at %[3]s/docs)
  Sign in       %[4]s, password %[5]s
  Or as         %[10]s, with the same password
  Token         %[6]s

  curl -H 'Authorization: Bearer %[6]s' '%[3]s/accounts/%[7]d/conversations?status[]=posted'

No mail leaves: answers are written to %[8]s
Ctrl-C ends the demo and removes all of it.
`, c.Name, c.SiteURL, api, c.Email, c.Password, c.Token, c.AccountID, filepath.Join(a.data, "outbox"), a.settings.baseURL()+server.DeskPath+"/", strings.Join(c.Others, ", "))
}
