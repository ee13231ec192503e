package bunstore

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type notificationRow struct {
	bun.BaseModel  `bun:"table:hw_notifications,alias:hw_notifications"`
	ID             int64 `bun:",pk,autoincrement"`
	AccountID      int64
	UserID         int64
	Kind           string
	ConversationID int64 `bun:",nullzero"`
	InteractionID  int64
	MailboxID      int64
	ActorID        int64
	Source         string
	Shown          bool
	Browser        bool
	MailAt         int64
	ReadAt         int64
	CreatedAt      int64
}

func (r *notificationRow) notification() helpdesk.Notification {
	return helpdesk.Notification{
		ID: r.ID, UserID: r.UserID, Kind: helpdesk.NotificationKind(r.Kind), ConversationID: r.ConversationID, InteractionID: r.InteractionID,
		MailboxID: r.MailboxID, ActorID: r.ActorID, Source: r.Source, Shown: r.Shown, Browser: r.Browser,
		MailAt: timeOf(r.MailAt), ReadAt: timeOf(r.ReadAt), CreatedAt: timeOf(r.CreatedAt),
	}
}

func notificationRowOf(account int64, n *helpdesk.Notification) notificationRow {
	return notificationRow{
		ID: n.ID, AccountID: account, UserID: n.UserID, Kind: string(n.Kind), ConversationID: n.ConversationID, InteractionID: n.InteractionID,
		MailboxID: n.MailboxID, ActorID: n.ActorID, Source: n.Source, Shown: n.Shown, Browser: n.Browser,
		MailAt: micros(n.MailAt), ReadAt: micros(n.ReadAt), CreatedAt: micros(n.CreatedAt),
	}
}

// notificationsInScope restricts a statement to account and mailboxes: by conversation, or by the mailbox of notifications
// without one.
func (r reader) notificationsInScope(q bun.QueryBuilder) bun.QueryBuilder {
	q = r.account(q)
	if r.scope.Mailboxes == nil {
		return q
	}
	boxes := bun.List(r.scope.Mailboxes)
	return q.Where(`(?TableName.conversation_id IS NULL AND ?TableName.mailbox_id IN (?) OR EXISTS (SELECT 1 FROM hw_conversations AS c
		WHERE c.account_id = ?TableName.account_id AND c.id = ?TableName.conversation_id AND c.mailbox_id IN (?)))`, boxes, boxes)
}

// narrowNotifications applies a filter to a statement.
func narrowNotifications(f helpdesk.NotificationFilter) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		q = q.Where("?TableName.user_id = ?", f.UserID)
		if f.ConversationID != 0 {
			q = q.Where("?TableName.conversation_id = ?", f.ConversationID)
		}
		if f.MailboxID != 0 {
			q = q.Where("?TableName.conversation_id IS NULL AND ?TableName.mailbox_id = ?", f.MailboxID)
		}
		if f.Shown {
			q = q.Where("?TableName.shown = TRUE")
		}
		if f.Browser {
			q = q.Where("?TableName.browser = TRUE")
		}
		if f.Unread {
			q = q.Where("?TableName.read_at < 0") // as in the index's condition
		}
		if f.ToMail {
			q = q.Where("?TableName.mail_at > 0")
		}
		if f.IDs != nil {
			q = q.Where("?TableName.id IN (?)", bun.List(f.IDs))
		}
		if f.UpTo != 0 {
			q = q.Where("?TableName.id <= ?", f.UpTo)
		}
		return q
	}
}

var notifications = table[writer, helpdesk.Notification, helpdesk.NotificationFilter, notificationRow]{
	Noun: nouns.Notifications, row: notificationRowOf, item: (*notificationRow).notification,
	scope: func(w writer, q bun.QueryBuilder) bun.QueryBuilder { return w.notificationsInScope(q) },
	match: func(_ context.Context, _ writer, q *bun.SelectQuery, f helpdesk.NotificationFilter) error {
		q.ApplyQueryBuilder(narrowNotifications(f))
		return nil
	},
	admit: func(ctx context.Context, w writer, all []*helpdesk.Notification) error {
		seen := map[int64]bool{}
		var ids, boxes []int64
		for _, n := range all {
			switch {
			case n.ConversationID == 0:
				boxes = append(boxes, n.MailboxID)
			case !seen[n.ConversationID]:
				seen[n.ConversationID] = true
				ids = append(ids, n.ConversationID)
			}
		}
		return w.requireNotified(ctx, ids, boxes)
	},
}

