package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
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
	"github.com/helpwright/helpwright/transport/errand"
	"github.com/helpwright/helpwright/transport/site"
)

// Defaults of [Config].
const (
	APIBase           = "/api/v1" // path of the API below Config.BaseURL
	DeskPath          = "/desk"   // default of Config.DeskPath
	DefaultBaseURL    = "http://localhost"
	DefaultRate       = 1200
	DefaultPublicRate = 120
)

// minKey is the minimum length of a secret key in bytes.
const minKey = 32

// Config configures a [Server]. Store, Blobs and Keys are required, and Relay for [Server.Run]; all other fields have
// defaults.
type Config struct {
	// Store keeps everything except files: a bunstore.DB, a memstore.Store or a store of your own. The other parts use the
	// interfaces that it implements, unless their own Config names another: the store of the knowledge base (a method KB), the
	// queue of jobs ([storage.Jobs], required), the log of events ([storage.EventLog], required), and, if implemented,
	// [storage.EventNotifier], [storage.Processes], [storage.Idempotency], and [storage.Marks] with [storage.BlobRows], which
	// tie the blobs to the store and allow files to be swept. A method Run(ctx) error runs with the server; /readyz calls
	// methods Ping and CheckWrite, as bunstore.DB has them. The server does not close the store.
	Store helpdesk.Store
	// Blobs stores raw mails and files.
	Blobs storage.Blobs
	// Keys are secret keys of at least 32 bytes. The first one seals and signs, all of them open and verify: to change the key,
	// insert the new one at the front. Servers that share a store have the same keys.
	Keys [][]byte
	// Relay sends outbound mail, see [outbound.NewRelay], [outbound.NewFailover] and [outbound.NewSpool]. Without it, and
	// without handlers in Jobs in its place, Run is an Invalid fault; the services and Handler work.
	Relay outbound.Transport

	// BaseURL is the public address; if it has a path, Handler must be mounted below it with [http.StripPrefix]. Default:
	// DefaultBaseURL.
	BaseURL string
	// BaseURLIsDefault means that BaseURL was not set explicitly, as when it is derived from the listening address. Location
	// and Link of the API's answers then use the host requested from one of TrustedProxies, see [transport.ForwardedOrigin].
	// Mails, stored data, signatures, and the addresses to which passkeys and identity providers return never use it: an
	// attacker may choose the host in a request. True if BaseURL is empty.
	BaseURLIsDefault bool
	// DeskPath is the path of the agents' pages below BaseURL, such as "/support"; addresses in notifications, in the answers to
	// assistants and in previews begin with it. It begins with a slash, ends without one, and is none of Handler's other paths.
	// Default: [DeskPath].
	DeskPath string
	// Listener serves Handler in Run, which closes it. If nil, the program serves Handler itself.
	Listener net.Listener
	// Handlers are the program's own pages beside the API and the help centres, by pattern of [http.ServeMux].
	Handlers map[string]http.Handler
	// Doors are further parts, by name, that receive work from outside. Run runs them: they start last and end first.
	Doors map[string]func(ctx context.Context) error
	// Authenticate returns the user of a request, on the API and in help centres, for programs that sign in users themselves; 0
	// means no user. If nil, users have access tokens and sign in on the API and in help centres.
	Authenticate func(r *http.Request) (userID int64, err error)
	// TrustedProxies are the peers whose X-Forwarded-For is trusted for the client's address, and whose X-Forwarded-Host for
	// our own, see BaseURLIsDefault. Default: none.
	TrustedProxies []netip.Prefix
	// RateLimit is how many requests a minute a token, or an address without one, may make; PublicRateLimit is how many
	// unauthenticated writes a minute an address may make. 0: DefaultRate and DefaultPublicRate; negative: no limit.
	RateLimit, PublicRateLimit int

	// IntakeListen and LMTPListen are the addresses at which mail is received by SMTP and LMTP, such as ":25" or
	// "unix:/run/helpdesk.sock". New listens there. "": no listener.
	IntakeListen, LMTPListen string
	// Lagging lets lists of conversations and customers, searches and counts of the API and the agents' pages be up to one
	// second old, if Store has a replica that answers them, see [helpdesk.Desk.Lagging]. Changes made through the same Store are
	// always in them.
	Lagging bool
	// AllowPrivateHosts lets mailboxes, webhooks and images in mails refer to servers at loopback and private addresses.
	AllowPrivateHosts bool
	// Resolver looks up names for the verification of domains and senders. nil: the system's.
	Resolver *net.Resolver
	// PGP keeps customers' OpenPGP keys, and encrypts answers for recipients who have one.
	PGP bool

	// Configs of the parts. Fields in common with the fields above may be left out, and so may those that New fills, such as
	// Desk.Sealer; fields that are set take precedence.
	Desk     helpdesk.Config
	KB       kb.Config // if it has no Store, and Store has no method KB, there is no knowledge base
	API      api.Config
	Site     site.Config
	Agents   desk.Config   // the agents' pages; their Prefix follows from BaseURL and DeskPath
	Intake   smtpin.Config // for both SMTP and LMTP
	Fetching ingest.ServersConfig
	Filing   ingest.FilerConfig
	Sending  outbound.Config
	Webhooks webhook.Config
	Errands  errand.Config // imports and exports in the agents' pages; Accounts and Works are the server's
	Jobs     jobs.Config   // its Handlers are added to the server's and replace those of the same kind

	// Observe is called after each request to Handler, from several goroutines at the same time, and EventLag with the age of
	// the newest of some events when streams received them. Jobs, Filing and Sending have an Observe of their own. nil: not
	// called.
	Observe  func(Request)
	EventLag func(time.Duration)

	// Tracer traces requests to Handler, jobs, mails and webhooks, and also transactions and statements if the store's Config
	// has it. nil: no tracing.
	Tracer storage.Tracer

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // default: discarded
}

