package bunstore

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

type taggingRow struct {
	bun.BaseModel  `bun:"table:hw_conversation_tags,alias:hw_conversation_tags"`
	AccountID      int64
	ConversationID int64
	TagID          int64
}

// SetTags implements [helpdesk.TagWriter].
func (w writer) SetTags(ctx context.Context, conversationIDs, tagIDs []int64) error {
	if err := w.requireTags(ctx, tagIDs); err != nil {
		return err
	}
	if len(conversationIDs) == 0 {
		return nil
	}
	found, err := w.Conversations().ByIDs(ctx, conversationIDs)
	if err != nil {
		return err
	}
	if len(found) < len(conversationIDs) {
		return fault.Missing("conversation", absent(conversationIDs, found))
	}
	_, err = w.deletes((*taggingRow)(nil)).ApplyQueryBuilder(w.account).
		Where("conversation_id IN (?)", bun.List(conversationIDs)).Exec(ctx)
	if err != nil || len(tagIDs) == 0 {
		return failure(ctx, err, "tag", 0)
	}
	rows := make([]taggingRow, 0, len(found)*len(tagIDs))
	for _, c := range found {
		for _, tag := range tagIDs {
			rows = append(rows, taggingRow{AccountID: w.scope.AccountID, ConversationID: c.ID, TagID: tag})
		}
	}
	_, err = w.inserts(&rows).Exec(ctx)
	return failure(ctx, err, "tag", 0)
}

// requireTags refuses missing tags.
func (w writer) requireTags(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return w.requireAccount(ctx)
	}
	found, err := nouns.Tags.Rows(w).ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(t helpdesk.Tag) bool { return t.ID == id }) {
			return fault.Missing("tag", id)
		}
	}
	return nil
}

// absent returns the first of ids that was not found.
func absent(ids []int64, found []helpdesk.Conversation) int64 {
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(c helpdesk.Conversation) bool { return c.ID == id }) {
			return id
		}
	}
	return 0
}
