package bunstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
)

// countRow is a row maintained by triggers; on PostgreSQL several rows add up to one count.
type countRow struct {
	bun.BaseModel `bun:"table:hw_conversation_counts,alias:hw_conversation_counts"`
	TagID         int64 // negative: the row is no maintained count, see [reader.Count]
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
const countedBy = "tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam"

// Count implements [helpdesk.CountReader] with one statement: its rows are the maintained counts,
// and one for each other number, with its position from -1 downwards in place of a tag.
func (r reader) Count(ctx context.Context, q helpdesk.CountQuery) (helpdesk.Counted, error) {
	counted := helpdesk.Counted{Conversations: make([]int64, len(q.Conversations)), Notifications: make([]int64, len(q.Notifications))}
	var into []*int64
	var parts []string
	var args []any
	number := func(n *int64, some *bun.SelectQuery) {
		into = append(into, n)
		parts = append(parts, fmt.Sprintf(`SELECT -%d AS tag_id, 0 AS mailbox_id, 0 AS user_id, 0 AS team_id, '' AS status, '' AS priority,
			FALSE AS awaiting, FALSE AS snoozed, FALSE AS spam, (SELECT COUNT(*) FROM (?) AS c) AS n`, len(into)))
		args = append(args, some.ColumnExpr("1 AS one").Limit(int64(q.Limit)))
	}
	if q.Maintained {
		parts = append(parts, "?")
		args = append(args, r.selects((*countRow)(nil)).ColumnExpr(countedBy+", SUM(n) AS n").
			ApplyQueryBuilder(r.conversationsInScope).Where("tag_id IN (?)", bun.List(append([]int64{0}, q.TagIDs...))).
			GroupExpr(countedBy).Having("SUM(n) <> 0"))
	}
	if q.Limit > 0 {
		for i, f := range q.Conversations {
			some := r.selects((*conversationRow)(nil)).ApplyQueryBuilder(r.conversationsInScope)
			if err := r.narrow(ctx, some, conversationQuery{ConversationOrder: helpdesk.ConversationOrder{ConversationFilter: f}}); err != nil {
				return counted, err
			}
			number(&counted.Conversations[i], some)
		}
		if q.Quarantined { // the state is a literal, to match the condition of an index
			number(&counted.Quarantined, r.selects((*inboundRow)(nil)).ApplyQueryBuilder(r.ledgerInScope).Where("?TableName.state = 'quarantined'"))
		}
		for i, f := range q.Notifications {
			number(&counted.Notifications[i], r.selects((*notificationRow)(nil)).ApplyQueryBuilder(r.notificationsInScope).ApplyQueryBuilder(narrowNotifications(f)))
		}
	}
	if len(parts) == 0 {
		return counted, r.state()
	}
	var rows []countRow
	err := r.raw("SELECT "+countedBy+", n FROM ("+strings.Join(parts, " UNION ALL ")+") AS all_counts ORDER BY "+countedBy, args...).Scan(ctx, &rows)
	for _, row := range rows {
		if row.TagID < 0 {
			*into[-row.TagID-1] = row.N
		} else {
			counted.Maintained = append(counted.Maintained, row.count())
		}
	}
	return counted, failure(ctx, err, "conversation", 0)
}
