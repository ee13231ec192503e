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
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/kb/theme"
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
	ErrUnavailable     error = &fault.Error{Kind: fault.Unavailable}
	ErrOutcomeUnknown  error = &fault.Error{Kind: fault.OutcomeUnknown}
)

// Caller is the user who makes a request. helpdesk.Caller implements it; nil, or a UserID of 0, is an anonymous caller.
type Caller interface {
	UserID() int64
	TokenID() int64
}

// Membership is what a caller may do in an account.
type Membership struct {
	Permissions []Permission
	// Mailboxes lists the mailboxes that the member can reach; nil: all of the account.
	Mailboxes []int64
}

// Config configures a [Service].
type Config struct {
	Store Store         // required
	Blobs storage.Blobs // required: files of sites and themes

	// Membership returns what a caller may do in an account. It returns a NotFound fault for a caller who is not a member and
	// for an account that does not exist. Required.
	Membership func(ctx context.Context, c Caller, accountID int64) (Membership, error)

	// BaseURL is the public address. Sites without a host of their own are served at paths below it; "http://localhost" when
	// empty.
	BaseURL string
	// SitesDomain is the parent domain of the sites' subdomains; when empty, the host of BaseURL, or "localhost" when that is
	// an IP address.
	SitesDomain string

	// VisitorKey keys the hashes that distinguish visitors, so that they do not identify them. Nil: a random key, so that every
	// visitor is new after a restart.
	VisitorKey []byte
	MaxFile    int64        // maximum size of a file in bytes; 0: 100 MiB
	Theme      theme.Source // files of new themes; the built-in theme when it has no files

	Now    func() time.Time // nil: time.Now
	Rand   io.Reader        // nil: crypto/rand
	Logger *slog.Logger     // nil: discards
}

// Service is the knowledge base. It is safe for concurrent use. Its only state is the views that are not yet written, see
// [Service.Run].
type Service struct {
	cfg     Config
	base    *url.URL
	views   *gather.Gatherer[seen, int64]
	address string // client address of the requests, see From
}

// New returns a service. It starts nothing and touches no data. Missing or wrong fields of cfg are an Invalid fault.
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
	if err := storage.CheckRows(rowsOf(cfg.Store.Within(Scope{}))); err != nil {
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
	s := &Service{cfg: cfg, base: base}
	s.views = s.newViews()
	return s, nil
}

// Bind returns the service on another store, typically one that joins a transaction of the caller, who then commits or rolls
// back. Views that it counts are written by [Service.FlushViews].
func (s *Service) Bind(store Store) *Service {
	bound := *s
	bound.cfg.Store = store
	bound.views = bound.newViews()
	return &bound
}

// now returns the time of an operation in UTC, truncated to microseconds as stores keep it.
func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Microsecond) }

// random returns n letters and digits that are safe in a path.
func (s *Service) random(n int) (string, error) {
	const letters = "abcdefghijkmnpqrstuvwxyz23456789" // no look-alikes; 32 letters, so that all are equally likely
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

// visitorGuard is the guard of handles that read published content. It begins no transactions.
type visitorGuard = guard.Guard[Permission, PublicReader, VisitorTx]

// allows returns a function that reports whether the member has a permission.
func (m Membership) allows() func(Permission) bool {
	held := slices.Clone(m.Permissions)
	return func(p Permission) bool { return slices.Contains(held, p) }
}

// scoped returns a guard on one scope of the store. Deletions by a caller with a token are audited.
func (s *Service) scoped(scope Scope, tokenID int64, allows func(Permission) bool) editorGuard {
	begin := func(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error {
		return s.cfg.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error { return fn(ctx, auditing{tx, s, tokenID}) })
	}
	return guard.New(allows, s.cfg.Store.Within(scope), begin)
}

// membership returns what a caller may do in an account. An anonymous caller gets an Unauthenticated fault.
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

// required reports a field that is empty or longer than limit characters.
func required(c *fault.Collector, field, value string, limit int) {
	if c.Check(plain.Visible(value), field, "is required") {
		bounded(c, field, value, limit)
	}
}

// visible reports a name that is given but cannot be seen.
func visible(c *fault.Collector, field, value string) {
	c.Check(value == "" || plain.Visible(value), field, "needs a visible character")
}

// bounded reports a text that is longer than limit characters.
func bounded(c *fault.Collector, field, value string, limit int) {
	c.Check(plain.Length(value) <= limit, field, fmt.Sprintf("is longer than %d characters", limit))
}
