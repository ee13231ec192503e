package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

var attachments = noun[helpdesk.Scope, helpdesk.Attachment, helpdesk.AttachmentFilter]{
	Noun: nouns.Attachments, of: func(db *data) *table[helpdesk.Attachment] { return &db.attachments },
	sees: func(db *data, s helpdesk.Scope, a *helpdesk.Attachment) bool {
		_, err := db.interaction(s, a.InteractionID)
		return err == nil
	},
	match: func(_ *data, _ helpdesk.Scope, f helpdesk.AttachmentFilter, a *helpdesk.Attachment) bool {
		return slices.Contains(f.InteractionIDs, a.InteractionID)
	},
	refers: func(db *data, s helpdesk.Scope, a *helpdesk.Attachment) error {
		i, err := db.interaction(s, a.InteractionID)
		if err == nil && a.ConversationID != i.ConversationID {
			err = db.conversations.missing(a.ConversationID)
		}
		return err
	},
}

// Attachments implements [helpdesk.Reader].
func (r reader) Attachments() storage.RowReader[helpdesk.Attachment, helpdesk.AttachmentFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &attachments)
}

// Attachments implements [helpdesk.Rows].
func (t tx) Attachments() storage.Rows[helpdesk.Attachment, helpdesk.AttachmentFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &attachments)
}

func (r reader) BlobKeys(ctx context.Context, conversationIDs []int64) ([]string, error) {
	return query(ctx, r.src, func(db *data) ([]string, error) {
		asked := func(id int64) bool {
			_, err := db.conversation(r.scope, id)
			return err == nil && slices.Contains(conversationIDs, id)
		}
		var keys []string
		for _, a := range db.attachments.all(r.scope.AccountID) {
			if asked(a.ConversationID) {
				keys = append(keys, a.BlobKey)
			}
		}
		for _, m := range db.ledger.all(r.scope.AccountID) {
			if m.RawKey != "" && asked(m.ConversationID) {
				keys = append(keys, m.RawKey)
			}
		}
		slices.Sort(keys)
		return slices.Compact(keys), nil
	})
}
