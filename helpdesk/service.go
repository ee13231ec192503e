package helpdesk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/gather"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

// Faults by kind, for errors.Is.
var (
	ErrInvalid         error = &fault.Error{Kind: fault.Invalid}
	ErrUnauthenticated error = &fault.Error{Kind: fault.Unauthenticated}
	ErrForbidden       error = &fault.Error{Kind: fault.Forbidden}
	ErrNotFound        error = &fault.Error{Kind: fault.NotFound}
	ErrConflict        error = &fault.Error{Kind: fault.Conflict}
	ErrTooLarge        error = &fault.Error{Kind: fault.TooLarge}
	ErrUnavailable     error = &fault.Error{Kind: fault.Unavailable}
	ErrOutcomeUnknown  error = &fault.Error{Kind: fault.OutcomeUnknown}
)

// Config configures a [Service].
type Config struct {
	Store  Store          // required
	Blobs  storage.Blobs  // required: raw mails and attachments
	Sealer storage.Sealer // required: mailbox passwords, DKIM keys

	// SigningKey signs the reply addresses of outgoing mail. It is required and has at least 32 bytes. After a key change,
	// replies to older mail are threaded by their References header field only, unless FormerSigningKeys contains the old key.
	SigningKey []byte
	// FormerSigningKeys are previous signing keys of at least 32 bytes each. Their signatures are still accepted.
	FormerSigningKeys [][]byte
	// IntakeDomain is the domain of the mailboxes' internal addresses. "": "localhost", which only this machine reaches, so that
	// answers ask for replies to the mailbox's own address.
	IntakeDomain string
	// MaxAttachment is the largest uploaded attachment in bytes; 0 means 25 MiB.
	MaxAttachment int64
	// LinkFrom is the size in bytes from which on [Attachments.Link] and [Portal.LinkAttachment] give addresses in Blobs, if
	// Blobs is a [storage.BlobLinker]; 0: never.
	LinkFrom int64
	// MaxSendTime is how long to retry a message that the relay defers; 0 means 4 days (RFC 5321 section 4.5.4.1 asks for 4 to
	// 5).
	MaxSendTime time.Duration
	// MaxMailPerAddress limits how many messages per hour one correspondent may send, and may be sent, before automation stops:
	// further incoming messages are filed without reopening anything, and outgoing ones are held. This breaks mail loops. 0
	// means 100; negative means no limit.
	MaxMailPerAddress int
	// NotifyAfter is the delay before a member's notification is mailed. It leaves time to read it in the desk, and for others
	// of the same conversation to join the mail. 0 means 2 minutes.
	NotifyAfter time.Duration
	Retention   Retention // retention periods; zero fields have the defaults of [Retention]

	// Domains are further domains that share the accounts, such as kb.Domain(): roles can grant their permissions, and members
	// may view their events.
	Domains []storage.Domain

	// Providers are the identity providers that people can sign in with, see [SignIn.BeginWith]. If empty, there are
	// only passwords.
	Providers []identity.Provider
	// Passkeys verifies users' passkeys; see package passkey. If nil, there are none.
	Passkeys identity.PasskeyVerifier

	// Push sends push notifications to members' browsers. If nil, there are none.
	Push PushSender

	// NoCredentialMails omits the mails to users about changes of what they sign in with, such as their password. It is for
	// applications that tell their users themselves.
	NoCredentialMails bool

	// MailServers connects to the servers that mail is fetched from, for interactive operations such as [Mailboxes.Test]. If
	// nil, those methods return a Disabled fault.
	MailServers ledger.MailServers
	// Relays connects to mailboxes' own relays, for [Mailboxes.TestOutbound]. If nil, that method returns a Disabled fault.
	Relays Relays

	// MailProviders are the providers whose mailboxes members connect by signing in there, see [Mailboxes.BeginSignIn] and package
	// mailsignin. If empty, mailboxes are connected with passwords, or with refresh tokens from elsewhere.
	MailProviders []mailserver.Provider

	// DNS looks up a domain's records and returns one result for each, in the same order; see package dnscheck. If nil, domains
	// cannot be verified.
	DNS func(ctx context.Context, records []sending.DNSRecord) ([]sending.DNSResult, error)
	// SPF holds the mechanisms (RFC 7208 section 5) that authorize the outgoing relay, for the suggested SPF record of domains:
	// "include:spf.example.net". Empty means "a mx", the domain's own hosts.
	SPF string
	// FetchImage fetches a remote image for [Service.RemoteImage]. It returns a NotFound fault when no image is available. See
	// package imageproxy. If nil, that method returns a Disabled fault.
	FetchImage func(ctx context.Context, address string) (RemoteImage, error)

	// ParseKey parses an OpenPGP key that must be usable for encryption at the given time. Its error text is displayed after
	// the field's name: "is expired". See package pgp. If nil, keys are disabled and mail is sent unencrypted.
	ParseKey func(content []byte, now time.Time) (PublicKey, error)

	// Feed follows accounts' events for [Events.Follow]; events.Hub implements it. If nil, that method returns a Disabled fault.
	Feed storage.EventFeed
	// EventSource is the prefix of the CloudEvents source, before "/accounts/<id>"; for example the address of the API.
	EventSource string

	// Processes reports which of the processes that share the store are alive; a bunstore.DB implements it. It identifies
	// mailboxes whose fetching crashed a process. A mailbox that does so repeatedly is no longer fetched, see
	// [ledger.FetchStatus]. If nil, crashes are not detected.
	Processes storage.Processes

	Now    func() time.Time // nil: time.Now
	Rand   io.Reader        // nil: crypto/rand
	Logger *slog.Logger     // nil: discards
}

