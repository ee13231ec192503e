package memstore

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// meets reports whether the audience of an interaction includes any of the keys.
func meets(i *helpdesk.Interaction, keys []string) bool {
	return slices.ContainsFunc(i.Audience(), func(k string) bool { return slices.Contains(keys, k) })
}

// corresponds reports whether a conversation has an interaction whose audience includes any of the keys.
func (db *data) corresponds(account, conversation int64, keys []string) bool {
	for _, i := range db.interactions.all(account) {
		if i.ConversationID == conversation && meets(i, keys) {
			return true
		}
	}
	return false
}

func (r reader) Correspondence(ctx context.Context, conversationID int64, keys []string, seek storage.Seek) ([]helpdesk.Interaction, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Interaction, error) {
		return db.ordered(r.scope.AccountID, seek, func(i *helpdesk.Interaction) bool {
			return i.ConversationID == conversationID && meets(i, keys) && db.within(r.scope, i)
		}), nil
	})
}

func (r reader) LastCorrespondence(ctx context.Context, conversationIDs []int64, keys []string) ([]helpdesk.Interaction, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Interaction, error) {
		newest := map[int64]helpdesk.Interaction{}
		every := storage.Seek{Limit: math.MaxInt}
		for _, i := range db.ordered(r.scope.AccountID, every, func(i *helpdesk.Interaction) bool {
			return slices.Contains(conversationIDs, i.ConversationID) && meets(i, keys) && db.within(r.scope, i)
		}) {
			newest[i.ConversationID] = i
		}
		var out []helpdesk.Interaction
		for _, i := range newest {
			out = append(out, i)
		}
		slices.SortFunc(out, func(a, b helpdesk.Interaction) int { return cmp.Compare(a.ConversationID, b.ConversationID) })
		return out, nil
	})
}

func (t tx) MarkSeen(ctx context.Context, ids []int64, at time.Time) (first []int64, err error) {
	err = t.write(ctx, func(db *data) error {
		first = nil
		for _, i := range db.interactions.where(t.scope.AccountID, func(i *helpdesk.Interaction) bool {
			return slices.Contains(ids, i.ID) && i.Type == helpdesk.TypeUser && i.SeenAt.IsZero() && db.within(t.scope, i)
		}) {
			i.SeenAt = at
			if err := db.interactions.update(t.scope.AccountID, i.ID, &i); err != nil {
				return err
			}
			first = append(first, i.ID)
		}
		return nil
	})
	return first, err
}
