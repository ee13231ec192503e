package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
)

func (r reader) Unread(ctx context.Context, userID int64, conversationIDs []int64) ([]helpdesk.UnreadCount, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.UnreadCount, error) {
		counts := map[int64]int64{}
		for id, i := range db.interactions.all(r.scope.AccountID) {
			if i.Type == helpdesk.TypeCustomer && slices.Contains(conversationIDs, i.ConversationID) && db.within(r.scope, i) &&
				id > db.readMark(r.scope.AccountID, userID, i.ConversationID) {
				counts[i.ConversationID]++
			}
		}
		var found []helpdesk.UnreadCount
		for id := range db.conversations.all(r.scope.AccountID) {
			if counts[id] > 0 {
				found = append(found, helpdesk.UnreadCount{ConversationID: id, Count: counts[id]})
			}
		}
		return found, nil
	})
}

// marksOf returns the read marks in a conversation.
func (db *data) marksOf(account, conversationID int64) []helpdesk.ReadMark {
	marks, err := db.readMarks.get(account, conversationID)
	if err != nil {
		return nil
	}
	return *marks
}

// readMark returns a user's read mark in a conversation; 0: none.
func (db *data) readMark(account, userID, conversationID int64) int64 {
	for _, m := range db.marksOf(account, conversationID) {
		if m.UserID == userID {
			return m.InteractionID
		}
	}
	return 0
}

func (t tx) SaveReadMark(ctx context.Context, m helpdesk.ReadMark) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.conversation(t.scope, m.ConversationID); err != nil {
			return err
		}
		marks := slices.DeleteFunc(slices.Clone(db.marksOf(t.scope.AccountID, m.ConversationID)),
			func(old helpdesk.ReadMark) bool { return old.UserID == m.UserID })
		if m.InteractionID != 0 {
			marks = append(marks, m)
		}
		db.readMarks.set(t.scope.AccountID, m.ConversationID, &marks)
		return nil
	})
}
