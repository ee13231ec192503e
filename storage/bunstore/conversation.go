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
	TeamID          int64
	Status          string
	Priority        string
	Subject         string
	Preview         string
	RefersTo        int64
	AwaitingSince   int64
	SnoozedUntil    int64
	SpamAt          int64
	SLAID           int64 `bun:"sla_id"`
	SLATrack        string
	DueAt           int64
	SoonAt          int64
	HeldAt          int64
	HeldByID        int64
	HoldReason      string
	ErasedAt        int64
	CreatedAt       int64
	UpdatedAt       int64
}

func (r *conversationRow) conversation() helpdesk.Conversation {
	return helpdesk.Conversation{
		ID: r.ID, Number: r.Number, Channel: r.Channel, MailboxID: r.MailboxID, CustomerID: r.CustomerID,
		CustomerEmailID: r.CustomerEmailID, CustomerEmail: r.CustomerEmail, UserID: r.UserID, TeamID: r.TeamID,
		Status: helpdesk.Status(r.Status), Priority: helpdesk.Priority(r.Priority), Subject: r.Subject, Preview: r.Preview,
		RefersTo: r.RefersTo, AwaitingSince: timeOf(r.AwaitingSince), SnoozedUntil: timeOf(r.SnoozedUntil), SpamAt: timeOf(r.SpamAt),
		SLAID: r.SLAID, SLATrack: r.SLATrack, DueAt: timeOf(r.DueAt), SoonAt: timeOf(r.SoonAt),
		HeldAt: timeOf(r.HeldAt), HeldByID: r.HeldByID, HoldReason: r.HoldReason, ErasedAt: timeOf(r.ErasedAt),
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func conversationRowOf(account int64, c *helpdesk.Conversation) conversationRow {
	return conversationRow{
		ID: c.ID, AccountID: account, Number: c.Number, Channel: c.Channel, MailboxID: c.MailboxID,
		CustomerID: c.CustomerID, CustomerEmailID: c.CustomerEmailID, CustomerEmail: c.CustomerEmail,
		UserID: c.UserID, TeamID: c.TeamID, Status: string(c.Status), Priority: string(c.Priority), Subject: c.Subject, Preview: c.Preview,
		RefersTo: c.RefersTo, AwaitingSince: micros(c.AwaitingSince), SnoozedUntil: micros(c.SnoozedUntil), SpamAt: micros(c.SpamAt),
		SLAID: c.SLAID, SLATrack: c.SLATrack, DueAt: micros(c.DueAt), SoonAt: micros(c.SoonAt),
		HeldAt: micros(c.HeldAt), HeldByID: c.HeldByID, HoldReason: c.HoldReason, ErasedAt: micros(c.ErasedAt),
		CreatedAt: micros(c.CreatedAt), UpdatedAt: micros(c.UpdatedAt),
	}
}

// conversationsInScope restricts a statement on conversations to account and mailboxes.
func (r reader) conversationsInScope(q bun.QueryBuilder) bun.QueryBuilder {
	return r.inScope("mailbox_id")(q)
}

// sortColumns maps sort orders to the columns that store Conversation.SortKey.
var sortColumns = map[helpdesk.ConversationSort]string{
	helpdesk.ByCreated:  "created_at",
	helpdesk.ByUpdated:  "updated_at",
	helpdesk.ByNumber:   "number",
	helpdesk.ByAwaiting: "awaiting_key",
	helpdesk.ByDue:      "due_key",
}

// narrow checks all conditions of a filter, and the scope's mailboxes, for each row of a query.
func (r reader) narrow(q *bun.SelectQuery, f helpdesk.ConversationFilter) {
	q.Err(checkText(f.Statuses)).Err(checkText(f.Priorities)).Err(checkText(f.Terms))
	for _, part := range []filter{
		withStatus(f.Statuses), withAwaiting(f.Awaiting), withSnooze(f.Snoozed), withSpam(f.Spam), withHold(f.Held), withPriority(f.Priorities), withDue(f.Due),
		r.ofPeople(f), withChange(f.UpdatedSince), withBegin(f.CreatedBefore), r.ofDesk(f),
	} {
		q.ApplyQueryBuilder(part)
	}
	if f.CustomerID != 0 {
		q.Where("?TableName.customer_id = ?", f.CustomerID)
	}
	if f.CompanyID != 0 { // an expression that no planner turns into a join
		q.Where(`COALESCE((SELECT o.company_id FROM hw_customers AS o WHERE o.account_id = ?TableName.account_id
			AND o.id = ?TableName.customer_id), 0) = ?`, f.CompanyID)
	}
	if len(f.Terms) > 0 {
		q.ApplyQueryBuilder(r.hasTerms(conversationSearch, f.Terms))
	}
	if len(f.TagIDs) > 0 {
		q.ApplyQueryBuilder(tagged(f.TagIDs))
	}
	q.Err(checkText(f.Fields)).ApplyQueryBuilder(hasValues(conversationValues.name, f.Fields))
	if len(f.Audience) > 0 {
		clause, args := r.meets("i", f.Audience)
		q.Err(checkText(f.Audience)).Where("EXISTS (SELECT 1 FROM hw_interactions AS i WHERE i.account_id = ?TableName.account_id"+
			" AND i.conversation_id = ?TableName.id AND "+clause+")", args...)
	}
	if len(f.Ratings) > 0 {
		q.Err(checkText(f.Ratings)).ApplyQueryBuilder(rated(f.Ratings))
	}
	if f.Attached {
		q.ApplyQueryBuilder(attached)
	}
	if f.Unerased {
		q.Where("?TableName.erased_at < ?TableName.updated_at")
	}
	for _, also := range f.Also {
		r.narrow(q, also)
	}
	for _, except := range f.Except {
		q.Where("TRUE").WhereGroup(" AND NOT ", func(q *bun.SelectQuery) *bun.SelectQuery {
			r.narrow(q.Where("TRUE"), except)
			return q
		})
	}
}

// tagged checks the tags of each row, with an expression that no planner turns into a join and that is never NULL.
func tagged(ids []int64) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		return q.Where(`COALESCE((SELECT 1 FROM hw_conversation_tags AS t WHERE t.account_id = ?TableName.account_id
			AND t.conversation_id = ?TableName.id AND t.tag_id IN (?) LIMIT 1), 0) = 1`, bun.List(ids))
	}
}

