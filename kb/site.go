package kb

import (
	"context"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

// Visibility says who may read a site.
type Visibility string

// The visibilities.
const (
	Public  Visibility = "public"
	Private Visibility = "private" // members of the account only
)

// SharedHost is the HostKey of sites with neither a custom domain nor a subdomain: they share the host of the service and
// differ by path.
const SharedHost = "."

// Site is a knowledge base of an account.
type Site struct {
	ID           int64
	AccountID    int64
	MailboxID    int64 // receives the messages of the site's contact form; 0: none
	Name         string
	Path         string // first part of the path of its pages; "" only with a host of its own
	Subdomain    string // a label below the sites' domain, or ""
	CustomDomain string // a host name in its ASCII form, or ""
	// HostKey and Path together are unique. HostKey is the custom domain, otherwise the subdomain followed by a dot, otherwise
	// SharedHost.
	HostKey    string
	HTMLHead   string // HTML for the head element of every page
	Visibility Visibility
	Look       Look
	Search     SearchSettings
	CreatedAt  time.Time
	UpdatedAt  time.Time

	// DefaultLocale and Languages come from the account. Stores fill them in when they read a site, and ignore them when they
	// write one.
	DefaultLocale string
	Languages     []string
}

// SiteInput creates or changes a site. In a change, absent fields stay as they are.
type SiteInput struct {
	AccountID int64  // required; a site never changes its account
	Name      string // required, at most 200 characters
	// MailboxID is a mailbox of the account that the member can reach; null: none.
	MailboxID storage.Opt[int64]
	// Path has at most 64 lower-case letters, digits, hyphens and underscores. A new site without one gets a random path. With
	// a subdomain or a custom domain it may be empty: the site is then at the root of its host.
	Path storage.Opt[string]
	// Subdomain is a host name label (RFC 1123 section 2.1); null: none.
	Subdomain storage.Opt[string]
	// CustomDomain is a host name of at least two labels that is not below SitesDomain; null: none. All sites on one host
	// belong to one account.
	CustomDomain storage.Opt[string]
	// HTMLHead has at most 64 KiB. Elements that the pages' Content-Security-Policy refuses are an Invalid fault, also when a
	// site with such a head moves to the shared host, where no scripts and no style sheets of other hosts are allowed.
	HTMLHead   storage.Opt[string]
	Visibility storage.Opt[Visibility] // a new site is public unless this says otherwise
	Look       LookInput
}

const maxHTMLHead = 64 << 10

var (
	pathPattern = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)
	labelRule   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	// hostProfile converts names to their ASCII form (UTS 46, as browsers do).
	hostProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))
)

// reservedPaths are paths on the shared host that the service uses itself.
var reservedPaths = []string{"api", "assets", "auth", "debug", "desk", "docs", "healthz", "invitations", "portal", "readyz", "sites", "static", "themes", "uploads"}

// apply validates in and applies it to site. It leaves a path that has to be generated empty.
func (s *Service) apply(site *Site, in SiteInput, reaches func(mailboxID int64) bool) error {
	var problems fault.Collector
	site.Name = plain.Line(in.Name)
	required(&problems, "name", site.Name, 200)
	problems.Check(in.AccountID == site.AccountID, "account_id", "must be the account of the site")
	former := site.MailboxID
	site.MailboxID = in.MailboxID.Or(site.MailboxID)
	storedHead := site.HTMLHead
	site.HTMLHead = plain.Text(in.HTMLHead.Or(site.HTMLHead))
	problems.Check(len(site.HTMLHead) <= maxHTMLHead, "html_head", "is longer than 64 KiB")
	site.Visibility = in.Visibility.Or(site.Visibility)
	if site.Visibility == "" {
		site.Visibility = Public
	}
	problems.Check(site.Visibility == Public || site.Visibility == Private, "visibility", "must be public or private")
	formerHost := site.HostKey
	s.applyHost(&problems, site, in)
	if shared := site.HostKey == SharedHost; site.HTMLHead != storedHead || shared && formerHost != SharedHost {
		checkHead(&problems, site.HTMLHead, shared)
	}
	site.Look.apply(&problems, in.Look)
	if err := problems.Err(); err != nil {
		return err
	}
	if site.MailboxID == former {
		return nil
	}
	// A member who cannot reach a mailbox must not divert its messages to another.
	for _, id := range []int64{former, site.MailboxID} {
		if id != 0 && !reaches(id) {
			return fault.Missing("mailbox", id)
		}
	}
	return nil
}

