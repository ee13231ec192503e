package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

// redirect is where a merged conversation is, and of which mailbox it was.
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

// receives reports whether mails of a mailbox are of a conversation.
func (db *data) receives(account int64, c *helpdesk.Conversation, mailboxID int64) bool {
	return c.MailboxID == mailboxID ||
		db.redirects.conflict(account, 0, func(r *redirect) bool { return r.into == c.ID && r.mailbox == mailboxID })
}

func (t tx) MergeConversation(ctx context.Context, id, into int64) error {
	return t.write(ctx, func(db *data) error {
		from, err := db.conversation(t.scope, id)
		if err != nil {
			return err
		}
		if _, err := db.conversation(t.scope, into); err != nil {
			return err
		}
		if id == into {
			return fault.Field("into", "must be another conversation")
		}
		account := t.scope.AccountID
		db.moveContents(account, id, into)
		db.mergeMarks(account, id, into)
		for _, r := range slices.Clone(db.redirects.rows[account]) {
			if r.value.into == id {
				db.redirects.set(account, r.id, &redirect{into, r.value.mailbox})
			}
		}
		db.redirects.set(account, id, &redirect{into, from.MailboxID})
		db.participants.set(account, id, nil)
		db.taggings.set(account, id, nil)
		db.readMarks.set(account, id, nil)
		db.searchDocs.set(account, id, nil)
		db.conversations.set(account, id, nil)
		return nil
	})
}

// moveContents makes what is in a conversation the contents of another one.
func (db *data) moveContents(account, id, into int64) {
	for _, i := range db.interactions.where(account, func(i *helpdesk.Interaction) bool { return i.ConversationID == id }) {
		i.ConversationID = into
		db.interactions.set(account, i.ID, &i)
	}
	for _, a := range db.attachments.where(account, func(a *helpdesk.Attachment) bool { return a.ConversationID == id }) {
		a.ConversationID = into
		db.attachments.set(account, a.ID, &a)
	}
	for _, m := range db.ledger.where(account, func(m *helpdesk.InboundMail) bool { return m.ConversationID == id }) {
		m.ConversationID = into
		db.ledger.set(account, m.ID, &m)
	}
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

// mergeMarks leaves the lower of two marks, and none of who has one.
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
