package kb

import (
	"context"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
)

// Visitor is the handle for reading what one site has published. None of its methods can return a draft or unpublished
// content, whoever the caller is.
type Visitor struct {
	svc   *Service
	guard visitorGuard
	site  Site
}

// Visitor opens a site for reading, also for an anonymous caller. A private site that the caller is not a member of is the
// same NotFound fault as one that does not exist.
func (s *Service) Visitor(ctx context.Context, c Caller, siteID int64) (*Visitor, error) {
	site, err := s.cfg.Store.FindSite(ctx, siteID)
	if err != nil {
		return nil, err
	}
	return s.VisitorOf(ctx, c, site)
}

// VisitorOf is [Service.Visitor] for a site that [Service.FindSite] has just returned.
func (s *Service) VisitorOf(ctx context.Context, c Caller, site Site) (*Visitor, error) {
	if site.Visibility == Private {
		if nobody(c) {
			return nil, fault.Missing("site", site.ID)
		}
		if _, err := s.cfg.Membership(ctx, c, site.AccountID); fault.Is(err, fault.NotFound) {
			return nil, fault.Missing("site", site.ID)
		} else if err != nil {
			return nil, err
		}
	}
	return s.visitor(site), nil
}

// Guest opens a site for readers that the program admits itself, such as holders of a signed address. It reads what
// [Service.Visitor] reads on a public site.
func (s *Service) Guest(ctx context.Context, siteID int64) (*Visitor, error) {
	site, err := s.cfg.Store.FindSite(ctx, siteID)
	if err != nil {
		return nil, err
	}
	return s.visitor(site), nil
}

func (s *Service) visitor(site Site) *Visitor {
	scope := Scope{AccountID: site.AccountID, SiteID: site.ID}
	var reader PublicReader = s.cfg.Store.Within(scope)
	begin := func(ctx context.Context, fn func(ctx context.Context, tx VisitorTx) error) error {
		return s.cfg.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error { return fn(ctx, visiting(tx)) })
	}
	allows := func(p Permission) bool { return p == published }
	return &Visitor{svc: s, guard: guard.New(allows, reader, begin), site: site}
}

// SiteID returns the id of the site.
func (v *Visitor) SiteID() int64 { return v.site.ID }

// DefaultLocale returns the default locale of the account.
func (v *Visitor) DefaultLocale() string { return v.site.DefaultLocale }

// URL returns the address of the site.
func (v *Visitor) URL() string { return v.svc.URL(v.site) }
