package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
)

// countRow is a row maintained by triggers; on PostgreSQL several rows add up to one count.
type countRow struct {
	bun.BaseModel `bun:"table:hw_conversation_counts,alias:hw_conversation_counts"`
	TagID         int64
	MailboxID     int64
	UserID        int64
	TeamID        int64
	Status        string
	Priority      string
	Awaiting      bool
	Snoozed       bool
	Spam          bool
	N             int64
}

func (r *countRow) count() helpdesk.ConversationCount {
	return helpdesk.ConversationCount{
		TagID: r.TagID, MailboxID: r.MailboxID, UserID: r.UserID, TeamID: r.TeamID, Status: helpdesk.Status(r.Status), Priority: helpdesk.Priority(r.Priority),
		Awaiting: r.Awaiting, Snoozed: r.Snoozed, Spam: r.Spam, N: r.N,
	}
}

// countedBy lists the key columns of the rows.
var countedBy = []string{"tag_id", "mailbox_id", "user_id", "team_id", "status", "priority", "awaiting", "snoozed", "spam"}

// ConversationCounts implements [helpdesk.CountReader].
func (r reader) ConversationCounts(ctx context.Context, tagIDs ...int64) ([]helpdesk.ConversationCount, error) {
	var rows []countRow
	err := r.selects(&rows).Column(countedBy...).ColumnExpr("SUM(n) AS n").
		ApplyQueryBuilder(r.conversationsInScope).Where("tag_id IN (?)", bun.List(append([]int64{0}, tagIDs...))).
		Group(countedBy...).Having("SUM(n) <> 0").Order(countedBy...).Scan(ctx)
	return mapped(rows, (*countRow).count), failure(ctx, err, "conversation", 0)
}

// Count implements [helpdesk.CountReader] with one statement.
func (r reader) Count(ctx context.Context, q helpdesk.CountQuery) ([]int64, error) {
	n := len(q.Conversations)
	if q.Quarantined {
		n++
	}
	counts := make([]int64, n)
	if q.Limit <= 0 || n == 0 {
		return counts, r.state()
	}
	s := r.db.NewSelect().Conn(r.conn()).Err(r.state())
	number := func(some *bun.SelectQuery) {
		s.ColumnExpr("(SELECT COUNT(*) FROM (?) AS c)", some.ColumnExpr("1 AS one").Limit(int64(q.Limit)))
	}
	for _, f := range q.Conversations {
		some := r.selects((*conversationRow)(nil)).ApplyQueryBuilder(r.conversationsInScope)
		if err := r.narrow(ctx, some, conversationQuery{ConversationOrder: helpdesk.ConversationOrder{ConversationFilter: f}}); err != nil {
			return nil, err
		}
		number(some)
	}
	if q.Quarantined { // the state is a literal, to match the condition of an index
		number(r.selects((*inboundRow)(nil)).ApplyQueryBuilder(r.ledgerInScope).Where("?TableName.state = 'quarantined'"))
	}
	into := make([]any, n)
	for i := range counts {
		into[i] = &counts[i]
	}
	return counts, failure(ctx, s.Scan(ctx, into...), "conversation", 0)
}
