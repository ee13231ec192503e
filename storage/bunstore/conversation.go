package bunstore

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type conversationRow struct {
	bun.BaseModel   `bun:"table:hw_conversations,alias:hw_conversations"`
	ID              int64 `bun:",pk,autoincrement"`
	AccountID       int64
	Number          int64
	Channel         string
	MailboxID       int64
	CustomerID      int64
	CustomerEmailID int64 `bun:",nullzero"`
	CustomerEmail   string
	UserID          int64
	Status          string
	Subject         string
	Preview         string
	RefersTo        int64
	AwaitingSince   int64
	CreatedAt       int64
	UpdatedAt       int64
}

func (r *conversationRow) conversation() helpdesk.Conversation {
	return helpdesk.Conversation{
		ID: r.ID, Number: r.Number, Channel: r.Channel, MailboxID: r.MailboxID, CustomerID: r.CustomerID,
		CustomerEmailID: r.CustomerEmailID, CustomerEmail: r.CustomerEmail, UserID: r.UserID,
		Status: helpdesk.Status(r.Status), Subject: r.Subject, Preview: r.Preview,
		RefersTo: r.RefersTo, AwaitingSince: timeOf(r.AwaitingSince),
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func conversationRowOf(account int64, c *helpdesk.Conversation) conversationRow {
	return conversationRow{
		ID: c.ID, AccountID: account, Number: c.Number, Channel: c.Channel, MailboxID: c.MailboxID,
		CustomerID: c.CustomerID, CustomerEmailID: c.CustomerEmailID, CustomerEmail: c.CustomerEmail,
		UserID: c.UserID, Status: string(c.Status), Subject: c.Subject, Preview: c.Preview,
		RefersTo: c.RefersTo, AwaitingSince: micros(c.AwaitingSince),
		CreatedAt: micros(c.CreatedAt), UpdatedAt: micros(c.UpdatedAt),
	}
}

// conversationsInScope keeps a statement about conversations within account and mailboxes.
func (r reader) conversationsInScope(q bun.QueryBuilder) bun.QueryBuilder {
	return r.inScope("mailbox_id")(q)
}

func (r reader) conversation(ctx context.Context, id int64, lock bool) (helpdesk.Conversation, error) {
	var row conversationRow
	q := r.selects(&row).ApplyQueryBuilder(r.conversationsInScope).Where("id = ?", id)
	if lock {
		r.forUpdate(q)
	}
	if err := one(ctx, q, "conversation", id); err != nil {
		return helpdesk.Conversation{}, err
	}
	return row.conversation(), nil
}

// Conversation implements [helpdesk.ConversationReader].
func (r reader) Conversation(ctx context.Context, id int64) (helpdesk.Conversation, error) {
	return r.conversation(ctx, id, false)
}

// ConversationForUpdate implements [helpdesk.ConversationWriter].
func (w writer) ConversationForUpdate(ctx context.Context, id int64) (helpdesk.Conversation, error) {
	return w.conversation(ctx, id, true)
}

// sortColumns are the columns that hold what Conversation.SortKey returns.
var sortColumns = map[helpdesk.ConversationSort]string{
	helpdesk.ByCreated:  "created_at",
	helpdesk.ByUpdated:  "updated_at",
	helpdesk.ByNumber:   "number",
	helpdesk.ByAwaiting: "awaiting_key",
}

// Conversations implements [helpdesk.ConversationReader].
func (r reader) Conversations(
	ctx context.Context, f helpdesk.ConversationFilter, sort helpdesk.ConversationSort, seek storage.Seek,
) ([]helpdesk.Conversation, error) {
	var rows []conversationRow
	q := r.selects(&rows).Err(checkText(f.Statuses)).ApplyQueryBuilder(r.conversationsInScope)
	if len(f.Statuses) > 0 {
		q.Where("status IN (?)", bun.List(f.Statuses))
	}
	if f.MailboxID != 0 {
		q.Where("mailbox_id = ?", f.MailboxID)
	}
	if f.CustomerID != 0 {
		q.Where("customer_id = ?", f.CustomerID)
	}
	if f.UserID.IsSet() {
		q.Where("user_id = ?", f.UserID.Or(0))
	}
	if !f.UpdatedSince.IsZero() {
		q.Where("updated_at >= ?", micros(f.UpdatedSince))
	}
	if len(f.Terms) > 0 {
		found, err := r.found(ctx, conversationSearch, f.Terms)
		if err != nil {
			return nil, err
		}
		q.ApplyQueryBuilder(found)
	}
	if len(f.TagIDs) > 0 {
		q.Where(`EXISTS (SELECT 1 FROM hw_conversation_tags AS t WHERE t.account_id = ?TableName.account_id
			AND t.conversation_id = ?TableName.id AND t.tag_id IN (?))`, bun.List(f.TagIDs))
	}
	if len(f.Audience) > 0 {
		clause, args := r.meets("i", f.Audience)
		q.Err(checkText(f.Audience)).Where("EXISTS (SELECT 1 FROM hw_interactions AS i WHERE i.account_id = ?TableName.account_id"+
			" AND i.conversation_id = ?TableName.id AND "+clause+")", args...)
	}
	column, ok := sortColumns[sort]
	if !ok {
		column = sortColumns[helpdesk.ByCreated]
	}
	err := page(q, column, seek).Scan(ctx)
	return mapped(rows, (*conversationRow).conversation), failure(ctx, err, "conversation", 0)
}

// ConversationsByID implements [helpdesk.ConversationReader].
func (r reader) ConversationsByID(ctx context.Context, ids []int64) ([]helpdesk.Conversation, error) {
	if len(ids) == 0 {
		return nil, r.state()
	}
	var rows []conversationRow
	err := r.selects(&rows).ApplyQueryBuilder(r.conversationsInScope).Where("id IN (?)", bun.List(ids)).
		Order("id").Scan(ctx)
	return mapped(rows, (*conversationRow).conversation), failure(ctx, err, "conversation", 0)
}

// InsertConversation implements [helpdesk.ConversationWriter].
func (w writer) InsertConversation(ctx context.Context, c *helpdesk.Conversation) error {
	if !w.sees(c.MailboxID) {
		return fault.Missing("mailbox", c.MailboxID)
	}
	row := conversationRowOf(w.scope.AccountID, c)
	row.ID = 0
	if _, err := w.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "conversation", 0)
	}
	c.ID = row.ID
	w.foundAccount()
	return nil
}

