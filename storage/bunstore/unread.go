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
