package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// site as the API shows it.
type site struct {
	ID            int64   `json:"id"`
	AccountID     int64   `json:"account_id"`
	MailboxID     *int64  `json:"mailbox_id" description:"Mailbox for messages from the contact form."`
	Name          string  `json:"name"`
	Host          string  `json:"host" description:"The custom domain if set, else subdomain_host."`
	Path          string  `json:"path" description:"First segment of all page paths. Empty: the site is at the root of its host."`
	Subdomain     string  `json:"subdomain"`
	SubdomainHost string  `json:"subdomain_host"`
	CustomDomain  string  `json:"custom_domain"`
	URL           string  `json:"url"`
	HTMLHead      *string `json:"html_head" description:"HTML inserted into the head of every page."`
	Visibility    string  `json:"visibility" enum:"public,private"`
	siteLook
	CreatedAt transport.Time `json:"created_at"`
	UpdatedAt transport.Time `json:"updated_at"`
}

type siteInput struct {
	AccountID    int64                      `json:"account_id" required:"true" description:"A site cannot move to another account."`
	Name         string                     `json:"name" required:"true" maxLength:"200" example:"Help center"`
	MailboxID    storage.Opt[int64]         `json:"mailbox_id" description:"Id of the account."`
	Path         storage.Opt[string]        `json:"path" example:"help" description:"At most 64 characters of a-z, 0-9, - and _. Default: random. May be empty with a subdomain or a custom domain."`
	Subdomain    storage.Opt[string]        `json:"subdomain" example:"acme" description:"One label of a host name."`
	CustomDomain storage.Opt[string]        `json:"custom_domain" example:"help.example.org" description:"All sites on one host belong to the same account."`
	HTMLHead     storage.Opt[string]        `json:"html_head" description:"At most 64 KiB."`
	Visibility   storage.Opt[kb.Visibility] `json:"visibility" enum:"public,private" description:"private: only members of the account. Default: public."`
	siteLookInput
}

// CheckInput requires the account, and thereby all required fields.
func (in *siteInput) CheckInput(problem func(field, text string)) {
	if in.AccountID != 0 {
		return
	}
	problem("account_id", "is required")
	if in.Name == "" {
		problem("name", "is required")
	}
}

func (in siteInput) input() kb.SiteInput {
	return kb.SiteInput{
		AccountID: in.AccountID, Name: in.Name, MailboxID: in.MailboxID, Path: in.Path, Subdomain: in.Subdomain,
		CustomDomain: in.CustomDomain, HTMLHead: in.HTMLHead, Visibility: in.Visibility, Look: in.look(),
	}
}

type siteList struct {
	AccountID int64 `query:"account_id" required:"true"`
	transport.Paging
}

// CheckInput requires the account.
func (in *siteList) CheckInput(problem func(field, text string)) {
	if in.AccountID == 0 {
		problem("account_id", "is required")
	}
}

type accountSiteList struct {
	AccountID int64 `path:"account_id"`
	transport.Paging
}

func (a *api) addSites(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Sites", Summary: summary, Description: description}
	}
	create := op("createSite", http.MethodPost, sitesPath, "Create a site",
		"422 if another site has the same host and path. Needs sites.create in the account.")
	create.Status, create.Within = http.StatusCreated, "account"
	transport.Handle(t, a.sites, create, func(ctx context.Context, h *kb.Sites, in siteInput) (site, error) {
		out, err := h.Create(ctx, in.input())
		return a.showSite(out), err
	})
	list := op("listSites", http.MethodGet, sitesPath, "List sites", "The sites of an account, oldest first. Needs sites.view.")
	list.Within = "account"
	transport.HandlePage(t, a.sites, list,
		func(ctx context.Context, h *kb.Sites, in siteList) (storage.Page[site], error) {
			page, err := h.List(ctx, in.AccountID, in.Request())
			return mapPage(page, a.showSite), err
		})
	transport.HandlePage(t, a.sites, op("listAccountSites", http.MethodGet, accountSitesPath, "List the sites of an account",
		"Oldest first. Needs sites.view."),
		func(ctx context.Context, h *kb.Sites, in accountSiteList) (storage.Page[site], error) {
			page, err := h.List(ctx, in.AccountID, in.Request())
			return mapPage(page, a.showSite), err
		})
	transport.Handle(t, a.editor, op("getSite", http.MethodGet, sitePath, "Retrieve a site", "Needs sites.view."),
		func(ctx context.Context, e *kb.Editor, _ struct{}) (site, error) {
			out, err := e.Site(ctx)
			return a.showSite(out), err
		})
	transport.Handle(t, a.editor, op("updateSite", http.MethodPut, sitePath, "Update a site",
		"Omitted fields stay unchanged. Needs sites.update."),
		func(ctx context.Context, e *kb.Editor, in siteInput) (site, error) {
			out, err := e.UpdateSite(ctx, in.input())
			return a.showSite(out), err
		})
	transport.HandleEmpty(t, a.editor, slow(op("deleteSite", http.MethodDelete, sitePath, "Delete a site",
		"Deletes the site with everything in it. Needs sites.delete.")),
		func(ctx context.Context, e *kb.Editor, _ struct{}) error { return e.DeleteSite(ctx) })
}

func (a *api) showSite(s kb.Site) site {
	if s.ID == 0 {
		return site{} // the operation failed
	}
	return site{
		ID: s.ID, AccountID: s.AccountID, MailboxID: idOrNull(s.MailboxID), Name: s.Name, Host: a.kb.Host(s), Path: s.Path,
		Subdomain: s.Subdomain, SubdomainHost: a.kb.SubdomainHost(s), CustomDomain: s.CustomDomain, URL: a.kb.URL(s),
		HTMLHead: textOrNull(s.HTMLHead), Visibility: string(s.Visibility), siteLook: showLook(s.Look), CreatedAt: transport.Time(s.CreatedAt), UpdatedAt: transport.Time(s.UpdatedAt),
	}
}
