package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

var tags = noun[helpdesk.Scope, helpdesk.Tag, storage.NoFilter]{
	Noun: nouns.Tags, of: func(db *data) *table[helpdesk.Tag] { return &db.tags },
	remove: func(db *data, s helpdesk.Scope, id int64) error {
		for _, r := range slices.Clone(db.taggings.rows[s.AccountID]) {
			left := slices.DeleteFunc(slices.Clone(*value[[]int64](r)), func(tag int64) bool { return tag == id })
			db.taggings.set(s.AccountID, r.id, &left)
		}
		return nil
	},
}

// Tags implements [helpdesk.Reader].
func (r reader) Tags() storage.RowReader[helpdesk.Tag, storage.NoFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &tags)
}

// Tags implements [helpdesk.Rows].
func (t tx) Tags() storage.Rows[helpdesk.Tag, storage.NoFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &tags)
}

// tagged reports whether a conversation has any of the tags.
func (db *data) tagged(account, conversationID int64, tags []int64) bool {
	has, err := db.taggings.get(account, conversationID)
	return err == nil && slices.ContainsFunc(tags, func(id int64) bool { return slices.Contains(*has, id) })
}

func (t tx) SetTags(ctx context.Context, conversationIDs, tagIDs []int64) error {
	return t.write(ctx, func(db *data) error {
		for _, id := range tagIDs {
			if _, err := db.tags.get(t.scope.AccountID, id); err != nil {
				return err
			}
		}
		for _, id := range conversationIDs {
			if _, err := db.conversation(t.scope, id); err != nil {
				return err
			}
			tags := slices.Sorted(slices.Values(tagIDs))
			db.taggings.set(t.scope.AccountID, id, &tags)
		}
		return nil
	})
}
