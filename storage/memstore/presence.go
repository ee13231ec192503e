package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
)

func (r reader) Presence(ctx context.Context, conversationIDs []int64, after time.Time) ([]helpdesk.Presence, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Presence, error) {
		var found []helpdesk.Presence
		for id, there := range db.presence.all(r.scope.AccountID) {
			if _, err := db.conversation(r.scope, id); err != nil || !slices.Contains(conversationIDs, id) {
				continue
			}
			for _, p := range *there {
				if p.SeenAt.After(after.Truncate(time.Microsecond)) {
					found = append(found, p)
				}
			}
		}
		slices.SortFunc(found, func(a, b helpdesk.Presence) int {
			return cmp.Or(cmp.Compare(a.ConversationID, b.ConversationID), cmp.Compare(a.UserID, b.UserID))
		})
		return found, nil
	})
}

func (t tx) SavePresence(ctx context.Context, p helpdesk.Presence, until time.Time) error {
	return t.write(ctx, func(db *data) error {
		account := t.scope.AccountID
		if _, err := db.conversation(t.scope, p.ConversationID); err != nil {
			return err
		}
		kept := map[int64][]helpdesk.Presence{p.ConversationID: nil}
		for id, there := range db.presence.all(account) {
			kept[id] = slices.DeleteFunc(slices.Clone(*there), func(old helpdesk.Presence) bool {
				return !old.SeenAt.After(until.Truncate(time.Microsecond)) || id == p.ConversationID && old.UserID == p.UserID
			})
		}
		if p.Doing != helpdesk.Gone {
			p.SeenAt = p.SeenAt.UTC().Truncate(time.Microsecond)
			kept[p.ConversationID] = append(kept[p.ConversationID], p)
		}
		for id, there := range kept {
			if len(there) == 0 {
				db.presence.set(account, id, nil)
				continue
			}
			db.presence.set(account, id, &there)
		}
		return nil
	})
}