// UpdateConversation implements [helpdesk.ConversationWriter].
func (w writer) UpdateConversation(ctx context.Context, c *helpdesk.Conversation) error {
	if !w.sees(c.MailboxID) {
		return fault.Missing("conversation", c.ID)
	}
	row := conversationRowOf(w.scope.AccountID, c)
	res, err := w.updates(&row).ApplyQueryBuilder(w.conversationsInScope).Where("id = ?", c.ID).Exec(ctx)
	if err := changed(ctx, res, err, "conversation", c.ID); err != nil {
		return err
	}
	w.foundAccount()
	return nil
}

// DeleteConversations implements [helpdesk.ConversationWriter].
func (w writer) DeleteConversations(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return w.requireAccount(ctx)
	}
	var found []int64
	q := w.selects((*conversationRow)(nil)).Column("id").ApplyQueryBuilder(w.conversationsInScope).
		Where("id IN (?)", bun.List(ids)).Order("id")
	if err := w.forUpdate(q).Scan(ctx, &found); err != nil {
		return failure(ctx, err, "conversation", 0)
	}
	if len(found) == 0 {
		return w.requireAccount(ctx)
	}
	if err := w.entomb(ctx, "conversation_id", found); err != nil {
		return err
	}
	_, err := w.raw("UPDATE hw_conversations SET refers_to = 0 WHERE account_id = ? AND refers_to <> 0 AND refers_to IN (?)",
		w.scope.AccountID, bun.List(found)).Exec(ctx)
	if err != nil {
		return failure(ctx, err, "conversation", 0)
	}
	_, err = w.deletes((*conversationRow)(nil)).ApplyQueryBuilder(w.account).
		Where("id IN (?)", bun.List(found)).Exec(ctx)
	return inUse(ctx, err, "conversation", 0)
}

type participantRow struct {
	bun.BaseModel  `bun:"table:hw_participants,alias:hw_participants"`
	AccountID      int64
	ConversationID int64
	AddressKey     string
}

// Participants implements [helpdesk.ConversationReader].
func (r reader) Participants(ctx context.Context, conversationID int64, n int) ([]string, error) {
	if n <= 0 {
		return nil, r.state()
	}
	var keys []string
	err := r.selects((*participantRow)(nil)).Column("address_key").ApplyQueryBuilder(r.ofConversation).
		Where("conversation_id = ?", conversationID).Order("address_key").Limit(int64(n)).Scan(ctx, &keys)
	slices.Sort(keys) // whatever the database's collation
	return keys, failure(ctx, err, "conversation", conversationID)
}

// Participant implements [helpdesk.ConversationReader].
func (r reader) Participant(ctx context.Context, conversationID int64, keys []string) (bool, error) {
	if len(keys) == 0 {
		return false, r.state()
	}
	found, err := r.selects((*participantRow)(nil)).Err(checkText(keys)).ApplyQueryBuilder(r.ofConversation).
		Where("conversation_id = ?", conversationID).Where("address_key IN (?)", bun.List(keys)).Exists(ctx)
	return found, failure(ctx, err, "conversation", conversationID)
}

// AddParticipants implements [helpdesk.ConversationWriter].
func (w writer) AddParticipants(ctx context.Context, conversationID int64, keys []string) error {
	if len(keys) == 0 {
		_, err := w.Conversation(ctx, conversationID)
		return err
	}
	if err := w.requireConversation(ctx, conversationID); err != nil {
		return err
	}
	rows := make([]participantRow, len(keys))
	for i, key := range keys {
		rows[i] = participantRow{AccountID: w.scope.AccountID, ConversationID: conversationID, AddressKey: key}
	}
	_, err := w.inserts(&rows).On("CONFLICT DO NOTHING").Exec(ctx)
	return failure(ctx, err, "conversation", conversationID)
}

// requireConversation refuses a conversation outside the scope. Within a whole account a foreign key does it.
func (w writer) requireConversation(ctx context.Context, id int64) error {
	if w.scope.Mailboxes == nil {
		return nil
	}
	found, err := w.selects((*conversationRow)(nil)).ApplyQueryBuilder(w.conversationsInScope).
		Where("id = ?", id).Exists(ctx)
	if err == nil && !found {
		return fault.Missing("conversation", id)
	}
	return failure(ctx, err, "conversation", id)
}
