package bunstore

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

type webhookDeliveryRow struct {
	bun.BaseModel `bun:"table:hw_webhook_deliveries,alias:hw_webhook_deliveries"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	WebhookID     int64
	Seq           int64
	Type          string
	MailboxID     int64
	State         string
	Attempts      int
	Status        int
	Problem       string
	Response      string
	NextAttemptAt int64
	HeldBy        int64
	HeldUntil     int64
	DueAt         int64 // the later of NextAttemptAt and HeldUntil
	CreatedAt     int64
	UpdatedAt     int64
}

func (r *webhookDeliveryRow) delivery() subscription.WebhookDelivery {
	return subscription.WebhookDelivery{
		ID: r.ID, WebhookID: r.WebhookID, Seq: r.Seq, Type: r.Type, MailboxID: r.MailboxID, State: subscription.WebhookState(r.State),
		Attempts: r.Attempts, Status: r.Status, Problem: r.Problem, Response: r.Response, NextAttemptAt: timeOf(r.NextAttemptAt),
		HeldBy: r.HeldBy, HeldUntil: timeOf(r.HeldUntil), CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func webhookDeliveryRowOf(account int64, d *subscription.WebhookDelivery) webhookDeliveryRow {
	return webhookDeliveryRow{
		ID: d.ID, AccountID: account, WebhookID: d.WebhookID, Seq: d.Seq, Type: d.Type, MailboxID: d.MailboxID, State: string(d.State),
		Attempts: d.Attempts, Status: d.Status, Problem: d.Problem, Response: d.Response, NextAttemptAt: micros(d.NextAttemptAt),
		HeldBy: d.HeldBy, HeldUntil: micros(d.HeldUntil), DueAt: max(micros(d.NextAttemptAt), micros(d.HeldUntil)),
		CreatedAt: micros(d.CreatedAt), UpdatedAt: micros(d.UpdatedAt),
	}
}

var webhookDeliveries = table[writer, subscription.WebhookDelivery, subscription.WebhookDeliveryFilter, webhookDeliveryRow]{
	Noun: nouns.WebhookDeliveries, row: webhookDeliveryRowOf, item: (*webhookDeliveryRow).delivery,
	scope: func(w writer, q bun.QueryBuilder) bun.QueryBuilder { return w.ofEvents(q) },
	match: func(_ context.Context, _ writer, q *bun.SelectQuery, f subscription.WebhookDeliveryFilter) error {
		q.Where("webhook_id = ?", f.WebhookID)
		if f.State != "" {
			q.Err(checkText(string(f.State))).Where("state = ?", f.State)
		}
		if !f.DueBy.IsZero() {
			q.Where(pending).Where("due_at <= ?", micros(f.DueBy))
		}
		if !f.HeldAfter.IsZero() {
			q.Where(pending).Where("held_until > ?", micros(f.HeldAfter))
		}
		return nil
	},
	order: func(f subscription.WebhookDeliveryFilter) string {
		if !f.DueBy.IsZero() {
			return "due_at"
		}
		return "id"
	},
}

// WebhookDeliveries implements [helpdesk.Reader].
func (r reader) WebhookDeliveries() storage.RowReader[subscription.WebhookDelivery, subscription.WebhookDeliveryFilter] {
	return rowsOf(r.placed(), &webhookDeliveries)
}

// WebhookDeliveries implements [helpdesk.Rows].
func (w writer) WebhookDeliveries() storage.Rows[subscription.WebhookDelivery, subscription.WebhookDeliveryFilter] {
	return storedOf(w, &webhookDeliveries)
}

// WebhookBacklog implements [subscription.WebhookDirectory]. It walks the cursors, of which there are few.
func (d directory) WebhookBacklog(ctx context.Context, seek storage.Seek) ([]identity.Account, error) {
	var rows []accountRow
	q := d.selects(&rows).Join("JOIN hw_webhook_cursors AS c ON c.account_id = ?TableName.id").
		Where("?TableName.last_event > c.seq")
	err := accountsOf(q, "c", seek).Scan(ctx)
	return mapped(rows, (*accountRow).account), failure(ctx, err, "account", 0)
}

// AccountsWithWebhooks implements [subscription.WebhookDirectory].
func (d directory) AccountsWithWebhooks(ctx context.Context, seek storage.Seek) ([]identity.Account, error) {
	var rows []accountRow
	some := accountsOf(d.db.NewSelect().TableExpr("hw_webhooks AS c").Column("c.account_id").Group("c.account_id"), "c", seek)
	q := d.selects(&rows).Where("?TableName.id IN (?)", some)
	err := page(q, "id", storage.Seek{Desc: seek.Desc, Limit: seek.Limit}).Scan(ctx)
	return mapped(rows, (*accountRow).account), failure(ctx, err, "account", 0)
}

// accountsOf is page for the accounts of a table's rows.
func accountsOf(q *bun.SelectQuery, alias string, seek storage.Seek) *bun.SelectQuery {
	order, beyond := "ASC", ">"
	if seek.Desc {
		order, beyond = "DESC", "<"
	}
	if seek.Limit <= 0 { // bun would take it as no limit
		q.Where("1 = 0")
	}
	if seek.From != nil {
		q.Where("?.account_id ? ?", bun.Ident(alias), bun.Safe(beyond), seek.From.ID)
	}
	return q.OrderExpr("?.account_id ?", bun.Ident(alias), bun.Safe(order)).Limit(int64(seek.Limit))
}

// pending is the condition of the indexes of pending deliveries, word for word.
const pending = "state = 'pending'"

// FailWebhookDeliveries implements [subscription.WebhookWriter].
func (w writer) FailWebhookDeliveries(ctx context.Context, webhookID int64, problem string, at time.Time) error {
	_, err := w.raw(`UPDATE hw_webhook_deliveries SET state = ?, problem = ?, updated_at = ?, next_attempt_at = ?, held_by = 0,
			held_until = ?, due_at = ? WHERE account_id = ? AND webhook_id = ? AND `+pending,
		string(subscription.WebhookFailed), problem, micros(at), noTime, noTime, noTime, w.scope.AccountID, webhookID).Exec(ctx)
	return failure(ctx, err, "webhook", webhookID)
}

// WebhookCursorForUpdate implements [subscription.WebhookQueue].
func (w writer) WebhookCursorForUpdate(ctx context.Context) (int64, error) {
	lock := bun.Safe("")
	if w.store.postgres {
		lock = "FOR UPDATE"
	}
	var seq int64
	err := w.raw("SELECT seq FROM hw_webhook_cursors WHERE account_id = ? ?", w.scope.AccountID, lock).Scan(ctx, &seq)
	return seq, failure(ctx, err, "webhook cursor", 0)
}

// StartWebhookCursor implements [subscription.WebhookQueue]. The no-op update locks the row, or waits for a transaction that
// deletes it.
func (w writer) StartWebhookCursor(ctx context.Context, seq int64) error {
	_, err := w.raw(`INSERT INTO hw_webhook_cursors (account_id, seq) VALUES (?, ?)
		ON CONFLICT (account_id) DO UPDATE SET seq = hw_webhook_cursors.seq`, w.scope.AccountID, seq).Exec(ctx)
	return failure(ctx, err, "account", w.scope.AccountID)
}

// SaveWebhookCursor implements [subscription.WebhookQueue].
func (w writer) SaveWebhookCursor(ctx context.Context, seq int64) error {
	res, err := w.raw("UPDATE hw_webhook_cursors SET seq = ? WHERE account_id = ?", seq, w.scope.AccountID).Exec(ctx)
	return changed(ctx, res, err, "webhook cursor", 0)
}

// DeleteWebhookCursor implements [subscription.WebhookQueue].
func (w writer) DeleteWebhookCursor(ctx context.Context) error {
	res, err := w.raw("DELETE FROM hw_webhook_cursors WHERE account_id = ?", w.scope.AccountID).Exec(ctx)
	return removed(ctx, res, err, "webhook cursor", 0)
}

// PruneWebhookDeliveries implements [subscription.WebhookQueue].
func (w writer) PruneWebhookDeliveries(ctx context.Context, webhookID int64, before time.Time, keep, n int) (int, error) {
	of := w.raw("account_id = ? AND webhook_id = ?", w.scope.AccountID, webhookID)
	last := w.raw("SELECT coalesce((SELECT id FROM hw_webhook_deliveries WHERE ? ORDER BY id DESC LIMIT 1 OFFSET ?), 0)", of, max(keep, 0))
	old := w.raw("SELECT id FROM hw_webhook_deliveries WHERE ? AND state <> 'pending' AND (created_at < ? OR id <= (?)) ORDER BY id LIMIT ?",
		of, micros(before), last, max(n, 0))
	res, err := w.raw("DELETE FROM hw_webhook_deliveries WHERE account_id = ? AND id IN (?)", w.scope.AccountID, old).Exec(ctx)
	if err != nil {
		return 0, failure(ctx, err, "delivery", 0)
	}
	removed, err := res.RowsAffected()
	return int(removed), failure(ctx, err, "delivery", 0)
}
