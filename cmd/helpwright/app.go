package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/dnscheck"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/backup"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/api"
	"github.com/helpwright/helpwright/transport/desk"
	"github.com/helpwright/helpwright/transport/errand"
	"github.com/helpwright/helpwright/transport/server"
)

// app has everything that the commands work with.
type app struct {
	*session
	*server.Server
	db    *bunstore.DB
	files storage.Blobs // not checked to belong to the database
}

// change adds to the configuration of a server.
type change = func(*server.Config) error

// open connects to the stores in the settings. With migrate it brings the schema up to date; otherwise an outdated schema is
// an error. Without changes the server cannot run.
func (s *session) open(migrate bool, changes ...change) (*app, error) {
	if err := s.settings.check(); err != nil {
		return nil, err
	}
	if err := backup.Interrupted(s.data); err != nil {
		return nil, err
	}
	keys, err := s.settings.loadKeys()
	if err != nil {
		return nil, fmt.Errorf("the secret key: %w", err)
	}
	db, err := s.openDatabase(migrate)
	if err != nil {
		return nil, err
	}
	a := &app{session: s, db: db}
	err = a.assemble(keys, changes)
	if err == nil {
		if err = a.belong(migrate); err != nil {
			err = errors.Join(err, a.Close())
		}
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return a, nil
}

func (s *session) openDatabase(migrate bool) (*bunstore.DB, error) {
	db, err := s.connect()
	if err != nil {
		return nil, err
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

// connect opens the database with any schema except that of a later release.
func (s *session) connect() (*bunstore.DB, error) {
	db, err := s.reach()
	if err != nil {
		return nil, err
	}
	if err := db.CheckSchema(s.ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// reach opens the database with any schema.
func (s *session) reach() (*bunstore.DB, error) {
	if err := s.refuseLostFile(); err != nil {
		return nil, err
	}
	if path := s.settings.sqliteFile(); path != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("the folder of the database: %w", err)
		}
	}
	cfg := bunstore.Config{Logger: s.log, SyncNormal: s.fleeting, Tracer: s.tracer}
	if s.serves {
		cfg.Replica = s.settings.ReplicaURL
	}
	db, err := both.Open(s.ctx, s.settings.DatabaseURL, cfg)
	if err := wrongReplica(err); err != nil {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, fmt.Errorf("the database cannot be opened: %w", err)
	}
	return db, nil
}

// wrongReplica returns the problem of the setting if an error is about the replica.
func wrongReplica(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if ok && (f.Resource == "replica" || f.Fields["Replica"] != nil) {
		return fmt.Errorf("HELPWRIGHT_DATABASE_REPLICA_URL: %s", cmp.Or(strings.Join(f.Fields["Replica"], ", "), f.Text()))
	}
	return nil
}

// openFiles opens the blob store.
func (a *app) openFiles() (storage.Blobs, error) {
	if a.fleeting {
		return memblob.New(), nil
	}
	files, err := a.openBlobsAt(a.settings.BlobURL)
	if err != nil {
		return nil, err
	}
	if err := bucketAnswers(a.ctx, files); fault.Is(err, fault.Invalid) {
		return nil, wrongBucket(err)
	} else if err != nil {
		a.log.ErrorContext(a.ctx, "the blob store does not respond: operations on files wait", "error", err)
	}
	return files, nil
}

// assemble makes the server.
func (a *app) assemble(keys [][]byte, changes []change) (err error) {
	if a.files == nil {
		if a.files, err = a.openFiles(); err != nil {
			return fmt.Errorf("the store of files (HELPWRIGHT_BLOB_URL): %w", err)
		}
	}
	cfg := a.config(keys)
	if cfg.Desk.Providers, err = a.identityProviders(); err != nil {
		return fmt.Errorf("the identity provider (HELPWRIGHT_OIDC_ISSUER): %w", err)
	}
	if cfg.Desk.MailProviders, err = a.mailProviders(); err != nil {
		return err
	}
	if cfg.Desk.Passkeys, err = a.settings.passkeys(); err != nil {
		return fmt.Errorf("passkeys (HELPWRIGHT_BASE_URL): %w", err)
	}
	for _, add := range changes {
		if err := add(&cfg); err != nil {
			if cfg.Listener != nil {
				_ = cfg.Listener.Close()
			}
			return err
		}
	}
	a.Server, err = server.New(cfg)
	return err
}

// config returns the server's configuration, except the parts that it needs to run.
func (a *app) config(keys [][]byte) server.Config {
	set := a.settings
	proxies, _ := set.trustedProxies() // checked with the other settings
	return server.Config{
		Store: a.db, Blobs: a.files, Keys: keys, BaseURL: set.baseURL(), BaseURLIsDefault: set.BaseURL == "", TrustedProxies: proxies,
		RateLimit: orNone(set.RateLimit), PublicRateLimit: orNone(set.PublicRateLimit), Lagging: set.ReplicaURL != "",
		AllowPrivateHosts: set.AllowPrivateHosts, Resolver: dnscheck.NewResolver(set.DNSServer), PGP: set.EnablePGP,
		Desk: helpdesk.Config{
			IntakeDomain: set.IntakeDomain, SPF: set.SPF, MaxMailPerAddress: orNone(set.MailPerAddress), MaxAttachment: set.MaxAttachment << 20, LinkFrom: set.BlobRedirect << 20,
			NotifyAfter: set.NotifyAfter,
			Retention: helpdesk.Retention{
				Audit: days(set.RetainAudit), Events: days(set.RetainEvents), Deliveries: days(set.RetainDeliveries),
				Sessions: days(set.RetainSessions), FailedJobs: days(set.RetainFailedJobs), RawMails: days(set.RetainRawMails),
			},
		},
		KB:       kb.Config{MaxFile: set.MaxSiteFile << 20},
		API:      api.Config{Config: transport.Config{Origins: set.CORSOrigins}},
		Fetching: ingest.ServersConfig{PollInterval: set.FetchInterval},
		Filing:   ingest.FilerConfig{TrustedServers: set.TrustedServers},
		Errands:  errand.Config{Temp: filepath.Join(a.data, "errands")},
		Agents:   desk.Config{Backup: a.backups()},
		Now:      a.now, Logger: a.log, Tracer: a.tracer,
	}
}

// backups returns what tells the desk of backups, nil for a server whose data ends with it.
func (a *app) backups() func(context.Context) (desk.Backup, error) {
	if a.fleeting || a.settings.inMemory() {
		return nil
	}
	return a.backupState
}

// days returns a duration of [helpdesk.Retention]; 0 means forever.
func days(n int) time.Duration {
	if n == 0 {
		return -1
	}
	return time.Duration(n) * 24 * time.Hour
}

// orNone returns a limit for the server, to which 0 would mean the default.
func orNone(limit int) int {
	if limit == 0 {
		return -1
	}
	return limit
}

// work adds what the server needs to run: receiving and sending mail.
func (s *session) work(cfg *server.Config) (err error) {
	cfg.IntakeListen, cfg.LMTPListen = s.settings.IntakeListen, s.settings.LMTPListen
	if cfg.Intake, err = s.intake(); err != nil {
		return err
	}
	cfg.Sending.KeepDir = filepath.Join(s.data, "results")
	cfg.Relay, err = s.relay()
	return err
}

func (s *session) intake() (cfg smtpin.Config, err error) {
	if cfg.Relays, err = networks(s.settings.IntakeRelays); err != nil {
		return cfg, usageError{fmt.Errorf("HELPWRIGHT_INTAKE_RELAYS: %w", err)}
	}
	return cfg, nil
}

// relay returns the transport of answers: the relay, or the spool if none is set.
func (s *session) relay() (outbound.Transport, error) {
	if s.settings.SMTPURL == "" {
		return outbound.NewSpool(filepath.Join(s.data, "outbox"))
	}
	relays, err := outbound.ParseRelayURLs(s.settings.SMTPURL)
	if err != nil {
		return nil, usageError{err}
	}
	cfg := outbound.FailoverConfig{Relays: relays, Logger: s.log}
	if len(relays) == 1 {
		cfg.Rest = time.Nanosecond // there is no other relay to try
	}
	return outbound.NewFailover(cfg)
}

// close closes the database.
func (a *app) close() {
	if err := a.db.Close(); err != nil {
		a.log.Warn("the database did not close cleanly", "error", err)
	}
}
