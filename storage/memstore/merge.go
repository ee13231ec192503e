package memstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage/fault"
)

// redirect is the target of a merged conversation, and the mailbox it was in.
type redirect struct{ into, mailbox int64 }

func (r reader) MergedInto(ctx context.Context, id int64) (helpdesk.Conversation, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Conversation, error) {
		to, err := db.redirects.get(r.scope.AccountID, id)
		if err != nil {
			return helpdesk.Conversation{}, err
		}
		return copyOf(db.conversation(r.scope, to.into))
	})
}

// receives reports whether a conversation receives the mails of a mailbox.
func (db *data) receives(account int64, c *helpdesk.Conversation, mailboxID int64) bool {
	return c.MailboxID == mailboxID ||
		db.redirects.conflict(account, 0, func(r *redirect) bool { return r.into == c.ID && r.mailbox == mailboxID })
}

// came reports whether an interaction was moved from a conversation of a mailbox.
func (db *data) came(account, id, mailboxID int64) bool {
	return db.moves.conflict(account, 0, func(m *helpdesk.Move) bool { return m.InteractionID == id && m.MailboxID == mailboxID })
}

func (r reader) Moves(ctx context.Context, interactionIDs []int64) ([]helpdesk.Move, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Move, error) {
		return db.moves.where(r.scope.AccountID, func(m *helpdesk.Move) bool {
			if !slices.Contains(interactionIDs, m.InteractionID) {
				return false
			}
			_, err := db.interaction(r.scope, m.InteractionID)
			return err == nil
		}), nil
	})
}

// between checks the conversations of a move, and returns the first.
func (t tx) between(db *data, m helpdesk.Move) (*helpdesk.Conversation, error) {
	from, err := db.conversation(t.scope, m.FromID)
	if err != nil {
		return nil, err
	}
	if _, err := db.conversation(t.scope, m.IntoID); err != nil {
		return nil, err
	}
	if m.FromID == m.IntoID {
		return nil, fault.Field("into", "must be another conversation")
	}
	return from, nil
}

func (t tx) MergeConversation(ctx context.Context, m helpdesk.Move) error {
	return t.write(ctx, func(db *data) error {
		from, err := t.between(db, m)
		if err != nil {
			return err
		}
		account, id, into := t.scope.AccountID, m.FromID, m.IntoID
		if _, err := db.moveContents(account, m, func(int64) bool { return true }); err != nil {
			return err
		}
		db.moveParticipants(account, id, into)
		db.mergeMarks(account, id, into)
		db.mergeFollowers(account, id, into)
		for _, r := range slices.Clone(db.redirects.rows[account]) {
			if old := value[redirect](r); old.into == id {
				db.redirects.set(account, r.id, &redirect{into, old.mailbox})
			}
		}
		db.redirects.set(account, id, &redirect{into, from.MailboxID})
		db.participants.set(account, id, nil)
		db.taggings.set(account, id, nil)
		db.conversationValues.set(account, id, nil)
		db.readMarks.set(account, id, nil)
		db.presence.set(account, id, nil)
		db.followers.set(account, id, nil)
		db.searchDocs.set(account, id, nil)
		db.refer(account, id, into)
		db.moveNotes(id, into)
		db.conversations.set(account, id, nil)
		return nil
	})
}

func (t tx) MoveInteractions(ctx context.Context, ids []int64, m helpdesk.Move) error {
	return t.write(ctx, func(db *data) error {
		if _, err := t.between(db, m); err != nil {
			return err
		}
		here := func(id int64) bool {
			i, err := db.interactions.get(t.scope.AccountID, id)
			return err == nil && i.ConversationID == m.FromID && slices.Contains(ids, id)
		}
		moved, err := db.moveContents(t.scope.AccountID, m, here)
		if err != nil || len(moved) == 0 {
			return err
		}
		db.moveMarks(t.scope.AccountID, m.FromID, m.IntoID, moved)
		return nil
	})
}

// moveContents moves the selected interactions of a conversation, and what depends on them, to another one. It returns their
// ids.
func (db *data) moveContents(account int64, m helpdesk.Move, meant func(id int64) bool) ([]int64, error) {
	from, err := db.conversations.get(account, m.FromID)
	if err != nil {
		return nil, err
	}
	m.MailboxID, m.CreatedAt = from.MailboxID, m.CreatedAt.UTC().Truncate(time.Microsecond)
	attachments := db.attachments.where(account, func(a *helpdesk.Attachment) bool { return a.ConversationID == m.FromID && meant(a.InteractionID) })
	mails := db.ledger.where(account, func(r *ledger.Mail) bool { return r.ConversationID == m.FromID && meant(r.InteractionID) })
	notifications := db.notifications.where(account, func(n *helpdesk.Notification) bool { return n.ConversationID == m.FromID && meant(n.InteractionID) })
	var moved []int64
	for _, i := range db.interactions.where(account, func(i *helpdesk.Interaction) bool { return i.ConversationID == m.FromID && meant(i.ID) }) {
		i.ConversationID, m.InteractionID = m.IntoID, i.ID
		moved = append(moved, i.ID)
		db.interactions.set(account, i.ID, &i)
		var id int64
		if err := db.moves.insert(account, &m, &id); err != nil {
			return nil, err
		}
	}
	for _, n := range notifications {
		n.ConversationID = m.IntoID
		db.notifications.set(account, n.ID, &n)
	}
	for _, a := range attachments {
		a.ConversationID = m.IntoID
		db.attachments.set(account, a.ID, &a)
	}
	for _, r := range mails {
		r.ConversationID = m.IntoID
		db.ledger.set(account, r.ID, &r)
	}
	return moved, nil
}

func (db *data) moveParticipants(account, id, into int64) {
	var keys []string
	for _, conversation := range []int64{into, id} {
		if known, err := db.participants.get(account, conversation); err == nil {
			keys = append(keys, *known...)
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	db.participants.set(account, into, &keys)
}

// mergeMarks keeps the lower of a user's two read marks, and no mark for users with only one.
func (db *data) mergeMarks(account, id, into int64) {
	var both []helpdesk.ReadMark
	for _, m := range db.marksOf(account, into) {
		if other := db.readMark(account, m.UserID, id); other != 0 {
			m.InteractionID = min(m.InteractionID, other)
			both = append(both, m)
		}
	}
	db.readMarks.set(account, into, &both)
}

// moveMarks gives the users with a read mark in either conversation the highest mark in into that marks nothing unread as
// read.
func (db *data) moveMarks(account, id, into int64, moved []int64) {
	users := map[int64]bool{}
	for _, m := range slices.Concat(db.marksOf(account, id), db.marksOf(account, into)) {
		users[m.UserID] = true
	}
	var marks []helpdesk.ReadMark
	for _, user := range slices.Sorted(maps.Keys(users)) {
		was, there := db.readMark(account, user, id), db.readMark(account, user, into)
		last, unread := int64(0), int64(0)
		for n, i := range db.interactions.all(account) { // in id order
			if i.ConversationID != into {
				continue
			}
			seen := there
			if slices.Contains(moved, n) {
				seen = was
			}
			if last = n; i.Type == helpdesk.TypeCustomer && n > seen && unread == 0 {
				unread = n
			}
		}
		mark := helpdesk.ReadMark{UserID: user, ConversationID: into, InteractionID: last}
		if unread != 0 {
			mark.InteractionID = unread - 1
		}
		if mark.InteractionID > 0 {
			marks = append(marks, mark)
		}
	}
	db.readMarks.set(account, into, &marks)
}
