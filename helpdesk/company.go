package helpdesk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// MaxCompanyDomains is the maximum number of mail domains of a company.
const MaxCompanyDomains = 50

// Company is an organization that customers belong to.
type Company struct {
	ID         int64
	Name       string
	Key        string   // case-folded Name; two companies may have the same
	Domains    []string // mail domains in ASCII form and lower case, sorted; see [CompanyInput]
	Note       string   // plain text for the team
	ExternalID string   // its id in another system, unique in the account; "": none
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// CompanyKey is a domain or an external id of a company: no two companies of an account have the same.
type CompanyKey struct {
	ID        int64
	CompanyID int64
	Kind      CompanyKeyKind
	Value     string
}

// CompanyKeyKind is what a [CompanyKey] is.
type CompanyKeyKind string

// The kinds of keys.
const (
	CompanyDomain   CompanyKeyKind = "domain"
	CompanyExternal CompanyKeyKind = "external"
)

// UniqueCompanyKey is the code of a store's Conflict fault for a duplicate (account, Kind, Value) of a [CompanyKey].
const UniqueCompanyKey = "company_key"

// CompanyFilter narrows a list of companies. The zero value selects all.
type CompanyFilter struct {
	Words string // a part of Key
	Key   string // the whole Key
}

// CompanyKeyFilter narrows a list of keys of companies. The zero value selects all.
type CompanyKeyFilter struct {
	CompanyID int64
	Kind      CompanyKeyKind
	Values    []string // any of these, with a Kind
}

// CompanyInput creates or changes a company. Absent fields are unchanged.
type CompanyInput struct {
	Name string // required, at most 200 characters
	// Domains are the domains of its mail addresses, at most [MaxCompanyDomains]; they replace the former ones. New customers
	// with an address at one of them join the company. A subdomain is a domain of its own. Domains at which anybody can have
	// an address, such as gmail.com, are refused.
	Domains    storage.Opt[[]string]
	Note       storage.Opt[string] // plain text, at most 10,000 characters
	ExternalID storage.Opt[string] // at most 200 characters
	Fields     FieldTexts
}

// companyNoun declares the rows of companies.
func companyNoun() storage.Declared[Company, CompanyFilter] {
	return storage.Declared[Company, CompanyFilter]{
		Noun: storage.Noun[Company]{Name: "company", ID: func(c *Company) *int64 { return &c.ID }},
		Key:  "company", Plural: "companies",
		Columns: []storage.Column[Company]{
			{Name: "name", Field: func(c *Company) any { return &c.Name }},
			{Name: "name_key", Field: func(c *Company) any { return &c.Key }},
			{Name: "domains", Field: func(c *Company) any { return storage.Texts(&c.Domains) }},
			{Name: "note", Field: func(c *Company) any { return &c.Note }},
			{Name: "external_id", Field: func(c *Company) any { return &c.ExternalID }},
			{Name: "created_at", Field: func(c *Company) any { return &c.CreatedAt }},
			{Name: "updated_at", Field: func(c *Company) any { return &c.UpdatedAt }},
		},
		Where: func(f CompanyFilter) []storage.Condition {
			var where []storage.Condition
			if f.Words != "" {
				where = append(where, storage.Condition{Column: "name_key", Contains: f.Words})
			}
			if f.Key != "" {
				where = append(where, storage.OneOf("name_key", []string{f.Key}))
			}
			return where
		},
	}
}

// companyKeyNoun declares the rows of the keys of companies.
func companyKeyNoun() storage.Declared[CompanyKey, CompanyKeyFilter] {
	return storage.Declared[CompanyKey, CompanyKeyFilter]{
		Noun: storage.Noun[CompanyKey]{
			Name: "company key",
			ID:   func(k *CompanyKey) *int64 { return &k.ID },
			Unique: []storage.Unique[CompanyKey]{
				{Code: UniqueCompanyKey, Index: "value", Fields: func(k *CompanyKey) []any { return []any{(*string)(&k.Kind), &k.Value} }},
			},
		},
		Key: "company_key", Plural: "company_keys",
		Columns: []storage.Column[CompanyKey]{
			{Name: "company_id", Field: func(k *CompanyKey) any { return &k.CompanyID }, Refers: "company", Owner: "hw_companies"},
			{Name: "kind", Field: func(k *CompanyKey) any { return (*string)(&k.Kind) }},
			{Name: "value", Field: func(k *CompanyKey) any { return &k.Value }},
		},
		Where: func(f CompanyKeyFilter) []storage.Condition {
			var where []storage.Condition
			if f.CompanyID != 0 {
				where = append(where, storage.OneOf("company_id", []int64{f.CompanyID}))
			}
			if f.Kind != "" {
				where = append(where, storage.OneOf("kind", []string{string(f.Kind)}), storage.OneOf("value", f.Values))
			}
			return where
		},
	}
}

// keys returns the rows of the company's domains and external id.
func (c Company) keys() []*CompanyKey {
	var all []*CompanyKey
	for _, domain := range c.Domains {
		all = append(all, &CompanyKey{CompanyID: c.ID, Kind: CompanyDomain, Value: domain})
	}
	if c.ExternalID != "" {
		all = append(all, &CompanyKey{CompanyID: c.ID, Kind: CompanyExternal, Value: c.ExternalID})
	}
	return all
}

// apply validates in and copies it into c.
func (c *Company) apply(in CompanyInput) error {
	var problems fault.Collector
	c.Name = plain.Line(in.Name)
	c.Key = plain.Key(c.Name)
	required(&problems, "name", c.Name, 200)
	c.Note = plain.Lines(in.Note.Or(c.Note))
	bounded(&problems, "note", c.Note, MaxNote)
	c.ExternalID = plain.Line(in.ExternalID.Or(c.ExternalID))
	if in.ExternalID.IsNull() {
		c.ExternalID = ""
	}
	bounded(&problems, "external_id", c.ExternalID, 200)
	if in.Domains.IsSet() {
		c.Domains = checkCompanyDomains(&problems, in.Domains.Or(nil))
	}
	return problems.Err()
}

// checkCompanyDomains normalises the domains of an input.
func checkCompanyDomains(problems *fault.Collector, in []string) []string {
	if !problems.Check(len(in) <= MaxCompanyDomains, "domains", fmt.Sprintf("has more than %d items", MaxCompanyDomains)) {
		return nil
	}
	var all []string
	for i, text := range in {
		field := fmt.Sprintf("domains[%d]", i)
		domain := mailDomain(text)
		switch {
		case domain == "":
			problems.Add(field, "is not a domain")
		case publicProvider(domain):
			problems.Add(field, "is a provider's, where anybody can have an address")
		default:
			all = append(all, domain)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mailDomain returns a domain as addresses have it in their keys; "" if it is none, or one below which anybody can register.
func mailDomain(text string) string {
	text = strings.TrimPrefix(plain.Line(text), "@")
	address := "x@" + text
	if strings.ContainsAny(text, "@[") || !mailaddr.Valid(address) || organization(domainOf(mailaddr.Key(address))) == "" {
		return ""
	}
	return domainOf(mailaddr.Key(address))
}

// domainOf returns the domain of an address's key.
func domainOf(key string) string {
	_, domain, _ := plain.CutLast(key, "@")
	return domain
}

// Companies are the companies that customers belong to.
type Companies struct{ *desk }

// Companies returns the handle of companies.
func (d *Desk) Companies() Companies { return Companies{&d.desk} }

// Get returns a company. It needs companies.view.
func (d Companies) Get(ctx context.Context, id int64) (Company, error) {
	r, err := d.guard.Read(identity.CompaniesView)
	if err != nil {
		return Company{}, err
	}
	return companyNoun().Reader(r).Get(ctx, id)
}

// ByID returns the existing ones of the given companies. It needs companies.view.
func (d Companies) ByID(ctx context.Context, ids []int64) ([]Company, error) {
	r, err := d.guard.Read(identity.CompaniesView)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return companyNoun().Reader(r).ByIDs(ctx, ids)
}

// CompanyQuery narrows a list of companies. All that is given must hold.
type CompanyQuery struct {
	Query      string // a part of the name, ignoring case
	Domain     string // the company with this mail domain
	ExternalID string // the company with this external id
}

// List lists companies, oldest first. It needs companies.view.
func (d Companies) List(ctx context.Context, q CompanyQuery, req storage.PageRequest) (storage.Page[Company], error) {
	r, err := d.guard.Read(identity.CompaniesView)
	if err != nil {
		return storage.Page[Company]{}, err
	}
	if q.Domain != "" || q.ExternalID != "" {
		found, err := q.byKeys(ctx, r)
		return storage.Page[Company]{Items: found}, err
	}
	filter := CompanyFilter{Words: plain.Key(plain.Cut(plain.Line(q.Query), 200))}
	return storage.List(req, false, func(c Company) storage.Position { return storage.Position{ID: c.ID} },
		func(seek storage.Seek) ([]Company, error) {
			return companyNoun().Reader(d.lists(r)).List(ctx, filter, seek)
		})
}

// byKeys returns the one company that has the keys of a query, or none.
func (q CompanyQuery) byKeys(ctx context.Context, r Reader) ([]Company, error) {
	var id int64
	for kind, value := range map[CompanyKeyKind]string{CompanyDomain: mailDomain(q.Domain), CompanyExternal: plain.Line(q.ExternalID)} {
		if kind == CompanyDomain && q.Domain == "" || kind == CompanyExternal && q.ExternalID == "" {
			continue
		}
		keys, err := companyKeyNoun().Reader(r).List(ctx, CompanyKeyFilter{Kind: kind, Values: []string{value}}, storage.Seek{Limit: 1})
		if err != nil || len(keys) == 0 || id != 0 && keys[0].CompanyID != id {
			return nil, err
		}
		id = keys[0].CompanyID
	}
	found, err := companyNoun().Reader(r).ByIDs(ctx, []int64{id})
	return slices.DeleteFunc(found, func(c Company) bool { return !strings.Contains(c.Key, plain.Key(plain.Line(q.Query))) }), err
}

// Create creates a company. Customers who have an address at one of its domains and no company soon join it. A domain or
// an external id that another company has is an Invalid fault. It needs companies.create.
func (d Companies) Create(ctx context.Context, in CompanyInput) (Company, error) {
	begin, err := d.guard.Write(identity.CompaniesCreate)
	if err != nil {
		return Company{}, err
	}
	now := d.svc.now()
	c := Company{CreatedAt: now, UpdatedAt: now}
	if err := c.apply(in); err != nil {
		return Company{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		c.ID = 0
		if err := d.svc.insertCompany(ctx, tx, d.scope.AccountID, d.event("company.created", 0, 0), &c); err != nil {
			return err
		}
		return setFields(ctx, tx, FieldOfCompany, []int64{c.ID}, in.Fields)
	})
	return c, takenField(err, UniqueCompanyKey, "domains")
}

// insertCompany stores a new company with its keys, and emits an event about it.
func (s *Service) insertCompany(ctx context.Context, tx Tx, accountID int64, e storage.Event, c *Company) error {
	if err := companyKeysFree(ctx, tx, *c); err != nil {
		return err
	}
	if err := companyNoun().Rows(tx).Insert(ctx, c); err != nil {
		return err
	}
	if keys := c.keys(); len(keys) > 0 {
		if err := companyKeyNoun().Rows(tx).Insert(ctx, keys...); err != nil {
			return err
		}
	}
	if err := s.enqueueCompany(ctx, tx, accountID, Company{ID: c.ID, Key: c.Key, Name: c.Name}, *c); err != nil {
		return err
	}
	e.Subject, e.Data = c.ID, eventData(c.ID)
	return tx.Emit(ctx, e)
}

// companyKeysFree names the domains and the external id that other companies have. The database's unique key is the final
// check.
func companyKeysFree(ctx context.Context, tx Tx, c Company) error {
	var problems fault.Collector
	taken := func(kind CompanyKeyKind, values []string, field func(i int) string) error {
		if len(values) == 0 {
			return nil
		}
		found, err := companyKeyNoun().Rows(tx).List(ctx, CompanyKeyFilter{Kind: kind, Values: values}, storage.Seek{Limit: storage.NoLimit})
		for _, k := range found {
			if k.CompanyID != c.ID {
				problems.Add(field(slices.Index(values, k.Value)), "is another company's")
			}
		}
		return err
	}
	if err := taken(CompanyDomain, c.Domains, func(i int) string { return fmt.Sprintf("domains[%d]", i) }); err != nil {
		return err
	}
	if c.ExternalID != "" {
		if err := taken(CompanyExternal, []string{c.ExternalID}, func(int) string { return "external_id" }); err != nil {
			return err
		}
	}
	return problems.Err()
}

// Update changes a company. Its customers soon show a new name, and customers who have an address at a new domain and no
// company join it. A customer who joined by a domain that is removed stays. A domain or an external id that another company
// has is an Invalid fault. It needs companies.update.
func (d Companies) Update(ctx context.Context, id int64, in CompanyInput) (Company, error) {
	begin, err := d.guard.Write(identity.CompaniesUpdate)
	if err != nil {
		return Company{}, err
	}
	var c Company
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		old, err := companyNoun().Rows(tx).Lock(ctx, id)
		if err != nil {
			return err
		}
		c = old
		if err := c.apply(in); err != nil {
			return err
		}
		if c.same(old) && len(in.Fields) == 0 {
			return nil
		}
		c.UpdatedAt = d.svc.now()
		if err := d.svc.storeCompany(ctx, tx, d.scope.AccountID, old, &c); err != nil {
			return err
		}
		if err := setFields(ctx, tx, FieldOfCompany, []int64{id}, in.Fields); err != nil {
			return err
		}
		return d.emit(ctx, tx, "company.updated", c.ID, 0)
	})
	return c, takenField(err, UniqueCompanyKey, "domains")
}

// SetFields sets fields of a company; absent ones are unchanged. It needs companies.update.
func (d Companies) SetFields(ctx context.Context, id int64, fields FieldTexts) (Company, error) {
	begin, err := d.guard.Write(identity.CompaniesUpdate)
	if err != nil {
		return Company{}, err
	}
	var c Company
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if c, err = companyNoun().Rows(tx).Lock(ctx, id); err != nil {
			return err
		}
		if err := setFields(ctx, tx, FieldOfCompany, []int64{id}, fields); err != nil {
			return err
		}
		c.UpdatedAt = d.svc.now()
		if err := companyNoun().Rows(tx).Update(ctx, &c); err != nil {
			return err
		}
		return d.emit(ctx, tx, "company.updated", id, 0)
	})
	return c, err
}

