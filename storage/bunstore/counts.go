package bunstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// countRow is a row maintained by triggers; on PostgreSQL several rows add up to one count.
type countRow struct {
	bun.BaseModel `bun:"table:hw_conversation_counts,alias:hw_conversation_counts"`
}

// countedBy lists the key columns of the rows, and countText writes a row's as text, with its count. Hundreds of rows in one
// text are read much faster than as rows.
const (
	countedBy = "tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam"
	countText = `tag_id || ',' || mailbox_id || ',' || user_id || ',' || team_id || ',' || status || ',' || priority || ',' ||
		CAST(awaiting AS INTEGER) || ',' || CAST(snoozed AS INTEGER) || ',' || CAST(spam AS INTEGER) || ',' || n`
)

// maintainedCounts selects the maintained counts as one text.
func (r reader) maintainedCounts(tagIDs []int64) *bun.SelectQuery {
	rows := r.selects((*countRow)(nil)).ColumnExpr(countedBy+", SUM(n) AS n").
		ApplyQueryBuilder(r.conversationsInScope).Where("tag_id IN (?)", bun.List(append([]int64{0}, tagIDs...))).
		GroupExpr(countedBy).Having("SUM(n) <> 0")
	all := "string_agg(" + countText + ", ';')"
	if !r.store.postgres {
		all = "group_concat(" + countText + ", ';')"
	}
	return r.db.NewSelect().Conn(r.conn()).ColumnExpr("COALESCE("+all+", '')").TableExpr("(?) AS c", rows)
}

// parseCounts reads the text of maintainedCounts.
func parseCounts(text string) ([]helpdesk.ConversationCount, error) {
	if text == "" {
		return nil, nil
	}
	counts := make([]helpdesk.ConversationCount, 0, 1+strings.Count(text, ";"))
	for more := true; more; {
		var row string
		row, text, more = strings.Cut(text, ";")
		var words [10]string
		for i := range words {
			words[i], row, _ = strings.Cut(row, ",")
		}
		var numbers [5]int64
		for i, at := range [...]int{0, 1, 2, 3, 9} {
			var err error
			if numbers[i], err = strconv.ParseInt(words[at], 10, 64); err != nil {
				return nil, err
			}
		}
		counts = append(counts, helpdesk.ConversationCount{
			TagID: numbers[0], MailboxID: numbers[1], UserID: numbers[2], TeamID: numbers[3],
			Status: helpdesk.Status(words[4]), Priority: helpdesk.Priority(words[5]),
			Awaiting: words[6] == "1", Snoozed: words[7] == "1", Spam: words[8] == "1", N: numbers[4],
		})
	}
	slices.SortFunc(counts, helpdesk.ConversationCount.Compare)
	return counts, nil
}

// Count implements [helpdesk.CountReader] with one statement, which returns one row.
func (r reader) Count(ctx context.Context, q helpdesk.CountQuery) (helpdesk.Counted, error) {
	return lagging(ctx, r, func(ctx context.Context, r reader) (helpdesk.Counted, error) { return r.countAll(ctx, q) })
}

// conversationsOf selects conversations to count, from an index with all conditions of their filter if there is one.
func (r reader) conversationsOf(f helpdesk.ConversationFilter, limit int) *bun.SelectQuery {
	if s := r.listSources(helpdesk.ConversationOrder{ConversationFilter: f, Sort: helpdesk.ByCreated})[0]; s.exact {
		return r.db.NewSelect().TableExpr("(?) AS e", r.entries(s, storage.Seek{Limit: limit}))
	}
	some := r.selects((*conversationRow)(nil)).ApplyQueryBuilder(r.conversationsInScope)
	r.narrow(some, f)
	return some
}

func (r reader) countAll(ctx context.Context, q helpdesk.CountQuery) (helpdesk.Counted, error) {
	counted := helpdesk.Counted{Conversations: make([]int64, len(q.Conversations)), Notifications: make([]int64, len(q.Notifications))}
	var into []any
	s := r.db.NewSelect().Conn(r.conn()).Err(r.state())
	number := func(n *int64, some *bun.SelectQuery) {
		into = append(into, n)
		s.ColumnExpr("(SELECT COUNT(*) FROM (?) AS c)", some.ColumnExpr("1 AS one").Limit(int64(q.Limit)))
	}
	var maintained string
	if q.Maintained {
		into = append(into, &maintained)
		s.ColumnExpr("(?)", r.maintainedCounts(q.TagIDs))
	}
	if q.Limit > 0 {
		for i, f := range q.Conversations {
			number(&counted.Conversations[i], r.conversationsOf(f, q.Limit))
		}
		if q.Quarantined { // the state is a literal, to match the condition of an index
			number(&counted.Quarantined, r.selects((*inboundRow)(nil)).ApplyQueryBuilder(r.ledgerInScope).Where("?TableName.state = 'quarantined'"))
		}
		for i, f := range q.Notifications {
			number(&counted.Notifications[i], r.selects((*notificationRow)(nil)).ApplyQueryBuilder(r.notificationsInScope).ApplyQueryBuilder(narrowNotifications(f)))
		}
	}
	if len(into) == 0 {
		return counted, r.state()
	}
	err := s.Scan(ctx, into...)
	if err == nil {
		counted.Maintained, err = parseCounts(maintained)
	}
	return counted, failure(ctx, err, "conversation", 0)
}
