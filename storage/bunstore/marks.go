package bunstore

import (
	"context"
	"strings"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
)

// The kinds of [markRow].
const (
	markUnread = iota + 1
	markTag
	markPresence
	markSendAt
)

// markRow is one mark of a conversation; its kind says what the other columns mean. Columns that a kind does not use are 0
// or empty.
type markRow struct {
	Kind           int
	ConversationID int64
	ID             int64 // tag or user
	N              int64 // number of unread interactions
	At             int64 // when the tag was created, the user was seen, or the reply is sent
	UpdatedAt      int64
	Name           string // of the tag, or what the user does
	NameKey        string
	Color          string
}

// addTo adds the mark to those of its conversation.
func (r *markRow) addTo(m *helpdesk.Marks) {
	switch r.Kind {
	case markUnread:
		m.Unread = r.N
	case markTag:
		m.Tags = append(m.Tags, helpdesk.Tag{
			ID: r.ID, Name: r.Name, Key: r.NameKey, Color: r.Color, CreatedAt: timeOf(r.At), UpdatedAt: timeOf(r.UpdatedAt),
		})
	case markPresence:
		m.Presence = append(m.Presence, helpdesk.Presence{
			ConversationID: r.ConversationID, UserID: r.ID, Doing: helpdesk.Doing(r.Name), SeenAt: timeOf(r.At),
		})
	case markSendAt:
		m.SendAt = timeOf(r.At)
	}
}

// Marks implements [helpdesk.MarksReader] with one statement.
func (r reader) Marks(ctx context.Context, q helpdesk.MarksQuery) ([]helpdesk.Marks, error) {
	var parts []any
	part := func(model any, columns string) *bun.SelectQuery {
		some := r.selects(model).ColumnExpr(columns).ApplyQueryBuilder(r.ofConversation).
			Where("?TableName.conversation_id IN (?)", bun.List(q.ConversationIDs))
		parts = append(parts, some)
		return some
	}
	if q.UnreadBy != 0 {
		part((*interactionRow)(nil), "1 AS kind, ?TableName.conversation_id, 0 AS id, COUNT(*) AS n, 0 AS at, 0 AS updated_at, '' AS name, '' AS name_key, '' AS color").
			Join(`LEFT JOIN hw_read_marks AS m ON m.account_id = ?TableName.account_id
				AND m.conversation_id = ?TableName.conversation_id AND m.user_id = ?`, q.UnreadBy).
			Where("?TableName.type = 'customer'"). // as in the index's condition
			Where("?TableName.id > COALESCE(m.interaction_id, 0)").
			GroupExpr("?TableName.conversation_id")
	}
	if q.Tags {
		part((*taggingRow)(nil), "2 AS kind, ?TableName.conversation_id, t.id, 0 AS n, t.created_at AS at, t.updated_at, t.name, t.name_key, t.color").
			Join("JOIN hw_tags AS t ON t.account_id = ?TableName.account_id AND t.id = ?TableName.tag_id")
	}
	if !q.PresentAfter.IsZero() {
		part((*presenceRow)(nil), "3 AS kind, ?TableName.conversation_id, ?TableName.user_id AS id, 0 AS n, ?TableName.seen_at AS at, 0 AS updated_at, ?TableName.doing AS name, '' AS name_key, '' AS color").
			Where("?TableName.seen_at > ?", micros(q.PresentAfter))
	}
	if q.Scheduled {
		part((*interactionRow)(nil), "4 AS kind, ?TableName.conversation_id, 0 AS id, 0 AS n, MIN(?TableName.send_at) AS at, 0 AS updated_at, '' AS name, '' AS name_key, '' AS color").
			Where("?TableName.send_at > 0").GroupExpr("?TableName.conversation_id") // as in the index's condition
	}
	if len(q.ConversationIDs) == 0 || len(parts) == 0 {
		return nil, r.state()
	}
	var rows []markRow
	all := "?" + strings.Repeat(" UNION ALL ?", len(parts)-1)
	if err := r.raw("SELECT * FROM ("+all+") AS marks ORDER BY conversation_id, kind, id", parts...).Scan(ctx, &rows); err != nil {
		return nil, failure(ctx, err, "conversation", 0)
	}
	var found []helpdesk.Marks
	for _, row := range rows {
		if n := len(found); n == 0 || found[n-1].ConversationID != row.ConversationID {
			found = append(found, helpdesk.Marks{ConversationID: row.ConversationID})
		}
		row.addTo(&found[len(found)-1])
	}
	return found, nil
}
