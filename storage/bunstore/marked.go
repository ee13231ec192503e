package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// marksAlong is which marks are read along with conversations. The statement reads only the ids of tags, which many rows share.
type marksAlong struct {
	unreadBy int64
	found    []helpdesk.Marks
	done     bool // the page's statement has read them
}

// read adds the marks to a query for conversations.
func (m *marksAlong) read(s *bun.SelectQuery) {
	s.ColumnExpr(`(SELECT COUNT(*) FROM hw_interactions AS i WHERE i.account_id = ?TableName.account_id AND i.conversation_id = ?TableName.id
			AND i.type = 'customer' AND i.id > COALESCE((SELECT r.interaction_id FROM hw_read_marks AS r WHERE r.account_id = ?TableName.account_id
			AND r.conversation_id = ?TableName.id AND r.user_id = ?), 0)) AS unread`, m.unreadBy).
		ColumnExpr(`COALESCE((SELECT string_agg(CAST(g.tag_id AS TEXT), ' ') FROM hw_conversation_tags AS g
			WHERE g.account_id = ?TableName.account_id AND g.conversation_id = ?TableName.id), '') AS tags`)
}

// rememberMarks keeps the marks of a conversation.
func (m *marksAlong) rememberMarks(row *markedRow) {
	if tags := tagsOf(row.Tags); row.Unread != 0 || tags != nil {
		m.found = append(m.found, helpdesk.Marks{ConversationID: row.ID, Unread: row.Unread, Tags: tags})
	}
}

// markedRow is a conversation with its marks.
type markedRow struct {
	conversationRow `bun:",extend"`

	Unread int64  `bun:",scanonly"`
	Tags   string `bun:",scanonly"` // ids
}

// scanConversations reads at most a number of conversations and, unless m is nil, their marks.
func (r reader) scanConversations(ctx context.Context, s *bun.SelectQuery, most int, m *marksAlong) (all []helpdesk.Conversation, err error) {
	s.ColumnExpr("?TableColumns")
	if m != nil {
		m.read(s)
		m.found = m.found[:0]
	}
	err = s.Scan(ctx, scanInto(r.db, func(row *markedRow) {
		if all == nil {
			all = make([]helpdesk.Conversation, 0, min(most, storage.MaxLimit))
		}
		all = append(all, row.conversation())
		if m != nil {
			m.rememberMarks(row)
		}
	}))
	if err == nil && m != nil {
		err = r.nameTags(ctx, m.found)
		m.done = err == nil
	}
	return all, failure(ctx, err, "conversation", 0)
}

// MarkedConversation implements [helpdesk.MarkedReader].
func (r reader) MarkedConversation(ctx context.Context, id, unreadBy int64) (c helpdesk.Conversation, marks helpdesk.Marks, err error) {
	m := marksAlong{unreadBy: unreadBy}
	s := locked(ctx, r.selects((*conversationRow)(nil))).ApplyQueryBuilder(r.conversationsInScope).Where("?TableName.id = ?", id)
	found, err := r.scanConversations(ctx, s, 1, &m)
	if err == nil && len(found) == 0 {
		err = fault.Missing("conversation", id)
	}
	if err != nil {
		return c, marks, err
	}
	if len(m.found) > 0 {
		marks = m.found[0]
	}
	return found[0], marks, nil
}

// marked is a list of conversations with their marks.
type marked struct {
	rows  []helpdesk.Conversation
	marks []helpdesk.Marks
}

// MarkedConversations implements [helpdesk.MarkedReader], mostly with the statement of the list itself. A list that is sorted
// by the database gets its marks afterwards, for the rows of the page alone.
func (r reader) MarkedConversations(ctx context.Context, f helpdesk.ConversationOrder, unreadBy int64, seek storage.Seek) ([]helpdesk.Conversation, []helpdesk.Marks, error) {
	list, err := lagging(ctx, r, func(ctx context.Context, r reader) (list marked, err error) {
		m := marksAlong{unreadBy: unreadBy}
		if list.rows, err = r.listConversations(ctx, f, &m, seek); err != nil || m.done {
			list.marks = m.found
			return list, err
		}
		ids := mapped(list.rows, func(c *helpdesk.Conversation) int64 { return c.ID })
		list.marks, err = r.Marks(ctx, helpdesk.MarksQuery{ConversationIDs: ids, UnreadBy: unreadBy, Tags: true})
		return list, err
	})
	return list.rows, list.marks, err
}
