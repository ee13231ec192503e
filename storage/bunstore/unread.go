package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
)

type readMarkRow struct {
	bun.BaseModel  `bun:"table:hw_read_marks,alias:hw_read_marks"`
	AccountID      int64
	ConversationID int64
	UserID         int64
	InteractionID  int64
}

// Unread implements [helpdesk.UnreadReader].
func (r reader) Unread(ctx context.Context, userID int64, conversationIDs []int64) ([]helpdesk.UnreadCount, error) {
	if len(conversationIDs) == 0 {
		return nil, r.state()
	}
	var found []helpdesk.UnreadCount
	err := r.selects((*interactionRow)(nil)).ColumnExpr("?TableName.conversation_id").ColumnExpr("COUNT(*) AS count").
		Join(`LEFT JOIN hw_read_marks AS m ON m.account_id = ?TableName.account_id
			AND m.conversation_id = ?TableName.conversation_id AND m.user_id = ?`, userID).
		ApplyQueryBuilder(r.ofConversation).Where("?TableName.conversation_id IN (?)", bun.List(conversationIDs)).
		Where("?TableName.type = 'customer'"). // as in the index's condition
		Where("?TableName.id > COALESCE(m.interaction_id, 0)").
		GroupExpr("?TableName.conversation_id").OrderExpr("?TableName.conversation_id").Scan(ctx, &found)
	return found, failure(ctx, err, "conversation", 0)
}

// SaveReadMark implements [helpdesk.UnreadWriter].
func (w writer) SaveReadMark(ctx context.Context, m helpdesk.ReadMark) error {
	if m.InteractionID == 0 {
		if _, err := w.Conversations().Get(ctx, m.ConversationID); err != nil {
			return err
		}
		_, err := w.deletes((*readMarkRow)(nil)).ApplyQueryBuilder(w.account).
			Where("conversation_id = ?", m.ConversationID).Where("user_id = ?", m.UserID).Exec(ctx)
		return failure(ctx, err, "conversation", m.ConversationID)
	}
	if err := w.requireConversation(ctx, m.ConversationID); err != nil {
		return err
	}
	row := readMarkRow{
		AccountID: w.scope.AccountID, ConversationID: m.ConversationID, UserID: m.UserID, InteractionID: m.InteractionID,
	}
	_, err := w.inserts(&row).On("CONFLICT (account_id, conversation_id, user_id) DO UPDATE").
		Set("interaction_id = EXCLUDED.interaction_id").Exec(ctx)
	return failure(ctx, err, "conversation", m.ConversationID)
}
