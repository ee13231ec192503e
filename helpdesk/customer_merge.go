package helpdesk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

// Merge merges the customer id into the customer into. It moves emails, phones, websites, conversations and
// messages, then removes id. Into keeps its names, company, external id and each field unless it has none; notes are joined. It needs
// customers.update and customers.delete. A member limited to some mailboxes must reach all conversations of both; otherwise
// it is a Forbidden fault. If into would exceed the limits of a customer's items, it is an Invalid fault and nothing
// changes.
func (d Customers) Merge(ctx context.Context, id, into int64) (Customer, error) {
	if _, err := d.guard.Write(identity.CustomersDelete); err != nil {
		return Customer{}, err
	}
	begin, err := d.guard.WriteAlone(identity.CustomersUpdate)
	if err != nil {
		return Customer{}, err
	}
	var problems fault.Collector
	if problems.Check(into != 0, "into", "is required") {
		problems.Check(into != id, "into", "must be another customer")
	}
	if err := problems.Err(); err != nil {
		return Customer{}, err
	}
	err = guard.InPieces(ctx, begin, func(ctx context.Context, tx Tx) (bool, error) {
		if _, err := d.mergeable(ctx, tx, id, into); err != nil {
			return false, err
		}
		return tx.MoveSome(ctx, id, into, pieceRows)
	})
	if err != nil {
		return Customer{}, err
	}
	var merged Customer
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		merged, err = d.mergeCustomer(ctx, tx, id, into)
		return err
	})
	return merged, err
}

// mergeable locks and returns two customers who may be merged.
func (d *desk) mergeable(ctx context.Context, tx Tx, id, into int64) (map[int64]Customer, error) {
	both := map[int64]Customer{}
	for _, one := range slices.Sorted(slices.Values([]int64{id, into})) { // in a fixed order, to avoid deadlocks
		c, err := tx.CustomerForUpdate(ctx, one)
		if err != nil {
			return nil, err
		}
		both[one] = c
	}
	if err := d.reachesWhole(ctx, tx.Reader(), id, into); err != nil {
		return nil, err
	}
	return both, fits(both[id], both[into])
}

func (d *desk) mergeCustomer(ctx context.Context, tx Tx, id, into int64) (Customer, error) {
	both, err := d.mergeable(ctx, tx, id, into)
	if err != nil {
		return Customer{}, err
	}
	values, err := tx.FieldValues(ctx, FieldOfCustomer, []int64{id, into})
	if err != nil {
		return Customer{}, err
	}
	if err := tx.MoveCustomer(ctx, id, into); err != nil {
		return Customer{}, err
	}
	if err := completeFields(ctx, tx, FieldOfCustomer, values, id, into); err != nil {
		return Customer{}, err
	}
	if err := changeRatings(ctx, tx, RatingFilter{CustomerID: id}, func(r *Rating) { r.CustomerID = into }); err != nil {
		return Customer{}, err
	}
	c, err := tx.Customer(ctx, into)
	if err != nil {
		return Customer{}, err
	}
	if c.FirstName == "" && c.LastName == "" {
		c.FirstName, c.LastName = both[id].FirstName, both[id].LastName
	}
	if c.CompanyID == 0 && (c.Company == "" || plain.Key(c.Company) == plain.Key(both[id].Company)) {
		c.CompanyID, c.Company = both[id].CompanyID, both[id].Company
	}
	c.Note, c.ExternalID = joinedNotes(c.Note, both[id].Note), cmp.Or(c.ExternalID, both[id].ExternalID)
	c.Phones, c.Websites = different(c.Phones, phoneText), different(c.Websites, websiteText)
	c.UpdatedAt = d.svc.now()
	if err := tx.UpdateCustomer(ctx, &c); err != nil {
		return Customer{}, err
	}
	if err := d.svc.reindexCustomer(ctx, tx, d.scope, c); err != nil {
		return Customer{}, err
	}
	if err := d.emit(ctx, tx, "customer.deleted", id, 0); err != nil {
		return Customer{}, err
	}
	return c, d.emit(ctx, tx, "customer.merged", into, 0)
}

// fits returns a fault if the merged customer would have too many items.
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
	problems.Check(plain.Length(joinedNotes(a.Note, b.Note)) <= MaxNote, "into", fmt.Sprintf("would make the note longer than %d characters", MaxNote))
	return problems.Err()
}

// joinedNotes joins the notes of two customers who are merged.
func joinedNotes(note, other string) string {
	if other == "" || note == other {
		return note
	}
	return strings.TrimSpace(note + "\n\n" + other)
}

func phoneText(p CustomerPhone) string     { return p.Phone }
func websiteText(w CustomerWebsite) string { return w.Website }

// different removes items with duplicate texts.
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
