package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func (r reader) Customer(ctx context.Context, id int64) (helpdesk.Customer, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Customer, error) {
		return copyOf(db.customers.get(r.scope.AccountID, id))
	})
}

func (r reader) Customers(ctx context.Context, filter helpdesk.CustomerFilter, seek storage.Seek) ([]helpdesk.Customer, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Customer, error) {
		return db.customers.list(r.scope.AccountID, seek, func(c *helpdesk.Customer) bool {
			return (filter.ExternalID == "" || c.ExternalID == filter.ExternalID) && (filter.EmailKey == "" || hasEmailKey(c, filter.EmailKey)) &&
				(filter.CompanyID == 0 || c.CompanyID == filter.CompanyID) && (filter.Domain == "" || hasDomain(c, filter.Domain)) && db.foundCustomer(r.scope.AccountID, c.ID, filter.Terms) &&
				db.meets(r.scope.AccountID, helpdesk.FieldOfCustomer, c.ID, filter.Fields)
		}), nil
	})
}

func (r reader) CustomersByID(ctx context.Context, ids []int64) ([]helpdesk.Customer, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Customer, error) {
		return db.customers.where(r.scope.AccountID, func(c *helpdesk.Customer) bool { return slices.Contains(ids, c.ID) }), nil
	})
}

func (r reader) CustomerByEmail(ctx context.Context, key string) (helpdesk.Customer, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Customer, error) {
		return db.customers.first(r.scope.AccountID, func(c *helpdesk.Customer) bool { return hasEmailKey(c, key) })
	})
}

func (r reader) EmailsByKey(ctx context.Context, keys []string) ([]helpdesk.CustomerEmail, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.CustomerEmail, error) {
		var found []helpdesk.CustomerEmail
		for _, c := range db.customers.all(r.scope.AccountID) {
			for _, e := range c.Emails {
				if slices.Contains(keys, e.Key) {
					found = append(found, e)
				}
			}
		}
		slices.SortFunc(found, func(a, b helpdesk.CustomerEmail) int { return cmp.Compare(a.ID, b.ID) })
		return found, nil
	})
}

func (r reader) CustomerStats(ctx context.Context, id int64) (helpdesk.CustomerStats, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.CustomerStats, error) {
		var stats helpdesk.CustomerStats
		if _, err := db.customers.get(r.scope.AccountID, id); err != nil {
			return stats, err
		}
		for _, c := range db.conversations.all(r.scope.AccountID) {
			if c.CustomerID != id || !sees(r.scope, c.MailboxID) {
				continue
			}
			stats.Total++
			switch c.Status {
			case helpdesk.StatusPosted:
				stats.Posted++
			case helpdesk.StatusPending:
				stats.Pending++
			case helpdesk.StatusClosed:
				stats.Closed++
			}
			if c.Channel == "email" {
				stats.EmailChannel++
			}
		}
		return stats, nil
	})
}

func (r reader) CustomerBeyond(ctx context.Context, id int64) (bool, error) {
	return query(ctx, r.src, func(db *data) (bool, error) {
		if _, err := db.customers.get(r.scope.AccountID, id); err != nil {
			return false, err
		}
		for _, c := range db.conversations.all(r.scope.AccountID) {
			if c.CustomerID == id && !sees(r.scope, c.MailboxID) {
				return true, nil
			}
		}
		for _, i := range db.interactions.all(r.scope.AccountID) {
			if i.CustomerID != id {
				continue
			}
			if c, err := db.conversations.get(r.scope.AccountID, i.ConversationID); err == nil && !sees(r.scope, c.MailboxID) {
				return true, nil
			}
		}
		return false, nil
	})
}

func hasEmailKey(c *helpdesk.Customer, key string) bool {
	return slices.ContainsFunc(c.Emails, func(e helpdesk.CustomerEmail) bool { return e.Key == key })
}

func hasDomain(c *helpdesk.Customer, domain string) bool {
	return slices.ContainsFunc(c.Emails, func(e helpdesk.CustomerEmail) bool {
		_, of, found := strings.Cut(e.Key, "@")
		return found && of == domain || !found && e.Key == domain
	})
}

func (t tx) InsertCustomer(ctx context.Context, c *helpdesk.Customer) error {
	return t.write(ctx, func(db *data) error {
		row := *clone(c)
		for i := range row.Emails {
			row.Emails[i].ID = 0
		}
		for i := range row.Phones {
			row.Phones[i].ID = 0
		}
		for i := range row.Websites {
			row.Websites[i].ID = 0
		}
		if err := t.checkCustomer(db, &row, &helpdesk.Customer{}); err != nil {
			return err
		}
		db.numberItems(&row)
		if err := db.customers.insert(t.scope.AccountID, &row, &row.ID); err != nil {
			return err
		}
		giveIDs(c, &row)
		return nil
	})
}

// ForgetEmails forgets nothing: there is no other transaction that would have to wait for UpdateCustomer.
func (t tx) ForgetEmails(ctx context.Context, customerID int64, _ []int64, _ int) (forgot bool, err error) {
	_, err = t.Customer(ctx, customerID)
	return false, err
}

func (t tx) UpdateCustomer(ctx context.Context, c *helpdesk.Customer) error {
	return t.write(ctx, func(db *data) error {
		old, err := db.customers.get(t.scope.AccountID, c.ID)
		if err != nil {
			return err
		}
		row := *clone(c)
		if err := t.checkCustomer(db, &row, old); err != nil {
			return err
		}
		db.numberItems(&row)
		giveIDs(c, &row)
		for _, e := range old.Emails {
			if !hasItem(row.Emails, e.ID, emailID) {
				t.forgetEmail(db, e.ID)
			}
		}
		sortItems(&row)
		db.customers.set(t.scope.AccountID, c.ID, &row)
		return nil
	})
}

