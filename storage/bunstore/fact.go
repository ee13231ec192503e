package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/report"
)

// Contributions implements [helpdesk.FactReader].
func (r reader) Contributions(ctx context.Context, conversationIDs []int64) ([]report.Message, error) {
	if len(conversationIDs) == 0 {
		return nil, r.state()
	}
	var rows []interactionRow
	err := r.selects(&rows).Column("id", "conversation_id", "type", "status", "posted_by_id", "source", "is_forward", "auto_submitted", "posted_at", "send_at", "at").
		ApplyQueryBuilder(r.ofConversation).Where("?TableName.conversation_id IN (?)", bun.List(conversationIDs)).
		Where("?TableName.status = ?", helpdesk.StatusPosted).Scan(ctx)
	var all []report.Message
	for i := range rows {
		if m, counts := rows[i].interaction().Contribution(); counts {
			all = append(all, m)
		}
	}
	return all, failure(ctx, err, "interaction", 0)
}

// FactFigures implements [helpdesk.FactReader]. The database joins the lines: handing over a row each would take several times as
// long. But for replies, it reads nothing but an index.
func (r reader) FactFigures(ctx context.Context, read report.Read) (string, error) {
	column, index := "created_at", "hw_conversation_facts_created"
	figures, more := "figures", ""
	switch read.Clock {
	case report.Resolved, report.Open:
		column, index = "ended_at", "hw_conversation_facts_ended"
	case report.Rated:
		column, index, more = "rated_at", "hw_conversation_facts_rated", " AND rated_at > 0"
	case report.Replied:
		column, index, figures = "replied_at", "hw_conversation_facts_replied", "figures || '|' || said"
	case report.Created:
	}
	from, join := "hw_conversation_facts INDEXED BY "+index, "group_concat(?, char(10))"
	if r.store.postgres {
		from, join = "hw_conversation_facts", "string_agg(?, chr(10))"
	}
	args := []any{bun.Safe(figures), bun.Safe(from), r.scope.AccountID, bun.Safe(column), micros(read.From), bun.Safe(column), micros(read.To)}
	if !read.Before.IsZero() {
		more, args = more+" AND created_at < ?", append(args, micros(read.Before))
	}
	var text string
	err := r.raw("SELECT COALESCE("+join+", '') FROM ? WHERE account_id = ? AND ? >= ? AND ? < ?"+more, args...).Scan(ctx, &text)
	return text, failure(ctx, err, "fact of a conversation", 0)
}

// DeleteFacts implements [helpdesk.FactWriter].
func (w writer) DeleteFacts(ctx context.Context, conversationIDs []int64) error {
	if len(conversationIDs) == 0 {
		return w.state()
	}
	_, err := w.raw("DELETE FROM hw_conversation_facts WHERE account_id = ? AND conversation_id IN (?)", w.scope.AccountID, bun.List(conversationIDs)).Exec(ctx)
	return failure(ctx, err, "fact of a conversation", 0)
}