// requireNotified checks that conversations and mailboxes are in the scope.
func (w writer) requireNotified(ctx context.Context, conversations, boxes []int64) error {
	if len(conversations) > 0 {
		found, err := w.Conversations().ByIDs(ctx, conversations)
		if err != nil {
			return err
		}
		there := map[int64]bool{}
		for _, c := range found {
			there[c.ID] = true
		}
		for _, id := range conversations {
			if !there[id] {
				return w.requireConversation(ctx, id)
			}
		}
	}
	checked := map[int64]bool{}
	for _, id := range boxes {
		if checked[id] {
			continue
		}
		checked[id] = true
		if _, err := w.Mailboxes().Get(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// Notifications implements [helpdesk.Reader].
func (r reader) Notifications() storage.RowReader[helpdesk.Notification, helpdesk.NotificationFilter] {
	return rowsOf(r.placed(), &notifications)
}

// Notifications implements [helpdesk.Rows].
func (w writer) Notifications() storage.Rows[helpdesk.Notification, helpdesk.NotificationFilter] {
	return storedOf(w, &notifications)
}

// MarkNotifications implements [helpdesk.NotificationWriter].
func (w writer) MarkNotifications(ctx context.Context, f helpdesk.NotificationFilter, mark helpdesk.NotificationMark, at time.Time) (int, error) {
	q := w.updates((*notificationRow)(nil)).ApplyQueryBuilder(w.notificationsInScope).ApplyQueryBuilder(narrowNotifications(f))
	if mark == helpdesk.MarkedMailed {
		q.Set("mail_at = ?", noTime).Where("mail_at <> ?", noTime)
	} else {
		q.Set("read_at = ?", micros(at)).Where("read_at = ?", noTime)
	}
	res, err := q.Exec(ctx)
	if err != nil {
		return 0, failure(ctx, err, "notification", 0)
	}
	n, err := res.RowsAffected()
	return int(n), failure(ctx, err, "notification", 0)
}

// PruneNotifications implements [helpdesk.NotificationWriter].
func (w writer) PruneNotifications(ctx context.Context, before time.Time, keep, n int) (int, error) {
	if err := w.requireAccount(ctx); err != nil {
		return 0, err
	}
	placed := w.raw(`SELECT id, created_at, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY id DESC) AS place
		FROM hw_notifications WHERE account_id = ?`, w.scope.AccountID)
	old := w.raw("SELECT x.id FROM (?) AS x WHERE x.place > ? OR x.created_at < ? ORDER BY x.id LIMIT ?",
		placed, max(keep, 0), micros(before), max(n, 0))
	res, err := w.raw("DELETE FROM hw_notifications WHERE account_id = ? AND id IN (?)", w.scope.AccountID, old).Exec(ctx)
	if err != nil {
		return 0, failure(ctx, err, "notification", 0)
	}
	removed, err := res.RowsAffected()
	return int(removed), failure(ctx, err, "notification", 0)
}

type followerRow struct {
	bun.BaseModel  `bun:"table:hw_followers,alias:hw_followers"`
	AccountID      int64
	ConversationID int64
	UserID         int64
	Follows        bool
	CreatedAt      int64
}

func (r *followerRow) follower() helpdesk.Follower {
	return helpdesk.Follower{ConversationID: r.ConversationID, UserID: r.UserID, Follows: r.Follows, CreatedAt: timeOf(r.CreatedAt)}
}

// Followers implements [helpdesk.NotificationReader].
func (r reader) Followers(ctx context.Context, conversationIDs []int64) ([]helpdesk.Follower, error) {
	if len(conversationIDs) == 0 {
		return nil, r.state()
	}
	var rows []followerRow
	err := r.selects(&rows).ApplyQueryBuilder(r.ofConversation).Where("conversation_id IN (?)", bun.List(conversationIDs)).
		Order("conversation_id", "user_id").Scan(ctx)
	return mapped(rows, (*followerRow).follower), failure(ctx, err, "conversation", 0)
}

// SaveFollowers implements [helpdesk.NotificationWriter].
func (w writer) SaveFollowers(ctx context.Context, all []helpdesk.Follower) error {
	if len(all) == 0 {
		return w.state()
	}
	rows := make([]followerRow, len(all))
	var ids []int64
	for i, f := range all {
		rows[i] = followerRow{
			AccountID: w.scope.AccountID, ConversationID: f.ConversationID, UserID: f.UserID, Follows: f.Follows, CreatedAt: micros(f.CreatedAt),
		}
		ids = append(ids, f.ConversationID)
	}
	if err := w.requireNotified(ctx, ids, nil); err != nil {
		return err
	}
	_, err := w.inserts(&rows).On("CONFLICT (account_id, conversation_id, user_id) DO UPDATE").
		Set("follows = EXCLUDED.follows, created_at = EXCLUDED.created_at").Exec(ctx)
	return failure(ctx, err, "conversation", 0)
}

type notifyChoicesRow struct {
	bun.BaseModel `bun:"table:hw_notify_choices,alias:hw_notify_choices"`
	AccountID     int64
	UserID        int64
	Choices       items[helpdesk.NotifyChoice]
}

func (r *notifyChoicesRow) choices() helpdesk.NotifyChoices {
	return helpdesk.NotifyChoices{UserID: r.UserID, Choices: r.Choices}
}

// NotifyChoices implements [helpdesk.NotificationReader].
func (r reader) NotifyChoices(ctx context.Context, userIDs []int64) ([]helpdesk.NotifyChoices, error) {
	var rows []notifyChoicesRow
	q := r.selects(&rows).ApplyQueryBuilder(r.account).Order("user_id")
	if len(userIDs) > 0 {
		q.Where("user_id IN (?)", bun.List(userIDs))
	}
	err := q.Scan(ctx)
	return mapped(rows, (*notifyChoicesRow).choices), failure(ctx, err, "notification", 0)
}

// SaveNotifyChoices implements [helpdesk.NotificationWriter].
func (w writer) SaveNotifyChoices(ctx context.Context, c helpdesk.NotifyChoices) error {
	if err := w.requireAccount(ctx); err != nil {
		return err
	}
	row := notifyChoicesRow{AccountID: w.scope.AccountID, UserID: c.UserID, Choices: c.Choices}
	_, err := w.inserts(&row).On("CONFLICT (account_id, user_id) DO UPDATE").Set("choices = EXCLUDED.choices").Exec(ctx)
	return failure(ctx, err, "notification", 0)
}
