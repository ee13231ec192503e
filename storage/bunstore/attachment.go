package bunstore

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
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

func attachmentRowOf(account int64, a *helpdesk.Attachment) attachmentRow {
	return attachmentRow{
		ID: a.ID, AccountID: account, InteractionID: a.InteractionID, ConversationID: a.ConversationID,
		Filename: a.Filename, ContentType: a.ContentType, ContentID: a.ContentID, Size: a.Size,
		IsInline: a.IsInline, BlobKey: a.BlobKey, CreatedAt: micros(a.CreatedAt),
	}
}

var attachments = table[writer, helpdesk.Attachment, helpdesk.AttachmentFilter, attachmentRow]{
	Noun: nouns.Attachments, row: attachmentRowOf, item: (*attachmentRow).attachment,
	scope:   func(w writer, q bun.QueryBuilder) bun.QueryBuilder { return w.ofInteraction(q) },
	belongs: func(f helpdesk.AttachmentFilter) (string, []int64) { return "interaction_id", f.InteractionIDs },
	admit: func(ctx context.Context, w writer, all []*helpdesk.Attachment) error {
		interactions := make([]int64, len(all))
		for i, a := range all {
			interactions[i] = a.InteractionID
		}
		conversations, err := w.conversationsOf(ctx, interactions)
		if err != nil {
			return err
		}
		for _, a := range all {
			if conversations[a.InteractionID] != a.ConversationID {
				return fault.Missing("conversation", a.ConversationID)
			}
		}
		return nil
	},
}

// Attachments implements [helpdesk.Reader].
func (r reader) Attachments() storage.RowReader[helpdesk.Attachment, helpdesk.AttachmentFilter] {
	return rowsOf(r.placed(), &attachments)
}

// Attachments implements [helpdesk.Rows].
func (w writer) Attachments() storage.Rows[helpdesk.Attachment, helpdesk.AttachmentFilter] {
	return storedOf(w, &attachments)
}

// BlobKeys implements [helpdesk.AttachmentReader]. The keys are sorted and distinct.
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
