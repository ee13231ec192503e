package helpdesk

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/search"
)

// inquiry is a checked [ConversationQuery].
type inquiry struct {
	reader    Reader
	order     ConversationOrder
	ascending bool
	nothing   bool               // no conversation can match
	words     [][]search.Term    // to mark in texts
	asked     []search.Term      // the words themselves, as the index has them
	phrases   []search.Condition // of several words, which the store does not check
	budget    int                // how many more words count
	zone      *time.Location
	now       time.Time
}

// inquire checks the query of a member who may view conversations, and applies its view.
func (d *desk) inquire(ctx context.Context, r Reader, q ConversationQuery) (inquiry, error) {
	var err error
	if q.ViewID != 0 {
		if r, err = d.guard.Read(identity.ViewsView); err != nil {
			return inquiry{}, err
		}
	}
	var problems fault.Collector
	q.Fields = q.Fields.normal()
	if q.check(&problems, ""); problems.Err() != nil {
		return inquiry{}, problems.Err()
	}
	if err := q.references(ctx, r); err != nil {
		return inquiry{}, err
	}
	if q.ViewID != 0 {
		view, err := viewNoun().Reader(r).Get(ctx, q.ViewID)
		if view, err = d.seenView(ctx, r, view, err); err != nil {
			return inquiry{}, err
		}
		saved, _ := view.Filter.Query(d.userID) // validated before it was saved
		q.inherit(saved)
	}
	if q.Sort == "" {
		q.Sort = ByCreated
	}
	q.due = q.Due.at(d.svc.now(), q.Zone)
	if q.matched, err = q.Fields.of(ctx, r, FieldOfConversation, ""); err != nil {
		return inquiry{}, err
	}
	if q.Query != "" { // it searches texts and customers
		if r, err = d.guard.Read(identity.InteractionsView); err != nil {
			return inquiry{}, err
		}
	}
	in := inquiry{
		reader: r, order: ConversationOrder{ConversationFilter: q.filter(), Sort: q.Sort}, ascending: q.Ascending,
		budget: search.MaxTerms, zone: q.Zone, now: d.svc.now(),
	}
	if in.zone == nil {
		in.zone = time.UTC
	}
	return in, d.understand(ctx, &in, q.Query)
}

// understand adds the words and conditions of a query.
func (d *desk) understand(ctx context.Context, in *inquiry, query string) error {
	words, conditions := search.Parse(query)
	before := in.order.ConversationFilter
	in.look(search.Condition{Value: words})
	for _, c := range conditions {
		if err := d.meet(ctx, in, c); err != nil {
			return err
		}
	}
	in.nothing = in.nothing || query != "" && len(in.phrases) == 0 && reflect.DeepEqual(before, in.order.ConversationFilter)
	return nil
}

// meet adds a condition of a query.
func (d *desk) meet(ctx context.Context, in *inquiry, c search.Condition) error {
	switch c.Operator {
	case search.Anywhere, search.Subject, search.From, search.To:
		in.look(c)
		return nil
	case search.Before:
		day, _ := search.Day(c.Value, in.now, in.zone)
		in.narrow(c, ConversationFilter{CreatedBefore: day})
	case search.After:
		day, _ := search.Day(c.Value, in.now, in.zone)
		in.narrow(c, ConversationFilter{UpdatedSince: day})
	case search.Has:
		in.narrow(c, ConversationFilter{Attached: true})
	case search.Is:
		in.narrow(c, d.state(strings.ToLower(c.Value)))
	default:
		some, err := d.named(ctx, in.reader, c)
		if err != nil {
			return err
		}
		in.narrow(c, anyOf(some))
	}
	return nil
}

// look adds words to look for, those of a phrase among them.
func (in *inquiry) look(c search.Condition) {
	words := c.Terms()
	words = words[:min(len(words), in.budget)]
	in.budget -= len(words)
	terms := make([]SearchTerm, len(words))
	for i, w := range words {
		terms[i] = SearchTerm{Text: w[0].Text, Prefix: w[0].Prefix, Or: w[1:]}
	}
	ordered := c.Phrase && len(words) > 1 && (c.Operator == search.Anywhere || c.Operator == search.Subject)
	if ordered {
		in.phrases = append(in.phrases, c)
	}
	switch {
	case len(terms) == 0:
		return
	case !c.Not:
		in.order.Terms = append(in.order.Terms, terms...)
	case !ordered:
		in.order.Except = append(in.order.Except, ConversationFilter{Terms: terms})
	}
	if c.Not {
		return
	}
	for _, w := range words {
		in.asked = append(in.asked, w[0])
		in.words = append(in.words, unmarked(w))
	}
}

// unmarked returns the terms of a word as texts have them.
func unmarked(word []search.Term) []search.Term {
	all := slices.Clone(word)
	for i := range all {
		all[i].Text = search.Unmarked(all[i].Text)
	}
	return all
}

