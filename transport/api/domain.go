package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// domain as the API shows it.
type domain struct {
	ID         int64          `json:"id"`
	AccountID  int64          `json:"account_id"`
	Domain     string         `json:"domain" description:"The full name, in ASCII form."`
	Subdomain  *string        `json:"subdomain" description:"The part of the name before the registered domain. Null if there is none."`
	Verified   bool           `json:"verified" description:"Whether at least one of the records is verified."`
	DNSRecords []dnsRecord    `json:"dns_records" description:"Records for the domain's owner to publish."`
	CreatedAt  transport.Time `json:"created_at"`
	UpdatedAt  transport.Time `json:"updated_at"`
}

type dnsRecord struct {
	Label    string  `json:"label" description:"DKIM, SPF or DMARC."`
	Type     string  `json:"type" description:"TXT or CNAME."`
	Hostname string  `json:"hostname" description:"Absolute name without the final dot."`
	Value    string  `json:"value" description:"Value of the record. Split values over 255 bytes into several strings of one record. A domain has only one SPF and one DMARC record: add the mechanisms to an existing one."`
	Verified bool    `json:"verified" description:"Whether the record was found at the last check. SPF and DMARC count only together with the DKIM key."`
	Problem  *string `json:"problem" description:"What was wrong at the last check."`
}

type domainInput struct {
	Domain string `json:"domain" required:"true" example:"example.org"`
}

type domainID struct {
	DomainID int64 `path:"domain_id"`
}

type domainUpdate struct {
	domainID
	domainInput
}

const (
	domainsPath = accountPath + "/domains"
	domainPath  = domainsPath + "/{domain_id}"
)

func (a *api) addDomains(t *transport.Table) {
	transport.Handle(t, a.desk, transport.Operation{
		ID: "createDomain", Method: http.MethodPost, Path: domainsPath, Tag: "Domains", Status: http.StatusCreated,
		Summary:     "Create a domain",
		Description: "Creates it with its own DKIM key and the DNS records to publish. 422 for a name that cannot be registered or already exists. Needs domains.create.",
	}, a.createDomain)
	transport.HandlePage(t, a.desk, transport.Operation{
		ID: "listDomains", Method: http.MethodGet, Path: domainsPath, Tag: "Domains",
		Summary:     "List domains",
		Description: "Oldest first. Needs domains.view.",
	}, a.listDomains)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "getDomain", Method: http.MethodGet, Path: domainPath, Tag: "Domains",
		Summary:     "Retrieve a domain",
		Description: "Needs domains.view.",
	}, a.getDomain)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "updateDomain", Method: http.MethodPut, Path: domainPath, Tag: "Domains",
		Summary:     "Rename a domain",
		Description: "Creates new records with a new DKIM key; none is verified. Needs domains.update.",
	}, a.updateDomain)
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "deleteDomain", Method: http.MethodDelete, Path: domainPath, Tag: "Domains",
		Summary:     "Delete a domain",
		Description: "Also deletes its DKIM key. Needs domains.delete.",
	}, a.deleteDomain)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "verifyDomain", Method: http.MethodPost, Path: domainPath + "/verify-dns", Tag: "Domains",
		Summary: "Verify a domain's DNS records",
		Description: "A record whose lookup fails keeps its state, and its problem says so. 404 with code feature_disabled if the server has " +
			"no resolver. Needs domains.update.",
	}, a.verifyDomain)
}

func (a *api) createDomain(ctx context.Context, d *helpdesk.Desk, in domainInput) (domain, error) {
	out, err := d.Domains().Create(ctx, in.Domain)
	return showDomain(out), err
}

func (a *api) listDomains(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[domain], error) {
	page, err := d.Domains().List(ctx, in.Request())
	return mapPage(page, showDomain), err
}

func (a *api) getDomain(ctx context.Context, d *helpdesk.Desk, in domainID) (domain, error) {
	out, err := d.Domains().Get(ctx, in.DomainID)
	return showDomain(out), err
}

func (a *api) updateDomain(ctx context.Context, d *helpdesk.Desk, in domainUpdate) (domain, error) {
	out, err := d.Domains().Update(ctx, in.DomainID, in.Domain)
	return showDomain(out), err
}

func (a *api) deleteDomain(ctx context.Context, d *helpdesk.Desk, in domainID) error {
	return d.Domains().Delete(ctx, in.DomainID)
}

func (a *api) verifyDomain(ctx context.Context, d *helpdesk.Desk, in domainID) (domain, error) {
	out, err := d.Domains().Verify(ctx, in.DomainID)
	return showDomain(out), err
}

func showDomain(d sending.Domain) domain {
	out := domain{
		ID: d.ID, AccountID: d.AccountID, Domain: d.Name, Subdomain: textOrNull(d.Subdomain()), Verified: d.Verified(),
		DNSRecords: []dnsRecord{}, CreatedAt: transport.Time(d.CreatedAt), UpdatedAt: transport.Time(d.UpdatedAt),
	}
	for _, r := range d.Records {
		out.DNSRecords = append(out.DNSRecords, dnsRecord{
			Label: r.Label, Type: r.Type, Hostname: r.Hostname, Value: r.Value, Verified: r.Verified, Problem: textOrNull(r.Problem),
		})
	}
	return out
}
