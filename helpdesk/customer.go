package helpdesk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

// Limits of a customer's items.
const (
	MaxEmails   = 15
	MaxPhones   = 25
	MaxWebsites = 150
	MaxNote     = 10_000 // characters of a note
)

// Customer is a person who asks for help.
type Customer struct {
	ID        int64
	FirstName string
	LastName  string
	CompanyID int64  // 0: none
	Company   string // name of the company, or text if CompanyID is 0
	Note      string // plain text for the team; hidden from customers
	// ExternalID is the customer's id in another system, unique in the account; "": none.
	ExternalID string
	Emails     []CustomerEmail // by ID
	Phones     []CustomerPhone
	Websites   []CustomerWebsite
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// CustomerEmail is one of a customer's addresses.
type CustomerEmail struct {
	ID    int64
	Email string
	Key   string // normalised, see [mailaddr.Key]; unique in the account
}

// CustomerPhone is one of a customer's phone numbers.
type CustomerPhone struct {
	ID    int64
	Phone string
}

// CustomerWebsite is one of a customer's websites.
type CustomerWebsite struct {
	ID      int64
	Website string
}

// Name returns the first and the last name, or an address if both are empty.
func (c Customer) Name() string {
	if name := strings.TrimSpace(c.FirstName + " " + c.LastName); name != "" {
		return name
	}
	if len(c.Emails) > 0 {
		return c.Emails[0].Email
	}
	return ""
}

// Initials returns the first letters of the first and the last name.
func (c Customer) Initials() string {
	var b strings.Builder
	for _, name := range []string{c.FirstName, c.LastName} {
		if r, size := utf8.DecodeRuneInString(strings.TrimSpace(name)); size > 0 {
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}

// keys returns the keys of the customer's addresses.
func (c Customer) keys() []string {
	var keys []string
	for _, e := range c.Emails {
		keys = append(keys, e.Key)
	}
	return keys
}

// emailByKey returns the customer's address with a key, or the zero value.
func (c Customer) emailByKey(key string) CustomerEmail {
	for _, e := range c.Emails {
		if e.Key == key {
			return e
		}
	}
	return CustomerEmail{}
}

// CustomerFilter narrows a list of customers. The zero value selects all.
type CustomerFilter struct {
	EmailKey   string
	ExternalID string       // of the customer; "": all
	CompanyID  int64        // 0: all
	Domain     string       // with an address whose Key has this domain; "": all
	Terms      []SearchTerm // all of them, see [SearchIndex]
	Fields     []FieldMatch // all of these
}

// CustomerStats counts a customer's conversations.
type CustomerStats struct {
	Total, Posted, Pending, Closed, EmailChannel int64
}

// Item is an email, phone or website in an update. One with the ID of an existing item changes that item; all others are
// added.
type Item struct {
	ID    int64
	Value string
}

// CustomerInput creates or changes a customer. Absent fields are unchanged. A given list replaces the existing one: items
// missing from it are removed.
type CustomerInput struct {
	FirstName storage.Opt[string] // required to create, at most 100 characters
	LastName  storage.Opt[string]
	// CompanyID is the customer's company; null or 0: none.
	CompanyID storage.Opt[int64]
	// Company is the name of the company, at most 200 characters; it is ignored with a CompanyID. If exactly one company of the account
	// has this name, ignoring case, it becomes the customer's. Otherwise the text is kept and the customer has no company.
	Company storage.Opt[string]
	Note    storage.Opt[string] // plain text, at most 10,000 characters
	// ExternalID is the id in another system, at most 200 characters; null or empty: none. One that another customer has is an
	// Invalid fault.
	ExternalID storage.Opt[string]
	Emails     storage.Opt[[]Item] // at most 15
	Phones     storage.Opt[[]Item] // at most 25
	Websites   storage.Opt[[]Item] // at most 150
	Fields     FieldTexts

	unnamed bool // it may have no first name
}

// Customers are the people who write.
type Customers struct{ *desk }

// Customers returns the handle of customers.
func (d *Desk) Customers() Customers { return Customers{&d.desk} }

// Create creates a customer, who joins the company that has the domain of an address if the input names none. A company that
// does not exist is a NotFound fault. An address or an external id that another customer has is an Invalid fault. It needs
// customers.create.
func (d Customers) Create(ctx context.Context, in CustomerInput) (Customer, error) {
	begin, err := d.guard.Write(identity.CustomersCreate)
	if err != nil {
		return Customer{}, err
	}
	now := d.svc.now()
	var c Customer
	if err := in.apply(&c); err != nil {
		return Customer{}, err
	}
	c.CreatedAt, c.UpdatedAt = now, now
	var created Customer
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		created = c.copy()
		if err := keysFree(ctx, tx, created); err != nil {
			return err
		}
		if err := in.setCompany(ctx, tx, Customer{}, &created); err != nil {
			return err
		}
		if err := tx.InsertCustomer(ctx, &created); err != nil {
			return err
		}
		if err := indexCustomer(ctx, tx, created); err != nil {
			return err
		}
		if err := setFields(ctx, tx, FieldOfCustomer, []int64{created.ID}, in.Fields); err != nil {
			return err
		}
		return d.emit(ctx, tx, "customer.created", created.ID, 0)
	})
	if err != nil {
		return Customer{}, takenField(takenField(err, UniqueCustomerEmail, "emails"), UniqueCustomerExternal, "external_id")
	}
	return created, nil
}

// Update changes a customer. It needs customers.update. A member limited to some mailboxes may change addresses only
// if all the customer's conversations are within reach, because whoever owns an address can see those conversations.
// Otherwise it is a Forbidden fault.
func (d Customers) Update(ctx context.Context, id int64, in CustomerInput) (Customer, error) {
	begin, err := d.guard.Write(identity.CustomersUpdate)
	if err != nil {
		return Customer{}, err
	}
	err = guard.InPieces(ctx, begin, func(ctx context.Context, tx Tx) (bool, error) {
		old, c, err := d.changedCustomer(ctx, tx, id, in)
		if gone := removedEmails(old, c); err == nil && len(gone) > 0 {
			return tx.ForgetEmails(ctx, id, gone, pieceRows)
		}
		return false, err
	})
	if err != nil {
		return Customer{}, err
	}
	var c Customer
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		var old Customer
		if old, c, err = d.changedCustomer(ctx, tx, id, in); err != nil {
			return err
		}
		c.UpdatedAt = d.svc.now()
		if err := tx.UpdateCustomer(ctx, &c); err != nil {
			return err
		}
		if err := setFields(ctx, tx, FieldOfCustomer, []int64{id}, in.Fields); err != nil {
			return err
		}
		if !slices.Equal(customerTerms(old), customerTerms(c)) {
			if err := d.svc.reindexCustomer(ctx, tx, d.scope, c); err != nil {
				return err
			}
		}
		return d.emit(ctx, tx, "customer.updated", c.ID, 0)
	})
	if err != nil {
		return Customer{}, takenField(takenField(err, UniqueCustomerEmail, "emails"), UniqueCustomerExternal, "external_id")
	}
	return c, nil
}

