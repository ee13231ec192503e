package helpdesk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// MaxCustomerRows is how many rows [Customers.ImportRows] takes at once.
const MaxCustomerRows = 100

// CustomerRow is a customer in a table to import. What is empty is not given.
type CustomerRow struct {
	ID                       int64  // of a customer here; 0: the one with ExternalID or an address of Emails, or a new one
	ExternalID               string // in another system
	FirstName, LastName      string
	Company                  string
	Note                     string
	Emails, Phones, Websites []string
}

// CustomerRowOutcome is what became of a [CustomerRow]: nothing if neither Created nor Updated is set.
type CustomerRowOutcome struct {
	ID               int64 // of the customer; 0 if there are problems
	Created, Updated bool
	Problems         map[string]string // why it was not imported, by field: id, external_id, first_name, last_name, company, emails, phones, websites, note
}

// errDry rolls back what a dry run has changed.
var errDry = errors.New("helpdesk: this was a dry run")

// ImportRows creates and changes customers in one transaction. A row is about the customer with its ID, with its ExternalID
// or with one of its addresses, in this order, otherwise about a new one, so that it can be imported again. Given names, company, note and ExternalID replace what is there; addresses,
// phones and websites are added. A company of which there is none with this name, ignoring case, is created if the member may do
// so. Rows with problems are left out, among them those with an erased address, see [Erasure]. A dry run changes nothing. It needs
// customers.create and customers.update. More than [MaxCustomerRows] rows are an Invalid fault.
func (d Customers) ImportRows(ctx context.Context, rows []CustomerRow, dryRun bool) ([]CustomerRowOutcome, error) {
	if _, err := d.guard.Write(identity.CustomersCreate); err != nil {
		return nil, err
	}
	begin, err := d.guard.Write(identity.CustomersUpdate)
	if err != nil {
		return nil, err
	}
	if len(rows) > MaxCustomerRows {
		return nil, fault.Field("rows", fmt.Sprintf("has more than %d items", MaxCustomerRows))
	}
	var outcomes []CustomerRowOutcome
	err = retryUnique(func() error {
		return begin(ctx, func(ctx context.Context, tx Tx) error {
			outcomes = make([]CustomerRowOutcome, len(rows))
			for i, row := range rows {
				if outcomes[i], err = d.importRow(ctx, tx, row); err != nil {
					return err
				}
			}
			if dryRun {
				return errDry
			}
			return nil
		})
	}, UniqueCustomerEmail, UniqueCustomerExternal)
	if errors.Is(err, errDry) {
		err = nil
	}
	return outcomes, err
}

// importRow creates or changes the customer of a row.
func (d *desk) importRow(ctx context.Context, tx Tx, row CustomerRow) (CustomerRowOutcome, error) {
	old, problems, err := d.ofRow(ctx, tx, row)
	if err != nil || problems != nil {
		return CustomerRowOutcome{Problems: problems}, err
	}
	c, in := old.copy(), row.input(old)
	if err := in.apply(&c); err != nil {
		return rowProblems(err)
	}
	if old.ID != 0 && !sameEmails(old.Emails, c.Emails) {
		if err := d.reachesWhole(ctx, tx.Reader(), old.ID); err != nil {
			return rowProblems(err)
		}
	}
	if err := d.companyOfRow(ctx, tx, in, old, &c); err != nil {
		return CustomerRowOutcome{}, err
	}
	now := d.svc.now()
	if old.ID == 0 {
		c.CreatedAt, c.UpdatedAt = now, now
		if err := tx.InsertCustomer(ctx, &c); err != nil {
			return CustomerRowOutcome{}, err
		}
		if err := indexCustomer(ctx, tx, c); err != nil {
			return CustomerRowOutcome{}, err
		}
		return CustomerRowOutcome{ID: c.ID, Created: true}, d.emit(ctx, tx, "customer.created", c.ID, 0)
	}
	if !old.differs(c) {
		return CustomerRowOutcome{ID: c.ID}, nil
	}
	c.UpdatedAt = now
	if err := tx.UpdateCustomer(ctx, &c); err != nil {
		return CustomerRowOutcome{}, err
	}
	if !slices.Equal(customerTerms(old), customerTerms(c)) {
		if err := d.svc.reindexCustomer(ctx, tx, d.scope, c); err != nil {
			return CustomerRowOutcome{}, err
		}
	}
	return CustomerRowOutcome{ID: c.ID, Updated: true}, d.emit(ctx, tx, "customer.updated", c.ID, 0)
}