// rated checks the ratings of each row, with an expression like that of tagged.
func rated(verdicts []helpdesk.Verdict) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		return q.Where(`COALESCE((SELECT 1 FROM hw_ratings AS g WHERE g.account_id = ?TableName.account_id
			AND g.conversation_id = ?TableName.id AND g.verdict IN (?) LIMIT 1), 0) = 1`, bun.List(verdicts))
	}
}

// attached checks the files of each row, with an expression like that of tagged.
func attached(q bun.QueryBuilder) bun.QueryBuilder {
	return q.Where(`COALESCE((SELECT 1 FROM hw_attachments AS a WHERE a.account_id = ?TableName.account_id
		AND a.conversation_id = ?TableName.id AND a.is_inline = ? AND (SELECT i.status FROM hw_interactions AS i
		WHERE i.account_id = a.account_id AND i.id = a.interaction_id) <> 'draft' LIMIT 1), 0) = 1`, false)
}

var conversations = table[writer, helpdesk.Conversation, helpdesk.ConversationOrder, conversationRow]{
	sparse: true,
	Noun:   nouns.Conversations, row: conversationRowOf, item: (*conversationRow).conversation,
	scope: func(w writer, q bun.QueryBuilder) bun.QueryBuilder { return w.conversationsInScope(q) },
	admit: func(_ context.Context, w writer, all []*helpdesk.Conversation) error {
		for _, c := range all {
			if !w.sees(c.MailboxID) {
				return fault.Missing("mailbox", c.MailboxID)
			}
		}
		return nil
	},
	remove: func(ctx context.Context, w writer, id int64) error { return w.forgetConversations(ctx, []int64{id}) },
}