// changedCustomer locks a customer, and returns it as it is and as an input changes it.
func (d *desk) changedCustomer(ctx context.Context, tx Tx, id int64, in CustomerInput) (old, c Customer, err error) {
	if c, err = tx.CustomerForUpdate(ctx, id); err != nil {
		return old, c, err
	}
	old = c.copy()
	if err := in.apply(&c); err != nil {
		return old, c, err
	}
	if !sameEmails(old.Emails, c.Emails) {
		if err := d.reachesWhole(ctx, tx.Reader(), id); err != nil {
			return old, c, err
		}
	}
	if err := keysFree(ctx, tx, c); err != nil {
		return old, c, err
	}
	return old, c, in.setCompany(ctx, tx, old, &c)
}

// removedEmails returns the ids of the addresses that a changed customer no longer has.
func removedEmails(old, c Customer) (ids []int64) {
	for _, e := range old.Emails {
		if !slices.ContainsFunc(c.Emails, func(kept CustomerEmail) bool { return kept.ID == e.ID }) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// keysFree names the external id and the items whose address another customer has. The database's unique keys are the final
// check.
func keysFree(ctx context.Context, tx Tx, c Customer) error {
	var problems fault.Collector
	if c.ExternalID != "" {
		found, err := tx.Customers(ctx, CustomerFilter{ExternalID: c.ExternalID}, storage.Seek{Limit: 1})
		if err != nil {
			return err
		}
		problems.Check(len(found) == 0 || found[0].ID == c.ID, "external_id", "is already taken")
	}
	for i, e := range c.Emails {
		other, err := tx.CustomerByEmail(ctx, e.Key)
		switch {
		case fault.Is(err, fault.NotFound):
		case err != nil:
			return err
		case other.ID != c.ID:
			problems.Add(fmt.Sprintf("emails[%d][email]", i), "is already taken")
		}
	}
	return problems.Err()
}

func (c Customer) copy() Customer {
	c.Emails = append([]CustomerEmail(nil), c.Emails...)
	c.Phones = append([]CustomerPhone(nil), c.Phones...)
	c.Websites = append([]CustomerWebsite(nil), c.Websites...)
	return c
}

// apply validates the input and copies it into c.
func (in CustomerInput) apply(c *Customer) error {
	var problems fault.Collector
	c.FirstName = plain.Line(in.FirstName.Or(c.FirstName))
	c.LastName = plain.Line(in.LastName.Or(c.LastName))
	c.Company = plain.Line(in.Company.Or(c.Company))
	c.Note = plain.Lines(in.Note.Or(c.Note))
	if c.ExternalID = plain.Line(in.ExternalID.Or(c.ExternalID)); in.ExternalID.IsNull() {
		c.ExternalID = ""
	}
	bounded(&problems, "external_id", c.ExternalID, 200)
	if !in.unnamed || c.FirstName != "" {
		required(&problems, "first_name", c.FirstName, 100)
	}
	bounded(&problems, "last_name", c.LastName, 100)
	bounded(&problems, "company", c.Company, 200)
	bounded(&problems, "note", c.Note, MaxNote)
	if in.Emails.IsSet() {
		known := map[int64]bool{}
		for _, e := range c.Emails {
			known[e.ID] = true
		}
		items := sameAddresses(checkItems(&problems, "emails", "email", in.Emails.Or(nil), MaxEmails, known), c.Emails)
		c.Emails = c.Emails[:0:0]
		seen := map[string]bool{}
		for i, item := range items {
			key := mailaddr.Key(item.Value)
			field := fmt.Sprintf("emails[%d][email]", i)
			problems.Check(mailaddr.Valid(item.Value), field, "is not an email address")
			problems.Check(!seen[key], field, "is listed twice")
			seen[key] = true
			c.Emails = append(c.Emails, CustomerEmail{ID: item.ID, Email: item.Value, Key: key})
		}
	}
	if in.Phones.IsSet() {
		known := map[int64]bool{}
		for _, p := range c.Phones {
			known[p.ID] = true
		}
		items := checkItems(&problems, "phones", "phone", in.Phones.Or(nil), MaxPhones, known)
		c.Phones = c.Phones[:0:0]
		for _, item := range items {
			c.Phones = append(c.Phones, CustomerPhone{ID: item.ID, Phone: item.Value})
		}
	}
	if in.Websites.IsSet() {
		known := map[int64]bool{}
		for _, w := range c.Websites {
			known[w.ID] = true
		}
		items := checkItems(&problems, "websites", "website", in.Websites.Or(nil), MaxWebsites, known)
		c.Websites = c.Websites[:0:0]
		for i, item := range items {
			problems.Check(validWebsite(item.Value), fmt.Sprintf("websites[%d][website]", i), "must be an http or https address")
			c.Websites = append(c.Websites, CustomerWebsite{ID: item.ID, Website: item.Value})
		}
	}
	return problems.Err()
}

// sameAddresses sets the id of items that have none but repeat an old address whose id no item has. Messages then still refer
// to that address.
func sameAddresses(items []Item, old []CustomerEmail) []Item {
	for _, e := range old {
		if slices.ContainsFunc(items, func(i Item) bool { return i.ID == e.ID }) {
			continue
		}
		for n := range items {
			if items[n].ID == 0 && mailaddr.Key(items[n].Value) == e.Key {
				items[n].ID = e.ID
				break
			}
		}
	}
	return items
}

// checkItems cleans one list's items and drops ids that the customer does not have.
func checkItems(problems *fault.Collector, list, name string, items []Item, limit int, known map[int64]bool) []Item {
	if !problems.Check(len(items) <= limit, list, fmt.Sprintf("has more than %d items", limit)) {
		return nil
	}
	out := make([]Item, len(items))
	used := map[int64]bool{}
	for i, item := range items {
		item.Value = plain.Line(item.Value)
		required(problems, fmt.Sprintf("%s[%d][%s]", list, i, name), item.Value, 500)
		if !known[item.ID] || used[item.ID] {
			item.ID = 0
		}
		used[item.ID] = true
		out[i] = item
	}
	return out
}

// validWebsite rejects schemes that a browser would execute.
func validWebsite(site string) bool {
	scheme, rest, found := strings.Cut(site, ":")
	if !found || strings.Contains(scheme, ".") {
		return true // no scheme, or a host with a port
	}
	return strings.HasPrefix(rest, "//") && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// SetNote sets the team's note about a customer: plain text, at most [MaxNote] characters. It needs
// customers.update.
func (d Customers) SetNote(ctx context.Context, id int64, note string) (Customer, error) {
	begin, err := d.guard.Write(identity.CustomersUpdate)
	if err != nil {
		return Customer{}, err
	}
	var problems fault.Collector
	note = plain.Lines(note)
	bounded(&problems, "note", note, MaxNote)
	if err := problems.Err(); err != nil {
		return Customer{}, err
	}
	var c Customer
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if c, err = tx.CustomerForUpdate(ctx, id); err != nil || c.Note == note {
			return err
		}
		c.Note, c.UpdatedAt = note, d.svc.now()
		if err := tx.UpdateCustomer(ctx, &c); err != nil {
			return err
		}
		return d.emit(ctx, tx, "customer.updated", id, 0)
	})
	return c, err
}

// SetFields sets fields of a customer; absent ones are unchanged. It needs customers.update.
func (d Customers) SetFields(ctx context.Context, id int64, fields FieldTexts) (Customer, error) {
	begin, err := d.guard.Write(identity.CustomersUpdate)
	if err != nil {
		return Customer{}, err
	}
	var c Customer
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if c, err = tx.CustomerForUpdate(ctx, id); err != nil {
			return err
		}
		if err := setFields(ctx, tx, FieldOfCustomer, []int64{id}, fields); err != nil {
			return err
		}
		c.UpdatedAt = d.svc.now()
		if err := tx.UpdateCustomer(ctx, &c); err != nil {
			return err
		}
		return d.emit(ctx, tx, "customer.updated", id, 0)
	})
	return c, err
}

