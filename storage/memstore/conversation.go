package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
)

func (db *data) conversation(s helpdesk.Scope, id int64) (*helpdesk.Conversation, error) {
	c, err := db.conversations.get(s.AccountID, id)
	if err != nil || !sees(s, c.MailboxID) {
		return nil, db.conversations.missing(id)
	}
	return c, nil
}

func matches(c *helpdesk.Conversation, f helpdesk.ConversationFilter) bool {
	user, given := f.UserID.Get()
	return inTeam(c, f.TeamID) && (len(f.Priorities) == 0 || slices.Contains(f.Priorities, c.Priority)) &&
		(len(f.Statuses) == 0 || slices.Contains(f.Statuses, c.Status)) &&
		(f.MailboxID == 0 || c.MailboxID == f.MailboxID) &&
		(f.CustomerID == 0 || c.CustomerID == f.CustomerID) &&
		(!given || c.UserID == user) &&
		(!f.UserID.IsNull() || c.UserID == 0) &&
		(f.UpdatedSince.IsZero() || !c.UpdatedAt.Before(f.UpdatedSince.Truncate(time.Microsecond))) &&
		(f.CreatedBefore.IsZero() || c.CreatedAt.Before(f.CreatedBefore.Truncate(time.Microsecond)))
}

// selected reports whether a filter selects a conversation.
func (db *data) selected(account int64, c *helpdesk.Conversation, f helpdesk.ConversationFilter) bool {
	is := func(f helpdesk.ConversationFilter) bool { return db.selected(account, c, f) }
	return matches(c, f) && (f.CompanyID == 0 || db.ofCompany(account, c, f.CompanyID)) && (len(f.TagIDs) == 0 || db.tagged(account, c.ID, f.TagIDs)) &&
		(len(f.Audience) == 0 || db.corresponds(account, c.ID, f.Audience)) &&
		db.meets(account, helpdesk.FieldOfConversation, c.ID, f.Fields) &&
		db.atDesk(account, c, f) && db.foundConversation(account, c.ID, f.Terms) && (!f.Attached || db.attached(account, c.ID)) && (len(f.Ratings) == 0 || db.rated(account, c.ID, f.Ratings)) &&
		!slices.ContainsFunc(f.Also, func(f helpdesk.ConversationFilter) bool { return !is(f) }) && !slices.ContainsFunc(f.Except, is)
}

// ofCompany reports whether the customer of a conversation belongs to a company.
func (db *data) ofCompany(account int64, c *helpdesk.Conversation, companyID int64) bool {
	customer, err := db.customers.get(account, c.CustomerID)
	return err == nil && customer.CompanyID == companyID
}

// rated reports whether a conversation has a rating that is any of some verdicts.
func (db *data) rated(account, id int64, verdicts []helpdesk.Verdict) bool {
	ratings := helpdesk.Nouns().Ratings
	of, verdict := ratings.Table().Index("conversation_id"), ratings.Table().Index("verdict")
	return len(db.plain["hw_ratings"].where(account, func(r *storage.Record) bool {
		text, _ := r.Values[verdict].(string)
		return r.Values[of] == id && slices.Contains(verdicts, helpdesk.Verdict(text))
	})) > 0
}

// attached reports whether a conversation has a file that is not shown by a message, in an interaction that is no draft.
func (db *data) attached(account, id int64) bool {
	return len(db.attachments.where(account, func(a *helpdesk.Attachment) bool {
		i, err := db.interactions.get(account, a.InteractionID)
		return a.ConversationID == id && !a.IsInline && err == nil && i.Status != helpdesk.StatusDraft
	})) > 0
}

// inTeam reports whether a conversation is in the given team, or in no team when that is given.
func inTeam(c *helpdesk.Conversation, team storage.Opt[int64]) bool {
	return !team.IsSet() || c.TeamID == team.Or(0)
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

var conversations = noun[helpdesk.Scope, helpdesk.Conversation, helpdesk.ConversationOrder]{
	Noun: nouns.Conversations, of: func(db *data) *table[helpdesk.Conversation] { return &db.conversations },
	sees: func(_ *data, s helpdesk.Scope, c *helpdesk.Conversation) bool { return sees(s, c.MailboxID) },
	match: func(db *data, s helpdesk.Scope, f helpdesk.ConversationOrder, c *helpdesk.Conversation) bool {
		return db.selected(s.AccountID, c, f.ConversationFilter)
	},
	key: func(f helpdesk.ConversationOrder, c *helpdesk.Conversation) int64 { return c.SortKey(f.Sort) },
	refers: func(db *data, s helpdesk.Scope, c *helpdesk.Conversation) error {
		if _, err := db.mailbox(s, c.MailboxID); err != nil {
			return err
		}
		if _, err := db.customers.get(s.AccountID, c.CustomerID); err != nil {
			return err
		}
		return db.customerRefs(s.AccountID, c.CustomerID, c.CustomerEmailID)
	},
	remove: func(db *data, s helpdesk.Scope, id int64) error {
		db.removeConversation(s.AccountID, id)
		return nil
	},
}

// Conversations implements [helpdesk.Reader].
func (r reader) Conversations() storage.RowReader[helpdesk.Conversation, helpdesk.ConversationOrder] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &conversations)
}

