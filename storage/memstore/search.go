package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/search"
)

// searchDoc holds the search terms of a conversation: its own, sorted, and those of its customer.
type searchDoc struct{ own, customer []string }

func sortedTerms(terms []string) []string {
	terms = slices.Clone(terms)
	slices.Sort(terms)
	return slices.Compact(terms)
}

// found reports whether sorted lists of terms together match a query.
func found(query []helpdesk.SearchTerm, lists ...[]string) bool {
	return !slices.ContainsFunc(query, func(q helpdesk.SearchTerm) bool {
		return !slices.ContainsFunc(lists, func(terms []string) bool { return search.Match(terms, [][]search.Term{q.Any()}) })
	})
}

func (db *data) foundConversation(account, id int64, query []helpdesk.SearchTerm) bool {
	if len(query) == 0 {
		return true
	}
	doc, err := db.searchDocs.get(account, id)
	return err == nil && found(query, doc.own, doc.customer)
}

func (db *data) foundCustomer(account, id int64, query []helpdesk.SearchTerm) bool {
	return len(query) == 0 || found(query, db.termsOfCustomer(account, id))
}

func (db *data) termsOfCustomer(account, id int64) []string {
	if terms, err := db.customerTerms.get(account, id); err == nil {
		return *terms
	}
	return nil
}

func (r reader) KnownTerms(ctx context.Context, terms []string) ([]string, error) {
	return query(ctx, r.src, func(db *data) ([]string, error) {
		known := slices.DeleteFunc(sortedTerms(terms), func(term string) bool {
			for _, doc := range db.searchDocs.all(r.scope.AccountID) {
				if found([]helpdesk.SearchTerm{{Text: term}}, doc.own, doc.customer) {
					return false
				}
			}
			return true
		})
		return known, check(&terms)
	})
}

func (r reader) PassagesByID(ctx context.Context, conversationIDs []int64, n int) ([]helpdesk.Passage, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Passage, error) {
		var all []helpdesk.Passage
		for _, id := range slices.Compact(slices.Sorted(slices.Values(conversationIDs))) {
			if _, err := db.conversation(r.scope, id); err != nil || n <= 0 {
				continue
			}
			for _, i := range db.ordered(r.scope.AccountID, storage.Seek{Desc: true, Limit: n}, func(i *helpdesk.Interaction) bool {
				return i.ConversationID == id && i.Status != helpdesk.StatusDraft
			}) {
				body := []rune(i.Body)
				all = append(all, helpdesk.Passage{ConversationID: id, InteractionID: i.ID, Subject: i.Subject, Body: string(body[:min(len(body), helpdesk.MaxSearchText)])})
			}
		}
		return all, nil
	})
}

func (t tx) SearchTerms(ctx context.Context, conversationID int64) ([]string, error) {
	return query(ctx, t.src, func(db *data) ([]string, error) {
		if _, err := db.conversation(t.scope, conversationID); err != nil {
			return nil, err
		}
		doc, err := db.searchDocs.get(t.scope.AccountID, conversationID)
		if err != nil {
			return nil, nil //nolint:nilerr // none stored yet
		}
		return slices.Clone(doc.own), nil
	})
}

func (t tx) SetSearchTerms(ctx context.Context, conversationID int64, terms []string) error {
	return t.write(ctx, func(db *data) error {
		c, err := db.conversation(t.scope, conversationID)
		if err != nil {
			return err
		}
		if err := check(&terms); err != nil {
			return err
		}
		account := t.scope.AccountID
		db.searchDocs.set(account, c.ID, &searchDoc{own: sortedTerms(terms), customer: db.termsOfCustomer(account, c.CustomerID)})
		return nil
	})
}

func (t tx) SetCustomerTerms(ctx context.Context, customerID int64, terms []string) error {
	return t.write(ctx, func(db *data) error {
		account := t.scope.AccountID
		if _, err := db.customers.get(account, customerID); err != nil {
			return err
		}
		if err := check(&terms); err != nil {
			return err
		}
		terms = sortedTerms(terms)
		db.customerTerms.set(account, customerID, &terms)
		return nil
	})
}

func (t tx) SpreadCustomerTerms(ctx context.Context, customerID int64, conversationIDs []int64) error {
	return t.write(ctx, func(db *data) error {
		account := t.scope.AccountID
		for _, id := range conversationIDs {
			c, err := db.conversations.get(account, id)
			if err != nil || c.CustomerID != customerID {
				continue
			}
			if doc, err := db.searchDocs.get(account, id); err == nil {
				db.searchDocs.set(account, id, &searchDoc{own: doc.own, customer: db.termsOfCustomer(account, customerID)})
			}
		}
		return nil
	})
}

func (t tx) CustomerForUpdate(ctx context.Context, id int64) (helpdesk.Customer, error) {
	return t.Customer(ctx, id) // the transaction has the store to itself, here and below
}

// MoveSome moves nothing: there is no other transaction that would have to wait for MoveCustomer.
func (t tx) MoveSome(ctx context.Context, from, into int64, _ int) (moved bool, err error) {
	if _, err := t.CustomerForUpdate(ctx, from); err != nil {
		return false, err
	}
	_, err = t.CustomerForUpdate(ctx, into)
	return false, err
}

func (t tx) MoveCustomer(ctx context.Context, from, into int64) error {
	return t.write(ctx, func(db *data) error {
		account := t.scope.AccountID
		old, err := db.customers.get(account, from)
		if err != nil {
			return err
		}
		target, err := db.customers.get(account, into)
		if err != nil || from == into {
			return err
		}
		merged := *clone(target)
		merged.Emails = append(merged.Emails, old.Emails...)
		merged.Phones = append(merged.Phones, old.Phones...)
		merged.Websites = append(merged.Websites, old.Websites...)
		sortItems(&merged)
		for _, c := range db.conversations.where(account, func(c *helpdesk.Conversation) bool { return c.CustomerID == from }) {
			c.CustomerID = into
			db.conversations.set(account, c.ID, &c)
		}
		for _, i := range db.interactions.where(account, func(i *helpdesk.Interaction) bool { return i.CustomerID == from }) {
			i.CustomerID = into
			db.interactions.set(account, i.ID, &i)
		}
		db.customers.set(account, into, &merged)
		db.customers.set(account, from, nil)
		db.customerTerms.set(account, from, nil)
		db.customerValues.set(account, from, nil)
		return nil
	})
}
