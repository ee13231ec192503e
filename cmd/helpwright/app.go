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
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/dnscheck"
	"github.com/helpwright/helpwright/helpdesk/imageproxy"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/webhook"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/events"
	"github.com/helpwright/helpwright/storage/fileblob"
	"github.com/helpwright/helpwright/storage/jobs"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/site"
)

// app is everything the commands work with.
type app struct {
	*session
	db      *bunstore.DB
	blobs   *blobs.Tie
	files   storage.Blobs // what blobs is made of: without a question whether it belongs to the database
	ready   *readiness
	service *helpdesk.Service
	hub     *events.Hub // of the event log
	kb      *kb.Service
	sites   *site.Handler               // the help centres
	swept   atomic.Pointer[blobs.Swept] // by the last sweep of this process
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
	err = a.assemble(secrets)
	if err == nil {
		err = a.tie(migrate)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return a, nil
}

func (s *session) openDatabase(migrate bool) (*bunstore.DB, error) {
	if err := s.refuseLostFile(); err != nil {
		return nil, err
	}
	if path, ok := strings.CutPrefix(s.settings.DatabaseURL, "sqlite:"); ok && !strings.HasPrefix(path, ":memory:") {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("the folder of the database: %w", err)
		}
	}
	db, err := bunstore.Open(s.ctx, s.settings.DatabaseURL, bunstore.Config{Logger: s.log, SyncNormal: s.fleeting})
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

// openFiles opens what the blobs lie in.
func (a *app) openFiles() (storage.Blobs, error) {
	if a.fleeting {
		return memblob.New(), nil
	}
	return fileblob.Open(strings.TrimPrefix(a.settings.BlobURL, "file:"))
}

func (a *app) assemble(secrets secrets) error {
	files, err := a.openFiles()
	if err != nil {
		return fmt.Errorf("the folder of the blobs: %w", err)
	}
	a.blobs = blobs.NewTie(blobs.TieConfig{Blobs: files, Marks: a.db, Rows: a.db, Logger: a.log})
	a.files, a.ready = files, a.newReadiness()
	if a.hub, err = events.New(events.Config{Log: a.db, Logger: a.log}); err != nil {
		return err
	}
	cfg := helpdesk.Config{
		Feed: a.hub, EventSource: a.settings.baseURL() + apiBase,
		Store: a.db, Blobs: a.blobs, Now: a.now, Sealer: secrets.sealer, SigningKey: secrets.signing[0], FormerSigningKeys: secrets.signing[1:],
		IntakeDomain: a.settings.IntakeDomain, Logger: a.log,
		MailServers: a.mailServers(), Processes: a.db,
		DNS: lookUp(dnscheck.NewResolver(a.settings.DNSServer)), SPF: a.settings.SPF,
		MaxMailPerAddress: a.settings.MailPerAddress, MaxAttachment: a.settings.MaxAttachment << 20,
	}
	if cfg.MaxMailPerAddress == 0 {
		cfg.MaxMailPerAddress = -1 // no limit, which 0 is not to the service
	}
	cfg.FetchImage = imageproxy.New(imageproxy.Config{Dial: ingest.Dialer(a.settings.AllowPrivateHosts, 10*time.Second)}).Fetch
	if a.settings.EnablePGP {
		cfg.ParseKey = parseKey
	}
	if a.service, err = helpdesk.New(cfg); err != nil {
		return err
	}
	a.kb, err = kb.New(kb.Config{
		Store: a.db.KB(), Blobs: a.blobs, Now: a.now, Membership: transport.Members(a.service), BaseURL: a.settings.baseURL(), Logger: a.log,
		VisitorKey: secrets.visitors, MaxFile: a.settings.MaxSiteFile << 20,
	})
	if err != nil {
		return err
	}
	a.sites, err = site.New(a.siteConfig(secrets.sites))
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
	all := []component{{"database", a.db.Run}, {"events", a.hub.Run}, {"files", a.blobs.Run}}
	fetcher := ingest.NewFetcher(ingest.FetcherConfig{Intake: a.service.Intake(), Servers: a.mailServers(), Events: a.db, Logger: a.log})
	all = append(all, component{"fetching", fetcher.Run})
	hooks, err := webhook.New(webhook.Config{
		Dispatch: a.service.Dispatch(), Dial: ingest.Dialer(a.settings.AllowPrivateHosts, 10*time.Second), Notifier: a.db, Logger: a.log,
	})
	if err != nil {
		return nil, err
	}
	runner, err := a.jobs(hooks)
	if err != nil {
		return nil, err
	}
	all = append(all, component{"jobs", runner.Run}, component{"webhooks", hooks.Run}, component{"views", a.kb.Run}, component{"marks", a.service.Run},
		component{"sweeping", a.noteSweeps})
	for _, intake := range []struct {
		name, listen string
		lmtp         bool
	}{{"intake", a.settings.IntakeListen, false}, {"LMTP intake", a.settings.LMTPListen, true}} {
		if intake.listen == "" {
			continue
		}
		server, err := a.intake(intake.listen, intake.lmtp)
		if err != nil {
			return nil, err
		}
		all = append(all, component{intake.name, server.Run})
	}
	return all, nil
}

// mailServers reaches the servers from which mail is fetched.
func (s *session) mailServers() *ingest.Servers {
	return ingest.NewServers(ingest.ServersConfig{
		AllowPrivateHosts: s.settings.AllowPrivateHosts, PollInterval: s.settings.FetchInterval, Logger: s.log,
	})
}

func (a *app) intake(listen string, lmtp bool) (*smtpin.Server, error) {
	cfg := smtpin.Config{
		Intake: a.service.Intake(), Listen: listen, LMTP: lmtp, Domain: a.settings.IntakeDomain, Logger: a.log,
	}
	relays, err := networks(a.settings.IntakeRelays)
	if err != nil {
		return nil, usageError{fmt.Errorf("HELPWRIGHT_INTAKE_RELAYS: %w", err)}
	}
	cfg.Relays = relays
	cfg.Authenticate = ingest.Authenticator(ingest.AuthenticatorConfig{Resolver: dnscheck.NewResolver(a.settings.DNSServer), Relays: relays})
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
		return outbound.NewSpool(filepath.Join(a.data, "outbox"))
	}
	relays, err := outbound.ParseRelayURLs(a.settings.SMTPURL)
	if err != nil {
		return nil, usageError{err}
	}
	cfg := outbound.FailoverConfig{Relays: relays, Logger: a.log}
	if len(relays) == 1 {
		cfg.Rest = time.Nanosecond // there is no other to turn to
	}
	return outbound.NewFailover(cfg)
}

