package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
)

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
