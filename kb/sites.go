package kb

import (
	"context"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Sites creates and lists the sites of the caller's accounts.
type Sites struct {
	svc    *Service
	userID int64
	// open returns the guard on an account, and what the member may do there.
	open func(ctx context.Context, accountID int64) (editorGuard, Membership, error)
}

// Sites returns the handle for creating and listing sites. An anonymous caller gets an Unauthenticated fault.
func (s *Service) Sites(c Caller) (*Sites, error) {
	if nobody(c) {
		return nil, fault.New(fault.Unauthenticated, "Sign in first.")
	}
	open := func(ctx context.Context, accountID int64) (editorGuard, Membership, error) {
		m, err := s.membership(ctx, c, accountID)
		if err != nil {
			return editorGuard{}, Membership{}, err
		}
		return s.scoped(Scope{AccountID: accountID}, c.TokenID(), m.allows()), m, nil
	}
	return &Sites{svc: s, userID: c.UserID(), open: open}, nil
}

// List lists the sites of an account, oldest first. It needs sites.view in the account. An account that the caller is not a
// member of is a NotFound fault.
func (h *Sites) List(ctx context.Context, accountID int64, req storage.PageRequest) (storage.Page[Site], error) {
	g, _, err := h.open(ctx, accountID)
	if err != nil {
		return storage.Page[Site]{}, err
	}
	r, err := g.Read(SitesView)
	if err != nil {
		return storage.Page[Site]{}, err
	}
	return storage.List(req, false, func(s Site) storage.Position { return storage.Position{ID: s.ID} },
		func(seek storage.Seek) ([]Site, error) { return r.Sites().List(ctx, storage.NoFilter{}, seek) })
}

// Create creates a site. It needs sites.create in the account. An account that the caller is not a member of is a NotFound
// fault. An address that another site uses is an Invalid fault.
func (h *Sites) Create(ctx context.Context, in SiteInput) (Site, error) {
	g, m, err := h.open(ctx, in.AccountID)
	if err != nil {
		return Site{}, err
	}
	begin, err := g.Write(SitesCreate)
	if err != nil {
		return Site{}, err
	}
	var site Site
	for range 4 {
		now := h.svc.now()
		site = Site{AccountID: in.AccountID, CreatedAt: now, UpdatedAt: now}
		if err := h.svc.apply(&site, in, reaching(m.Mailboxes)); err != nil {
			return Site{}, err
		}
		given := site.Path != "" || in.Path.IsSet() && site.HostKey != SharedHost
		if !given {
			if site.Path, err = h.svc.random(12); err != nil {
				return Site{}, err
			}
		}
		err = begin(ctx, func(ctx context.Context, tx Tx) error {
			if err := h.insert(ctx, tx, &site); err != nil {
				return err
			}
			return in.Look.checkImages(ctx, tx.Files()) // a new site has no files
		})
		if given || !isUnique(err, UniqueSitePath) {
			break
		}
	}
	return site, site.taken(err)
}

// insert stores a site and reads back the fields that come from its account.
func (h *Sites) insert(ctx context.Context, tx Tx, site *Site) error {
	if err := tx.Sites().Insert(ctx, site); err != nil {
		return err
	}
	stored, err := tx.Sites().Get(ctx, site.ID)
	if err != nil {
		return err
	}
	*site = stored
	return tx.Emit(ctx, h.svc.event("site.created", h.userID, site.ID, site.ID))
}
