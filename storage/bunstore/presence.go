package bunstore

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
)

type presenceRow struct {
	bun.BaseModel  `bun:"table:hw_presence,alias:hw_presence"`
	AccountID      int64
	ConversationID int64
	UserID         int64
	Doing          string
	SeenAt         int64
}

// SavePresence implements [helpdesk.PresenceWriter].
func (w writer) SavePresence(ctx context.Context, p helpdesk.Presence, until time.Time) error {
	if _, err := w.Conversations().Get(ctx, p.ConversationID); err != nil {
		return err
	}
	stale := w.deletes((*presenceRow)(nil)).ApplyQueryBuilder(w.account).Where("seen_at <= ?", micros(until))
	if _, err := stale.Exec(ctx); err != nil {
		return failure(ctx, err, "conversation", p.ConversationID)
	}
	if p.Doing == helpdesk.Gone {
		_, err := w.deletes((*presenceRow)(nil)).ApplyQueryBuilder(w.account).
			Where("conversation_id = ?", p.ConversationID).Where("user_id = ?", p.UserID).Exec(ctx)
		return failure(ctx, err, "conversation", p.ConversationID)
	}
	row := presenceRow{
		AccountID: w.scope.AccountID, ConversationID: p.ConversationID, UserID: p.UserID, Doing: string(p.Doing), SeenAt: micros(p.SeenAt),
	}
	_, err := w.inserts(&row).On("CONFLICT (account_id, conversation_id, user_id) DO UPDATE").
		Set("doing = EXCLUDED.doing, seen_at = EXCLUDED.seen_at").Exec(ctx)
	return failure(ctx, err, "conversation", p.ConversationID)
}