// applyHost validates the host of a site.
func (s *Service) applyHost(problems *fault.Collector, site *Site, in SiteInput) {
	if label := strings.TrimSpace(in.Subdomain.Or(site.Subdomain)); label != site.Subdomain {
		ascii, err := hostProfile.ToASCII(label)
		ok := label == "" || err == nil && labelRule.MatchString(ascii)
		problems.Check(ok, "subdomain", "must be one label of a host name")
		site.Subdomain = ascii
		if label == "" {
			site.Subdomain = ""
		}
	}
	if name := strings.TrimSuffix(strings.TrimSpace(in.CustomDomain.Or(site.CustomDomain)), "."); name != site.CustomDomain {
		site.CustomDomain = ""
		if name != "" {
			site.CustomDomain = s.customDomain(problems, name)
		}
	}
	switch {
	case site.CustomDomain != "":
		site.HostKey = site.CustomDomain
	case site.Subdomain != "":
		site.HostKey = site.Subdomain + "."
	default:
		site.HostKey = SharedHost
	}
	path, given := in.Path.Get()
	if path = strings.Trim(strings.TrimSpace(path), "/"); !given {
		path = site.Path
	}
	shared := site.HostKey == SharedHost
	if path == "" && shared && site.ID != 0 {
		problems.Add("path", "is required without a subdomain or a custom domain")
	}
	problems.Check(path == "" || pathPattern.MatchString(path), "path", "must have at most 64 of a-z, 0-9, - and _")
	problems.Check(!shared || !slices.Contains(reservedPaths, path), "path", "is reserved")
	if !shared && path != site.Path {
		if problem := pathOfPages(path); problem != "" {
			problems.Add("path", problem)
		}
	}
	site.Path = path
}

// customDomain returns the ASCII form of a host name.
func (s *Service) customDomain(problems *fault.Collector, name string) string {
	ascii, err := hostProfile.ToASCII(name)
	_, notIP := netip.ParseAddr(ascii)
	if !problems.Check(err == nil && notIP != nil && strings.Contains(ascii, "."), "custom_domain", "must be a host name such as help.example.org") {
		return ""
	}
	own := ascii == s.cfg.SitesDomain || strings.HasSuffix(ascii, "."+s.cfg.SitesDomain) || ascii == s.base.Hostname()
	problems.Check(!own, "custom_domain", "belongs to this service: use subdomain instead")
	return ascii
}

// taken turns a uniqueness conflict into a problem of the field that caused it.
func (site *Site) taken(err error) error {
	const problem = "is already taken"
	switch {
	case isUnique(err, UniqueSitePath) && site.Path != "":
		return fault.Field("path", problem)
	case !isUnique(err, UniqueSitePath) && !isUnique(err, UniqueSiteHost):
		return err
	case site.CustomDomain != "":
		return fault.Field("custom_domain", problem)
	default:
		return fault.Field("subdomain", problem)
	}
}

// SubdomainHost returns the host of a site's subdomain, or the shared host when it has none.
func (s *Service) SubdomainHost(site Site) string {
	if site.Subdomain == "" {
		return s.base.Hostname()
	}
	return site.Subdomain + "." + s.cfg.SitesDomain
}

// Host returns the host of a site: its custom domain if it has one, otherwise SubdomainHost.
func (s *Service) Host(site Site) string {
	if site.CustomDomain != "" {
		return site.CustomDomain
	}
	return s.SubdomainHost(site)
}

// URL returns the address of a site, with the scheme and port of Config.BaseURL and without a trailing slash.
func (s *Service) URL(site Site) string {
	address := *s.base
	if site.HostKey != SharedHost {
		address.Host, address.Path = s.Host(site), ""
		if port := s.base.Port(); port != "" {
			address.Host += ":" + port
		}
	}
	if site.Path != "" {
		return address.JoinPath(site.Path).String()
	}
	return address.String()
}

