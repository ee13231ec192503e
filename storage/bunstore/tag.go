package bunstore

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type tagRow struct {
	bun.BaseModel `bun:"table:hw_tags,alias:hw_tags"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	Name          string
	NameKey       string
	Color         string
	CreatedAt     int64
	UpdatedAt     int64
}

func (r *tagRow) tag() helpdesk.Tag {
	return helpdesk.Tag{
		ID: r.ID, Name: r.Name, Key: r.NameKey, Color: r.Color,
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func tagRowOf(account int64, t *helpdesk.Tag) tagRow {
	return tagRow{
		ID: t.ID, AccountID: account, Name: t.Name, NameKey: t.Key, Color: t.Color,
		CreatedAt: micros(t.CreatedAt), UpdatedAt: micros(t.UpdatedAt),
	}
}

var tags = table[writer, helpdesk.Tag, storage.NoFilter, tagRow]{
	Noun: nouns.Tags, row: tagRowOf, item: (*tagRow).tag,
	dependents: []dependent{{table: "hw_conversation_tags", of: "tag_id", key: "conversation_id"}},
}

// Tags implements [helpdesk.Reader].
func (r reader) Tags() storage.RowReader[helpdesk.Tag, storage.NoFilter] {
	return rowsOf(r.placed(), &tags)
}

// Tags implements [helpdesk.Rows].
func (w writer) Tags() storage.Rows[helpdesk.Tag, storage.NoFilter] { return storedOf(w, &tags) }

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
	found, err := w.Tags().ByIDs(ctx, ids)
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
