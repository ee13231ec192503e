package helpdesk

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

// companyPiece is how many customers of a company are changed in one transaction.
const companyPiece = 100

// inCompanyPieces runs work on the customers of a company in one transaction after the other.
func inCompanyPieces(ctx context.Context, begin guard.Begin[Tx], piece func(ctx context.Context, tx Tx) (more bool, err error)) error {
	return guard.InPieces(ctx, begin, piece)
}

// moveCompanyCustomers moves some customers of a company into another (0: none). It reports whether it moved any, and otherwise
// leaves the companies locked. Customers are locked before companies, as by everything else that locks both.
func (d *desk) moveCompanyCustomers(ctx context.Context, tx Tx, id, into int64) (moved bool, err error) {
	customers, err := lockCustomers(ctx, tx, CustomerFilter{CompanyID: id}, nil)
	if err != nil {
		return false, err
	}
	target := Company{}
	if into != 0 {
		target, _, err = mergeableCompanies(ctx, tx, id, into)
	} else {
		_, err = companyNoun().Rows(tx).Lock(ctx, id)
	}
	if err != nil {
		return false, err
	}
	if len(customers) == 0 { // some may have joined before the company was locked
		rest, err := tx.Customers(ctx, CustomerFilter{CompanyID: id}, storage.Seek{Limit: 1})
		return len(rest) > 0, err
	}
	for _, c := range customers {
		if c.CompanyID != id {
			continue
		}
		old := c.copy()
		if c.CompanyID = into; into != 0 {
			c.Company = target.Name
		}
		c.UpdatedAt = d.svc.now()
		if err := d.svc.storeMember(ctx, tx, d.scope, old, c); err != nil {
			return false, err
		}
		if err := d.emit(ctx, tx, "customer.updated", c.ID, 0); err != nil {
			return false, err
		}
	}
	return true, nil
}

// lockCustomers locks the next customers of a filter, by id.
func lockCustomers(ctx context.Context, tx Tx, f CustomerFilter, from *storage.Position) ([]Customer, error) {
	some, err := tx.Customers(ctx, f, storage.Seek{Limit: companyPiece, From: from})
	if err != nil {
		return nil, err
	}
	locked := make([]Customer, 0, len(some))
	for _, c := range some {
		c, err := tx.CustomerForUpdate(ctx, c.ID)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		locked = append(locked, c)
	}
	return locked, nil
}

// storeMember stores a customer whose company changed.
func (s *Service) storeMember(ctx context.Context, tx Tx, in Scope, old, c Customer) error {
	if err := tx.UpdateCustomer(ctx, &c); err != nil || c.Company == old.Company {
		return err
	}
	return s.reindexCustomer(ctx, tx, in, c)
}

// setCompany gives a customer the company of an input: that of CompanyID, or the only one whose name is Company. Any other text
// is kept as it is, without a company. A new customer for whom neither is given joins the company of an address's domain. The
// customer is locked or new.
func (in CustomerInput) setCompany(ctx context.Context, tx Tx, old Customer, c *Customer) error {
	if id, given := in.CompanyID.Get(); given && id != 0 {
		of, err := companyNoun().Rows(tx).Lock(ctx, id)
		if err == nil {
			c.CompanyID, c.Company = of.ID, of.Name
		}
		return err
	}
	if in.CompanyID.IsSet() {
		if c.CompanyID = 0; !in.Company.IsSet() && old.CompanyID != 0 {
			c.Company = ""
		}
		return nil
	}
	switch {
	case c.Company == "" && c.ID == 0:
		return joinCompany(ctx, tx, c)
	case c.Company == old.Company && c.ID != 0:
		return nil
	case c.Company == "":
		c.CompanyID = 0
		return nil
	}
	return joinNamed(ctx, tx, c)
}

// joinNamed makes a customer join the only company whose name the customer has as text; otherwise the customer has no company.
func joinNamed(ctx context.Context, tx Tx, c *Customer) error {
	c.CompanyID = 0
	named, err := companyNoun().Rows(tx).List(ctx, CompanyFilter{Key: plain.Key(c.Company)}, storage.Seek{Limit: 2})
	if err != nil || len(named) != 1 {
		return err
	}
	return joinLocked(ctx, tx, named[0].ID, c)
}

