package helpdesk

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk/identity"
)

// ReadMark records how far a user has read a conversation.
type ReadMark struct {
	UserID         int64
	ConversationID int64
	InteractionID  int64 // the latest interaction when it was read; 0: none
}

// Unread returns the number of customer interactions newer than the caller's read mark, by conversation id; conversations
// without any are omitted. Without a mark, all are unread. It needs conversations.view, create or update.
func (d Conversations) Unread(ctx context.Context, conversationIDs []int64) (map[int64]int64, error) {
	r, err := d.guard.Read(d.worksOnConversations())
	if err != nil {
		return nil, err
	}
	marks, err := marksByID(ctx, r, MarksQuery{ConversationIDs: conversationIDs, UnreadBy: d.userID})
	counts := make(map[int64]int64, len(marks))
	for id, m := range marks {
		counts[id] = m.Unread
	}
	return counts, err
}

// MarkRead records that the caller has read everything currently in a conversation. Posting a reply does so, too; viewing a
// conversation does not. It needs conversations.view, does not change the conversation and emits no event.
func (d Conversations) MarkRead(ctx context.Context, conversationID int64) (Conversation, error) {
	return d.mark(ctx, conversationID, func(ctx context.Context, tx Tx, id int64) error {
		if err := d.readNotifications(ctx, tx, id); err != nil {
			return err
		}
		return d.markRead(ctx, tx, &recent{conversationID: id})
	})
}

// MarkUnread removes the caller's read mark of a conversation, so that all its customer interactions are unread. It needs
// conversations.view.
func (d Conversations) MarkUnread(ctx context.Context, conversationID int64) (Conversation, error) {
	return d.mark(ctx, conversationID, func(ctx context.Context, tx Tx, id int64) error {
		return tx.SaveReadMark(ctx, ReadMark{UserID: d.userID, ConversationID: id})
	})
}

func (d *desk) mark(ctx context.Context, conversationID int64, save func(ctx context.Context, tx Tx, id int64) error) (Conversation, error) {
	begin, err := d.guard.Write(identity.ConversationsView)
	if err != nil {
		return Conversation{}, err
	}
	var c Conversation
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		// Lock it, so that no interaction with a lower ID is added unnoticed.
		if c, err = tx.Conversations().Lock(ctx, conversationID); err != nil {
			return err
		}
		return save(ctx, tx, c.ID)
	})
	return c, err
}

// markRead moves the caller's mark to the latest interaction, whatever its place.
func (d *desk) markRead(ctx context.Context, tx Tx, all *recent) error {
	last, err := all.lastArrived(ctx, tx)
	if err != nil || last == 0 {
		return err
	}
	return tx.SaveReadMark(ctx, ReadMark{UserID: d.userID, ConversationID: all.conversationID, InteractionID: last})
}