// Service is the help desk. It is safe for concurrent use. Its only in-memory state is marks that are not written yet, see
// [Service.Run], and counts of failed sign-ins.
type Service struct {
	cfg       Config
	marks     *gather.Gatherer[mark, time.Time]
	readings  *gather.Gatherer[readBy, ReadingCounts]
	address   string // client address of requests, see From
	throttle  *throttle
	gate      *gate
	pictures  chan struct{} // one picture is made at a time, see portray
	registry  *identity.Registry
	ruleCache *ruleCache
	slaCache  *slaCache
	hasIntake bool // IntakeDomain is configured
}

// New makes a service. It starts nothing and touches no data. A missing required field of cfg is an Invalid fault.
func New(cfg Config) (*Service, error) {
	var problems fault.Collector
	problems.Check(cfg.Store != nil, "Store", "is required")
	problems.Check(cfg.Blobs != nil, "Blobs", "is required")
	problems.Check(cfg.Sealer != nil, "Sealer", "is required")
	problems.Check(len(cfg.SigningKey) >= 32, "SigningKey", "must have at least 32 bytes")
	for i, key := range cfg.FormerSigningKeys {
		problems.Check(len(key) >= 32, fmt.Sprintf("FormerSigningKeys[%d]", i), "must have at least 32 bytes")
	}
	cfg.Retention.check(&problems)
	checkProviders(cfg.Providers, &problems)
	checkMailProviders(cfg.MailProviders, &problems)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	registry, err := identity.NewRegistry(append([]storage.Domain{Domain()}, cfg.Domains...)...)
	if err != nil {
		return nil, err
	}
	cfg.Retention = cfg.Retention.withDefaults()
	if err := storage.CheckRows(rowsOf(cfg.Store.Within(Scope{}))); err != nil {
		return nil, err
	}
	hasIntake := cfg.IntakeDomain != ""
	if !hasIntake {
		cfg.IntakeDomain = "localhost"
	}
	if cfg.MaxAttachment == 0 {
		cfg.MaxAttachment = 25 << 20
	}
	if cfg.MaxSendTime == 0 {
		cfg.MaxSendTime = 4 * 24 * time.Hour
	}
	if cfg.MaxMailPerAddress == 0 {
		cfg.MaxMailPerAddress = 100
	}
	if cfg.NotifyAfter <= 0 {
		cfg.NotifyAfter = 2 * time.Minute
	}
	if cfg.SPF == "" {
		cfg.SPF = "a mx"
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		cfg: cfg, throttle: newThrottle(), gate: newGate(), pictures: make(chan struct{}, 1), registry: registry, ruleCache: newRuleCache(), hasIntake: hasIntake,
		slaCache: newSLACache(),
	}
	s.cfg.Store = recorded(cfg.Store, cfg.Now, followUps{s.measure, s.handOut})
	s.marks, s.readings = s.newMarks(), s.newReadings()
	return s, nil
}

