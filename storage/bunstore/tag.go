package bunstore

import (
	"context"
	"reflect"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type tagRow struct {
	bun.BaseModel `bun:"table:hw_tags,alias:hw_tags"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	Name          string
	NameKey       string
	Color         string
	CreatedAt     int64
	UpdatedAt     int64
}

func (r *tagRow) tag() helpdesk.Tag {
	return helpdesk.Tag{
		ID: r.ID, Name: r.Name, Key: r.NameKey, Color: r.Color,
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func tagRowOf(account int64, t *helpdesk.Tag) tagRow {
	return tagRow{
		ID: t.ID, AccountID: account, Name: t.Name, NameKey: t.Key, Color: t.Color,
		CreatedAt: micros(t.CreatedAt), UpdatedAt: micros(t.UpdatedAt),
	}
}

var tags = table[writer, helpdesk.Tag, storage.NoFilter, tagRow]{
	Noun: nouns.Tags, row: tagRowOf, item: (*tagRow).tag,
	dependents: []dependent{{table: "hw_conversation_tags", of: "tag_id", key: "conversation_id"}},
}

// Tags implements [helpdesk.Reader].
func (r reader) Tags() storage.RowReader[helpdesk.Tag, storage.NoFilter] {
	return rowsOf(r.placed(), &tags)
}

// Tags implements [helpdesk.Rows].
func (w writer) Tags() storage.Rows[helpdesk.Tag, storage.NoFilter] { return storedOf(w, &tags) }

type taggingRow struct {
	bun.BaseModel  `bun:"table:hw_conversation_tags,alias:hw_conversation_tags"`
	AccountID      int64
	ConversationID int64
	TagID          int64
	CreatedAt      int64 // of the conversation
}

// SetTags implements [helpdesk.TagWriter].
func (w writer) SetTags(ctx context.Context, conversationIDs, tagIDs []int64) error {
	if err := w.requireTags(ctx, tagIDs); err != nil {
		return err
	}
	if len(conversationIDs) == 0 {
		return nil
	}
	found, err := w.Conversations().ByIDs(ctx, conversationIDs)
	if err != nil {
		return err
	}
	if len(found) < len(conversationIDs) {
		return fault.Missing("conversation", absent(conversationIDs, found))
	}
	_, err = w.deletes((*taggingRow)(nil)).ApplyQueryBuilder(w.account).
		Where("conversation_id IN (?)", bun.List(conversationIDs)).Exec(ctx)
	if err != nil || len(tagIDs) == 0 {
		return failure(ctx, err, "tag", 0)
	}
	rows := make([]taggingRow, 0, len(found)*len(tagIDs))
	for _, c := range found {
		for _, tag := range tagIDs {
			rows = append(rows, taggingRow{AccountID: w.scope.AccountID, ConversationID: c.ID, TagID: tag, CreatedAt: micros(c.CreatedAt)})
		}
	}
	_, err = w.inserts(&rows).Exec(ctx)
	return failure(ctx, err, "tag", 0)
}

// requireTags refuses missing tags.
func (w writer) requireTags(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return w.requireAccount(ctx)
	}
	found, err := w.Tags().ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(t helpdesk.Tag) bool { return t.ID == id }) {
			return fault.Missing("tag", id)
		}
	}
	return nil
}

// absent returns the first of ids that was not found.
func absent(ids []int64, found []helpdesk.Conversation) int64 {
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(c helpdesk.Conversation) bool { return c.ID == id }) {
			return id
		}
	}
	return 0
}

// tagPage reads one page of the conversations that have any of some tags, in the order of the tags' index.
func (r reader) tagPage(ctx context.Context, q conversationQuery) ([]helpdesk.Conversation, error) {
	if len(q.TagIDs) == 1 && r.onlyTags(q) { // without a sort
		s := r.selects((*conversationRow)(nil)).ApplyQueryBuilder(r.account).
			Join("JOIN hw_conversation_tags AS t ON t.account_id = ?TableName.account_id AND t.conversation_id = ?TableName.id").
			Where("t.account_id = ? AND t.tag_id = ?", r.scope.AccountID, q.TagIDs[0])
		return r.scanPage(ctx, tagOrder(s, q.seek), q)
	}
	var firsts any // the first rows of each tag
	for i, tag := range q.TagIDs {
		first, err := r.tagFirsts(ctx, q, tag)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			firsts = r.db.NewRaw("SELECT id FROM (?) AS first", first)
		} else {
			firsts = r.db.NewRaw("? UNION SELECT id FROM (?) AS first", firsts, first)
		}
	}
	seek := q.seek
	seek.From = nil
	s := page(r.selects((*conversationRow)(nil)), "+"+q.column, seek).ApplyQueryBuilder(r.account).Where("?TableName.id IN (?)", firsts)
	return r.scanPage(ctx, s, q)
}

// tagFirsts selects the ids of the first conversations of a list that have one tag.
func (r reader) tagFirsts(ctx context.Context, q conversationQuery, tag int64) (*bun.SelectQuery, error) {
	rows := r.tagRows(tag).ColumnExpr("t.conversation_id AS id")
	if q.bound != nil {
		rows.Where("(t.created_at, t.conversation_id) ? (?, ?)", until(q.seek), q.bound.Key, q.bound.ID)
	}
	if !r.onlyTags(q) {
		q.TagIDs = nil
		others := r.selects((*conversationRow)(nil)).ColumnExpr("1").Where("?TableName.account_id = t.account_id AND ?TableName.id = t.conversation_id")
		if err := r.narrow(ctx, others, q); err != nil {
			return nil, err
		}
		rows.Where("EXISTS (?)", others)
	}
	return tagOrder(rows, q.seek), nil
}

// onlyTags reports whether a list has no conditions besides its tags, whose index then has all that is needed.
func (r reader) onlyTags(q conversationQuery) bool {
	q.TagIDs = nil
	return r.scope.Mailboxes == nil && reflect.ValueOf(q.ConversationFilter).IsZero()
}

// tagRows selects the rows of a tag.
func (r reader) tagRows(tag int64) *bun.SelectQuery {
	return r.db.NewSelect().Conn(r.conn()).Err(r.state()).TableExpr("hw_conversation_tags AS t").Where("t.account_id = ? AND t.tag_id = ?", r.scope.AccountID, tag)
}

// tagOrder is page for the rows of a tag.
func tagOrder(q *bun.SelectQuery, seek storage.Seek) *bun.SelectQuery {
	order, beyond := bun.Safe("ASC"), bun.Safe(">")
	if seek.Desc {
		order, beyond = "DESC", "<"
	}
	q.OrderExpr("t.created_at ?, t.conversation_id ?", order, order)
	if seek.Limit != storage.NoLimit {
		q.Limit(int64(seek.Limit))
	}
	if seek.Limit <= 0 {
		q.Where("1 = 0")
	}
	if seek.From != nil {
		q.Where("(t.created_at, t.conversation_id) ? (?, ?)", beyond, seek.From.Key, seek.From.ID)
	}
	return q
}
