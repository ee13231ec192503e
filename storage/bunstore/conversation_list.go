package bunstore

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// A list of conversations is read in one of two ways. The list's order is walked until the page is full when an index has
// the matching rows in that order, or when much of the order matches. When few rows match, the database reads them all and
// sorts them. No planner can know which is better, because it does not know where in the order the matching rows are. So a
// list without an index in its order first walks nearBy*fewRows of the order, in one statement. If the page is not full, the
// set is sorted when it has at most as many rows. Otherwise the limit grows: the set is sorted, or the order is walked as far
// as that, where each row is checked, which costs what reading it for the sort would.
//
// A list with an index in its order is walked at once, unless one of the other sets has at most mostSorted rows: those are
// sorted in milliseconds, while the rows that match may all be at the far end of the order. Its
// further limits count rows of that index.
const (
	fewRows    = 128
	nearBy     = 4
	mostSorted = 8 * nearBy * fewRows
)

// conversationList reads lists of conversations.
type conversationList struct {
	storage.RowReader[helpdesk.Conversation, helpdesk.ConversationOrder]
	r reader
}

// conversationRows is conversationList in a transaction.
type conversationRows struct {
	storage.Rows[helpdesk.Conversation, helpdesk.ConversationOrder]
	r reader
}

// List implements [storage.RowReader].
func (l conversationList) List(ctx context.Context, f helpdesk.ConversationOrder, seek storage.Seek) ([]helpdesk.Conversation, error) {
	return lagging(ctx, l.r, func(ctx context.Context, r reader) ([]helpdesk.Conversation, error) {
		return r.listConversations(ctx, f, nil, seek)
	})
}

// List implements [storage.RowReader].
func (l conversationRows) List(ctx context.Context, f helpdesk.ConversationOrder, seek storage.Seek) ([]helpdesk.Conversation, error) {
	return l.r.listConversations(ctx, f, nil, seek)
}

// conversationQuery holds how a list is read.
type conversationQuery struct {
	helpdesk.ConversationOrder
	column string // of the list's order
	seek   storage.Seek
	walk   bool              // whether the order is walked
	bound  *storage.Position // last position to look at; nil: none
	within int               // how many rows of the order to look at, of which there must be more; 0: see bound
	listed bool              // the bound counts rows of the list, not all conversations
	byTag  bool              // the tags' index is walked, which has their conversations by time of creation
	beside bool              // the rows of another set than that of the tags are sorted
	index  string            // index for SQLite to use; "": SQLite chooses

	marks   *marksAlong // marks to read along; nil: none
	termsBy termsBy
	match   string // the terms as a query of SQLite's index
}

// conversationSet is a set of conversations that a filter selects, to be counted.
type conversationSet struct {
	query *bun.SelectQuery
	index string // index that has the set as a prefix
	tags  bool   // it is the set of the tags
}

func (r reader) listConversations(ctx context.Context, f helpdesk.ConversationOrder, m *marksAlong, seek storage.Seek) ([]helpdesk.Conversation, error) {
	column, ok := sortColumns[f.Sort]
	if !ok {
		f.Sort, column = helpdesk.ByCreated, sortColumns[helpdesk.ByCreated]
	}
	if err := checkText(f.Statuses, f.Priorities); err != nil {
		return nil, err
	}
	if f.MailboxID != 0 && !r.sees(f.MailboxID) {
		return nil, r.state()
	}
	q := conversationQuery{ConversationOrder: f, column: column, marks: m, seek: seek, walk: true, index: cmp.Or(r.openIndex(f), r.keyIndex(f))}
	if f.DraftBy != 0 || f.Undelivered || f.Snoozed.Or(false) { // these match few rows
		return r.searchSet(ctx, q, conversationSet{})
	}
	if len(f.Terms) > 0 {
		return r.searchConversations(ctx, q)
	}
	sets := r.unordered(f)
	if r.byTag(f) {
		others := slices.DeleteFunc(slices.Clone(sets), func(set conversationSet) bool { return set.tags })
		if len(others) == 0 || len(f.TagIDs) == 1 { // near measures along one tag
			q.byTag, sets = true, others
		}
	}
	if len(sets) == 0 {
		return r.conversationPage(ctx, q)
	}
	return r.unorderedPage(ctx, q, sets)
}

