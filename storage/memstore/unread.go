package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
)

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