// fill sets a field if it is zero.
func fill[T any](field *T, value T) {
	if reflect.ValueOf(field).Elem().IsZero() {
		*field = value
	}
}

// deskPath matches what a DeskPath may be.
var deskPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

// basePath returns the path of BaseURL, without a slash at its end.
func (c *Config) basePath() string {
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return ""
	}
	return strings.TrimRight(u.Path, "/")
}

// check reports all missing fields at once.
func (c *Config) check() error {
	var problems fault.Collector
	problems.Check(c.Store != nil, "Store", "is required")
	problems.Check(c.Blobs != nil, "Blobs", "is required")
	problems.Check(len(c.Keys) > 0, "Keys", "is required")
	for _, key := range c.Keys {
		problems.Check(len(key) >= minKey, "Keys", "must have at least 32 bytes each")
	}
	problems.Check(deskPath.MatchString(c.DeskPath), "DeskPath", "must be a path such as /support")
	problems.Check(c.Agents.Prefix == "" || c.Agents.Prefix == c.basePath()+c.DeskPath, "Agents.Prefix",
		"follows from BaseURL and DeskPath: set DeskPath")
	problems.Check(c.Store == nil || c.Jobs.Jobs != nil, "Jobs.Jobs", "is required: Store is not a job queue")
	problems.Check(c.Store == nil || c.Site.Events != nil, "Site.Events", "is required: Store is not an event log")
	return problems.Err()
}

// withDefaults takes the interfaces that the store implements, and copies common fields to the parts.
func (c Config) withDefaults() Config {
	c.BaseURLIsDefault = c.BaseURLIsDefault || c.BaseURL == ""
	fill(&c.BaseURL, DefaultBaseURL)
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	fill(&c.DeskPath, DeskPath)
	fill(&c.RateLimit, DefaultRate)
	fill(&c.PublicRateLimit, DefaultPublicRate)
	fill(&c.Now, time.Now)
	fill(&c.Logger, slog.New(slog.DiscardHandler))
	fill(&c.Resolver, dnscheck.NewResolver(""))
	fill(&c.Desk.Store, c.Store)
	c.API.Lagging, c.Agents.Lagging = c.API.Lagging || c.Lagging, c.Agents.Lagging || c.Lagging
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