// unorderedPage reads a page of a list that selects sets without an index in its order: in whichever way reads less soon
// succeeds.
func (r reader) unorderedPage(ctx context.Context, q conversationQuery, sets []conversationSet) ([]helpdesk.Conversation, error) {
	const first = nearBy * fewRows
	keyed := r.keyed(q.ConversationOrder)
	walked := !keyed && !q.byTag && q.CustomerID == 0 && q.seek.Limit <= fewRows
	if walked {
		q.within = first
		page, err := r.conversationPage(ctx, q)
		if q.within = 0; err != nil || len(page) == q.seek.Limit {
			return page, err
		}
	}
	for rows := first; ; rows *= 8 {
		set, err := r.few(ctx, sets, rows)
		if err != nil {
			return nil, err
		}
		if set != nil {
			q.walk, q.bound, q.index, q.byTag, q.beside = false, nil, set.index, false, !set.tags
			return r.conversationPage(ctx, q)
		}
		if keyed && rows < mostSorted || walked && rows == first {
			continue
		}
		q.listed = keyed
		q.bound, err = r.near(ctx, q, rows)
		if err != nil {
			return nil, err
		}
		page, err := r.conversationPage(ctx, q)
		if err != nil || q.bound == nil || len(page) == q.seek.Limit {
			return page, err
		}
	}
}

// conversationPage reads one page of a query.
func (r reader) conversationPage(ctx context.Context, q conversationQuery) ([]helpdesk.Conversation, error) {
	if q.byTag {
		return r.tagPage(ctx, q)
	}
	if q.tied() {
		return r.tiedPage(ctx, q)
	}
	s, err := r.conversationStatement(ctx, q, q.seek)
	if err != nil {
		return nil, err
	}
	switch {
	case q.within > 0:
		s.Where("(?TableName.?, ?TableName.id) ? (?)", bun.Ident(q.column), until(q.seek), r.further(q, q.within))
	case q.bound != nil:
		s.Where("(?TableName.?, ?TableName.id) ? (?, ?)", bun.Ident(q.column), until(q.seek), q.bound.Key, q.bound.ID)
	}
	return r.scanPage(ctx, s, q)
}

// conversationStatement selects the rows of a query beyond a position. It does not apply the query's bound.
func (r reader) conversationStatement(ctx context.Context, q conversationQuery, seek storage.Seek) (*bun.SelectQuery, error) {
	s := r.by(r.selects((*conversationRow)(nil)), q.index).ApplyQueryBuilder(r.account)
	if err := r.narrow(ctx, s, q); err != nil {
		return nil, err
	}
	column := q.column
	if !q.walk {
		column = "+" + column
		if len(q.TagIDs) > 0 && !q.beside && r.store.postgres {
			s.Comment("planned for these tags, as a plan for any would read all conversations") // keeps the statement from being prepared
		}
	}
	return page(s, column, seek), nil
}

// scanPage reads a page. Its marks are read along unless the database sorts the rows, when it may read those of all.
func (r reader) scanPage(ctx context.Context, s *bun.SelectQuery, q conversationQuery) ([]helpdesk.Conversation, error) {
	if q.marks == nil || q.walk {
		return r.scanConversations(ctx, s, q.seek.Limit, q.marks)
	}
	*q.marks = marksAlong{unreadBy: q.marks.unreadBy} // without those of an earlier try
	return r.scanConversations(ctx, s, q.seek.Limit, nil)
}

// until compares a row with the last one to look at.
func until(seek storage.Seek) bun.Safe {
	if seek.Desc {
		return ">="
	}
	return "<="
}

// near returns the position n rows further in the order, where a walk ends; nil when there are fewer rows. It counts rows of
// the list without its tags and terms, or any rows.
func (r reader) near(ctx context.Context, q conversationQuery, n int) (*storage.Position, error) {
	var at []struct{ Key, ID int64 }
	if q.byTag {
		err := tagOrder(r.tagRows(q.TagIDs[0]).ColumnExpr("t.created_at AS key, t.conversation_id AS id"), storage.Seek{Desc: q.seek.Desc, From: q.seek.From, Limit: 1}).
			Offset(int64(n)).Scan(ctx, &at)
		return positionOf(ctx, at, err)
	}
	if q.tied() {
		return r.tiedNear(ctx, q, n)
	}
	err := r.further(q, n).Scan(ctx, &at)
	return positionOf(ctx, at, err)
}

