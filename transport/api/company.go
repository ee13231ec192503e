package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// company as the API shows it.
type company struct {
	ID         int64          `json:"id"`
	AccountID  int64          `json:"account_id"`
	Name       string         `json:"name"`
	Domains    []string       `json:"domains" description:"Domains of its mail addresses in ASCII form, sorted."`
	Note       string         `json:"note" description:"The team's note about the company, as plain text."`
	ExternalID string         `json:"external_id" description:"Its id in another system. Empty: none."`
	Fields     map[string]any `json:"fields" description:"Values of the fields of companies. By key: a text, a number, true or false, the value of an option, a date such as 2026-01-31, a time, or a list for a multiselect. Null: none."`
	CreatedAt  transport.Time `json:"created_at"`
	UpdatedAt  transport.Time `json:"updated_at"`
}

type companyInput struct {
	Name       string                `json:"name" required:"true" maxLength:"200" example:"Acme"`
	Domains    storage.Opt[[]string] `json:"domains" maxItems:"50" description:"Domains of its mail addresses; the list replaces the former one. New customers with an address there join the company. A subdomain is a domain of its own. Not those of public mail providers." example:"[\"acme.example\"]"`
	Note       storage.Opt[string]   `json:"note" maxLength:"10000" description:"Plain text, visible to the team only."`
	ExternalID storage.Opt[string]   `json:"external_id" maxLength:"200" description:"Its id in another system, unique in the account. Empty or null: none."`
	Fields     fieldValues           `json:"fields" description:"Values of fields. By key: a text, a number, true or false, the value of an option, a date such as 2026-01-31, a time, or a list for a multiselect. Null or empty: none. Omitted keys stay unchanged."`
}

func (in companyInput) input() helpdesk.CompanyInput {
	return helpdesk.CompanyInput{Name: in.Name, Domains: in.Domains, Note: in.Note, ExternalID: in.ExternalID, Fields: in.Fields.texts()}
}

type companyID struct {
	CompanyID int64 `path:"company_id"`
}

type companyUpdate struct {
	companyID
	companyInput
}

type companyList struct {
	transport.Paging
	Query      string `query:"query" description:"A part of the name, ignoring case."`
	Domain     string `query:"domain" description:"The company with this mail domain."`
	ExternalID string `query:"external_id" description:"The company with this external id."`
}

type companyMerge struct {
	companyID
	Into int64 `json:"into" required:"true" description:"The company that remains." example:"2"`
}

const (
	companiesPath = accountPath + "/companies"
	companyPath   = companiesPath + "/{company_id}"
)

func (a *api) addCompanies(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Companies", Summary: summary, Description: description}
	}
	create := op("createCompany", http.MethodPost, companiesPath, "Create a company",
		"422 for a domain or an external id that another company has. Customers who have an address at one of its domains and no "+
			"company soon join it. Needs companies.create.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in companyInput) (company, error) {
		made, err := d.Companies().Create(ctx, in.input())
		return oneCompany(ctx, d, made, err)
	})
	transport.HandlePage(t, a.desk, op("listCompanies", http.MethodGet, companiesPath, "List companies", "Oldest first. Needs companies.view."),
		func(ctx context.Context, d *helpdesk.Desk, in companyList) (storage.Page[company], error) {
			page, err := d.Companies().List(ctx, helpdesk.CompanyQuery{Query: in.Query, Domain: in.Domain, ExternalID: in.ExternalID}, in.Request())
			if err != nil {
				return storage.Page[company]{}, err
			}
			shown, err := showCompanies(ctx, d, page.Items)
			return storage.Page[company]{Items: shown, Next: page.Next, Prev: page.Prev}, err
		})
	transport.Handle(t, a.desk, op("getCompany", http.MethodGet, companyPath, "Retrieve a company",
		"Its customers and conversations are those with its company_id, see listCustomers and listConversations. Needs companies.view."),
		func(ctx context.Context, d *helpdesk.Desk, in companyID) (company, error) {
			found, err := d.Companies().Get(ctx, in.CompanyID)
			return oneCompany(ctx, d, found, err)
		})
	transport.Handle(t, a.desk, op("updateCompany", http.MethodPut, companyPath, "Update a company",
		"Soon after, its customers show a new name, and customers who have an address at a new domain and no company join it. Who "+
			"joined by a domain that is removed stays. Needs companies.update."),
		func(ctx context.Context, d *helpdesk.Desk, in companyUpdate) (company, error) {
			changed, err := d.Companies().Update(ctx, in.CompanyID, in.input())
			return oneCompany(ctx, d, changed, err)
		})
	remove := op("deleteCompany", http.MethodDelete, companyPath, "Delete a company",
		"Its customers stay: company_id becomes null, and company keeps the name as text. Needs companies.delete.")
	remove.Slow = true
	transport.HandleEmpty(t, a.desk, remove, func(ctx context.Context, d *helpdesk.Desk, in companyID) error {
		return d.Companies().Delete(ctx, in.CompanyID)
	})
	merge := op("mergeCompany", http.MethodPost, companyPath+"/merge", "Merge a company into another",
		"Moves its customers and domains to the other company and removes it. The other keeps its name, its external id and each field unless it has none; "+
			"notes are joined. Returns the other company. Needs companies.update and companies.delete.")
	merge.Slow = true
	transport.Handle(t, a.desk, merge, func(ctx context.Context, d *helpdesk.Desk, in companyMerge) (company, error) {
		merged, err := d.Companies().Merge(ctx, in.CompanyID, in.Into)
		return oneCompany(ctx, d, merged, err)
	})
}

// showCompanies shows companies with their fields.
func showCompanies(ctx context.Context, d *helpdesk.Desk, rows []helpdesk.Company) ([]company, error) {
	set, err := d.Companies().Fields(ctx, ids(rows, func(c helpdesk.Company) []int64 { return []int64{c.ID} }))
	if err != nil {
		return nil, err
	}
	shown := make([]company, len(rows))
	for i, c := range rows {
		shown[i] = showCompany(d, c)
		shown[i].Fields = showFields(set, c.ID)
	}
	return shown, nil
}

// oneCompany shows a company with the fields.
func oneCompany(ctx context.Context, d *helpdesk.Desk, c helpdesk.Company, err error) (company, error) {
	if err != nil {
		return company{}, err
	}
	shown, err := showCompanies(ctx, d, []helpdesk.Company{c})
	if err != nil {
		return company{}, err
	}
	return shown[0], nil
}

func showCompany(d *helpdesk.Desk, c helpdesk.Company) company {
	return company{
		ID: c.ID, AccountID: d.AccountID(), Name: c.Name, Domains: append([]string{}, c.Domains...), Note: c.Note, ExternalID: c.ExternalID,
		CreatedAt: transport.Time(c.CreatedAt), UpdatedAt: transport.Time(c.UpdatedAt),
	}
}