// Conversations implements [helpdesk.Rows].
func (t tx) Conversations() storage.Rows[helpdesk.Conversation, helpdesk.ConversationOrder] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &conversations)
}

func (r reader) Participants(ctx context.Context, conversationID int64, n int) ([]string, error) {
	return query(ctx, r.src, func(db *data) ([]string, error) {
		if _, err := db.conversation(r.scope, conversationID); err != nil {
			return nil, nil //nolint:nilerr // an absent conversation has none
		}
		known, err := db.participants.get(r.scope.AccountID, conversationID)
		if err != nil || n <= 0 {
			return nil, nil //nolint:nilerr // none recorded yet
		}
		keys := slices.Sorted(slices.Values(*known))
		return keys[:min(n, len(keys))], nil
	})
}

// refer redirects references from one conversation to another, except in that conversation itself.
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
			return false, nil //nolint:nilerr // an absent conversation has none
		}
		known, err := db.participants.get(r.scope.AccountID, conversationID)
		if err != nil {
			return false, nil //nolint:nilerr // none recorded yet
		}
		return slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(*known, k) }), nil
	})
}

func (t tx) DeleteConversations(ctx context.Context, ids []int64) error {
	return t.write(ctx, func(db *data) error {
		account := t.scope.AccountID
		for _, id := range ids {
			if _, err := db.conversation(t.scope, id); err != nil {
				continue
			}
			db.removeConversation(account, id)
		}
		return nil
	})
}

// removeConversation deletes a conversation with everything in it.
func (db *data) removeConversation(account, id int64) {
	for _, i := range db.interactions.where(account, func(i *helpdesk.Interaction) bool { return i.ConversationID == id }) {
		db.removeInteraction(account, i.ID)
	}
	db.attachments.removeIf(account, func(a *helpdesk.Attachment) bool { return a.ConversationID == id })
	db.bury(account, func(m *ledger.Mail) bool { return m.ConversationID == id })
	db.forgetNotes(id)
	db.participants.set(account, id, nil)
	db.searchDocs.set(account, id, nil)
	db.taggings.set(account, id, nil)
	db.conversationValues.set(account, id, nil)
	db.readMarks.set(account, id, nil)
	db.presence.set(account, id, nil)
	db.followers.set(account, id, nil)
	db.removeOwned(account, "hw_conversations", id)
	db.notifications.removeIf(account, func(n *helpdesk.Notification) bool { return n.ConversationID == id })
	db.redirects.removeIf(account, func(r *redirect) bool { return r.into == id })
	db.refer(account, id, 0)
	db.conversations.set(account, id, nil)
}

func (r reader) Involving(ctx context.Context, customerID int64, keys []string, seek storage.Seek) ([]helpdesk.Conversation, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Conversation, error) {
		account := r.scope.AccountID
		wrote := map[int64]bool{}
		for _, i := range db.interactions.where(account, func(i *helpdesk.Interaction) bool { return i.CustomerID == customerID && customerID != 0 }) {
			wrote[i.ConversationID] = true
		}
		return db.conversations.list(account, seek, func(c *helpdesk.Conversation) bool {
			if !sees(r.scope, c.MailboxID) {
				return false
			}
			known, err := db.participants.get(account, c.ID)
			return wrote[c.ID] || c.CustomerID == customerID && customerID != 0 ||
				err == nil && slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(*known, k) })
		}), nil
	})
}

func (t tx) RemoveParticipants(ctx context.Context, conversationID int64, keys []string) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.conversation(t.scope, conversationID); err != nil {
			return err
		}
		old, err := db.participants.get(t.scope.AccountID, conversationID)
		if err != nil {
			return nil //nolint:nilerr // none recorded yet
		}
		left := slices.DeleteFunc(slices.Clone(*old), func(k string) bool { return slices.Contains(keys, k) })
		return db.participants.update(t.scope.AccountID, conversationID, &left)
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