// Get returns a customer. It needs customers.view.
func (d Customers) Get(ctx context.Context, id int64) (Customer, error) {
	r, err := d.guard.Read(identity.CustomersView)
	if err != nil {
		return Customer{}, err
	}
	return r.Customer(ctx, id)
}

// Stats counts a customer's conversations that the member reaches. It needs customers.view.
func (d Customers) Stats(ctx context.Context, id int64) (CustomerStats, error) {
	r, err := d.guard.Read(identity.CustomersView)
	if err != nil {
		return CustomerStats{}, err
	}
	return r.CustomerStats(ctx, id)
}

// ByID returns the existing ones of the given customers. It needs customers.view.
func (d Customers) ByID(ctx context.Context, ids []int64) ([]Customer, error) {
	r, err := d.guard.Read(identity.CustomersView)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return r.CustomersByID(ctx, ids)
}

// CustomerQuery narrows a list of customers.
type CustomerQuery struct {
	Email      string // the customer with this address
	ExternalID string // the customer with this id in another system
	CompanyID  int64  // 0: all. A company that does not exist is a NotFound fault.
	Query      string // words of names, company, addresses and phones, see [ConversationQuery]
	// Fields are values of fields of customers. Unknown ones, and values that a field cannot have, are Invalid faults.
	Fields FieldQueries
}