// ofRow locks and returns the customer of a row, the zero value for a new one, or problems of finding it.
func (d *desk) ofRow(ctx context.Context, tx Tx, row CustomerRow) (Customer, map[string]string, error) {
	id := row.ID
	if external := plain.Line(row.ExternalID); external != "" {
		found, err := tx.Customers(ctx, CustomerFilter{ExternalID: external}, storage.Seek{Limit: 1})
		switch {
		case err != nil:
			return Customer{}, nil, err
		case len(found) > 0 && id != 0 && found[0].ID != id:
			return Customer{}, map[string]string{"external_id": "is already taken"}, nil
		case len(found) > 0:
			id = found[0].ID
		}
	}
	for _, email := range row.Emails {
		if !mailaddr.Valid(email) {
			continue // its problem is found later
		}
		c, err := tx.CustomerByEmail(ctx, mailaddr.Key(email))
		switch {
		case fault.Is(err, fault.NotFound):
		case err != nil:
			return c, nil, err
		case id != 0 && id != c.ID:
			return c, map[string]string{"emails": "belong to several customers"}, nil
		default:
			id = c.ID
		}
	}
	switch {
	case id < 0:
		return Customer{}, map[string]string{"id": "is not an id"}, nil
	case id == 0 && len(row.Emails) == 0 && (plain.Line(row.ExternalID) == "" || plain.Line(row.FirstName+row.LastName) == ""):
		return Customer{}, map[string]string{"emails": "is required"}, nil
	case id == 0:
		erased, err := d.svc.erasedAddresses(ctx, tx.Reader(), row.Emails)
		if len(erased) > 0 {
			return Customer{}, map[string]string{"emails": "was erased"}, err
		}
		return Customer{}, nil, err
	}
	c, err := tx.CustomerForUpdate(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return c, map[string]string{"id": "is not known"}, nil
	}
	return c, nil, err
}

// input returns a row as a change of a customer.
func (row CustomerRow) input(old Customer) CustomerInput {
	in := CustomerInput{FirstName: storage.Some(cmp.Or(row.FirstName, old.FirstName)), unnamed: true}
	for _, set := range []struct {
		to   *storage.Opt[string]
		text string
	}{{&in.LastName, row.LastName}, {&in.Company, row.Company}, {&in.Note, row.Note}, {&in.ExternalID, row.ExternalID}} {
		if set.text != "" {
			*set.to = storage.Some(set.text)
		}
	}
	in.Emails = added(old.Emails, row.Emails, func(e CustomerEmail) Item { return Item{e.ID, e.Email} }, mailaddr.Key)
	in.Phones = added(old.Phones, row.Phones, func(p CustomerPhone) Item { return Item{p.ID, p.Phone} }, plain.Line)
	in.Websites = added(old.Websites, row.Websites, func(w CustomerWebsite) Item { return Item{w.ID, w.Website} }, plain.Line)
	return in
}

// added returns items with those of a row that are not among them.
func added[T any](old []T, more []string, item func(T) Item, key func(string) string) storage.Opt[[]Item] {
	var all []Item
	known := map[string]bool{}
	for _, one := range old {
		i := item(one)
		all, known[key(i.Value)] = append(all, i), true
	}
	for _, text := range more {
		if !known[key(text)] {
			all, known[key(text)] = append(all, Item{Value: text}), true
		}
	}
	return storage.Some(all)
}

// companyOfRow gives a customer the company of a row, and creates it if there is none and the member may do so.
func (d *desk) companyOfRow(ctx context.Context, tx Tx, in CustomerInput, old Customer, c *Customer) error {
	if c.Company == "" || c.Company == old.Company || !d.guard.Allows(identity.CompaniesCreate) {
		return in.setCompany(ctx, tx, old, c)
	}
	key := plain.Key(c.Company)
	if old.CompanyID != 0 && plain.Key(old.Company) == key {
		c.Company = old.Company
		return nil
	}
	named, err := companyNoun().Rows(tx).List(ctx, CompanyFilter{Key: key}, storage.Seek{Limit: 1})
	if err != nil || len(named) > 0 {
		return errors.Join(err, in.setCompany(ctx, tx, old, c))
	}
	now := d.svc.now()
	made := Company{Name: c.Company, Key: key, CreatedAt: now, UpdatedAt: now}
	if err := d.svc.insertCompany(ctx, tx, d.scope.AccountID, d.event("company.created", 0, 0), &made); err != nil {
		return err
	}
	c.CompanyID, c.Company = made.ID, made.Name
	return nil
}

// rowProblems turns what is wrong with a row into its outcome, and returns other errors.
func rowProblems(err error) (CustomerRowOutcome, error) {
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case ok && f.Kind == fault.Forbidden:
		return CustomerRowOutcome{Problems: map[string]string{"emails": f.Text()}}, nil
	case !ok || f.Kind != fault.Invalid:
		return CustomerRowOutcome{}, err
	}
	problems := map[string]string{}
	for field, texts := range f.Fields {
		name, _, _ := strings.Cut(field, "[")
		problems[name] = strings.Join(texts, " ")
	}
	return CustomerRowOutcome{Problems: problems}, nil
}

// ExportRows calls each for all customers, oldest first, for an export. It needs customers.view and accounts.export.
func (d Customers) ExportRows(ctx context.Context, each func(Customer) error) error {
	r, err := d.guard.Read(identity.CustomersView)
	if err != nil {
		return err
	}
	begin, err := d.guard.Write(identity.AccountsExport)
	if err != nil {
		return err
	}
	if err := begin(ctx, func(ctx context.Context, tx Tx) error {
		return d.emit(ctx, tx, "account.customers_exported", d.scope.AccountID, 0)
	}); err != nil {
		return err
	}
	seek := storage.Seek{Limit: 200}
	for {
		some, err := r.Customers(ctx, CustomerFilter{}, seek)
		if err != nil {
			return err
		}
		for _, c := range some {
			if err := each(c); err != nil {
				return err
			}
			seek.From = &storage.Position{ID: c.ID}
		}
		if len(some) < seek.Limit {
			return nil
		}
	}
}