// Conversations implements [helpdesk.Reader].
func (r reader) Conversations() storage.RowReader[helpdesk.Conversation, helpdesk.ConversationOrder] {
	return conversationList{rowsOf(r.placed(), &conversations), r}
}

// Conversations implements [helpdesk.Rows].
func (w writer) Conversations() storage.Rows[helpdesk.Conversation, helpdesk.ConversationOrder] {
	return conversationRows{storedOf(w, &conversations), w.reader}
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
	return w.deleteConversations(ctx, found)
}

// deleteConversations deletes locked conversations.
func (w writer) deleteConversations(ctx context.Context, ids []int64) error {
	if err := w.forgetConversations(ctx, ids); err != nil {
		return err
	}
	_, err := w.deletes((*conversationRow)(nil)).ApplyQueryBuilder(w.account).
		Where("id IN (?)", bun.List(ids)).Exec(ctx)
	if err == nil && len(ids) >= manyTexts {
		err = w.mergeSome(ctx, "hw_conversation_search")
	}
	return inUse(ctx, err, "conversation", 0)
}

// forgetConversations turns the mails of conversations into tombstones and removes references to them.
func (w writer) forgetConversations(ctx context.Context, ids []int64) error {
	if err := w.leaveTombstones(ctx, "conversation_id", ids); err != nil {
		return err
	}
	if err := w.forgetNotes(ctx, ids); err != nil {
		return err
	}
	_, err := w.raw("UPDATE hw_conversations SET refers_to = 0 WHERE account_id = ? AND refers_to <> 0 AND refers_to IN (?)",
		w.scope.AccountID, bun.List(ids)).Exec(ctx)
	return failure(ctx, err, "conversation", 0)
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
	slices.Sort(keys) // independent of the database's collation
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

// Involving implements [helpdesk.ConversationReader].
func (r reader) Involving(ctx context.Context, customerID int64, keys []string, seek storage.Seek) ([]helpdesk.Conversation, error) {
	account := r.scope.AccountID
	involved := bun.SafeQuery(`id IN (SELECT c.id FROM hw_conversations AS c WHERE c.account_id = ? AND c.customer_id = ?
		UNION ALL SELECT i.conversation_id FROM hw_interactions AS i WHERE i.account_id = ? AND i.customer_id = ?
		UNION ALL SELECT p.conversation_id FROM hw_participants AS p WHERE p.account_id = ? AND p.address_key IN (?))`,
		account, customerID, account, customerID, account, bun.List(append(slices.Clone(keys), "")))
	var rows []conversationRow
	q := r.selects(&rows).Err(checkText(keys)).ApplyQueryBuilder(r.conversationsInScope).Where("?", involved)
	err := page(q, "id", seek).Scan(ctx)
	return mapped(rows, (*conversationRow).conversation), failure(ctx, err, "conversation", 0)
}

// RemoveParticipants implements [helpdesk.ConversationWriter].
func (w writer) RemoveParticipants(ctx context.Context, conversationID int64, keys []string) error {
	if _, err := w.Conversations().Get(ctx, conversationID); err != nil || len(keys) == 0 {
		return err
	}
	_, err := w.deletes((*participantRow)(nil)).Err(checkText(keys)).ApplyQueryBuilder(w.account).
		Where("conversation_id = ?", conversationID).Where("address_key IN (?)", bun.List(keys)).Exec(ctx)
	return failure(ctx, err, "conversation", conversationID)
}

// AddParticipants implements [helpdesk.ConversationWriter].
func (w writer) AddParticipants(ctx context.Context, conversationID int64, keys []string) error {
	if len(keys) == 0 {
		_, err := w.Conversations().Get(ctx, conversationID)
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

// requireConversation refuses a conversation outside the scope. For a whole account a foreign key does that.
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