// Bind returns the same service over another store, typically one that joins the caller's own transaction. The caller then
// commits or rolls back the service's changes. A rollback leaves files unreferenced in the blobs. [Service.FlushMarks]
// writes the marks noted during reads.
func (s *Service) Bind(store Store) *Service {
	bound := *s
	bound.cfg.Store = recorded(store, s.cfg.Now, followUps{s.measure, s.handOut})
	bound.marks, bound.readings = bound.newMarks(), bound.newReadings()
	return &bound
}

// now returns the current time in UTC, truncated to the microseconds that stores keep.
func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Microsecond) }

// random returns n random bytes.
func (s *Service) random(n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.cfg.Rand, b); err != nil {
		return nil, fault.Wrap(fault.Internal, "reading random bytes", err)
	}
	return b, nil
}

// deskGuard guards handles that are bound to an account.
type deskGuard = guard.Guard[identity.Permission, Reader, Tx]

// systemGuard guards handles above accounts.
type systemGuard = guard.Guard[identity.Permission, Directory, SystemTx]

// anyMember is the permission of operations that every member may do, whatever their roles.
const anyMember identity.Permission = ""

// scoped returns a guard over one scope of the store.
func (s *Service) scoped(scope Scope, allows func(identity.Permission) bool) deskGuard {
	begin := func(scope Scope) guard.Begin[Tx] {
		return func(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error {
			return s.cfg.Store.InTx(ctx, scope, fn)
		}
	}
	return guard.New(allows, s.cfg.Store.Within(scope), begin(scope)).WithAlone(begin(scope.alone()))
}

// member returns a scoped guard for a member. Their changes are audited.
func (s *Service) member(scope Scope, c Caller, allows func(identity.Permission) bool) deskGuard {
	begin := func(scope Scope) guard.Begin[Tx] {
		return func(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error {
			return s.cfg.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error {
				return fn(ctx, auditing{actAs(tx, c.actor()), s, c.tokenID})
			})
		}
	}
	return guard.New(allows, s.cfg.Store.Within(scope), begin(scope)).WithAlone(begin(scope.alone()))
}

// retryUnique runs fn again after it lost a race for one of the given unique keys. The second run finds the winner's row.
func retryUnique(fn func() error, codes ...string) error {
	var err error
	for range 4 {
		if err = fn(); !isUnique(err, codes...) {
			return err
		}
	}
	return err
}

func isUnique(err error, codes ...string) bool {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.Conflict {
		return false
	}
	for _, c := range codes {
		if f.Code == c {
			return true
		}
	}
	return false
}

// takenField turns a uniqueness conflict into a problem of the field that caused it.
func takenField(err error, code, field string) error {
	if isUnique(err, code) {
		return fault.Field(field, "is already taken")
	}
	return err
}

// required adds a problem for a field that is empty or longer than limit characters.
func required(c *fault.Collector, field, value string, limit int) {
	if c.Check(plain.Visible(value), field, "is required") {
		bounded(c, field, value, limit)
	}
}

// namedIfGiven adds a problem for a name that is given but cannot be seen, or is longer than limit characters.
func namedIfGiven(c *fault.Collector, field, value string, limit int) {
	c.Check(value == "" || plain.Visible(value), field, "needs a visible character")
	bounded(c, field, value, limit)
}

// bounded adds a problem for a text longer than limit characters.
func bounded(c *fault.Collector, field, value string, limit int) {
	c.Check(plain.Length(value) <= limit, field, fmt.Sprintf("is longer than %d characters", limit))
}

// signedBy reports whether check succeeds for the current or a former signing key.
func (s *Service) signedBy(check func(key []byte) bool) bool {
	return check(s.cfg.SigningKey) || slices.ContainsFunc(s.cfg.FormerSigningKeys, check)
}
