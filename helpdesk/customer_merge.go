package helpdesk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/storage/fault"
)

// MergeCustomers makes one customer of two: everything that belongs to the customer
// id is into's from then on, emails, phones, websites, conversations and messages; then
// id is gone. Names and company stay into's, unless into has none; notes are joined. It needs
// customers.update and customers.delete; a member of some mailboxes has to reach all
// conversations of both, else it is Forbidden. Where into would have more items than a
// customer may, it is an Invalid fault and nothing is done.
func (d *Desk) MergeCustomers(ctx context.Context, id, into int64) (Customer, error) {
	if _, err := d.guard.Write(CustomersDelete); err != nil {
		return Customer{}, err
	}
	begin, err := d.guard.Write(CustomersUpdate)
	if err != nil {
		return Customer{}, err
	}
	var problems fault.Collector
	if problems.Check(into != 0, "into", "is required") {
		problems.Check(into != id, "into", "is the customer itself")
	}
	if err := problems.Err(); err != nil {
		return Customer{}, err
	}
	var merged Customer
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		merged, err = d.mergeCustomer(ctx, tx, id, into)
		return err
	})
	return merged, err
}

func (d *Desk) mergeCustomer(ctx context.Context, tx Tx, id, into int64) (Customer, error) {
	both := map[int64]Customer{}
	for _, one := range slices.Sorted(slices.Values([]int64{id, into})) { // locked in one order, whoever merges what
		c, err := tx.CustomerForUpdate(ctx, one)
		if err != nil {
			return Customer{}, err
		}
		both[one] = c
	}
	if err := d.reachesWhole(ctx, tx.Reader(), id, into); err != nil {
		return Customer{}, err
	}
	if err := fits(both[id], both[into]); err != nil {
		return Customer{}, err
	}
	if err := tx.MoveCustomer(ctx, id, into); err != nil {
		return Customer{}, err
	}
	c, err := tx.Customer(ctx, into)
	if err != nil {
		return Customer{}, err
	}
	if c.FirstName == "" && c.LastName == "" {
		c.FirstName, c.LastName = both[id].FirstName, both[id].LastName
	}
	if c.Company == "" {
		c.Company = both[id].Company
	}
	c.Note = joinedNotes(c.Note, both[id].Note)
	c.Phones, c.Websites = different(c.Phones, phoneText), different(c.Websites, websiteText)
	c.UpdatedAt = d.svc.now()
	if err := tx.UpdateCustomer(ctx, &c); err != nil {
		return Customer{}, err
	}
	if err := indexCustomer(ctx, tx, c); err != nil {
		return Customer{}, err
	}
	if err := d.emit(ctx, tx, "customer.deleted", id, 0); err != nil {
		return Customer{}, err
	}
	return c, d.emit(ctx, tx, "customer.merged", into, 0)
}

// fits refuses a customer with more items than one may have.
func fits(a, b Customer) error {
	var problems fault.Collector
	for _, list := range []struct {
		name       string
		has, limit int
	}{
		{"emails", len(a.Emails) + len(b.Emails), MaxEmails},
		{"phones", len(different(slices.Concat(a.Phones, b.Phones), phoneText)), MaxPhones},
		{"websites", len(different(slices.Concat(a.Websites, b.Websites), websiteText)), MaxWebsites},
	} {
		problems.Check(list.has <= list.limit, "into", fmt.Sprintf("would have more than %d %s", list.limit, list.name))
	}
	problems.Check(runes(joinedNotes(a.Note, b.Note)) <= MaxNote, "into", fmt.Sprintf("would have a note of more than %d characters", MaxNote))
	return problems.Err()
}

// joinedNotes is the note of a customer and that of another who becomes the same.
func joinedNotes(note, other string) string {
	if other == "" || note == other {
		return note
	}
	return strings.TrimSpace(note + "\n\n" + other)
}

func phoneText(p CustomerPhone) string     { return p.Phone }
func websiteText(w CustomerWebsite) string { return w.Website }

// different keeps the first of items with the same text.
func different[T any](items []T, text func(T) string) []T {
	seen := map[string]bool{}
	var out []T
	for _, item := range items {
		if !seen[text(item)] {
			seen[text(item)] = true
			out = append(out, item)
		}
	}
	return out
}
