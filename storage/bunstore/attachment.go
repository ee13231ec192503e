package bunstore

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

type attachmentRow struct {
	bun.BaseModel  `bun:"table:hw_attachments,alias:hw_attachments"`
	ID             int64 `bun:",pk,autoincrement"`
	AccountID      int64
	InteractionID  int64
	ConversationID int64
	Filename       string
	ContentType    string
	ContentID      string
	Size           int64
	IsInline       bool
	BlobKey        string
	CreatedAt      int64
}

func (r *attachmentRow) attachment() helpdesk.Attachment {
	return helpdesk.Attachment{
		ID: r.ID, InteractionID: r.InteractionID, ConversationID: r.ConversationID, Filename: r.Filename,
		ContentType: r.ContentType, ContentID: r.ContentID, Size: r.Size, IsInline: r.IsInline, BlobKey: r.BlobKey,
		CreatedAt: timeOf(r.CreatedAt),
	}
}

// Attachment implements [helpdesk.AttachmentReader].
func (r reader) Attachment(ctx context.Context, id int64) (helpdesk.Attachment, error) {
	var row attachmentRow
	q := r.selects(&row).ApplyQueryBuilder(r.ofInteraction).Where("id = ?", id)
	if err := one(ctx, q, "attachment", id); err != nil {
		return helpdesk.Attachment{}, err
	}
	return row.attachment(), nil
}

// Attachments implements [helpdesk.AttachmentReader].
func (r reader) Attachments(ctx context.Context, interactionIDs []int64) ([]helpdesk.Attachment, error) {
	if len(interactionIDs) == 0 {
		return nil, r.state()
	}
	var rows []attachmentRow
	err := r.selects(&rows).ApplyQueryBuilder(r.ofInteraction).
		Where("interaction_id IN (?)", bun.List(interactionIDs)).Order("id").Scan(ctx)
	return mapped(rows, (*attachmentRow).attachment), failure(ctx, err, "attachment", 0)
}

// BlobKeys implements [helpdesk.AttachmentReader]. The keys are sorted, each comes once.
func (r reader) BlobKeys(ctx context.Context, conversationIDs []int64) ([]string, error) {
	if len(conversationIDs) == 0 {
		return nil, r.state()
	}
	asked := r.selects((*conversationRow)(nil)).Column("id").ApplyQueryBuilder(r.conversationsInScope).
		Where("id IN (?)", bun.List(conversationIDs))
	var keys []string
	err := r.raw(`WITH asked AS (?)
		SELECT a.blob_key FROM asked CROSS JOIN hw_attachments AS a
			WHERE a.account_id = ? AND a.conversation_id = asked.id
		UNION SELECT m.raw_key FROM asked CROSS JOIN hw_inbound_mails AS m
			WHERE m.account_id = ? AND m.conversation_id = asked.id AND m.raw_key <> ''`,
		asked, r.scope.AccountID, r.scope.AccountID).Scan(ctx, &keys)
	slices.Sort(keys)
	return keys, failure(ctx, err, "conversation", 0)
}

// InsertAttachments implements [helpdesk.AttachmentWriter].
func (w writer) InsertAttachments(ctx context.Context, attachments []*helpdesk.Attachment) error {
	interactions := make([]int64, len(attachments))
	rows := make([]attachmentRow, len(attachments))
	ids := make([]*int64, len(attachments))
	for i, a := range attachments {
		rows[i] = attachmentRow{
			AccountID: w.scope.AccountID, InteractionID: a.InteractionID, ConversationID: a.ConversationID,
			Filename: a.Filename, ContentType: a.ContentType, ContentID: a.ContentID, Size: a.Size,
			IsInline: a.IsInline, BlobKey: a.BlobKey, CreatedAt: micros(a.CreatedAt),
		}
		interactions[i], ids[i] = a.InteractionID, &a.ID
	}
	conversations, err := w.conversationsOf(ctx, interactions)
	if err != nil {
		return err
	}
	for _, a := range attachments {
		if conversations[a.InteractionID] != a.ConversationID {
			return fault.Missing("conversation", a.ConversationID)
		}
	}
	return insertAll(ctx, w.querier, rows, ids, "attachment")
}

// DeleteAttachment implements [helpdesk.AttachmentWriter].
func (w writer) DeleteAttachment(ctx context.Context, id int64) error {
	res, err := w.deletes((*attachmentRow)(nil)).ApplyQueryBuilder(w.ofInteraction).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, "attachment", id)
}
