package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
)

func (db *data) attachment(s helpdesk.Scope, id int64) (*helpdesk.Attachment, error) {
	a, err := db.attachments.get(s.AccountID, id)
	if err == nil {
		_, err = db.interaction(s, a.InteractionID)
	}
	if err != nil {
		return nil, db.attachments.missing(id)
	}
	return a, nil
}

func (r reader) Attachment(ctx context.Context, id int64) (helpdesk.Attachment, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Attachment, error) { return copyOf(db.attachment(r.scope, id)) })
}

func (r reader) Attachments(ctx context.Context, interactionIDs []int64) ([]helpdesk.Attachment, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Attachment, error) {
		return db.attachments.where(r.scope.AccountID, func(a *helpdesk.Attachment) bool {
			if !slices.Contains(interactionIDs, a.InteractionID) {
				return false
			}
			_, err := db.interaction(r.scope, a.InteractionID)
			return err == nil
		}), nil
	})
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

func (t tx) InsertAttachments(ctx context.Context, attachments []*helpdesk.Attachment) error {
	return t.write(ctx, func(db *data) error {
		for _, a := range attachments {
			i, err := db.interaction(t.scope, a.InteractionID)
			if err != nil {
				return err
			}
			if a.ConversationID != i.ConversationID {
				return db.conversations.missing(a.ConversationID)
			}
			if err := db.attachments.insert(t.scope.AccountID, a, &a.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t tx) DeleteAttachment(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.attachment(t.scope, id); err != nil {
			return err
		}
		db.attachments.set(t.scope.AccountID, id, nil)
		return nil
	})
}
