package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
)

func (r reader) Marks(ctx context.Context, q helpdesk.MarksQuery) ([]helpdesk.Marks, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Marks, error) {
		var found []helpdesk.Marks
		for _, id := range slices.Compact(slices.Sorted(slices.Values(q.ConversationIDs))) {
			if _, err := db.conversation(r.scope, id); err != nil {
				continue
			}
			m := helpdesk.Marks{ConversationID: id}
			if q.Tags {
				m.Tags = db.tagsOf(r.scope.AccountID, id)
			}
			if !q.PresentAfter.IsZero() {
				m.Presence = db.presentAt(r.scope.AccountID, id, q.PresentAfter.Truncate(time.Microsecond))
			}
			db.markInteractions(r.scope.AccountID, q, &m)
			if m.Unread > 0 || len(m.Tags) > 0 || len(m.Presence) > 0 || !m.SendAt.IsZero() {
				found = append(found, m)
			}
		}
		return found, nil
	})
}

// tagsOf returns a conversation's tags, by id.
func (db *data) tagsOf(account, conversationID int64) []helpdesk.Tag {
	ids, err := db.taggings.get(account, conversationID)
	if err != nil {
		return nil
	}
	var tags []helpdesk.Tag
	for _, id := range *ids {
		r, err := db.plain["hw_tags"].get(account, id)
		if err != nil {
			continue
		}
		if t, err := nouns.Tags.Of(*r); err == nil {
			tags = append(tags, t)
		}
	}
	slices.SortFunc(tags, func(a, b helpdesk.Tag) int { return cmp.Compare(a.ID, b.ID) })
	return tags
}

// presentAt returns the users reported at a conversation after a time, by id.
func (db *data) presentAt(account, conversationID int64, after time.Time) []helpdesk.Presence {
	all, err := db.presence.get(account, conversationID)
	if err != nil {
		return nil
	}
	there := slices.DeleteFunc(slices.Clone(*all), func(p helpdesk.Presence) bool { return !p.SeenAt.After(after) })
	slices.SortFunc(there, func(a, b helpdesk.Presence) int { return cmp.Compare(a.UserID, b.UserID) })
	return there
}

// markInteractions sets the marks that depend on a conversation's interactions.
func (db *data) markInteractions(account int64, q helpdesk.MarksQuery, m *helpdesk.Marks) {
	if q.UnreadBy == 0 && !q.Scheduled {
		return
	}
	read := db.readMark(account, q.UnreadBy, m.ConversationID)
	for id, i := range db.interactions.all(account) {
		if i.ConversationID != m.ConversationID {
			continue
		}
		if q.UnreadBy != 0 && i.Type == helpdesk.TypeCustomer && id > read {
			m.Unread++
		}
		if q.Scheduled && scheduled(i) && (m.SendAt.IsZero() || i.SendAt.Before(m.SendAt)) {
			m.SendAt = i.SendAt
		}
	}
}
