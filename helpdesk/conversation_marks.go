package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
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

// MarkedReader may be implemented by a [Reader] that reads conversations together with their tags and unread messages faster
// than one after the other.
type MarkedReader interface {
	// MarkedConversation returns a conversation with Tags, and Unread of a user.
	MarkedConversation(ctx context.Context, id, unreadBy int64) (Conversation, Marks, error)
	// MarkedConversations returns what Conversations().List does, with Tags, and Unread of a user. The marks are in any order;
	// conversations without any are omitted.
	MarkedConversations(ctx context.Context, o ConversationOrder, unreadBy int64, seek storage.Seek) ([]Conversation, []Marks, error)
}

// MarkedConversation is a conversation with its tags, and the customer interactions that the member has not read.
type MarkedConversation struct {
	Conversation
	Unread int64
	Tags   []Tag // by id
}

// GetMarked is [Conversations.Get] with tags and unread messages.
func (d Conversations) GetMarked(ctx context.Context, id int64) (MarkedConversation, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return MarkedConversation{}, err
	}
	if at, ok := r.(MarkedReader); ok {
		c, m, err := at.MarkedConversation(ctx, id, d.userID)
		return MarkedConversation{c, m.Unread, m.Tags}, err
	}
	c, err := r.Conversations().Get(ctx, id)
	if err != nil {
		return MarkedConversation{}, err
	}
	m, err := marksByID(ctx, r, MarksQuery{ConversationIDs: []int64{id}, UnreadBy: d.userID, Tags: true})
	return MarkedConversation{c, m[id].Unread, m[id].Tags}, err
}

// ListMarked is [Conversations.List] with tags and unread messages.
func (d Conversations) ListMarked(ctx context.Context, q ConversationQuery, req storage.PageRequest) (storage.Page[MarkedConversation], error) {
	return listOf(ctx, d.desk, q, req, d.listMarked, func(c MarkedConversation) Conversation { return c.Conversation })
}

func (d *desk) listMarked(ctx context.Context, r Reader, o ConversationOrder, seek storage.Seek) ([]MarkedConversation, error) {
	rows, marks, err := d.rowsAndMarks(ctx, r, o, seek)
	if err != nil {
		return nil, err
	}
	all, at := make([]MarkedConversation, len(rows)), make(map[int64]int, len(rows))
	for i, c := range rows {
		all[i].Conversation, at[c.ID] = c, i
	}
	for _, m := range marks {
		if i, ok := at[m.ConversationID]; ok {
			all[i].Unread, all[i].Tags = m.Unread, m.Tags
		}
	}
	return all, nil
}

func (d *desk) rowsAndMarks(ctx context.Context, r Reader, o ConversationOrder, seek storage.Seek) ([]Conversation, []Marks, error) {
	if at, ok := r.(MarkedReader); ok {
		return at.MarkedConversations(ctx, o, d.userID, seek)
	}
	rows, err := r.Conversations().List(ctx, o, seek)
	if err != nil || len(rows) == 0 {
		return nil, nil, err
	}
	ids := make([]int64, len(rows))
	for i, c := range rows {
		ids[i] = c.ID
	}
	marks, err := r.Marks(ctx, MarksQuery{ConversationIDs: ids, UnreadBy: d.userID, Tags: true})
	return rows, marks, err
}

// Marks returns what a list shows beside conversations, by the conversations' ids: unread customer interactions, tags,
// members present and the next scheduled reply. Conversations without any are omitted. It accepts at most 100 ids; more are
// an Invalid fault.
//
// It needs conversations.view, create or update. Without conversations.view, Presence is empty; without interactions.view,
// SendAt is zero.
func (d Conversations) Marks(ctx context.Context, conversationIDs []int64) (map[int64]Marks, error) {
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

// TagsAndUnread is [Conversations.Marks] with Tags and Unread only, for any number of conversations. It needs conversations.view,
// create or update.
func (d Conversations) TagsAndUnread(ctx context.Context, conversationIDs []int64) (map[int64]Marks, error) {
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
