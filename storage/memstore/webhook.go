package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

func (d directory) WebhookBacklog(ctx context.Context, seek storage.Seek) ([]identity.Account, error) {
	return query(ctx, d.src, func(db *data) ([]identity.Account, error) {
		return db.accounts.list(global, seek, func(a *identity.Account) bool {
			cursor, err := db.webhookCursors.get(global, a.ID)
			return err == nil && int64(len(db.events.rows[a.ID])) > *cursor
		}), nil
	})
}

func (d directory) AccountsWithWebhooks(ctx context.Context, seek storage.Seek) ([]identity.Account, error) {
	return query(ctx, d.src, func(db *data) ([]identity.Account, error) {
		return db.accounts.list(global, seek, func(a *identity.Account) bool { return len(db.plain["hw_webhooks"].rows[a.ID]) > 0 }), nil
	})
}

func (r reader) EventsBySeq(ctx context.Context, seqs []int64) ([]storage.Event, error) {
	return query(ctx, r.src, func(db *data) ([]storage.Event, error) {
		return db.events.where(r.scope.AccountID, func(e *storage.Event) bool {
			return slices.Contains(seqs, e.Seq) && r.shows(e.MailboxID)
		}), nil
	})
}

// shows reports whether data of a mailbox, or of none, is in the scope.
func (r reader) shows(mailboxID int64) bool { return mailboxID == 0 || sees(r.scope, mailboxID) }

var webhookDeliveries = noun[helpdesk.Scope, subscription.WebhookDelivery, subscription.WebhookDeliveryFilter]{
	Noun: nouns.WebhookDeliveries, of: func(db *data) *table[subscription.WebhookDelivery] { return &db.webhookDeliveries },
	sees: func(_ *data, s helpdesk.Scope, d *subscription.WebhookDelivery) bool {
		return d.MailboxID == 0 || sees(s, d.MailboxID)
	},
	match: func(_ *data, _ helpdesk.Scope, f subscription.WebhookDeliveryFilter, d *subscription.WebhookDelivery) bool {
		waits := d.State == subscription.WebhookPending
		return d.WebhookID == f.WebhookID && (f.State == "" || d.State == f.State) &&
			(f.DueBy.IsZero() || waits && !dueAt(d).After(f.DueBy)) && (f.HeldAfter.IsZero() || waits && d.HeldUntil.After(f.HeldAfter))
	},
	key: func(f subscription.WebhookDeliveryFilter, d *subscription.WebhookDelivery) int64 {
		if f.DueBy.IsZero() {
			return 0
		}
		return dueAt(d).UnixMicro()
	},
	refers: func(db *data, s helpdesk.Scope, d *subscription.WebhookDelivery) error {
		_, err := db.plain["hw_webhooks"].get(s.AccountID, d.WebhookID)
		return err
	},
}

// WebhookDeliveries implements [helpdesk.Reader].
func (r reader) WebhookDeliveries() storage.RowReader[subscription.WebhookDelivery, subscription.WebhookDeliveryFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &webhookDeliveries)
}

// WebhookDeliveries implements [helpdesk.Rows].
func (t tx) WebhookDeliveries() storage.Rows[subscription.WebhookDelivery, subscription.WebhookDeliveryFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &webhookDeliveries)
}

// removeWebhook deletes the deliveries of a webhook.
func (db *data) removeWebhook(account, id int64) {
	db.webhookDeliveries.removeIf(account, func(d *subscription.WebhookDelivery) bool { return d.WebhookID == id })
}

// dueAt returns when a pending delivery may be attempted.
func dueAt(d *subscription.WebhookDelivery) time.Time {
	if d.HeldUntil.After(d.NextAttemptAt) {
		return d.HeldUntil
	}
	return d.NextAttemptAt
}

func (t tx) FailWebhookDeliveries(ctx context.Context, webhookID int64, problem string, at time.Time) error {
	return t.write(ctx, func(db *data) error {
		for _, d := range db.webhookDeliveries.where(t.scope.AccountID, func(d *subscription.WebhookDelivery) bool {
			return d.WebhookID == webhookID && d.State == subscription.WebhookPending
		}) {
			d.State, d.Problem, d.UpdatedAt = subscription.WebhookFailed, problem, at
			d.NextAttemptAt, d.HeldBy, d.HeldUntil = time.Time{}, 0, time.Time{}
			if err := db.webhookDeliveries.update(t.scope.AccountID, d.ID, &d); err != nil {
				return err
			}
		}
		return nil
	})
}

// Cursors are of the account: their id is its.

func (t tx) WebhookCursorForUpdate(ctx context.Context) (int64, error) {
	return query(ctx, t.src, func(db *data) (int64, error) { return copyOf(db.webhookCursors.get(global, t.scope.AccountID)) })
}

func (t tx) StartWebhookCursor(ctx context.Context, seq int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.webhookCursors.get(global, t.scope.AccountID); err == nil {
			return nil
		}
		db.webhookCursors.set(global, t.scope.AccountID, &seq)
		return nil
	})
}

func (t tx) SaveWebhookCursor(ctx context.Context, seq int64) error { return t.setCursor(ctx, &seq) }

func (t tx) DeleteWebhookCursor(ctx context.Context) error { return t.setCursor(ctx, nil) }

func (t tx) setCursor(ctx context.Context, seq *int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.webhookCursors.get(global, t.scope.AccountID); err != nil {
			return err
		}
		db.webhookCursors.set(global, t.scope.AccountID, seq)
		return nil
	})
}

func (t tx) PruneWebhookDeliveries(ctx context.Context, webhookID int64, before time.Time, keep, n int) (removed int, err error) {
	err = t.write(ctx, func(db *data) error {
		all := db.webhookDeliveries.where(t.scope.AccountID, func(d *subscription.WebhookDelivery) bool { return d.WebhookID == webhookID })
		removed = 0
		for i, d := range all {
			old := d.CreatedAt.Before(before) || i < len(all)-keep
			if removed < n && d.State != subscription.WebhookPending && old {
				db.webhookDeliveries.set(t.scope.AccountID, d.ID, nil)
				removed++
			}
		}
		return nil
	})
	return removed, err
}