// same reports whether nothing of a company differs that people change.
func (c Company) same(old Company) bool {
	return c.Name == old.Name && c.Note == old.Note && c.ExternalID == old.ExternalID && slices.Equal(c.Domains, old.Domains)
}

// storeCompany stores a changed company with its keys, and what follows for customers.
func (s *Service) storeCompany(ctx context.Context, tx Tx, accountID int64, old Company, c *Company) error {
	if err := companyKeysFree(ctx, tx, *c); err != nil {
		return err
	}
	if err := companyNoun().Rows(tx).Update(ctx, c); err != nil {
		return err
	}
	if err := replaceCompanyKeys(ctx, tx, *c); err != nil {
		return err
	}
	return s.enqueueCompany(ctx, tx, accountID, old, *c)
}

// replaceCompanyKeys makes the stored keys those of the company.
func replaceCompanyKeys(ctx context.Context, tx Tx, c Company) error {
	stored, err := companyKeyNoun().Rows(tx).List(ctx, CompanyKeyFilter{CompanyID: c.ID}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	wanted := c.keys()
	for _, k := range stored {
		at := slices.IndexFunc(wanted, func(w *CompanyKey) bool { return w.Kind == k.Kind && w.Value == k.Value })
		if at >= 0 {
			wanted = slices.Delete(wanted, at, at+1)
			continue
		}
		if err := companyKeyNoun().Rows(tx).Delete(ctx, k.ID); err != nil {
			return err
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return companyKeyNoun().Rows(tx).Insert(ctx, wanted...)
}

// Delete removes a company. Its customers stay: they have no company any more, and show its name as plain text. Many
// customers take several transactions, so some may have left it after an error. It needs companies.delete.
func (d Companies) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.CompaniesDelete)
	if err != nil {
		return err
	}
	return inCompanyPieces(ctx, begin, func(ctx context.Context, tx Tx) (bool, error) {
		if more, err := d.moveCompanyCustomers(ctx, tx, id, 0); more || err != nil {
			return more, err
		}
		if err := companyNoun().Rows(tx).Delete(ctx, id); err != nil {
			return false, err
		}
		return false, d.emit(ctx, tx, "company.deleted", id, 0)
	})
}

// Merge merges the company id into the company into, and returns the latter. It moves the customers and the domains,
// then removes id. Into keeps its name, its external id and each field unless it has none; notes are joined. Many customers take several
// transactions; after an error, merge again. It needs companies.update and companies.delete. If into would exceed the limits
// of a company, it is an Invalid fault and nothing changes.
func (d Companies) Merge(ctx context.Context, id, into int64) (Company, error) {
	if _, err := d.guard.Write(identity.CompaniesDelete); err != nil {
		return Company{}, err
	}
	begin, err := d.guard.Write(identity.CompaniesUpdate)
	if err != nil {
		return Company{}, err
	}
	var problems fault.Collector
	if problems.Check(into != 0, "into", "is required") {
		problems.Check(into != id, "into", "must be another company")
	}
	if err := problems.Err(); err != nil {
		return Company{}, err
	}
	var merged Company
	err = inCompanyPieces(ctx, begin, func(ctx context.Context, tx Tx) (more bool, err error) {
		if more, err = d.moveCompanyCustomers(ctx, tx, id, into); more || err != nil {
			return more, err
		}
		merged, err = d.mergeCompany(ctx, tx, id, into)
		return false, err
	})
	return merged, takenField(err, UniqueCompanyKey, "into")
}

// mergeCompany removes a company without customers, and gives what it had to another.
func (d *desk) mergeCompany(ctx context.Context, tx Tx, id, into int64) (Company, error) {
	c, other, err := mergeableCompanies(ctx, tx, id, into)
	if err != nil {
		return Company{}, err
	}
	values, err := tx.FieldValues(ctx, FieldOfCompany, []int64{id, into})
	if err != nil {
		return Company{}, err
	}
	if err := companyNoun().Rows(tx).Delete(ctx, id); err != nil {
		return Company{}, err
	}
	if err := completeFields(ctx, tx, FieldOfCompany, values, id, into); err != nil {
		return Company{}, err
	}
	c = c.joined(other)
	c.UpdatedAt = d.svc.now()
	if err := companyNoun().Rows(tx).Update(ctx, &c); err != nil {
		return Company{}, err
	}
	if err := replaceCompanyKeys(ctx, tx, c); err != nil {
		return Company{}, err
	}
	if err := d.emit(ctx, tx, "company.deleted", id, 0); err != nil {
		return Company{}, err
	}
	return c, d.emit(ctx, tx, "company.merged", into, 0)
}

// joined returns the company with what another adds.
func (c Company) joined(other Company) Company {
	c.Domains = sortedTexts(slices.Concat(c.Domains, other.Domains))
	c.Note = joinedNotes(c.Note, other.Note)
	if c.ExternalID == "" {
		c.ExternalID = other.ExternalID
	}
	return c
}

func sortedTexts(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// mergeableCompanies locks and returns two companies, into first, that may be merged.
func mergeableCompanies(ctx context.Context, tx Tx, id, into int64) (c, other Company, err error) {
	both, err := companyNoun().Rows(tx).LockAll(ctx, []int64{id, into})
	if err != nil {
		return c, other, err
	}
	for _, one := range []int64{id, into} {
		if !slices.ContainsFunc(both, func(c Company) bool { return c.ID == one }) {
			return c, other, fault.Missing("company", one)
		}
	}
	c, other = both[0], both[1]
	if c.ID != into {
		c, other = other, c
	}
	var problems fault.Collector
	all := c.joined(other)
	problems.Check(len(all.Domains) <= MaxCompanyDomains, "into", fmt.Sprintf("would have more than %d domains", MaxCompanyDomains))
	problems.Check(plain.Length(all.Note) <= MaxNote, "into", fmt.Sprintf("would make the note longer than %d characters", MaxNote))
	return c, other, problems.Err()
}
