package api

import (
	"context"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
)

// Paths of the knowledge base.
const (
	sitesPath        = "/sites"
	sitePath         = sitesPath + "/{site_id}"
	accountSitesPath = accountPath + "/sites"
)

// siteAlias returns the alternative path of an operation that creates something in a site.
func siteAlias(path string) []string {
	return []string{strings.Replace(path, sitePath, "/site/{site_id}", 1)}
}

// Members returns the memberships of a help desk, for kb.Config.Membership: callers are those of
// [helpdesk.Service].Authenticate and As.
func Members(svc *helpdesk.Service) func(ctx context.Context, c kb.Caller, accountID int64) (kb.Membership, error) {
	return func(ctx context.Context, c kb.Caller, accountID int64) (kb.Membership, error) {
		caller, ok := c.(helpdesk.Caller)
		if !ok {
			return kb.Membership{}, fault.Newf(fault.Internal, "a %T is not a caller of the help desk", c)
		}
		d, err := svc.Desk(ctx, caller, accountID)
		if err != nil {
			return kb.Membership{}, err
		}
		m := kb.Membership{Mailboxes: d.Scope().Mailboxes}
		for _, p := range d.Permissions() {
			m.Permissions = append(m.Permissions, kb.Permission(p))
		}
		return m, nil
	}
}

func (a *api) addKnowledgeBase(t *transport.Table) {
	a.addSites(t)
	a.addSiteSearch(t)
	a.addAnswers(t)
	a.addSiteFiles(t)
	a.addThemes(t)
	a.addThemeFiles(t)
	a.addCollections(t)
	a.addCategories(t)
	a.addArticles(t)
	a.addFeedback(t)
}

// knowledge returns the knowledge base, if the server has one.
func (a *api) knowledge(r *transport.Request) (*kb.Service, error) {
	if a.kb == nil {
		return nil, fault.New(fault.Disabled, "This server has no knowledge base.")
	}
	return a.kb.From(r.ClientAddr()), nil
}

// sites is the resolver of operations above single sites.
func (a *api) sites(ctx context.Context, r *transport.Request) (*kb.Sites, error) {
	caller, err := a.caller(ctx, r)
	if err != nil {
		return nil, err
	}
	svc, err := a.knowledge(r)
	if err != nil {
		return nil, err
	}
	return svc.Sites(caller)
}

// editor is the resolver of operations that manage a site.
func (a *api) editor(ctx context.Context, r *transport.Request) (*kb.Editor, error) {
	caller, err := a.caller(ctx, r)
	if err != nil {
		return nil, err
	}
	svc, err := a.knowledge(r)
	if err != nil {
		return nil, err
	}
	return svc.Editor(ctx, caller, r.ParamID("site_id"))
}

// anyone returns the caller of a request that may come without credentials; without them it is the zero Caller.
func (a *api) anyone(ctx context.Context, r *transport.Request) (helpdesk.Caller, error) {
	if a.authenticate == nil && r.Credentials() == "" {
		return helpdesk.Caller{}, nil
	}
	caller, err := a.caller(ctx, r)
	if fault.Is(err, fault.Unauthenticated) && r.Credentials() == "" {
		return helpdesk.Caller{}, nil
	}
	return caller, err
}
