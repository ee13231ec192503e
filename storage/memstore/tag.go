package memstore

import (
	"context"
	"slices"
)

// removeTag takes a tag from all conversations.
func (db *data) removeTag(account, id int64) {
	for _, r := range slices.Clone(db.taggings.rows[account]) {
		left := slices.DeleteFunc(slices.Clone(*value[[]int64](r)), func(tag int64) bool { return tag == id })
		db.taggings.set(account, r.id, &left)
	}
}

// tagged reports whether a conversation has any of the tags.
func (db *data) tagged(account, conversationID int64, tags []int64) bool {
	has, err := db.taggings.get(account, conversationID)
	return err == nil && slices.ContainsFunc(tags, func(id int64) bool { return slices.Contains(*has, id) })
}

func (t tx) SetTags(ctx context.Context, conversationIDs, tagIDs []int64) error {
	return t.write(ctx, func(db *data) error {
		for _, id := range tagIDs {
			if _, err := db.plain["hw_tags"].get(t.scope.AccountID, id); err != nil {
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
