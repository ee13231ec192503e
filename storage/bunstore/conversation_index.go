package bunstore

import (
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// listSource is an index with rows of a list in the list's order.
type listSource struct {
	index     string
	side      *sideTable // with what conversations have several of; nil: of hw_conversations
	column    string     // of the order
	ranges    []schema.QueryWithArgs
	overlaps  bool // a row may be in several ranges
	scattered bool // its rows are not in the order of the list: all of them are read and sorted
	exact     bool // it has all conditions of the list
}

// sideTable is a table with what conversations are listed by.
type sideTable struct{ name, id string } // id is the column with the conversation

var (
	conversationTags   = &sideTable{"hw_conversation_tags", "conversation_id"}
	conversationValues = &sideTable{"hw_conversation_values", "subject_id"}
)

// mostRanges limits the ranges of an index that a statement merges.
const mostRanges = 16

// mostShelves limits the shelves that a list merges. Lists of more check the shelf of each row.
const mostShelves = 6

// keyed is a condition of a list for which there are indexes.
type keyed struct {
	name   string     // index: hw_conversations_<name>_<order>, or ..._<name>_shelf_<order>
	side   *sideTable // index: <side>_<order>, or <side>_shelf_<order>
	ranges []schema.QueryWithArgs
	clear  func(f *helpdesk.ConversationFilter) // removes the condition
	bare   bool                                 // there is no index with the shelf
	// scattered: the index has the rows of each of several values in the list's order, but there may be too many values to merge.
	scattered bool
}

// listSources returns the indexes with rows of a list in its order, the one to begin with first. There is at least one.
func (r reader) listSources(f helpdesk.ConversationOrder) []listSource {
	var all []listSource
	shelves := shelvesOf(f.ConversationFilter)
	few := len(shelves) > 0 && len(shelves) <= mostShelves
	waiting := f.Sort == helpdesk.ByAwaiting && f.Awaiting.Or(false) // these indexes have no others
	if waiting && len(shelves) == 0 {
		shelves = allShelves
	}
	if f.Sort == helpdesk.ByCreated || f.Sort == helpdesk.ByUpdated || waiting {
		shelved := false
		for _, k := range r.keysOf(f.ConversationFilter) {
			switch {
			case k.name == "customer" && waiting: // no index
			case !k.bare && (few || waiting) && len(k.ranges)*max(len(shelves), 1) <= mostRanges:
				shelved = true
				all = append(all, r.listSource(f, k, shelves))
			case !waiting || k.bare:
				all = append(all, r.listSource(f, k, nil))
			}
		}
		if !shelved && (few || waiting) {
			all = append(all, r.listSource(f, keyed{}, shelves))
		}
	}
	if len(all) == 0 {
		all = append(all, r.listSource(f, keyed{}, nil))
	}
	return all
}

// listSource returns the index of a condition and shelves; both may be empty.
func (r reader) listSource(f helpdesk.ConversationOrder, k keyed, shelves []int) listSource {
	order := map[helpdesk.ConversationSort]string{helpdesk.ByUpdated: "updated", helpdesk.ByNumber: "number", helpdesk.ByAwaiting: "awaiting", helpdesk.ByDue: "due"}[f.Sort]
	if order == "" {
		order = "created"
	}
	s := listSource{index: "hw_conversations", side: k.side, column: sortColumns[f.Sort], ranges: k.ranges, overlaps: k.side != nil && len(k.ranges) > 1, scattered: k.scattered}
	if k.side != nil {
		s.index = k.side.name
	} else if k.name != "" {
		s.index += "_" + k.name
	}
	rest, scoped := f.ConversationFilter, r.scope.Mailboxes != nil && k.name != "mailbox"
	if k.clear != nil {
		k.clear(&rest)
	}
	if len(s.ranges) == 0 {
		s.ranges = []schema.QueryWithArgs{bun.SafeQuery("TRUE")}
	}
	if len(shelves) > 0 {
		s.index += "_shelf"
		s.ranges = product(s.ranges, shelves)
		if shelvesOf(rest) != nil {
			rest.Statuses, rest.Snoozed, rest.Spam = nil, storage.Opt[bool]{}, storage.Opt[bool]{}
		}
	}
	s.index += "_" + order
	if f.Sort == helpdesk.ByAwaiting && f.Awaiting.Or(false) {
		s.ranges, rest.Awaiting = also(s.ranges, bun.SafeQuery("awaiting_key > 0")), storage.Opt[bool]{}
	}
	if f.Sort == helpdesk.ByDue && f.Due != (helpdesk.DueRange{}) {
		s.ranges = also(s.ranges, bun.SafeQuery("due_key >= ? AND due_key < ?", micros(f.Due.From), micros(f.Due.Before)))
		if !f.Due.Soon.IsZero() { // in no index, but those that are due and not yet overdue are few
			s.ranges = also(s.ranges, bun.SafeQuery("soon_at <= ?", micros(f.Due.Soon)))
		}
		rest.Due = helpdesk.DueRange{}
	}
	if f.Sort == helpdesk.ByUpdated && !f.UpdatedSince.IsZero() {
		s.ranges, rest.UpdatedSince = also(s.ranges, bun.SafeQuery("updated_at >= ?", micros(f.UpdatedSince))), time.Time{}
	}
	s.exact = !scoped && isZero(rest)
	return s
}

// keysOf returns the conditions of a filter for which there are indexes, those that usually have the fewest rows first.
func (r reader) keysOf(f helpdesk.ConversationFilter) []keyed {
	var all []keyed
	if f.CustomerID != 0 {
		all = append(all, keyed{
			name: "customer", bare: true, ranges: equal("customer_id", f.CustomerID),
			clear: func(f *helpdesk.ConversationFilter) { f.CustomerID = 0 },
		})
	}
	if f.CompanyID != 0 && f.CustomerID == 0 {
		people := bun.SafeQuery("SELECT o.id FROM hw_customers AS o WHERE o.account_id = ? AND o.company_id = ? AND o.company_id <> 0", r.scope.AccountID, f.CompanyID)
		of := bun.SafeQuery("customer_id IN (?)", people)
		if r.store.postgres { // not a join, which it might begin with the conversations
			of = bun.SafeQuery("customer_id = ANY (ARRAY(?))", people)
		}
		all = append(all, keyed{
			name: "customer", bare: true, scattered: true, ranges: []schema.QueryWithArgs{of},
			clear: func(f *helpdesk.ConversationFilter) { f.CompanyID = 0 },
		})
	}
	if len(f.TagIDs) > 0 && len(f.TagIDs) <= mostRanges {
		all = append(all, keyed{side: conversationTags, ranges: equal("tag_id", f.TagIDs...), clear: func(f *helpdesk.ConversationFilter) { f.TagIDs = nil }})
	}
	all = append(all, valuesOf(f.Fields)...)
	if unusual(f.Priorities) {
		all = append(all, keyed{name: "priority", bare: true, ranges: []schema.QueryWithArgs{bun.SafeQuery("priority <> 'normal'")}})
	}
	user, team := f.UserID.Or(0), f.TeamID.Or(0)
	switch {
	case user != 0:
		all = append(all, keyed{name: "holder", ranges: equal("holder", user), clear: func(f *helpdesk.ConversationFilter) { f.UserID = storage.Opt[int64]{} }})
	case f.UserID.IsSet() && f.TeamID.IsSet():
		all = append(all, keyed{name: "holder", ranges: equal("holder", -team), clear: func(f *helpdesk.ConversationFilter) {
			f.UserID, f.TeamID = storage.Opt[int64]{}, storage.Opt[int64]{}
		}})
		team = 0
	}
	if team != 0 {
		all = append(all, keyed{name: "team", ranges: also(equal("team_id", team), bun.SafeQuery("team_id <> 0")), clear: func(f *helpdesk.ConversationFilter) {
			f.TeamID = storage.Opt[int64]{}
		}})
	}
	if in := r.mailboxes(f); len(in) > 0 && len(in) <= mostRanges && (f.MailboxID == 0 || r.sees(f.MailboxID)) {
		all = append(all, keyed{name: "mailbox", ranges: equal("mailbox_id", in...), clear: func(f *helpdesk.ConversationFilter) { f.MailboxID = 0 }})
	}
	return all
}

// listSets returns the sets that a filter selects and that no index has in the list's order.
func (r reader) listSets(f helpdesk.ConversationOrder) []listSource {
	all := rangesOf(f.Fields)
	of := f
	of.Sort = helpdesk.ByUpdated
	if !f.UpdatedSince.IsZero() && f.Sort != helpdesk.ByUpdated {
		all = append(all, r.listSource(of, keyed{}, nil))
	}
	of.UpdatedSince = time.Time{}
	if f.Sort == helpdesk.ByNumber || f.Sort == helpdesk.ByAwaiting || f.Sort == helpdesk.ByDue {
		for _, s := range r.listSources(of) {
			if s.index != "hw_conversations_updated" {
				all = append(all, s)
			}
		}
	}
	if f.Due != (helpdesk.DueRange{}) && f.Sort != helpdesk.ByDue {
		of.Sort = helpdesk.ByDue
		all = append(all, r.listSource(of, keyed{}, nil))
	}
	if f.Awaiting.Or(false) && f.Sort != helpdesk.ByAwaiting {
		of.Sort = helpdesk.ByAwaiting
		all = append(all, r.listSource(of, keyed{}, nil))
	}
	return all
}

// mailboxes returns the mailboxes of the list; nil: all.
func (r reader) mailboxes(f helpdesk.ConversationFilter) []int64 {
	if f.MailboxID != 0 {
		return []int64{f.MailboxID}
	}
	return r.scope.Mailboxes
}

// shelfStatuses are the statuses in the order of their shelves: see the column shelf of hw_conversations.
var shelfStatuses = [...]helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending, helpdesk.StatusClosed, helpdesk.StatusDraft}