// joinCompany makes a new customer join the company that has the domain of an address, the first such address.
func joinCompany(ctx context.Context, tx storage.RecordWriter, c *Customer) error {
	var domains []string
	for _, e := range c.Emails {
		if domain := domainOf(e.Key); domain != "" && !publicProvider(domain) {
			domains = append(domains, domain)
		}
	}
	if len(domains) == 0 {
		return nil
	}
	keys, err := companyKeyNoun().Rows(tx).List(ctx, CompanyKeyFilter{Kind: CompanyDomain, Values: domains}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	for _, domain := range domains {
		if at := slices.IndexFunc(keys, func(k CompanyKey) bool { return k.Value == domain }); at >= 0 {
			return joinLocked(ctx, tx, keys[at].CompanyID, c)
		}
	}
	return nil
}

// joinBooked is joinCompany for a book that may be that of a rehearsal, which tells nothing of companies.
func joinBooked(ctx context.Context, book customerBook, c *Customer) error {
	if tx, real := book.(storage.RecordWriter); real {
		return joinCompany(ctx, tx, c)
	}
	return nil
}

// joinLocked makes a customer join a company, which stays until the transaction ends, if it is still there.
func joinLocked(ctx context.Context, tx storage.RecordWriter, id int64, c *Customer) error {
	of, err := companyNoun().Rows(tx).Lock(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err == nil {
		c.CompanyID, c.Company = of.ID, of.Name
	}
	return err
}

// companyWork is the payload of a [JobCompany] job.
type companyWork struct {
	Domains []string `json:"domains,omitempty"` // customers at these join the company
}

// enqueueCompany orders what follows for customers when a company was changed.
func (s *Service) enqueueCompany(ctx context.Context, tx Tx, accountID int64, old, c Company) error {
	gained := slices.DeleteFunc(slices.Clone(c.Domains), func(domain string) bool { return slices.Contains(old.Domains, domain) })
	if len(gained) == 0 && c.Name == old.Name {
		return nil
	}
	payload, err := json.Marshal(companyWork{gained})
	if err != nil {
		return err
	}
	return tx.Enqueue(ctx, storage.Job{Kind: JobCompany, AccountID: accountID, Subject: c.ID, Payload: payload, RunAt: s.now()})
}

// SettleCompany runs a [JobCompany] job: it gives the customers of a company its name, and makes customers join it who have an
// address at a new domain and no company, a hundred in each transaction. It is idempotent.
func (j Jobs) SettleCompany(ctx context.Context, job storage.ClaimedJob) error {
	var work companyWork
	if len(job.Payload) > 0 {
		if err := json.Unmarshal(job.Payload, &work); err != nil {
			return err
		}
	}
	renamed := func(c *Customer, of Company) bool { return c.CompanyID == of.ID && c.Company != of.Name }
	if err := j.svc.settleCustomers(ctx, job, CustomerFilter{CompanyID: job.Subject}, renamed); err != nil {
		return err
	}
	for _, domain := range work.Domains {
		joins := func(c *Customer, of Company) bool { return c.CompanyID == 0 && slices.Contains(of.Domains, domain) }
		if err := j.svc.settleCustomers(ctx, job, CustomerFilter{Domain: domain}, joins); err != nil {
			return err
		}
	}
	return nil
}

// settleCustomers gives the company of a job to the customers of a filter who should have it.
func (s *Service) settleCustomers(ctx context.Context, job storage.ClaimedJob, f CustomerFilter, should func(*Customer, Company) bool) error {
	in := Scope{AccountID: job.AccountID}
	var from *storage.Position
	for {
		var next *storage.Position
		err := s.cfg.Store.InTx(ctx, in, func(ctx context.Context, tx Tx) (err error) {
			next, err = s.settleSome(ctx, tx, in, job.Subject, f, from, should)
			return err
		})
		if fault.Is(err, fault.NotFound) {
			return nil // the company or the account was deleted
		}
		if err != nil || next == nil {
			return err
		}
		from = next
	}
}

func (s *Service) settleSome(
	ctx context.Context, tx Tx, in Scope, id int64, f CustomerFilter, from *storage.Position, should func(*Customer, Company) bool,
) (next *storage.Position, err error) {
	customers, err := lockCustomers(ctx, tx, f, from)
	if err != nil || len(customers) == 0 {
		return nil, err
	}
	of, err := companyNoun().Rows(tx).Lock(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, c := range customers {
		if !should(&c, of) {
			continue
		}
		old := c.copy()
		c.CompanyID, c.Company, c.UpdatedAt = of.ID, of.Name, s.now()
		if err := s.storeMember(ctx, tx, in, old, c); err != nil {
			return nil, err
		}
		if old.CompanyID == of.ID {
			continue // the event of the company tells of its name
		}
		if err := tx.Emit(ctx, storage.Event{Type: "customer.updated", Subject: c.ID, Data: eventData(c.ID), Time: s.now()}); err != nil {
			return nil, err
		}
	}
	return &storage.Position{ID: customers[len(customers)-1].ID}, nil
}
