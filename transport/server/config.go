package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/dnscheck"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/webhook"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/jobs"
	"github.com/helpwright/helpwright/transport/api"
	"github.com/helpwright/helpwright/transport/desk"
	"github.com/helpwright/helpwright/transport/site"
)

// The defaults of [Config].
const (
	APIBase           = "/api/v1" // path of the API below Config.BaseURL
	DefaultBaseURL    = "http://localhost"
	DefaultRate       = 1200
	DefaultPublicRate = 120
)

// minKey is how many bytes a secret key has at least.
const minKey = 32

// Config is what a [Server] is made of. Store, Blobs and Keys are required, Relay too for [Server.Run]; all else has a
// default.
type Config struct {
	// Store keeps everything but files: a bunstore.DB, a memstore.Store or a store of your own. The other parts take from
	// it what it has and what their own Config does not name: the store of the knowledge base (a method KB), the queue of
	// jobs ([storage.Jobs], required), the log of events ([storage.EventLog], required), and where it has them,
	// [storage.EventNotifier], [storage.Processes], [storage.Idempotency], and [storage.Marks] with [storage.BlobRows],
	// which tie the blobs to the store and let files be swept. A method Run(ctx) error runs with the server; methods Ping
	// and CheckWrite, as bunstore.DB has them, are asked by /readyz. The server does not close the store.
	Store helpdesk.Store
	// Blobs keep raw mails and files.
	Blobs storage.Blobs
	// Keys are secret keys of at least 32 bytes. The first seals and signs, all open and verify: to change the key, put
	// the new one in front. Servers that share a store have the same keys.
	Keys [][]byte
	// Relay takes mail that leaves, see [outbound.NewRelay], [outbound.NewFailover] and [outbound.NewSpool]. Without it,
	// and without handlers in Jobs for what it would do, Run is an Invalid fault; the services and Handler work.
	Relay outbound.Transport

	// BaseURL is the address that users see; it may have a path, below which Handler is then mounted with
	// [http.StripPrefix]. Default: DefaultBaseURL.
	BaseURL string
	// BaseURLIsDefault says that nobody has chosen BaseURL, as when it is made of the address that is listened on. Location and
	// Link of the API's answers then name the host that one of TrustedProxies was asked for, see [transport.ForwardedOrigin].
	// What is mailed, stored or signed never does, nor where passkeys and identity providers send people back to: a host
	// that a request brings would be one that an attacker may choose. True without a BaseURL.
	BaseURLIsDefault bool
	// Listener is what Run serves Handler on, and closes. nil: the program serves Handler itself.
	Listener net.Listener
	// Handlers are pages of the program's own beside the API and the help centres, by pattern of [http.ServeMux].
	Handlers map[string]http.Handler
	// Doors are further parts, by name, through which work comes in. Run runs them: they start last and end first.
	Doors map[string]func(ctx context.Context) error
	// Authenticate finds the user who asks, for programs that sign in users themselves, on the API and in help centres; 0
	// is nobody. nil: access tokens, and the sign-in of the API and of the help centres.
	Authenticate func(r *http.Request) (userID int64, err error)
	// TrustedProxies are peers whose X-Forwarded-For names the client's address, and whose X-Forwarded-Host may name ours, see
	// BaseURLIsDefault. None: no peer's does.
	TrustedProxies []netip.Prefix
	// RateLimit is how many requests a minute a token, or an address without one, may make; PublicRateLimit how often an
	// address may write without a token. 0: DefaultRate and DefaultPublicRate; negative: no limit.
	RateLimit, PublicRateLimit int

	// IntakeListen and LMTPListen are the addresses at which mail is received by SMTP and LMTP, such as ":25" or
	// "unix:/run/helpdesk.sock". New listens there. "": none is.
	IntakeListen, LMTPListen string
	// AllowPrivateHosts lets mailboxes, webhooks and images of mails name servers at loopback and private addresses.
	AllowPrivateHosts bool
	// Resolver looks up names for the verification of domains and senders. nil: the system's.
	Resolver *net.Resolver
	// PGP keeps customers' OpenPGP keys, and encrypts answers of which a recipient has one.
	PGP bool

	// The parts. What they have in common with the fields above may be left out, and so may what New makes, such as
	// Desk.Sealer; what is set counts.
	Desk     helpdesk.Config
	KB       kb.Config // without a Store, and a Store that has a method KB, there is no knowledge base
	API      api.Config
	Site     site.Config
	Agents   desk.Config   // the pages that agents work in, at DeskPath
	Intake   smtpin.Config // of both SMTP and LMTP
	Fetching ingest.ServersConfig
	Filing   ingest.FilerConfig
	Sending  outbound.Config
	Webhooks webhook.Config
	Jobs     jobs.Config // its Handlers replace those of the server, and add to them

	// Observe hears of each request to Handler when it has been answered, from several goroutines at the same time, and
	// EventLag how old the newest of some events was when streams got them. Jobs, Filing and Sending have an Observe of
	// their own. nil: nobody does.
	Observe  func(Request)
	EventLag func(time.Duration)

	// Tracer hears of requests to Handler, jobs, mails and webhooks; of transactions and statements too where the store's Config has
	// it. nil: nothing is traced.
	Tracer storage.Tracer

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discards
}

