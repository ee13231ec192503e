package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/imageproxy"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/netguard"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/events"
	"github.com/helpwright/helpwright/transport/api"
	"github.com/helpwright/helpwright/transport/errand"
	"github.com/helpwright/helpwright/transport/site"
)

// Server is an assembled help desk. Make it with [New].
type Server struct {
	cfg      Config
	blobs    storage.Blobs
	tie      *blobs.Tie // nil if the store has no marks
	rows     storage.BlobRows
	hub      *events.Hub
	servers  *ingest.Servers
	relays   *outbound.Relays
	fetcher  *ingest.Fetcher
	service  *helpdesk.Service
	sealer   storage.Sealer // of the help desk
	kb       *kb.Service    // nil if there is no knowledge base
	sites    *site.Handler  // likewise
	errands  *errand.Office // nil if the store cannot keep them
	handler  http.Handler
	patterns []string // of handler
	ready    *readiness
	intakes  []*smtpin.Server
	workers  []part
	idle     error // why Run cannot run
	swept    atomic.Pointer[blobs.Swept]
	keyIDs   []string // of Config.Keys
	peer     string   // name of this server among those on the store
}

// New makes a server, and opens the listeners for mail that Config names; mail waits until [Server.Run]. Missing settings
// are an Invalid fault that lists all of them.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	keys, err := newSecrets(cfg.Keys)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, blobs: blobs.Classified(cfg.Blobs), keyIDs: keys.ids}
	steps := []func() error{
		s.tieBlobs,
		func() error { return s.makeService(keys) },
		func() error { return s.makeKB(keys) },
		s.makeErrands,
		s.makeHandler,
		s.makeFetcher,
		s.makeWorkers,
		s.listen,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// tieBlobs ties the blobs to a store that can check whether they belong to it.
func (s *Server) tieBlobs() (err error) {
	s.rows, _ = s.cfg.Store.(storage.BlobRows)
	if marks, ok := s.cfg.Store.(storage.Marks); ok && s.rows != nil {
		s.tie, err = blobs.NewTie(blobs.TieConfig{Blobs: s.blobs, Marks: marks, Rows: s.rows, Logger: s.cfg.Logger})
		if err != nil {
			return err
		}
		s.blobs = s.tie
	}
	s.ready = s.newReadiness()
	return nil
}

// dialTimeout is the longest time to connect to the server of a webhook or an image.
const dialTimeout = 10 * time.Second

func (s *Server) makeService(keys secrets) (err error) {
	if s.hub, err = events.New(events.Config{Log: s.cfg.Site.Events, Lag: s.cfg.EventLag, Logger: s.cfg.Logger}); err != nil {
		return err
	}
	if s.cfg.AllowPrivateHosts {
		s.cfg.Fetching.AllowPrivateHosts = true
	}
	fill[ingest.Grants](&s.cfg.Fetching.Grants, grants{s})
	s.servers = ingest.NewServers(s.cfg.Fetching)
	fill(&s.cfg.API.Base, APIBase)
	cfg := s.cfg.Desk
	fill(&cfg.Blobs, s.blobs)
	fill(&cfg.Sealer, keys.sealer)
	if cfg.SigningKey == nil {
		cfg.SigningKey, cfg.FormerSigningKeys = keys.signing[0], keys.signing[1:]
	}
	fill[storage.EventFeed](&cfg.Feed, s.hub)
	fill(&cfg.EventSource, s.APIURL())
	fill[ledger.MailServers](&cfg.MailServers, s.servers)
	s.relays = outbound.NewRelays(outbound.RelaysConfig{
		Dial: netguard.Dialer(s.cfg.Fetching.AllowPrivateHosts, dialTimeout), Tokens: func(relay sending.Relay) outbound.TokenFunc { return s.servers.RelayTokens(relay) },
	})
	fill[helpdesk.Relays](&cfg.Relays, s.relays)
	fill(&cfg.DNS, lookUp(s.cfg.Resolver))
	fill(&cfg.FetchImage, imageproxy.New(imageproxy.Config{Dial: netguard.Dialer(s.cfg.AllowPrivateHosts, dialTimeout)}).Fetch)
	if vault, ok := s.cfg.Store.(storage.Vault); ok {
		fill[helpdesk.PushSender](&cfg.Push, s.pushSender(vault, cfg.Sealer))
	}
	if s.cfg.PGP {
		fill(&cfg.ParseKey, parseKey)
	}
	cfg.Domains = append(slices.Clip(cfg.Domains), kb.Domain())
	s.sealer = cfg.Sealer
	s.service, err = helpdesk.New(cfg)
	return err
}

// grants stores the refresh tokens of mailboxes by the service, which is made after what needs it.
type grants struct{ of *Server }

// RefreshToken implements [ingest.Grants].
func (g grants) RefreshToken(ctx context.Context, accountID, mailboxID int64) (string, error) {
	return g.of.service.Intake().RefreshToken(ctx, accountID, mailboxID)
}

// KeepRefreshToken implements [ingest.Grants].
func (g grants) KeepRefreshToken(ctx context.Context, accountID, mailboxID int64, old, next string) error {
	return g.of.service.Intake().KeepRefreshToken(ctx, accountID, mailboxID, old, next)
}

func (s *Server) makeKB(keys secrets) (err error) {
	cfg := s.cfg.KB
	if cfg.Store == nil {
		return nil
	}
	fill(&cfg.Blobs, s.blobs)
	fill(&cfg.Membership, api.Members(s.service))
	fill(&cfg.BaseURL, s.cfg.BaseURL)
	fill(&cfg.VisitorKey, keys.visitors)
	if s.kb, err = kb.New(cfg); err != nil {
		return err
	}
	s.sites, err = site.New(s.siteConfig(keys.sites))
	return err
}

// Service returns the help desk, to make handles of trusted users ([helpdesk.Service.As]) and to bind it to transactions.
func (s *Server) Service() *helpdesk.Service { return s.service }

// KB returns the knowledge base, nil if there is none.
func (s *Server) KB() *kb.Service { return s.kb }

// Tie returns the tie between blobs and store, nil if the store cannot check whether they belong together.
func (s *Server) Tie() *blobs.Tie { return s.tie }

// APIURL returns the address of the API.
func (s *Server) APIURL() string { return s.cfg.BaseURL + s.cfg.API.Base }

// Addrs returns the addresses at which mail is received: that of IntakeListen, then that of LMTPListen.
func (s *Server) Addrs() []net.Addr {
	all := make([]net.Addr, len(s.intakes))
	for i, intake := range s.intakes {
		all[i] = intake.Addr()
	}
	return all
}

// Swept returns the result of the last sweep of files by this process, nil before the first.
func (s *Server) Swept() *blobs.Swept { return s.swept.Load() }

// Close closes the listeners. It is for a server whose Run is never called.
func (s *Server) Close() error {
	var err error
	if s.cfg.Listener != nil {
		err = s.cfg.Listener.Close()
	}
	for _, intake := range s.intakes {
		err = errors.Join(err, intake.Close())
	}
	return err
}

// Run does all background work until ctx ends or a part fails: it fetches and receives mail, runs jobs, sends webhooks, and
// serves HTTP if there is a Listener. Parts start in the order of their dependencies and end in the opposite one: first the
// intake of new work ends, then the work in progress, then the store. A server runs only once.
//
// A kind of job without a handler is an Invalid fault. Blobs that belong to another store are a fault of [blobs.Tie] if the
// store is new, so that a lost store is not silently replaced by an empty one. A running server on the same store with
// incompatible secret keys is a Conflict fault.
func (s *Server) Run(ctx context.Context) error {
	err := s.idle
	if err == nil {
		err = s.refuseWrongStore(ctx)
	}
	if err == nil {
		err = s.refuseLostStore(ctx)
	}
	if err == nil {
		err = s.meet(ctx)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return runStages(ctx, s.ground(), s.peers(), s.workers, s.doors())
}
