package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/dnscheck"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fileblob"
	"github.com/helpwright/helpwright/storage/jobs"
)

// app is everything the commands work with.
type app struct {
	*session
	db      *bunstore.DB
	blobs   storage.Blobs
	service *helpdesk.Service
}

// open connects what the settings name. The schema is brought up to date when
// migrate is set; otherwise one that is not is an error.
func (s *session) open(migrate bool) (*app, error) {
	if err := s.settings.check(); err != nil {
		return nil, err
	}
	secrets, err := s.settings.loadSecrets()
	if err != nil {
		return nil, fmt.Errorf("the secret key: %w", err)
	}
	db, err := s.openDatabase(migrate)
	if err != nil {
		return nil, err
	}
	a := &app{session: s, db: db}
	if err := a.assemble(secrets); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return a, nil
}

func (s *session) openDatabase(migrate bool) (*bunstore.DB, error) {
	if path, ok := strings.CutPrefix(s.settings.DatabaseURL, "sqlite:"); ok && !strings.HasPrefix(path, ":memory:") {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("the folder of the database: %w", err)
		}
	}
	db, err := bunstore.Open(s.ctx, s.settings.DatabaseURL, bunstore.Config{Logger: s.log})
	if err != nil {
		return nil, fmt.Errorf("the database cannot be opened: %w", err)
	}
	if migrate {
		if err := db.Migrate(s.ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("the database's schema cannot be brought up to date: %w", err), db.Close())
		}
		return db, nil
	}
	pending, err := db.Pending(s.ctx)
	if err == nil && len(pending) > 0 {
		err = fmt.Errorf("the database's schema is not up to date: run helpwright migrate")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (a *app) assemble(secrets secrets) error {
	blobs, err := fileblob.Open(strings.TrimPrefix(a.settings.BlobURL, "file:"))
	if err != nil {
		return fmt.Errorf("the folder of the blobs: %w", err)
	}
	a.blobs = blobs
	cfg := helpdesk.Config{
		Store: a.db, Blobs: blobs, Sealer: secrets.sealer, SigningKey: secrets.signing,
		IntakeDomain: a.settings.IntakeDomain, Logger: a.log,
		TestConnection: ingest.TestConnection(a.settings.AllowPrivateHosts),
		DNS:            lookUp(dnscheck.NewResolver(a.settings.DNSServer)), SPF: a.settings.SPF,
	}
	if a.settings.EnablePGP {
		cfg.ParseKey = parseKey
	}
	a.service, err = helpdesk.New(cfg)
	return err
}

// close lets go of the database.
func (a *app) close() {
	if err := a.db.Close(); err != nil {
		a.log.Warn("the database did not close cleanly", "error", err)
	}
}

// component is a part of the server that runs until its context ends.
type component struct {
	name string
	run  func(ctx context.Context) error
}

// components are the parts of the server but for HTTP.
func (a *app) components() ([]component, error) {
	all := []component{{"database", a.db.Run}}
	fetcher := ingest.NewFetcher(ingest.FetcherConfig{
		Intake: a.service.Intake(), PollInterval: a.settings.FetchInterval,
		AllowPrivateHosts: a.settings.AllowPrivateHosts, Logger: a.log,
	})
	all = append(all, component{"fetching", fetcher.Run})
	runner, err := a.jobs()
	if err != nil {
		return nil, err
	}
	all = append(all, component{"jobs", runner.Run})
	if a.settings.IntakeListen == "" {
		return all, nil
	}
	intake, err := a.intake()
	if err != nil {
		return nil, err
	}
	return append(all, component{"intake", intake.Run}), nil
}

func (a *app) intake() (*smtpin.Server, error) {
	cfg := smtpin.Config{
		Intake: a.service.Intake(), Listen: a.settings.IntakeListen, Domain: a.settings.IntakeDomain, Logger: a.log,
	}
	if a.settings.IntakeTLSCert != "" {
		cert, err := tls.LoadX509KeyPair(a.settings.IntakeTLSCert, a.settings.IntakeTLSKey)
		if err != nil {
			return nil, usageError{fmt.Errorf("HELPWRIGHT_INTAKE_TLS_CERT and _KEY: %w", err)}
		}
		cfg.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	return smtpin.New(cfg)
}

// transport is where answers go: the relay, or the spool until one is set.
func (a *app) transport() (outbound.Transport, error) {
	if a.settings.SMTPURL == "" {
		return outbound.NewSpool(filepath.Join(dataDir, "outbox"))
	}
	cfg, err := outbound.ParseRelayURL(a.settings.SMTPURL)
	if err != nil {
		return nil, usageError{err}
	}
	return outbound.NewRelay(cfg)
}

func (a *app) jobs() (*jobs.Runner, error) {
	transport, err := a.transport()
	if err != nil {
		return nil, err
	}
	sender, err := outbound.New(outbound.Config{Outgoing: a.service.Outgoing(), Transport: transport, Logger: a.log})
	if err != nil {
		return nil, err
	}
	inviter, err := outbound.NewInviter(outbound.InviterConfig{
		Outgoing: a.service.Outgoing(), Transport: transport, Logger: a.log,
		Link: func(token string) string { return a.settings.baseURL() + "/invitations/" + token },
	})
	if err != nil {
		return nil, err
	}
	filer := ingest.NewFiler(ingest.FilerConfig{Intake: a.service.Intake(), Logger: a.log})
	// Mail is never given up because a job failed often: the database or the disk
	// was away. The reasons to give up are the service's.
	const patient = 1 << 30
	return jobs.New(jobs.Config{
		Jobs: a.db, Logger: a.log, Lease: 30 * time.Second,
		Handlers: map[string]jobs.Handler{
			helpdesk.JobFileMail:   {Func: filer.Handle, Workers: 4, MaxAttempts: patient},
			helpdesk.JobSendMail:   {Func: sender.Handle, Workers: 8, MaxAttempts: patient},
			helpdesk.JobPurgeBlobs: {Func: a.service.PurgeBlobs, Workers: 1, MaxAttempts: patient},
			helpdesk.JobInvite:     {Func: inviter.Handle, Workers: 2, MaxAttempts: patient},
		},
	})
}

// runAll runs components until ctx ends or one of them fails, then ends the others.
func runAll(ctx context.Context, all []component) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	errs := make([]error, len(all))
	for i, c := range all {
		wait.Go(func() {
			defer cancel()
			if err := c.run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				errs[i] = fmt.Errorf("%s: %w", c.name, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
