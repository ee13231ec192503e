package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
)

// countRow is a line of what triggers keep; on PostgreSQL several make up a count.
type countRow struct {
	bun.BaseModel `bun:"table:hw_conversation_counts,alias:hw_conversation_counts"`
	MailboxID     int64
	UserID        int64
	Status        string
	Awaiting      bool
	Snoozed       bool
	N             int64
}

func (r *countRow) count() helpdesk.ConversationCount {
	return helpdesk.ConversationCount{
		MailboxID: r.MailboxID, UserID: r.UserID, Status: helpdesk.Status(r.Status), Awaiting: r.Awaiting, Snoozed: r.Snoozed, N: r.N,
	}
}

// ConversationCounts implements [helpdesk.CountReader].
func (r reader) ConversationCounts(ctx context.Context) ([]helpdesk.ConversationCount, error) {
	var rows []countRow
	err := r.selects(&rows).Column("mailbox_id", "user_id", "status", "awaiting", "snoozed").ColumnExpr("SUM(n) AS n").
		ApplyQueryBuilder(r.conversationsInScope).Group("mailbox_id", "user_id", "status", "awaiting", "snoozed").Having("SUM(n) <> 0").
		Order("mailbox_id", "user_id", "status", "awaiting", "snoozed").Scan(ctx)
	return mapped(rows, (*countRow).count), failure(ctx, err, "conversation", 0)
}

// CountConversations implements [helpdesk.CountReader].
func (r reader) CountConversations(ctx context.Context, f helpdesk.ConversationFilter, limit int) (int64, error) {
	if limit <= 0 {
		return 0, r.state()
	}
	some := r.selects((*conversationRow)(nil)).ColumnExpr("1 AS one").ApplyQueryBuilder(r.conversationsInScope).Limit(int64(limit))
	if err := r.narrow(ctx, some, f); err != nil {
		return 0, err
	}
	var n int64
	q := r.db.NewSelect().Conn(r.conn()).Err(r.state()).ColumnExpr("COUNT(*)").TableExpr("(?) AS c", some)
	return n, failure(ctx, q.Scan(ctx, &n), "conversation", 0)
}

// CountQuarantined implements [helpdesk.CountReader]. The state is in the text, as the
// condition of an index.
func (r reader) CountQuarantined(ctx context.Context, limit int) (int64, error) {
	if limit <= 0 {
		return 0, r.state()
	}
	some := r.selects((*inboundRow)(nil)).ColumnExpr("1 AS one").ApplyQueryBuilder(r.ledgerInScope).Where("?TableName.state = 'quarantined'").Limit(int64(limit))
	var n int64
	q := r.db.NewSelect().Conn(r.conn()).Err(r.state()).ColumnExpr("COUNT(*)").TableExpr("(?) AS c", some)
	return n, failure(ctx, q.Scan(ctx, &n), "mail", 0)
}
