package kb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/helpwright/helpwright/kb/theme"
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
	ErrUnavailable     error = &fault.Error{Kind: fault.Unavailable}
	ErrOutcomeUnknown  error = &fault.Error{Kind: fault.OutcomeUnknown}
)

// Caller is who asks. helpdesk.Caller is one; nil, and one whose UserID is 0, is
// nobody.
type Caller interface {
	UserID() int64
	TokenID() int64
}

// Membership is what a caller may do in an account.
type Membership struct {
	Permissions []Permission
	// Mailboxes are those that the member reaches; nil: all of the account.
	Mailboxes []int64
}

// Config is what a [Service] is made of.
type Config struct {
	Store Store         // required
	Blobs storage.Blobs // required: files of sites and themes

	// Membership finds what a caller may do in an account. For who is no member, and
	// for an account that does not exist, it returns a NotFound fault. Required.
	Membership func(ctx context.Context, c Caller, accountID int64) (Membership, error)

	// BaseURL is the address that users see, below which sites without a host of
	// their own are, by path; "http://localhost" when empty.
	BaseURL string
	// SitesDomain is the name below which the subdomains of sites are; the host of
	// BaseURL when empty, or "localhost" when that is an IP address.
	SitesDomain string

	// VisitorKey keeps what is stored to tell visitors apart from telling who they are.
	// Nil: made at random, so that after a restart everybody is a new visitor.
	VisitorKey []byte
	MaxFile    int64        // largest file of a site in bytes; 0: 100 MiB
	Theme      theme.Source // what new themes are made of; the built-in theme when it has no files

	Now    func() time.Time // nil: time.Now
	Rand   io.Reader        // nil: crypto/rand
	Logger *slog.Logger     // nil: discards
}

// Service is the knowledge base. It is safe for concurrent use. All it keeps are
// views that are not counted yet, see [Service.Run].
type Service struct {
	cfg     Config
	base    *url.URL
	views   *views
	address string // that requests come from, see From
}

// New makes a service. It starts nothing and touches no data. What is missing or
// wrong in cfg is an Invalid fault.
func New(cfg Config) (*Service, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = "http://localhost"
	}
	base, err := url.Parse(strings.TrimRight(cfg.BaseURL, "/"))
	var problems fault.Collector
	problems.Check(cfg.Store != nil, "Store", "is required")
	problems.Check(cfg.Blobs != nil, "Blobs", "is required")
	problems.Check(cfg.Membership != nil, "Membership", "is required")
	problems.Check(err == nil && base.Hostname() != "", "BaseURL", "must be an absolute URL")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if err := storage.CheckRows(cfg.Store.Within(Scope{})); err != nil {
		return nil, err
	}
	if cfg.SitesDomain == "" {
		cfg.SitesDomain = base.Hostname()
		if _, err := netip.ParseAddr(cfg.SitesDomain); err == nil {
			cfg.SitesDomain = "localhost"
		}
	}
	cfg.SitesDomain = strings.ToLower(cfg.SitesDomain)
	if cfg.MaxFile == 0 {
		cfg.MaxFile = 100 << 20
	}
	if len(cfg.Theme.Files) == 0 {
		cfg.Theme = theme.Builtin()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if len(cfg.VisitorKey) == 0 {
		cfg.VisitorKey = make([]byte, 32)
		if _, err := io.ReadFull(cfg.Rand, cfg.VisitorKey); err != nil {
			return nil, fault.Wrap(fault.Internal, "reading random bytes", err)
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{cfg: cfg, base: base, views: &views{counts: map[seen]int64{}}}, nil
}

// Bind returns the same service over another store, for a store that joins the
// caller's own transaction: what is done through it is committed or rolled back by
// the caller. Views that it counts are written by [Service.FlushViews].
func (s *Service) Bind(store Store) *Service {
	bound := *s
	bound.cfg.Store, bound.views = store, &views{counts: map[seen]int64{}}
	return &bound
}

// now is the time of an operation: UTC, microseconds, as stores keep it.
func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Microsecond) }

// random returns n characters of letters and digits that a path can have.
func (s *Service) random(n int) (string, error) {
	const letters = "abcdefghijkmnpqrstuvwxyz23456789" // none that look alike; 32, so that all are as likely
	b := make([]byte, n)
	if _, err := io.ReadFull(s.cfg.Rand, b); err != nil {
		return "", fault.Wrap(fault.Internal, "reading random bytes", err)
	}
	for i := range b {
		b[i] = letters[b[i]%32]
	}
	return string(b), nil
}

// editorGuard is the guard of handles that manage sites.
type editorGuard = guard.Guard[Permission, Reader, Tx]

// visitorGuard is the guard of handles that read what is published. It begins no
// transactions.
type visitorGuard = guard.Guard[Permission, PublicReader, VisitorTx]

// allows reports what the member holds.
func (m Membership) allows() func(Permission) bool {
	held := make(map[Permission]bool, len(m.Permissions))
	for _, p := range m.Permissions {
		held[p] = true
	}
	return func(p Permission) bool { return held[p] }
}

// scoped returns a guard over one scope of the store for who came with a token: what
// they delete is audited.
func (s *Service) scoped(scope Scope, tokenID int64, allows func(Permission) bool) editorGuard {
	begin := func(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error {
		return s.cfg.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error { return fn(ctx, auditing{tx, s, tokenID}) })
	}
	return guard.New(allows, s.cfg.Store.Within(scope), begin)
}

// membership finds what a caller may do in an account; nobody is Unauthenticated.
func (s *Service) membership(ctx context.Context, c Caller, accountID int64) (Membership, error) {
	if nobody(c) {
		return Membership{}, fault.New(fault.Unauthenticated, "Sign in first.")
	}
	return s.cfg.Membership(ctx, c, accountID)
}

func nobody(c Caller) bool { return c == nil || c.UserID() == 0 }

func isUnique(err error, code string) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Kind == fault.Conflict && f.Code == code
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
