package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func (db *data) conversation(s helpdesk.Scope, id int64) (*helpdesk.Conversation, error) {
	c, err := db.conversations.get(s.AccountID, id)
	if err != nil || !sees(s, c.MailboxID) {
		return nil, db.conversations.missing(id)
	}
	return c, nil
}

func (r reader) Conversation(ctx context.Context, id int64) (helpdesk.Conversation, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Conversation, error) { return copyOf(db.conversation(r.scope, id)) })
}

func (r reader) Conversations(ctx context.Context, filter helpdesk.ConversationFilter, sort helpdesk.ConversationSort, seek storage.Seek) ([]helpdesk.Conversation, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Conversation, error) {
		order := func(c *helpdesk.Conversation) storage.Position {
			return storage.Position{Key: c.SortKey(sort), ID: c.ID}
		}
		var found []row[helpdesk.Conversation]
		for id, c := range db.conversations.all(r.scope.AccountID) {
			if sees(r.scope, c.MailboxID) && matches(c, filter) &&
				(len(filter.TagIDs) == 0 || db.tagged(r.scope.AccountID, id, filter.TagIDs)) && beyond(order(c), seek) &&
				(len(filter.Audience) == 0 || db.corresponds(r.scope.AccountID, id, filter.Audience)) &&
				db.foundConversation(r.scope.AccountID, id, filter.Terms) {
				found = append(found, row[helpdesk.Conversation]{id, c})
			}
		}
		slices.SortFunc(found, func(a, b row[helpdesk.Conversation]) int {
			if seek.Desc {
				a, b = b, a
			}
			return comparePositions(order(a.value), order(b.value))
		})
		return copies(found[:min(max(seek.Limit, 0), len(found))]), nil
	})
}

func matches(c *helpdesk.Conversation, f helpdesk.ConversationFilter) bool {
	user, given := f.UserID.Get()
	return (len(f.Statuses) == 0 || slices.Contains(f.Statuses, c.Status)) &&
		(f.MailboxID == 0 || c.MailboxID == f.MailboxID) &&
		(f.CustomerID == 0 || c.CustomerID == f.CustomerID) &&
		(!given || c.UserID == user) &&
		(!f.UserID.IsNull() || c.UserID == 0) &&
		(f.UpdatedSince.IsZero() || !c.UpdatedAt.Before(f.UpdatedSince.Truncate(time.Microsecond)))
}

func comparePositions(a, b storage.Position) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.ID, b.ID))
}

func beyond(p storage.Position, seek storage.Seek) bool {
	if seek.From == nil {
		return true
	}
	c := comparePositions(p, *seek.From)
	return !seek.Desc && c > 0 || seek.Desc && c < 0
}

func (r reader) ConversationsByID(ctx context.Context, ids []int64) ([]helpdesk.Conversation, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Conversation, error) {
		return db.conversations.where(r.scope.AccountID, func(c *helpdesk.Conversation) bool {
			return slices.Contains(ids, c.ID) && sees(r.scope, c.MailboxID)
		}), nil
	})
}

func (r reader) Participants(ctx context.Context, conversationID int64, n int) ([]string, error) {
	return query(ctx, r.src, func(db *data) ([]string, error) {
		if _, err := db.conversation(r.scope, conversationID); err != nil {
			return nil, nil
		}
		known, err := db.participants.get(r.scope.AccountID, conversationID)
		if err != nil || n <= 0 {
			return nil, nil // nobody was noted yet
		}
		keys := slices.Sorted(slices.Values(*known))
		return keys[:min(n, len(keys))], nil
	})
}

// refer makes conversations that refer to one refer to another, which itself does not.
func (db *data) refer(account, id, into int64) {
	for _, c := range db.conversations.where(account, func(c *helpdesk.Conversation) bool { return c.RefersTo == id && id != 0 }) {
		if c.RefersTo = into; c.ID == into {
			c.RefersTo = 0
		}
		db.conversations.set(account, c.ID, &c)
	}
}

func (r reader) Participant(ctx context.Context, conversationID int64, keys []string) (bool, error) {
	return query(ctx, r.src, func(db *data) (bool, error) {
		if _, err := db.conversation(r.scope, conversationID); err != nil {
			return false, nil
		}
		known, err := db.participants.get(r.scope.AccountID, conversationID)
		if err != nil {
			return false, nil // nobody was noted yet
		}
		return slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(*known, k) }), nil
	})
}

func (t tx) ConversationForUpdate(ctx context.Context, id int64) (helpdesk.Conversation, error) {
	return t.Conversation(ctx, id) // the transaction has the store for itself
}

func (t tx) conversationRefs(db *data, c *helpdesk.Conversation) error {
	if _, err := db.mailbox(t.scope, c.MailboxID); err != nil {
		return err
	}
	if _, err := db.customers.get(t.scope.AccountID, c.CustomerID); err != nil {
		return err
	}
	return db.customerRefs(t.scope.AccountID, c.CustomerID, c.CustomerEmailID)
}

func (t tx) InsertConversation(ctx context.Context, c *helpdesk.Conversation) error {
	return t.write(ctx, func(db *data) error {
		if err := t.conversationRefs(db, c); err != nil {
			return err
		}
		return db.conversations.insert(t.scope.AccountID, c, &c.ID)
	})
}

func (t tx) UpdateConversation(ctx context.Context, c *helpdesk.Conversation) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.conversation(t.scope, c.ID); err != nil {
			return err
		}
		if err := t.conversationRefs(db, c); err != nil {
			return err
		}
		return db.conversations.update(t.scope.AccountID, c.ID, c)
	})
}

func (t tx) DeleteConversations(ctx context.Context, ids []int64) error {
	return t.write(ctx, func(db *data) error {
		account := t.scope.AccountID
		for _, id := range ids {
			if _, err := db.conversation(t.scope, id); err != nil {
				continue
			}
			for _, i := range db.interactions.where(account, func(i *helpdesk.Interaction) bool { return i.ConversationID == id }) {
				db.removeInteraction(account, i.ID)
			}
			db.attachments.removeIf(account, func(a *helpdesk.Attachment) bool { return a.ConversationID == id })
			db.bury(account, func(m *helpdesk.InboundMail) bool { return m.ConversationID == id })
			db.participants.set(account, id, nil)
			db.searchDocs.set(account, id, nil)
			db.taggings.set(account, id, nil)
			db.readMarks.set(account, id, nil)
			db.redirects.removeIf(account, func(r *redirect) bool { return r.into == id })
			db.refer(account, id, 0)
			db.conversations.set(account, id, nil)
		}
		return nil
	})
}

func (t tx) AddParticipants(ctx context.Context, conversationID int64, keys []string) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.conversation(t.scope, conversationID); err != nil {
			return err
		}
		var known []string
		if old, err := db.participants.get(t.scope.AccountID, conversationID); err == nil {
			known = slices.Clone(*old)
		}
		for _, k := range keys {
			if !slices.Contains(known, k) {
				known = append(known, k)
			}
		}
		return db.participants.update(t.scope.AccountID, conversationID, &known)
	})
}
