package helpdesk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/plain"
)

// importedCompanies finds, creates and completes the companies of some imported customers.
type importedCompanies struct {
	s       *Service
	account int64
	now     time.Time
	known   map[string]Company // by what identifies them in the import
}

// join gives a customer the company of an import, unless the customer has one already.
func (all *importedCompanies) join(ctx context.Context, book customerBook, in ImportedCompany, c *Customer) error {
	in.Name = plain.Cut(plain.Line(in.Name), 200)
	if c.CompanyID != 0 || c.Company != "" && plain.Key(c.Company) != plain.Key(in.Name) {
		return nil
	}
	if !plain.Visible(in.Name) {
		if c.ID == 0 {
			return joinBooked(ctx, book, c)
		}
		return nil
	}
	c.Company = in.Name
	tx, real := book.(Tx)
	if !real {
		return nil // a rehearsal tells nothing of companies
	}
	key := fmt.Sprintf("%q %q", in.ExternalID, plain.Key(in.Name))
	of, known := all.known[key]
	if !known {
		var err error
		if of, err = all.ensureCompany(ctx, tx, in); err != nil {
			return err
		}
		all.known[key] = of
	}
	c.CompanyID, c.Company = of.ID, of.Name
	return nil
}

// ensureCompany returns the company of an import, as it is after the import.
func (all *importedCompanies) ensureCompany(ctx context.Context, tx Tx, in ImportedCompany) (Company, error) {
	in.ExternalID = plain.Cut(plain.Line(in.ExternalID), 200)
	id, err := in.find(ctx, tx)
	if err != nil {
		return Company{}, err
	}
	if id == 0 {
		c := Company{Name: in.Name, Key: plain.Key(in.Name), ExternalID: in.ExternalID, Note: plain.Cut(plain.Lines(in.Note), MaxNote), CreatedAt: all.now, UpdatedAt: all.now}
		if c.Domains, err = in.domains(ctx, tx, c); err != nil {
			return Company{}, err
		}
		return c, all.s.insertCompany(ctx, tx, all.account, storage.Event{Type: "company.created", Time: all.now}, &c)
	}
	old, err := companyNoun().Rows(tx).Lock(ctx, id)
	if err != nil {
		return Company{}, err
	}
	c := old
	if c.ExternalID == "" {
		c.ExternalID = in.ExternalID
	}
	if note := plain.Lines(in.Note); note != "" && !strings.Contains(c.Note, note) && plain.Length(joinedNotes(c.Note, note)) <= MaxNote {
		c.Note = joinedNotes(c.Note, note)
	}
	if c.Domains, err = in.domains(ctx, tx, c); err != nil || c.same(old) {
		return c, err
	}
	c.UpdatedAt = all.now
	if err := all.s.storeCompany(ctx, tx, all.account, old, &c); err != nil {
		return Company{}, err
	}
	return c, tx.Emit(ctx, storage.Event{Type: "company.updated", Subject: c.ID, Data: eventData(c.ID), Time: all.now})
}

// find returns the id of the company with the external id, or else of the oldest with the name that has no other external id; 0:
// there is none.
func (in ImportedCompany) find(ctx context.Context, tx Tx) (int64, error) {
	if in.ExternalID != "" {
		keys, err := companyKeyNoun().Rows(tx).List(ctx, CompanyKeyFilter{Kind: CompanyExternal, Values: []string{in.ExternalID}}, storage.Seek{Limit: 1})
		if err != nil || len(keys) > 0 {
			return firstCompany(keys), err
		}
	}
	named, err := companyNoun().Rows(tx).List(ctx, CompanyFilter{Key: plain.Key(in.Name)}, storage.Seek{Limit: 100})
	for _, c := range named {
		if c.ExternalID == "" || in.ExternalID == "" {
			return c.ID, err
		}
	}
	return 0, err
}

func firstCompany(keys []CompanyKey) int64 {
	for _, k := range keys {
		return k.CompanyID
	}
	return 0
}

// domains returns the domains of a company with those of the import that it may have.
func (in ImportedCompany) domains(ctx context.Context, tx Tx, c Company) ([]string, error) {
	var fresh []string
	for _, text := range in.Domains {
		if domain := mailDomain(text); domain != "" && !publicProvider(domain) && !slices.Contains(c.Domains, domain) {
			fresh = append(fresh, domain)
		}
	}
	if len(fresh) == 0 {
		return c.Domains, nil
	}
	taken, err := companyKeyNoun().Rows(tx).List(ctx, CompanyKeyFilter{Kind: CompanyDomain, Values: fresh}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return nil, err
	}
	fresh = slices.DeleteFunc(fresh, func(domain string) bool {
		return slices.ContainsFunc(taken, func(k CompanyKey) bool { return k.Value == domain })
	})
	all := sortedTexts(slices.Concat(c.Domains, fresh))
	return all[:min(len(all), MaxCompanyDomains)], nil
}