// FindSite returns the site that serves a host and a path: the one whose path is the first segment, otherwise the one at the
// root of the host. rest is the remaining path. It also finds private sites; [Service.Visitor] decides who may read them.
func (s *Service) FindSite(ctx context.Context, host, path string) (site Site, rest string, err error) {
	key := s.hostKey(host)
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	var paths []string
	if pathPattern.MatchString(first) {
		paths = append(paths, first)
	}
	if key != SharedHost {
		paths = append(paths, "")
	}
	if len(paths) == 0 {
		return Site{}, "", fault.Missing("site", 0)
	}
	site, err = s.cfg.Store.SiteByAddress(ctx, key, paths...)
	return site, site.Rest(path), err
}

// Rest returns what remains of a path on the site's host after the site's own path.
func (s Site) Rest(path string) string {
	if s.Path == "" {
		return path
	}
	_, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return "/" + rest
}

// OwnsHost reports whether a host is the custom domain or subdomain of a site: no other part of the service is served there.
func (s *Service) OwnsHost(ctx context.Context, host string) (bool, error) {
	key := s.hostKey(host)
	if key == SharedHost {
		return false, nil
	}
	return s.cfg.Store.HasHost(ctx, key)
}

// MaxHostSites is the maximum number of sites that PublicSites returns.
const MaxHostSites = 1000

// PublicSites returns the public sites on a host, in any account, by path; the first [MaxHostSites]. A host that no site may
// be on is a NotFound fault.
func (s *Service) PublicSites(ctx context.Context, host string) ([]Site, error) {
	key := s.hostKey(host)
	if key != SharedHost {
		owned, err := s.cfg.Store.HasHost(ctx, key)
		if err != nil {
			return nil, err
		}
		if !owned {
			return nil, fault.Missing("site", 0)
		}
	}
	return s.cfg.Store.PublicSites(ctx, key, MaxHostSites)
}

// hostKey returns the HostKey of the sites on a host.
func (s *Service) hostKey(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if label, ok := strings.CutSuffix(host, "."+s.cfg.SitesDomain); ok && !strings.Contains(label, ".") {
		return label + "."
	}
	if host == s.cfg.SitesDomain || host == s.base.Hostname() {
		return SharedHost
	}
	return host
}

// Site returns the site. It needs sites.view.
func (e *Editor) Site(ctx context.Context) (Site, error) {
	r, err := e.guard.Read(SitesView)
	if err != nil {
		return Site{}, err
	}
	return r.Sites().Get(ctx, e.site.ID)
}

// UpdateSite changes the site. It needs sites.update. An address that another site uses is an Invalid fault.
func (e *Editor) UpdateSite(ctx context.Context, in SiteInput) (Site, error) {
	begin, err := e.guard.Write(SitesUpdate)
	if err != nil {
		return Site{}, err
	}
	var site Site
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if site, err = tx.Sites().Lock(ctx, e.site.ID); err != nil {
			return err
		}
		if err := e.svc.apply(&site, in, reaching(e.mailboxes)); err != nil {
			return err
		}
		if err := in.Look.checkImages(ctx, tx.Files()); err != nil {
			return err
		}
		site.UpdatedAt = e.svc.now()
		if err := tx.Sites().Update(ctx, &site); err != nil {
			return err
		}
		return e.emit(ctx, tx, "site.updated", site.ID)
	})
	return site, site.taken(err)
}

// pieceRows is how many rows a transaction deletes, about, where there may be very many: others wait for it.
const pieceRows = 1000

// DeleteSite deletes the site with everything in it, in several transactions if there are many articles, so some may be gone
// after an error; calling it again continues. Its blobs are deleted soon after. It needs sites.delete.
func (e *Editor) DeleteSite(ctx context.Context) error {
	begin, err := e.guard.Write(SitesDelete)
	if err != nil {
		return err
	}
	err = guard.InPieces(ctx, begin, func(ctx context.Context, tx Tx) (bool, error) { return tx.Sites().Trim(ctx, e.site.ID, pieceRows) })
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.Sites().Delete(ctx, e.site.ID); err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, purgePrefix(e.site.AccountID, sitePrefix(e.site.AccountID, e.site.ID))...); err != nil {
			return err
		}
		return e.emit(ctx, tx, "site.deleted", e.site.ID)
	})
}

// Site returns the site as it was when the handle was opened.
func (v *Visitor) Site() Site { return v.site }

// reaching returns a function that reports whether a member with these mailboxes (nil: all) can reach one.
func reaching(mailboxes []int64) func(int64) bool {
	return func(id int64) bool { return mailboxes == nil || slices.Contains(mailboxes, id) }
}
