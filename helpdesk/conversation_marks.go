package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// Marks are what a list shows beside a conversation.
type Marks struct {
	ConversationID int64
	Unread         int64      // customer interactions that the user has not read
	Tags           []Tag      // by id
	Presence       []Presence // by user
	SendAt         time.Time  // when its next scheduled reply is sent; zero: none is scheduled
}

// MarksQuery selects the conversations and the marks that [MarksReader] reads.
type MarksQuery struct {
	ConversationIDs []int64
	UnreadBy        int64     // the user of Unread; 0: do not read it
	Tags            bool      // read Tags
	PresentAfter    time.Time // read Presence reported after this time; zero: do not read it
	Scheduled       bool      // read SendAt
}

// MarksReader reads what lists show beside conversations.
type MarksReader interface {
	// Marks returns the requested marks, by conversation. Conversations without any are omitted.
	Marks(ctx context.Context, q MarksQuery) ([]Marks, error)
}

// Marks returns what a list shows beside conversations, by the conversations' ids: unread customer interactions, tags,
// members present and the next scheduled reply. Conversations without any are omitted. It accepts at most 100 ids; more are
// an Invalid fault.
//
// It needs conversations.view, create or update. Without conversations.view, Presence is empty; without interactions.view,
// SendAt is zero.
func (d *Desk) Marks(ctx context.Context, conversationIDs []int64) (map[int64]Marks, error) {
	r, err := d.guard.Read(d.worksOnConversations())
	if err != nil {
		return nil, err
	}
	var problems fault.Collector
	problems.Check(len(conversationIDs) <= MaxBulk, "conversation_id", "has more than 100 ids")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	q := MarksQuery{ConversationIDs: conversationIDs, UnreadBy: d.userID, Tags: true, Scheduled: d.guard.Allows(identity.InteractionsView)}
	if d.guard.Allows(identity.ConversationsView) {
		q.PresentAfter = d.presentAfter()
	}
	return marksByID(ctx, r, q)
}

// TagsAndUnread is [Desk.Marks] with Tags and Unread only, for any number of conversations. It needs conversations.view,
// create or update.
func (d *Desk) TagsAndUnread(ctx context.Context, conversationIDs []int64) (map[int64]Marks, error) {
	r, err := d.guard.Read(d.worksOnConversations())
	if err != nil {
		return nil, err
	}
	return marksByID(ctx, r, MarksQuery{ConversationIDs: conversationIDs, UnreadBy: d.userID, Tags: true})
}

func marksByID(ctx context.Context, r MarksReader, q MarksQuery) (map[int64]Marks, error) {
	if len(q.ConversationIDs) == 0 {
		return nil, nil //nolint:nilnil // a nil map is an empty one
	}
	found, err := r.Marks(ctx, q)
	marks := make(map[int64]Marks, len(found))
	for _, m := range found {
		marks[m.ConversationID] = m
	}
	return marks, err
}