// further selects the position n rows further in the order.
func (r reader) further(q conversationQuery, n int) *bun.SelectQuery {
	s := r.selects((*conversationRow)(nil)).ColumnExpr("?TableName.? AS key, ?TableName.id AS id", bun.Ident(q.column)).ApplyQueryBuilder(r.account)
	if q.listed {
		r.by(s, q.index)
		for _, part := range r.inOrder(&q).parts(q) {
			s.ApplyQueryBuilder(part)
		}
	}
	return page(s, q.column, storage.Seek{Desc: q.seek.Desc, From: q.seek.From, Limit: 1}).Offset(int64(n))
}

// positionOf returns the position of the row that was read, or nil.
func positionOf(ctx context.Context, at []struct{ Key, ID int64 }, err error) (*storage.Position, error) {
	if err != nil || len(at) == 0 {
		return nil, failure(ctx, err, "conversation", 0)
	}
	return &storage.Position{Key: at[0].Key, ID: at[0].ID}, nil
}

// few returns the first set that has at most n rows, or nil.
func (r reader) few(ctx context.Context, sets []conversationSet, n int) (*conversationSet, error) {
	for i, set := range sets {
		var found int
		q := r.db.NewSelect().Conn(r.conn()).Err(r.state()).ColumnExpr("COUNT(*)").
			TableExpr("(?) AS c", set.query.Limit(int64(n)+1))
		if err := q.Scan(ctx, &found); err != nil {
			return nil, failure(ctx, err, "conversation", 0)
		}
		if found <= n {
			return &sets[i], nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// by makes SQLite use an index that it would not choose without statistics.
func (r reader) by(q *bun.SelectQuery, index string) *bun.SelectQuery {
	if index != "" && !r.store.postgres {
		q.ModelTableExpr("?TableName INDEXED BY ?", bun.Ident(index))
	}
	return q
}

// openIndex returns the index of open conversations in the list's order, or "" when the list includes others, or so few
// conversations that other indexes may be better.
func (r reader) openIndex(f helpdesk.ConversationOrder) string {
	if !atWork(f.Statuses) || unusual(f.Priorities) || f.Spam.Or(false) || f.CustomerID != 0 {
		return ""
	}
	switch f.Sort {
	case helpdesk.ByCreated:
		return "hw_conversations_open_created"
	case helpdesk.ByNumber:
		return "hw_conversations_open_number"
	case helpdesk.ByAwaiting:
		return "hw_conversations_open_awaiting"
	}
	if index := r.openIndexOf(f.ConversationFilter); index != "" && (index != openMailbox || len(r.mailboxes(f.ConversationFilter)) == 1) {
		return index
	}
	return "hw_conversations_open"
}

const openMailbox = "hw_conversations_open_mailbox"

// openIndexOf returns the index of open conversations of a user, a team or mailboxes, or "" when the list covers all.
func (r reader) openIndexOf(f helpdesk.ConversationFilter) string {
	switch {
	case f.UserID.IsSet() && f.TeamID.IsSet():
		return "hw_conversations_open_assignee"
	case f.TeamID.Or(0) != 0:
		return "hw_conversations_open_team"
	case f.UserID.IsSet():
		return "hw_conversations_open_user"
	case len(r.mailboxes(f)) > 0:
		return openMailbox
	}
	return ""
}

// mailboxes returns the mailboxes of the list; nil: all.
func (r reader) mailboxes(f helpdesk.ConversationFilter) []int64 {
	if f.MailboxID != 0 {
		return []int64{f.MailboxID}
	}
	return r.scope.Mailboxes
}

// keyed reports whether an index has some of the filter's conditions in the list's order. The other conditions then drop
// some of the walked rows.
func (r reader) keyed(f helpdesk.ConversationOrder) bool {
	if atWork(f.Statuses) {
		return true
	}
	dated := f.Sort == helpdesk.ByCreated || f.Sort == helpdesk.ByUpdated // the orders of the indexes of spam and of priorities
	switch {
	case dated && (f.Spam.Or(false) || unusual(f.Priorities)):
		return true
	case f.Sort == helpdesk.ByUpdated && !f.UpdatedSince.IsZero():
		return true
	case f.Sort == helpdesk.ByAwaiting:
		return f.Awaiting.Or(false)
	}
	return len(r.mailboxes(f.ConversationFilter)) == 1 || f.UserID.IsSet() || f.TeamID.Or(0) != 0
}

// inOrder reduces a query's filter and scope to what one index has in the list's order, so that its rows can be counted in the
// index.
func (r reader) inOrder(q *conversationQuery) reader {
	f, working := q.ConversationOrder, atWork(q.Statuses)
	dated := f.Sort == helpdesk.ByCreated || f.Sort == helpdesk.ByUpdated
	q.ConversationFilter = helpdesk.ConversationFilter{}
	if working {
		q.Statuses = f.Statuses
	}
	if dated || working && f.Sort == helpdesk.ByAwaiting {
		q.Priorities = f.Priorities
	}
	switch {
	case f.Sort == helpdesk.ByAwaiting:
		q.Awaiting = f.Awaiting
	case f.Sort == helpdesk.ByUpdated:
		q.UpdatedSince = f.UpdatedSince
	}
	if dated && f.Spam.Or(false) {
		q.Spam = f.Spam
	}
	mailboxes := r.scope.Mailboxes
	r.scope.Mailboxes = nil
	if f.Sort == helpdesk.ByAwaiting || working && f.Sort != helpdesk.ByUpdated {
		return r
	}
	user, team := f.UserID, f.TeamID
	switch {
	case working || !user.IsSet() || team.Or(0) == 0:
	case user.Or(0) != 0:
		team = storage.Opt[int64]{}
	default:
		user = storage.Opt[int64]{}
	}
	if q.UserID, q.TeamID = user, team; !user.IsSet() && team.Or(0) == 0 {
		q.MailboxID, r.scope.Mailboxes = f.MailboxID, mailboxes
	}
	return r
}

// keyIndex returns the index to walk when several have the list's order: that of the condition which usually has the fewest rows.
// SQLite does not know which that is. It returns "" when there is only one such index.
func (r reader) keyIndex(f helpdesk.ConversationOrder) string {
	order, ordered := map[helpdesk.ConversationSort]string{helpdesk.ByCreated: "_created", helpdesk.ByUpdated: "", helpdesk.ByNumber: "_number"}[f.Sort]
	mailbox, user, team := len(r.mailboxes(f.ConversationFilter)) == 1, f.UserID.Or(0) != 0, f.TeamID.Or(0) != 0
	dated := f.Sort != helpdesk.ByNumber
	switch {
	case !ordered || atWork(f.Statuses):
	case dated && f.Spam.Or(false):
		return "hw_conversations_spam" + order
	case dated && unusual(f.Priorities):
		return "hw_conversations_priority" + order
	case user && (mailbox || team):
		return "hw_conversations_user" + order
	case team && (mailbox || f.UserID.IsSet()):
		return "hw_conversations_team" + order
	}
	return ""
}

// unordered returns the sets that a filter selects and that no index has in the list's order, those that tend to be small
// first.
func (r reader) unordered(f helpdesk.ConversationOrder) []conversationSet {
	var sets []conversationSet
	indexed := func(index string, parts ...filter) {
		set := r.by(r.selects((*conversationRow)(nil)), index).ApplyQueryBuilder(r.account)
		for _, part := range parts {
			set.ApplyQueryBuilder(part)
		}
		sets = append(sets, conversationSet{query: set.ColumnExpr("1"), index: index})
	}
	add := func(parts ...filter) { indexed("", parts...) }
	const plain = bun.Safe("")
	working := atWork(f.Statuses)
	if f.CustomerID != 0 && !r.ofCustomerAlone(f) {
		indexed("hw_conversations_customer", func(q bun.QueryBuilder) bun.QueryBuilder { return q.Where("customer_id = ?", f.CustomerID) })
	}
	if len(f.TagIDs) > 0 {
		sets = append(sets, conversationSet{tags: true, query: r.db.NewSelect().TableExpr("hw_conversation_tags AS t").ColumnExpr("1").
			Where("t.account_id = ? AND t.tag_id IN (?)", r.scope.AccountID, bun.List(f.TagIDs))})
	}
	bare := f.Sort == helpdesk.ByNumber || f.Sort == helpdesk.ByAwaiting // spam and urgent conversations have no index
	if bare && unusual(f.Priorities) && !(working && f.Sort == helpdesk.ByAwaiting) {
		indexed("hw_conversations_priority", withPriority(f.Priorities, plain))
	}
	if bare && f.Spam.Or(false) {
		indexed("hw_conversations_spam", withSpam(f.Spam, plain))
	}
	if index, parts := r.peopleSet(f); len(parts) > 0 {
		indexed(index, parts...)
	}
	if f.Awaiting.Or(false) && f.Sort != helpdesk.ByAwaiting {
		add(r.withStatus(f.Statuses, plain), withAwaiting(f.Awaiting, plain))
	}
	if !f.UpdatedSince.IsZero() && f.Sort != helpdesk.ByUpdated {
		add(withChange(f.UpdatedSince, plain))
	}
	if working && len(f.Statuses) == 1 && (f.Sort != helpdesk.ByUpdated || len(f.Terms) > 0) { // one of the two may be rare among open conversations
		indexed("hw_conversations_status", func(q bun.QueryBuilder) bun.QueryBuilder {
			return q.Where("?TableName.status = ?", f.Statuses[0])
		})
	}
	if len(f.Statuses) > 0 && !working && (f.Sort != helpdesk.ByUpdated || len(f.Statuses) > 1) {
		add(r.withStatus(f.Statuses, plain))
	}
	return sets
}

// ofCustomerAlone reports whether the customer's index has the rows of a list in its order. An audience does not matter: it is
// the customer's own addresses, so that nearly all rows pass.
func (r reader) ofCustomerAlone(f helpdesk.ConversationOrder) bool {
	bare := helpdesk.ConversationFilter{CustomerID: f.CustomerID, Audience: f.Audience}
	return f.Sort == helpdesk.ByCreated && r.scope.Mailboxes == nil && reflect.DeepEqual(f.ConversationFilter, bare)
}

// mostTags is how many indexes of tags a list follows together.
const mostTags = 16

// byTag reports whether a list follows the index of its tags. A list with conditions that few conversations may meet does not:
// it could walk all conversations of a tag.
func (r reader) byTag(f helpdesk.ConversationOrder) bool {
	return len(f.TagIDs) > 0 && len(f.TagIDs) <= mostTags && f.Sort == helpdesk.ByCreated && !r.keyed(f) && f.TeamID.Or(0) == 0 &&
		f.CustomerID == 0 && len(f.Audience) == 0 && !unusual(f.Priorities) && !f.Spam.Or(false)
}

// peopleSet returns the set that a filter selects by user, team and mailboxes, if no index has it in the list's order.
func (r reader) peopleSet(f helpdesk.ConversationOrder) (index string, parts []filter) {
	people := r.ofPeople(f.ConversationFilter, "")
	switch someones := r.assigned(f.ConversationFilter); {
	case someones && atWork(f.Statuses) && f.Sort != helpdesk.ByUpdated:
		return r.openIndexOf(f.ConversationFilter), []filter{r.withStatus(f.Statuses, ""), people}
	case someones && f.Sort == helpdesk.ByAwaiting && f.TeamID.Or(0) != 0:
		return "hw_conversations_team", []filter{people}
	case someones && f.Sort == helpdesk.ByAwaiting && f.UserID.Or(0) != 0:
		return "hw_conversations_user", []filter{people}
	case someones && f.Sort == helpdesk.ByAwaiting, len(r.mailboxes(f.ConversationFilter)) > 1:
		return "", []filter{people}
	}
	return "", nil
}

// assigned reports whether a filter selects by user, team or few mailboxes.
func (r reader) assigned(f helpdesk.ConversationFilter) bool {
	return len(r.mailboxes(f)) > 0 || f.UserID.IsSet() || f.TeamID.Or(0) != 0
}