func (a *app) jobs(hooks *webhook.Sender) (*jobs.Runner, error) {
	route, err := a.transport()
	if err != nil {
		return nil, err
	}
	sender, err := outbound.New(outbound.Config{
		Outgoing: a.service.Outgoing(), Transport: route, Logger: a.log, KeepDir: filepath.Join(a.data, "results"),
		SeenURL: func(token string) string { return a.settings.baseURL() + apiBase + "/seen/" + token },
	})
	if err != nil {
		return nil, err
	}
	inviter, err := outbound.NewInviter(outbound.InviterConfig{
		Outgoing: a.service.Outgoing(), Transport: route, Logger: a.log,
		Link: func(token string) string { return a.settings.baseURL() + "/invitations/" + token },
	})
	if err != nil {
		return nil, err
	}
	prober, err := outbound.NewProber(outbound.ProberConfig{Outgoing: a.service.Outgoing(), Transport: route, Logger: a.log})
	if err != nil {
		return nil, err
	}
	again := ingest.NewAgain(ingest.AgainConfig{Intake: a.service.Intake(), Servers: a.mailServers(), Logger: a.log})
	filer := ingest.NewFiler(ingest.FilerConfig{Intake: a.service.Intake(), TrustedServers: a.settings.TrustedServers, Logger: a.log})
	// Nothing is given up because a job failed often: the database or the disk
	// was away. The reasons to give up are the service's.
	const patient = 1 << 30
	return jobs.New(jobs.Config{
		// The lease outlasts a database that is away for a while: what a process that lives has in hand must not be done
		// by another too. Of one that has died the database knows, and gives its jobs away at once.
		Jobs: a.db, Logger: a.log, Lease: 10 * time.Minute, Hold: a.blobs.Err,
		Handlers: map[string]jobs.Handler{
			helpdesk.JobRefetchMail: {Func: again.Refetch, Workers: 2, MaxAttempts: 10},
			helpdesk.JobBackfill:    {Func: again.Backfill, Workers: 2, MaxAttempts: 20},
			helpdesk.JobReplayMail:  {Func: a.service.ReplayMails, Workers: 2, MaxAttempts: 20},
			helpdesk.JobFileMail:    {Func: filer.Handle, Workers: 4, MaxAttempts: patient},
			helpdesk.JobSendMail:    {Func: sender.Handle, Workers: 8, MaxAttempts: patient},
			helpdesk.JobPurgeBlobs:  {Func: a.service.PurgeBlobs, Workers: 1, MaxAttempts: patient},
			helpdesk.JobInvite:      {Func: inviter.Handle, Workers: 2, MaxAttempts: patient},
			helpdesk.JobProbe:       {Func: prober.Handle, Workers: 1, MaxAttempts: patient},
			jobSweepBlobs:           {Func: a.sweepBlobs, Workers: 1, MaxAttempts: patient},
			kb.JobPurgeFiles:        {Func: a.kb.PurgeFiles, Workers: 1, MaxAttempts: patient},
			helpdesk.JobUnassign:    {Func: a.service.Unassign, Workers: 1, MaxAttempts: patient},
			helpdesk.JobWebhook:     {Func: hooks.Handle, Workers: 32, MaxAttempts: patient}, // most of the time they wait for receivers
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