var allShelves = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}

// shelvesOf returns the shelves that have exactly the conversations with a filter's statuses, snoozed and spam; nil when it
// selects by none of these, or by spam that is snoozed or not, which no shelf tells apart.
func shelvesOf(f helpdesk.ConversationFilter) []int {
	if len(f.Statuses) == 0 && !f.Snoozed.IsSet() && !f.Spam.IsSet() || f.Snoozed.IsSet() && f.Spam.Or(true) {
		return nil
	}
	var all []int
	for n, status := range shelfStatuses {
		if len(f.Statuses) > 0 && !slices.Contains(f.Statuses, status) {
			continue
		}
		if !f.Spam.Or(false) && !f.Snoozed.Or(false) {
			all = append(all, n)
		}
		if !f.Spam.Or(false) && f.Snoozed.Or(true) {
			all = append(all, n+4)
		}
		if f.Spam.Or(true) {
			all = append(all, n+8)
		}
	}
	return all
}

// equal returns the ranges of an index in which a column has one of some values.
func equal(column string, values ...int64) []schema.QueryWithArgs {
	values = slices.Clone(values)
	slices.Sort(values)
	var all []schema.QueryWithArgs
	for _, value := range slices.Compact(values) {
		all = append(all, bun.SafeQuery("? = ?", bun.Ident(column), value))
	}
	return all
}

// also adds a condition to ranges.
func also(ranges []schema.QueryWithArgs, condition schema.QueryWithArgs) []schema.QueryWithArgs {
	all := make([]schema.QueryWithArgs, len(ranges))
	for i, in := range ranges {
		all[i] = bun.SafeQuery("? AND ?", in, condition)
	}
	return all
}

// product splits ranges by shelf.
func product(ranges []schema.QueryWithArgs, shelves []int) []schema.QueryWithArgs {
	var all []schema.QueryWithArgs
	for _, shelf := range shelves {
		all = append(all, also(ranges, bun.SafeQuery("shelf = ?", shelf))...)
	}
	return all
}