// List lists customers, newest first. It needs customers.view.
func (d Customers) List(ctx context.Context, q CustomerQuery, req storage.PageRequest) (storage.Page[Customer], error) {
	r, err := d.guard.Read(identity.CustomersView)
	if err != nil {
		return storage.Page[Customer]{}, err
	}
	terms, possible := queryTerms(q.Query)
	if !possible {
		return storage.Page[Customer]{}, nil
	}
	if q.CompanyID != 0 {
		if _, err := companyNoun().Reader(r).Get(ctx, q.CompanyID); err != nil {
			return storage.Page[Customer]{}, err
		}
	}
	fields, err := q.Fields.normal().of(ctx, r, FieldOfCustomer, "")
	if err != nil {
		return storage.Page[Customer]{}, err
	}
	filter := CustomerFilter{Terms: terms, CompanyID: q.CompanyID, ExternalID: plain.Line(q.ExternalID), Fields: fields}
	if q.Email != "" {
		filter.EmailKey = mailaddr.Key(q.Email)
	}
	return storage.List(req, true, func(c Customer) storage.Position { return storage.Position{ID: c.ID} },
		func(seek storage.Seek) ([]Customer, error) { return d.lists(r).Customers(ctx, filter, seek) })
}

// Delete removes a customer. A customer who has conversations is a Conflict fault unless force is set. Force removes
// the conversations first, in several transactions if there are many, so some may be gone after an error. It needs
// customers.delete, and conversations.delete to force. A member limited to some mailboxes must reach all conversations that
// the customer has or writes in; otherwise it is a Forbidden fault.
func (d Customers) Delete(ctx context.Context, id int64, force bool) error {
	begin, err := d.guard.WriteAlone(identity.CustomersDelete)
	if err != nil {
		return err
	}
	if force {
		if begin, err = d.guard.WriteAlone(identity.ConversationsDelete); err != nil {
			return err
		}
	}
	may := func(ctx context.Context, tx Tx) error {
		if _, err := tx.CustomerForUpdate(ctx, id); err != nil {
			return err
		}
		return d.reachesWhole(ctx, tx.Reader(), id)
	}
	if force {
		err := guard.InPieces(ctx, begin, func(ctx context.Context, tx Tx) (bool, error) {
			if err := may(ctx, tx); err != nil {
				return false, err
			}
			return d.deleteSome(ctx, tx, ConversationFilter{CustomerID: id})
		})
		if err != nil {
			return err
		}
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := may(ctx, tx); err != nil {
			return err
		}
		if force {
			if err := d.deleteAll(ctx, tx, ConversationFilter{CustomerID: id}); err != nil {
				return err
			}
		}
		if err := tx.DeleteCustomer(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "customer.deleted", id, 0)
	})
}

// findCustomer returns the customer with an address. If there is none, it creates one with that address and name and adds it
// to index. The caller retries on UniqueCustomerEmail.
func findCustomer(ctx context.Context, book customerBook, address, name string, now time.Time, index *indexing) (Customer, bool, error) {
	key := mailaddr.Key(address)
	c, err := book.CustomerByEmail(ctx, key)
	if !fault.Is(err, fault.NotFound) {
		return c, false, err
	}
	first, last, _ := strings.Cut(plain.Cut(plain.Line(name), 100), " ")
	c = Customer{
		FirstName: first, LastName: strings.TrimSpace(last),
		Emails: []CustomerEmail{{Email: address, Key: key}}, CreatedAt: now, UpdatedAt: now,
	}
	if err = joinBooked(ctx, book, &c); err != nil {
		return c, true, err
	}
	if err = book.InsertCustomer(ctx, &c); err != nil {
		return c, true, err
	}
	index.customers = append(index.customers, c)
	return c, true, nil
}
