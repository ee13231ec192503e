package kb

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Editor is the handle of a member who manages one site.
type Editor struct {
	svc       *Service
	guard     editorGuard
	site      Site
	userID    int64
	mailboxes []int64 // that the member reaches; nil: all
}

// Editor opens a site for a caller. A caller who is not a member of its account gets the same NotFound fault as for a site
// that does not exist; an anonymous caller gets an Unauthenticated fault.
func (s *Service) Editor(ctx context.Context, c Caller, siteID int64) (*Editor, error) {
	if nobody(c) {
		return nil, fault.New(fault.Unauthenticated, "Sign in first.")
	}
	site, err := s.cfg.Store.FindSite(ctx, siteID)
	if err != nil {
		return nil, err
	}
	m, err := s.membership(ctx, c, site.AccountID)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.Missing("site", siteID)
	}
	if err != nil {
		return nil, err
	}
	scope := Scope{AccountID: site.AccountID, SiteID: site.ID}
	return &Editor{
		svc: s, guard: s.scoped(scope, c.TokenID(), m.allows()), site: site, userID: c.UserID(), mailboxes: slices.Clone(m.Mailboxes),
	}, nil
}

// Operator opens a site for the operator of the program: the command line and embedding applications. It may do everything
// that [Editor] offers.
func (s *Service) Operator(ctx context.Context, siteID int64) (*Editor, error) {
	site, err := s.cfg.Store.FindSite(ctx, siteID)
	if err != nil {
		return nil, err
	}
	scope := Scope{AccountID: site.AccountID, SiteID: site.ID}
	return &Editor{svc: s, guard: s.scoped(scope, 0, func(Permission) bool { return true }), site: site}, nil
}

// SiteID returns the id of the site.
func (e *Editor) SiteID() int64 { return e.site.ID }

// DefaultLocale returns the default locale of the account.
func (e *Editor) DefaultLocale() string { return e.site.DefaultLocale }

// URL returns the address of the site.
func (e *Editor) URL() string { return e.svc.URL(e.site) }

// Holds reports whether the member has a permission.
func (e *Editor) Holds(p Permission) bool { return e.guard.Allows(p) }

// emit appends an event about a resource to the account's log.
func (e *Editor) emit(ctx context.Context, tx Tx, kind string, subject int64) error {
	return tx.Emit(ctx, e.svc.event(kind, e.userID, e.site.ID, subject))
}

// event carries only ids: readers fetch the resource with their own permissions.
func (s *Service) event(kind string, userID, siteID, subject int64) storage.Event {
	data, _ := json.Marshal(map[string]int64{"id": subject, "site_id": siteID}) // a map of integers always encodes
	return storage.Event{Type: kind, Subject: subject, ActorID: userID, Data: data, Time: s.now()}
}
