package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// domain as the API shows it.
type domain struct {
	ID         int64       `json:"id"`
	AccountID  int64       `json:"account_id"`
	Domain     string      `json:"domain" description:"The whole name, in its ASCII form."`
	Subdomain  *string     `json:"subdomain" description:"The part of the name before the registered domain; null without one."`
	Verified   bool        `json:"verified" description:"At least one of the records is."`
	DNSRecords []dnsRecord `json:"dns_records" description:"To be published by the owner of the domain."`
	CreatedAt  Time        `json:"created_at"`
	UpdatedAt  Time        `json:"updated_at"`
}

type dnsRecord struct {
	Label    string  `json:"label" description:"DKIM, SPF or DMARC."`
	Type     string  `json:"type" description:"TXT or CNAME."`
	Hostname string  `json:"hostname" description:"Absolute, without the final dot."`
	Value    string  `json:"value" description:"What is longer than 255 bytes goes into several strings of one record. A domain has one SPF and one DMARC record: mechanisms are added to the one that is there."`
	Verified bool    `json:"verified" description:"At the last look. SPF and DMARC count only together with the DKIM key, as every domain has them."`
	Problem  *string `json:"problem" description:"What was wrong at the last look."`
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

func (a *api) addDomains(t *Table) {
	Handle(t, a.desk, Operation{
		ID: "createDomain", Method: http.MethodPost, Path: domainsPath, Tag: "Domains", Status: http.StatusCreated,
		Summary:     "Create a domain",
		Description: "With a DKIM key of its own and the records to publish. 422 for a name that cannot be registered or is there already. Needs domains.create.",
	}, a.createDomain)
	HandlePage(t, a.desk, Operation{
		ID: "listDomains", Method: http.MethodGet, Path: domainsPath, Tag: "Domains",
		Summary:     "List domains",
		Description: "Oldest first. Needs domains.view.",
	}, a.listDomains)
	Handle(t, a.desk, Operation{
		ID: "getDomain", Method: http.MethodGet, Path: domainPath, Tag: "Domains",
		Summary:     "Retrieve a domain",
		Description: "Needs domains.view.",
	}, a.getDomain)
	Handle(t, a.desk, Operation{
		ID: "updateDomain", Method: http.MethodPut, Path: domainPath, Tag: "Domains",
		Summary:     "Give a domain another name",
		Description: "The records are made anew then, with another DKIM key, and none is verified. Needs domains.update.",
	}, a.updateDomain)
	HandleEmpty(t, a.desk, Operation{
		ID: "deleteDomain", Method: http.MethodDelete, Path: domainPath, Tag: "Domains",
		Summary:     "Delete a domain",
		Description: "Its DKIM key is lost. Needs domains.delete.",
	}, a.deleteDomain)
	Handle(t, a.desk, Operation{
		ID: "verifyDomain", Method: http.MethodPost, Path: domainPath + "/verify-dns", Tag: "Domains",
		Summary: "Look up the records of a domain",
		Description: "A record whose look-up fails stays as it was, and its problem says so. " +
			"404 with the code feature_disabled where the server has no resolver. Needs domains.update.",
	}, a.verifyDomain)
}

func (a *api) createDomain(ctx context.Context, d *helpdesk.Desk, in domainInput) (domain, error) {
	out, err := d.CreateDomain(ctx, in.Domain)
	return showDomain(out), err
}

func (a *api) listDomains(ctx context.Context, d *helpdesk.Desk, in Paging) (storage.Page[domain], error) {
	page, err := d.Domains(ctx, in.Request())
	return mapPage(page, showDomain), err
}

func (a *api) getDomain(ctx context.Context, d *helpdesk.Desk, in domainID) (domain, error) {
	out, err := d.Domain(ctx, in.DomainID)
	return showDomain(out), err
}

func (a *api) updateDomain(ctx context.Context, d *helpdesk.Desk, in domainUpdate) (domain, error) {
	out, err := d.UpdateDomain(ctx, in.DomainID, in.Domain)
	return showDomain(out), err
}

func (a *api) deleteDomain(ctx context.Context, d *helpdesk.Desk, in domainID) error {
	return d.DeleteDomain(ctx, in.DomainID)
}

func (a *api) verifyDomain(ctx context.Context, d *helpdesk.Desk, in domainID) (domain, error) {
	out, err := d.VerifyDomain(ctx, in.DomainID)
	return showDomain(out), err
}

func showDomain(d helpdesk.Domain) domain {
	out := domain{
		ID: d.ID, AccountID: d.AccountID, Domain: d.Name, Subdomain: textOrNull(d.Subdomain()), Verified: d.Verified(),
		DNSRecords: []dnsRecord{}, CreatedAt: Time(d.CreatedAt), UpdatedAt: Time(d.UpdatedAt),
	}
	for _, r := range d.Records {
		out.DNSRecords = append(out.DNSRecords, dnsRecord{
			Label: r.Label, Type: r.Type, Hostname: r.Hostname, Value: r.Value, Verified: r.Verified, Problem: textOrNull(r.Problem),
		})
	}
	return out
}
