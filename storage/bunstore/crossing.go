package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
)

// Scheduled implements [helpdesk.ScheduleReader].
func (r reader) Scheduled(ctx context.Context, conversationIDs []int64) ([]helpdesk.Interaction, error) {
	if len(conversationIDs) == 0 {
		return nil, r.state()
	}
	var rows []interactionRow
	err := r.selects(&rows).ApplyQueryBuilder(r.ofConversation).Where("?TableName.conversation_id IN (?)", bun.List(conversationIDs)).
		Where("?TableName.send_at > 0").OrderExpr("?TableName.conversation_id, ?TableName.id").Scan(ctx)
	return mapped(rows, (*interactionRow).interaction), failure(ctx, err, "interaction", 0)
}

// NewestFrom implements [helpdesk.CrossingReader]. It first finds the row and then reads it with its body.
func (r reader) NewestFrom(ctx context.Context, conversationID, notBy int64) (helpdesk.Interaction, error) {
	var newest []int64
	err := r.selects((*interactionRow)(nil)).Column("id").ApplyQueryBuilder(r.ofConversation).
		Where("?TableName.conversation_id = ?", conversationID).
		Where(`(?TableName.type = ? OR ?TableName.type = ? AND ?TableName.status = ? AND ?TableName.auto_submitted = ?
			AND COALESCE(NULLIF(?TableName.posted_by_id, 0), ?TableName.user_id) <> ?)`,
			helpdesk.TypeCustomer, helpdesk.TypeUser, helpdesk.StatusPosted, false, notBy).
		OrderExpr("CASE WHEN ?TableName.type = ? THEN ?TableName.posted_at ELSE ?TableName.created_at END DESC, ?TableName.id DESC", helpdesk.TypeUser).
		Limit(1).Scan(ctx, &newest)
	if err != nil || len(newest) == 0 {
		return helpdesk.Interaction{}, failure(ctx, err, "interaction", 0)
	}
	return r.Interactions().Get(ctx, newest[0])
}