// narrow adds what a condition selects, or excludes.
func (in *inquiry) narrow(c search.Condition, by ConversationFilter) {
	if c.Not {
		in.order.Except = append(in.order.Except, by)
		return
	}
	in.order.ConversationFilter.add(by)
}

// add adds the conditions of another filter: to the filter's own, which have indexes, unless it has one of them already.
func (f *ConversationFilter) add(other ConversationFilter) {
	into, from := reflect.ValueOf(f).Elem(), reflect.ValueOf(other)
	for i := range from.NumField() {
		if !from.Field(i).IsZero() && !into.Field(i).IsZero() {
			f.Also = append(f.Also, other)
			return
		}
	}
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			into.Field(i).Set(from.Field(i))
		}
	}
}

// anyOf returns a filter that selects what any of some filters selects: all but what all of them leave out.
func anyOf(filters []ConversationFilter) ConversationFilter {
	switch len(filters) {
	case 0:
		return ConversationFilter{Except: []ConversationFilter{{}}}
	case 1:
		return filters[0]
	}
	return ConversationFilter{Except: []ConversationFilter{{Except: filters}}}
}

// state returns the filter for one of [search.States].
func (d *desk) state(name string) ConversationFilter {
	switch name {
	case "open":
		return ConversationFilter{Statuses: []Status{StatusPosted, StatusPending}, Snoozed: storage.Some(false)}
	case "pending":
		return ConversationFilter{Statuses: []Status{StatusPending}}
	case "closed":
		return ConversationFilter{Statuses: []Status{StatusClosed}}
	case "snoozed":
		return ConversationFilter{Snoozed: storage.Some(true)}
	case "spam":
		return ConversationFilter{Spam: storage.Some(true)}
	case "mine":
		return ConversationFilter{UserID: storage.Some(d.userID)}
	case "waiting":
		return ConversationFilter{Awaiting: storage.Some(true), Statuses: []Status{StatusPosted, StatusPending}}
	case "undelivered":
		return ConversationFilter{Undelivered: true}
	}
	return ConversationFilter{UserID: storage.Null[int64](), TeamID: storage.Null[int64]()}
}

// maxNamed limits the tags, mailboxes and members among which a query looks for a name.
const maxNamed = 1000

// named returns filters for the tag, the mailboxes or the members that a condition names; none if the member sees no such.
func (d *desk) named(ctx context.Context, r Reader, c search.Condition) ([]ConversationFilter, error) {
	switch c.Operator {
	case search.Tag:
		if !d.guard.Allows(identity.TagsView) {
			return nil, nil
		}
		return namedRows(ctx, tagNoun().Reader(r), func(t Tag) (ConversationFilter, int64, bool) {
			return ConversationFilter{TagIDs: []int64{t.ID}}, t.ID, search.Same(t.Name, c.Value)
		})
	case search.Mailbox:
		if !d.guard.Allows(identity.MailboxesView) {
			return nil, nil
		}
		return namedRows(ctx, r.Mailboxes(), func(m Mailbox) (ConversationFilter, int64, bool) {
			return ConversationFilter{MailboxID: m.ID}, m.ID, search.Contains(m.Name, c.Value) || strings.EqualFold(m.Email, c.Value)
		})
	}
	switch strings.ToLower(c.Value) {
	case "me":
		return []ConversationFilter{d.state("mine")}, nil
	case "nobody", "none":
		return []ConversationFilter{d.state("unassigned")}, nil
	}
	return d.assignees(ctx, r, c.Value)
}

// assignees returns filters for the members of a name or an address.
func (d *desk) assignees(ctx context.Context, r Reader, name string) ([]ConversationFilter, error) {
	if !d.guard.Allows(identity.MembershipsView) {
		return nil, nil
	}
	var ids []int64
	_, err := namedRows(ctx, r.Memberships(), func(m identity.Membership) (ConversationFilter, int64, bool) {
		ids = append(ids, m.UserID)
		return ConversationFilter{}, m.ID, false
	})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	users, err := r.UsersByID(ctx, ids)
	var all []ConversationFilter
	for _, u := range users {
		if search.Contains(u.Name, name) || strings.EqualFold(u.Email, name) {
			all = append(all, ConversationFilter{UserID: storage.Some(u.ID)})
		}
	}
	return all, err
}

// namedRows returns the filters of the rows that have a name, by id.
func namedRows[T any](ctx context.Context, rows storage.RowReader[T, storage.NoFilter], filter func(T) (f ConversationFilter, id int64, named bool)) ([]ConversationFilter, error) {
	var all []ConversationFilter
	seek := storage.Seek{Limit: storage.MaxLimit}
	for read := 0; read < maxNamed; read += seek.Limit {
		page, err := rows.List(ctx, storage.NoFilter{}, seek)
		if err != nil {
			return nil, err
		}
		for _, row := range page {
			f, id, named := filter(row)
			if seek.From = (&storage.Position{ID: id}); named {
				all = append(all, f)
			}
		}
		if len(page) < seek.Limit {
			break
		}
	}
	return all, nil
}
