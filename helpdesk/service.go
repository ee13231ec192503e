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

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
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

// Config is what a [Service] is made of.
type Config struct {
	Store  Store          // required
	Blobs  storage.Blobs  // required: raw mails and attachments
	Sealer storage.Sealer // required: mailbox passwords, DKIM keys

	// SigningKey signs the reply addresses of answers; at least 32 bytes, required.
	// With another key, answers to mail sent before are threaded by their
	// References only, unless FormerSigningKeys has the key of that time.
	SigningKey []byte
	// FormerSigningKeys are keys that signed before, of at least 32 bytes each: what
	// they signed is still taken.
	FormerSigningKeys [][]byte
	// IntakeDomain is the domain of the mailboxes' internal addresses; "localhost"
	// when empty.
	IntakeDomain string
	// MaxAttachment is the largest uploaded attachment in bytes; 0 means 25 MiB.
	MaxAttachment int64
	// MaxSendTime is how long a mail that the relay defers is tried; 0 means 4 days
	// (RFC 5321 section 4.5.4.1 asks for 4 to 5).
	MaxSendTime time.Duration
	// MaxMailPerAddress is how many mails one correspondent may send, and be sent,
	// within an hour before nothing happens by itself any more: what comes is filed
	// without reopening anything, what is to leave waits. It ends loops between
	// machines. 0 means 100; negative means no limit.
	MaxMailPerAddress int
	// NotifyAfter is how long what a member was told waits to be mailed: for others of the
	// same conversation, and for being read. 0 means 2 minutes.
	NotifyAfter time.Duration
	Retention   Retention // for how long what grows is kept; zero: as it says

	// MailServers reaches the servers from which mail is fetched, for what is done to
	// them by hand, such as [Desk.TestMailbox]. nil: those methods are Disabled faults.
	MailServers MailServers

	// DNS looks up the records of a domain and answers with a result for each, in
	// their order; see package dnscheck. nil: domains cannot be verified.
	DNS func(ctx context.Context, records []DNSRecord) ([]DNSResult, error)
	// SPF are the mechanisms (RFC 7208 section 5) that let the relay of answers
	// pass, for the SPF record of domains: "include:spf.example.net". "a mx" when
	// empty, the hosts of the domain itself.
	SPF string
	// FetchImage fetches an image from another server, for [Service.RemoteImage]; its
	// error is a NotFound fault when there is no image to be had. See package
	// imageproxy. nil: the method is a Disabled fault.
	FetchImage func(ctx context.Context, address string) (RemoteImage, error)

	// ParseKey reads an OpenPGP key that mail can be encrypted to at a time; the
	// text of its error is shown after the field's name: "is expired". See package
	// pgp. nil switches keys off, and mail is sent as if there were none.
	ParseKey func(content []byte, now time.Time) (PublicKey, error)

	// Feed follows the events of accounts for [Desk.Follow]; events.Hub is one. nil:
	// the method is a Disabled fault.
	Feed storage.EventFeed
	// EventSource begins the source of CloudEvents, before "/accounts/<id>": the address
	// of the API, for instance.
	EventSource string

	// Processes tells which of the processes that share the store live; a bunstore.DB does.
	// It shows which mailbox a process died at: one at which that happens again and again is
	// not fetched any more, see [FetchStatus]. nil: nobody looks.
	Processes storage.Processes

	Now    func() time.Time // nil: time.Now
	Rand   io.Reader        // nil: crypto/rand
	Logger *slog.Logger     // nil: discards
}

// Service is the help desk. It is safe for concurrent use. All it keeps are marks that
// are not written yet, see [Service.Run], and how often passwords were wrong.
type Service struct {
	cfg      Config
	marks    *marks
	address  string // that requests come from, see From
	throttle *throttle
	gate     *gate
}

// New makes a service. It starts nothing and touches no data. What is missing in
// cfg is an Invalid fault.
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
	if err := problems.Err(); err != nil {
		return nil, err
	}
	cfg.Retention = cfg.Retention.withDefaults()
	if err := storage.CheckRows(cfg.Store.Within(Scope{})); err != nil {
		return nil, err
	}
	if cfg.IntakeDomain == "" {
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
	return &Service{cfg: cfg, marks: &marks{at: map[mark]time.Time{}}, throttle: newThrottle(), gate: newGate()}, nil
}

// Bind returns the same service over another store, for a store that joins the
// caller's own transaction: what is done through it is committed or rolled back by
// the caller. Files of what is rolled back stay behind in the blobs, unreferenced.
// What is noted while others read is written by [Service.FlushMarks].
func (s *Service) Bind(store Store) *Service {
	cfg := s.cfg
	cfg.Store = store
	return &Service{cfg: cfg, marks: &marks{at: map[mark]time.Time{}}, address: s.address, throttle: s.throttle, gate: s.gate}
}

// now is the time of an operation: UTC, microseconds, as stores keep it.
func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Microsecond) }

// random returns n random bytes.
func (s *Service) random(n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.cfg.Rand, b); err != nil {
		return nil, fault.Wrap(fault.Internal, "reading random bytes", err)
	}
	return b, nil
}

// deskGuard is the guard of handles that are bound to an account.
type deskGuard = guard.Guard[Permission, Reader, Tx]

// systemGuard is the guard of handles above accounts.
type systemGuard = guard.Guard[Permission, Directory, SystemTx]

// anyMember stands for what every member may do, whatever the roles.
const anyMember Permission = ""

// scoped returns a guard over one scope of the store.
func (s *Service) scoped(scope Scope, allows func(Permission) bool) deskGuard {
	begin := func(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error {
		return s.cfg.Store.InTx(ctx, scope, fn)
	}
	return guard.New(allows, s.cfg.Store.Within(scope), begin)
}

// member is scoped for a member who came with a token: what they do is audited.
func (s *Service) member(scope Scope, tokenID int64, allows func(Permission) bool) deskGuard {
	begin := func(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error {
		return s.cfg.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error { return fn(ctx, auditing{tx, s, tokenID}) })
	}
	return guard.New(allows, s.cfg.Store.Within(scope), begin)
}

// retryUnique runs fn again when it lost a race for one of the given
// uniquenesses: the other's row is there now and is found by fn's own look-up.
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

// takenField turns a lost uniqueness into a problem of the field that broke it.
func takenField(err error, code, field string) error {
	if isUnique(err, code) {
		return fault.Field(field, "is taken already")
	}
	return err
}

// required notes a field that is empty or longer than limit characters.
func required(c *fault.Collector, field, value string, limit int) {
	if c.Check(value != "", field, "is required") {
		bounded(c, field, value, limit)
	}
}

// bounded notes a text that is longer than limit characters.
func bounded(c *fault.Collector, field, value string, limit int) {
	c.Check(runes(value) <= limit, field, fmt.Sprintf("is longer than %d characters", limit))
}

// signedBy reports whether check holds for a key that signs or has signed.
func (s *Service) signedBy(check func(key []byte) bool) bool {
	return check(s.cfg.SigningKey) || slices.ContainsFunc(s.cfg.FormerSigningKeys, check)
}
