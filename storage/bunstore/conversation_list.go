package bunstore

import (
	"context"
	"reflect"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// A list of conversations is read in its order from a fixed index, see listSource. No counter and no statistics decide which.
//
//   - An index that has all conditions of the list: one statement reads the page from it, see listPage.
//   - Other lists check the remaining conditions for the next rows of the index, see walkPage. When these do not fill the
//     page, further rows are walked, each time of the index in which as many rows reach furthest. A rare mix of conditions
//     therefore costs what reading its rarest condition costs.
//   - Conditions without an index in the list's order: when few rows meet one, they are read and sorted, see setPage.
const (
	firstWalk = 512            // rows of an index that are checked at first
	mostWalk  = 64 * firstWalk // rows that a later statement checks
	mostSet   = 8 * firstWalk  // rows that are read and sorted
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

// conversationQuery is a list to read.
type conversationQuery struct {
	helpdesk.ConversationOrder
	column string // of the list's order
	seek   storage.Seek
	marks  *marksAlong // marks to read along; nil: none
}

func (r reader) listConversations(ctx context.Context, f helpdesk.ConversationOrder, m *marksAlong, seek storage.Seek) ([]helpdesk.Conversation, error) {
	column, ok := sortColumns[f.Sort]
	if !ok {
		f.Sort, column = helpdesk.ByCreated, sortColumns[helpdesk.ByCreated]
	}
	if err := checkText(f.Statuses, f.Priorities, f.Audience); err != nil {
		return nil, err
	}
	if f.MailboxID != 0 && !r.sees(f.MailboxID) || seek.Limit <= 0 && seek.Limit != storage.NoLimit {
		return nil, r.state()
	}
	q := conversationQuery{ConversationOrder: f, column: column, marks: m, seek: seek}
	switch {
	case len(f.Terms) > 0:
		return r.searchConversations(ctx, q)
	case f.DraftBy != 0 || f.Undelivered: // few conversations have a draft of a user, or a failed delivery
		return r.setPage(ctx, q, nil)
	}
	sources := r.listSources(f)
	if sources[0].exact || seek.Limit == storage.NoLimit {
		return r.listPage(ctx, q, sources[0])
	}
	page, err := r.walkPage(ctx, q, sources[0], firstWalk)
	if err != nil || len(page) == seek.Limit {
		return page, err
	}
	if set, err := r.smallSet(ctx, f, mostSet); err != nil || set != nil {
		if err != nil {
			return nil, err
		}
		return r.setPage(ctx, q, set)
	}
	return r.walkOn(ctx, q, sources)
}

// listPage reads a page of a list from an index with all of its conditions. With no limit, other conditions are checked.
func (r reader) listPage(ctx context.Context, q conversationQuery, s listSource) ([]helpdesk.Conversation, error) {
	if ranges := r.ranges(s, q.seek); len(ranges) == 1 && s.side == nil && s.exact && !s.scattered {
		rows := r.by(r.selects((*conversationRow)(nil)), s.index).ApplyQueryBuilder(r.account).Where("?", ranges[0])
		return r.scanConversations(ctx, ordered(rows, q.column, q.seek), q.seek.Limit, q.marks)
	}
	return r.rowsOf(ctx, q, r.entries(s, q.seek), !s.exact)
}

// walkPage reads the conversations of a page that are among the next rows of an index.
func (r reader) walkPage(ctx context.Context, q conversationQuery, s listSource, rows int) ([]helpdesk.Conversation, error) {
	seek := q.seek
	seek.Limit = rows
	return r.rowsOf(ctx, q, r.entries(s, seek), true)
}

// walkOn reads a page in steps. Each walks the index in which a number of rows reach furthest.
func (r reader) walkOn(ctx context.Context, q conversationQuery, sources []listSource) (all []helpdesk.Conversation, err error) {
	limit, marks := q.seek.Limit, q.marks
	q.marks = nil // they are read for the page
	for rows := 2 * firstWalk; ; rows = min(4*rows, mostWalk) {
		furthest, end, err := r.furthest(ctx, q, sources, rows)
		if err != nil {
			return nil, err
		}
		q.seek.Limit = limit - len(all)
		some, err := r.walkPage(ctx, q, furthest, rows)
		if all = append(all, some...); err != nil || len(all) == limit || end == nil {
			if marks != nil {
				*marks = marksAlong{unreadBy: marks.unreadBy}
			}
			return all, err
		}
		q.seek.From = end
	}
}

// furthest returns the index in which a number of rows reach furthest, and the last of them; nil when it has fewer rows.
func (r reader) furthest(ctx context.Context, q conversationQuery, sources []listSource, rows int) (s listSource, end *storage.Position, err error) {
	seek := q.seek
	seek.Limit = rows
	for i, some := range sources {
		var at []struct{ Key, ID int64 }
		last := r.raw("SELECT e.key, e.id FROM (?) AS e ORDER BY e.key ?1, e.id ?1 LIMIT 1 OFFSET ?2", r.entries(some, seek), direction(seek), rows-1)
		if err := last.Scan(ctx, &at); err != nil {
			return s, nil, failure(ctx, err, "conversation", 0)
		}
		if len(at) == 0 {
			return some, nil, nil
		}
		if last := (storage.Position{Key: at[0].Key, ID: at[0].ID}); i == 0 || after(last, *end, seek.Desc) {
			s, end = some, &last
		}
	}
	return s, end, nil
}

// after reports whether a position lies beyond another.
func after(a, b storage.Position, desc bool) bool {
	if desc {
		a, b = b, a
	}
	return a.Key > b.Key || a.Key == b.Key && a.ID > b.ID
}

// rowsOf reads the conversations that some index entries name, in the list's order. When there may be more of them than the
// page has, the marks are read afterwards.
func (r reader) rowsOf(ctx context.Context, q conversationQuery, entries schema.QueryWithArgs, check bool) ([]helpdesk.Conversation, error) {
	marks := q.marks
	rows := r.lookup(bun.SafeQuery("SELECT e.id FROM (?) AS e", entries))
	seek := q.seek
	seek.From = nil // the entries are beyond it
	if check {
		marks = nil
		r.narrow(rows, q.ConversationFilter)
	}
	if q.marks != nil {
		*q.marks = marksAlong{unreadBy: q.marks.unreadBy} // without those of an earlier try
	}
	return r.scanConversations(ctx, ordered(rows, q.column, seek), q.seek.Limit, marks)
}

// setPage reads all conversations of a set and sorts them; a nil set is that of the filter's own subquery.
func (r reader) setPage(ctx context.Context, q conversationQuery, set *schema.QueryWithArgs) ([]helpdesk.Conversation, error) {
	rows := r.byID(r.selects((*conversationRow)(nil))).ApplyQueryBuilder(r.account)
	if set != nil {
		rows = r.lookup(*set)
	}
	r.narrow(rows, q.ConversationFilter)
	return r.scanConversations(ctx, page(rows, "+"+q.column, q.seek), q.seek.Limit, nil)
}

// smallSet returns the first of a filter's sets that has at most a number of rows and no index in the list's order, or nil.
func (r reader) smallSet(ctx context.Context, f helpdesk.ConversationOrder, most int) (*schema.QueryWithArgs, error) {
	var sets []schema.QueryWithArgs
	if len(f.Ratings) > 0 {
		table := bun.SafeQuery("hw_ratings AS g")
		if !r.store.postgres {
			table = bun.SafeQuery("hw_ratings AS g INDEXED BY hw_ratings_verdict")
		}
		sets = append(sets, bun.SafeQuery("SELECT DISTINCT g.conversation_id AS id FROM ? WHERE g.account_id = ? AND g.verdict IN (?) LIMIT ?",
			table, r.scope.AccountID, bun.List(f.Ratings), most+1))
	}
	if f.Held.Or(false) {
		table := bun.SafeQuery("hw_conversations AS h")
		if !r.store.postgres {
			table = bun.SafeQuery("hw_conversations AS h INDEXED BY hw_conversations_held")
		}
		sets = append(sets, bun.SafeQuery("SELECT h.id AS id FROM ? WHERE h.account_id = ? AND h.held_at > 0 LIMIT ?", table, r.scope.AccountID, most+1))
	}
	for _, s := range r.listSets(f) {
		sets = append(sets, bun.SafeQuery("SELECT e.id FROM (?) AS e", r.entries(s, storage.Seek{Limit: most + 1})))
	}
	for _, set := range sets {
		n := 0
		if err := r.raw("SELECT COUNT(*) FROM (?) AS s", set).Scan(ctx, &n); err != nil {
			return nil, failure(ctx, err, "conversation", 0)
		}
		if n <= most {
			return &set, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// entries selects the next index entries of a list as (id, key).
func (r reader) entries(s listSource, seek storage.Seek) schema.QueryWithArgs {
	id, table := bun.Ident("id"), bun.SafeQuery("hw_conversations AS h")
	if s.side != nil {
		id, table = bun.Ident(s.side.id), bun.SafeQuery("? AS h", bun.Ident(s.side.name))
	}
	if !r.store.postgres {
		table = bun.SafeQuery("? INDEXED BY ?", table, bun.Ident(s.index))
	}
	if s.scattered {
		return r.sortedEntries(s, table, seek)
	}
	limit := bun.SafeQuery("")
	if seek.Limit != storage.NoLimit {
		limit = bun.SafeQuery(" LIMIT ?", seek.Limit)
	}
	var all schema.QueryWithArgs
	ranges := r.ranges(s, seek)
	for i, in := range ranges {
		one := bun.SafeQuery("SELECT h.?0 AS id, h.?1 AS key FROM ?2 WHERE h.account_id = ?3 AND ?4 ORDER BY h.?1 ?5, h.?0 ?5?6",
			id, bun.Ident(s.column), table, r.scope.AccountID, in, direction(seek), limit)
		switch {
		case len(ranges) == 1:
			return one
		case i == 0:
			all = bun.SafeQuery("SELECT * FROM (?) AS r", one)
		case s.overlaps:
			all = bun.SafeQuery("? UNION SELECT * FROM (?) AS r", all, one)
		default:
			all = bun.SafeQuery("? UNION ALL SELECT * FROM (?) AS r", all, one)
		}
	}
	return bun.SafeQuery("SELECT u.id, u.key FROM (?0) AS u ORDER BY u.key ?1, u.id ?1?2", all, direction(seek), limit)
}

// sortedEntries is entries for an index whose rows are in another order. OFFSET keeps PostgreSQL from reading the index of the order
// instead.
func (r reader) sortedEntries(s listSource, table schema.QueryWithArgs, seek storage.Seek) schema.QueryWithArgs {
	beyond, limit := bun.SafeQuery("TRUE"), bun.SafeQuery("")
	if seek.From != nil {
		than := bun.Safe(">")
		if seek.Desc {
			than = "<"
		}
		beyond = bun.SafeQuery("(h.?, h.id) ? (?, ?)", bun.Ident(s.column), than, seek.From.Key, seek.From.ID)
	}
	if seek.Limit != storage.NoLimit {
		limit = bun.SafeQuery(" LIMIT ?", seek.Limit)
	}
	all := bun.SafeQuery("SELECT h.id, h.? AS key FROM ? WHERE h.account_id = ? AND ? AND ?", bun.Ident(s.column), table, r.scope.AccountID, s.ranges[0], beyond)
	if r.store.postgres {
		all = bun.SafeQuery("? OFFSET 0", all)
	}
	return bun.SafeQuery("SELECT u.id, u.key FROM (?0) AS u ORDER BY u.key ?1, u.id ?1?2", all, direction(seek), limit)
}

// ranges returns the ranges of the index beyond a position. SQLite seeks to the key of a position alone, because id is the
// table's rowid, so that it would read all rows with this key: they are a range of their own.
func (r reader) ranges(s listSource, seek storage.Seek) []schema.QueryWithArgs {
	if seek.From == nil {
		return s.ranges
	}
	id := "id"
	if s.side != nil {
		id = s.side.id
	}
	beyond := bun.Safe(">")
	if seek.Desc {
		beyond = "<"
	}
	var all []schema.QueryWithArgs
	for _, in := range s.ranges {
		if r.store.postgres {
			all = append(all, bun.SafeQuery("? AND (?, ?) ? (?, ?)", in, bun.Ident(s.column), bun.Ident(id), beyond, seek.From.Key, seek.From.ID))
			continue
		}
		all = append(all, bun.SafeQuery("? AND ? = ? AND ? ? ?", in, bun.Ident(s.column), seek.From.Key, bun.Ident(id), beyond, seek.From.ID),
			bun.SafeQuery("? AND ? ? ?", in, bun.Ident(s.column), beyond, seek.From.Key))
	}
	return all
}

// lookup selects from the conversations that another query names, and looks these up one by one, whatever else the query
// asks of them.
func (r reader) lookup(ids schema.QueryWithArgs) *bun.SelectQuery {
	q := r.selects((*conversationRow)(nil))
	if r.store.postgres { // OFFSET keeps the planner from reading the conversations of another condition
		return q.ModelTableExpr("(SELECT * FROM ?TableName WHERE account_id = ? AND id = ANY (ARRAY(?)) OFFSET 0) AS ?TableName", r.scope.AccountID, ids)
	}
	return r.byID(q).ApplyQueryBuilder(r.account).Where("?TableName.id IN (?)", ids)
}

// by makes SQLite use an index that it would not choose without statistics.
func (r reader) by(q *bun.SelectQuery, index string) *bun.SelectQuery {
	if !r.store.postgres {
		q.ModelTableExpr("?TableName INDEXED BY ?", bun.Ident(index))
	}
	return q
}

// ordered is page for rows that are beyond the position already.
func ordered(q *bun.SelectQuery, key string, seek storage.Seek) *bun.SelectQuery {
	seek.From = nil
	return page(q, key, seek)
}

func direction(seek storage.Seek) bun.Safe {
	if seek.Desc {
		return "DESC"
	}
	return "ASC"
}

// isZero reports whether a filter has no conditions.
func isZero(f helpdesk.ConversationFilter) bool { return reflect.ValueOf(f).IsZero() }
