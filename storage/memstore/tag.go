package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func (r reader) Tag(ctx context.Context, id int64) (helpdesk.Tag, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Tag, error) { return copyOf(db.tags.get(r.scope.AccountID, id)) })
}

func (r reader) Tags(ctx context.Context, seek storage.Seek) ([]helpdesk.Tag, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Tag, error) {
		return db.tags.list(r.scope.AccountID, seek, every), nil
	})
}

func (r reader) TagsByID(ctx context.Context, ids []int64) ([]helpdesk.Tag, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Tag, error) {
		return db.tags.where(r.scope.AccountID, func(t *helpdesk.Tag) bool { return slices.Contains(ids, t.ID) }), nil
	})
}

func (r reader) Taggings(ctx context.Context, conversationIDs []int64) ([]helpdesk.Tagging, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Tagging, error) {
		var found []helpdesk.Tagging
		for id, tags := range db.taggings.all(r.scope.AccountID) {
			if _, err := db.conversation(r.scope, id); err != nil || !slices.Contains(conversationIDs, id) {
				continue
			}
			for _, tag := range *tags {
				t, err := db.tags.get(r.scope.AccountID, tag)
				if err != nil {
					return nil, err
				}
				found = append(found, helpdesk.Tagging{ConversationID: id, Tag: *clone(t)})
			}
		}
		return found, nil
	})
}

// tagged reports whether a conversation has any of the tags.
func (db *data) tagged(account, conversationID int64, tags []int64) bool {
	has, err := db.taggings.get(account, conversationID)
	return err == nil && slices.ContainsFunc(tags, func(id int64) bool { return slices.Contains(*has, id) })
}

func (t tx) uniqueTag(db *data, tag *helpdesk.Tag) error {
	if db.tags.conflict(t.scope.AccountID, tag.ID, func(o *helpdesk.Tag) bool { return o.Key == tag.Key }) {
		return unique(helpdesk.UniqueTag, "There is such a tag already.")
	}
	return nil
}

func (t tx) InsertTag(ctx context.Context, tag *helpdesk.Tag) error {
	return t.write(ctx, func(db *data) error {
		tag.ID = 0
		if err := t.uniqueTag(db, tag); err != nil {
			return err
		}
		return db.tags.insert(t.scope.AccountID, tag, &tag.ID)
	})
}

func (t tx) UpdateTag(ctx context.Context, tag *helpdesk.Tag) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.tags.get(t.scope.AccountID, tag.ID); err != nil {
			return err
		}
		if err := t.uniqueTag(db, tag); err != nil {
			return err
		}
		return db.tags.update(t.scope.AccountID, tag.ID, tag)
	})
}

func (t tx) DeleteTag(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		account := t.scope.AccountID
		if _, err := db.tags.get(account, id); err != nil {
			return err
		}
		for _, r := range slices.Clone(db.taggings.rows[account]) {
			left := slices.DeleteFunc(slices.Clone(*r.value), func(tag int64) bool { return tag == id })
			db.taggings.set(account, r.id, &left)
		}
		db.tags.set(account, id, nil)
		return nil
	})
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