// fill sets a field that is zero.
func fill[T any](field *T, value T) {
	if reflect.ValueOf(field).Elem().IsZero() {
		*field = value
	}
}

// check reports everything that is missing at once.
func (c *Config) check() error {
	var problems fault.Collector
	problems.Check(c.Store != nil, "Store", "is required")
	problems.Check(c.Blobs != nil, "Blobs", "is required")
	problems.Check(len(c.Keys) > 0, "Keys", "is required")
	for _, key := range c.Keys {
		problems.Check(len(key) >= minKey, "Keys", "must have at least 32 bytes each")
	}
	problems.Check(c.Store == nil || c.Jobs.Jobs != nil, "Jobs.Jobs", "is required: Store is not a job queue")
	problems.Check(c.Store == nil || c.Site.Events != nil, "Site.Events", "is required: Store is not an event log")
	return problems.Err()
}

// withDefaults takes from the store what it has, and shares out what the parts have in common.
func (c Config) withDefaults() Config {
	c.BaseURLIsDefault = c.BaseURLIsDefault || c.BaseURL == ""
	fill(&c.BaseURL, DefaultBaseURL)
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	fill(&c.RateLimit, DefaultRate)
	fill(&c.PublicRateLimit, DefaultPublicRate)
	fill(&c.Now, time.Now)
	fill(&c.Logger, slog.New(slog.DiscardHandler))
	fill(&c.Resolver, dnscheck.NewResolver(""))
	fill(&c.Desk.Store, c.Store)
	if s, ok := c.Store.(storage.Jobs); ok {
		fill(&c.Jobs.Jobs, s)
	}
	if s, ok := c.Store.(storage.EventLog); ok {
		fill(&c.Site.Events, s)
	}
	if s, ok := c.Store.(storage.EventNotifier); ok {
		fill(&c.Webhooks.Notifier, s)
	}
	if s, ok := c.Store.(storage.Idempotency); ok {
		fill(&c.API.Idempotency, s)
	}
	if s, ok := c.Store.(storage.Processes); ok {
		fill(&c.Desk.Processes, s)
	}
	if s, ok := c.Store.(interface{ KB() kb.Store }); ok {
		fill(&c.KB.Store, s.KB())
	}
	for _, now := range []*func() time.Time{
		&c.Desk.Now, &c.KB.Now, &c.API.Now, &c.Site.Now, &c.Intake.Now, &c.Fetching.Now, &c.Filing.Now, &c.Sending.Now, &c.Webhooks.Now, &c.Jobs.Now,
	} {
		fill(now, c.Now)
	}
	for _, tracer := range []*storage.Tracer{&c.Jobs.Tracer, &c.Webhooks.Tracer} {
		if c.Tracer != nil {
			fill(tracer, c.Tracer)
		}
	}
	for _, logger := range []**slog.Logger{
		&c.Desk.Logger, &c.KB.Logger, &c.API.Logger, &c.Site.Logger, &c.Intake.Logger, &c.Fetching.Logger, &c.Filing.Logger, &c.Sending.Logger,
		&c.Webhooks.Logger, &c.Jobs.Logger,
	} {
		fill(logger, c.Logger)
	}
	return c
}