// sortItems sorts the items by id.
func sortItems(c *helpdesk.Customer) {
	slices.SortFunc(c.Emails, func(a, b helpdesk.CustomerEmail) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(c.Phones, func(a, b helpdesk.CustomerPhone) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(c.Websites, func(a, b helpdesk.CustomerWebsite) int { return cmp.Compare(a.ID, b.ID) })
}

// checkCustomer refuses invalid text, items with ids that old does not have, and email keys that are taken.
func (t tx) checkCustomer(db *data, c, old *helpdesk.Customer) error {
	if err := check(c); err != nil {
		return err
	}
	if c.ExternalID != "" && db.customers.conflict(t.scope.AccountID, c.ID, func(o *helpdesk.Customer) bool { return o.ExternalID == c.ExternalID }) {
		return unique(helpdesk.UniqueCustomerExternal, "Another customer has this external id.")
	}
	for i, e := range c.Emails {
		if e.ID != 0 && !hasItem(old.Emails, e.ID, emailID) {
			return fault.Missing("email", e.ID)
		}
		taken := slices.ContainsFunc(c.Emails[:i], func(o helpdesk.CustomerEmail) bool { return o.Key == e.Key }) ||
			db.customers.conflict(t.scope.AccountID, c.ID, func(o *helpdesk.Customer) bool { return hasEmailKey(o, e.Key) })
		if taken {
			return unique(helpdesk.UniqueCustomerEmail, "Another customer has this email address.")
		}
	}
	for _, p := range c.Phones {
		if p.ID != 0 && !hasItem(old.Phones, p.ID, phoneID) {
			return fault.Missing("phone", p.ID)
		}
	}
	for _, w := range c.Websites {
		if w.ID != 0 && !hasItem(old.Websites, w.ID, websiteID) {
			return fault.Missing("website", w.ID)
		}
	}
	return nil
}

func emailID(e helpdesk.CustomerEmail) int64     { return e.ID }
func phoneID(p helpdesk.CustomerPhone) int64     { return p.ID }
func websiteID(w helpdesk.CustomerWebsite) int64 { return w.ID }

func hasItem[T any](items []T, id int64, idOf func(T) int64) bool {
	return slices.ContainsFunc(items, func(item T) bool { return idOf(item) == id })
}

// numberItems assigns ids to the items that have none.
func (db *data) numberItems(c *helpdesk.Customer) {
	next := func(id *int64) {
		if *id == 0 {
			db.lastItem++
			*id = db.lastItem
		}
	}
	for i := range c.Emails {
		next(&c.Emails[i].ID)
	}
	for i := range c.Phones {
		next(&c.Phones[i].ID)
	}
	for i := range c.Websites {
		next(&c.Websites[i].ID)
	}
}

// giveIDs copies the ids of row to the caller's customer, whose items are in the same order.
func giveIDs(c, row *helpdesk.Customer) {
	c.ID = row.ID
	for i := range c.Emails {
		c.Emails[i].ID = row.Emails[i].ID
	}
	for i := range c.Phones {
		c.Phones[i].ID = row.Phones[i].ID
	}
	for i := range c.Websites {
		c.Websites[i].ID = row.Websites[i].ID
	}
}

// forgetEmail clears the references to an address deleted from its customer.
func (t tx) forgetEmail(db *data, id int64) {
	for _, c := range db.conversations.where(t.scope.AccountID, func(c *helpdesk.Conversation) bool { return c.CustomerEmailID == id }) {
		c.CustomerEmailID = 0
		db.conversations.set(t.scope.AccountID, c.ID, &c)
	}
	for _, i := range db.interactions.where(t.scope.AccountID, func(i *helpdesk.Interaction) bool { return i.CustomerEmailID == id }) {
		i.CustomerEmailID = 0
		db.interactions.set(t.scope.AccountID, i.ID, &i)
	}
	db.removeOwned(t.scope.AccountID, "hw_customer_emails", id)
}

// customerRefs checks the customer and the address that a row refers to; 0 means none.
func (db *data) customerRefs(account, customerID, emailID int64) error {
	if _, err := db.customers.get(account, customerID); customerID != 0 && err != nil {
		return err
	}
	known := emailID == 0 || db.customers.conflict(account, 0, func(c *helpdesk.Customer) bool {
		return slices.ContainsFunc(c.Emails, func(e helpdesk.CustomerEmail) bool { return e.ID == emailID })
	})
	if !known {
		return fault.Missing("email", emailID)
	}
	return nil
}

func (t tx) DeleteCustomer(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		account := t.scope.AccountID
		c, err := db.customers.get(account, id)
		if err != nil {
			return err
		}
		inUse := db.conversations.conflict(account, 0, func(c *helpdesk.Conversation) bool { return c.CustomerID == id }) ||
			db.interactions.conflict(account, 0, func(i *helpdesk.Interaction) bool { return i.CustomerID == id })
		if inUse {
			return fault.New(fault.Conflict, "The customer has conversations.")
		}
		for _, e := range c.Emails {
			t.forgetEmail(db, e.ID)
		}
		db.customers.set(account, id, nil)
		db.customerTerms.set(account, id, nil)
		db.customerValues.set(account, id, nil)
		return nil
	})
}
