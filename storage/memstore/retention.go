package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// Accounts lists all accounts.
func (d directory) Accounts(ctx context.Context, seek storage.Seek) ([]identity.Account, error) {
	return query(ctx, d.src, func(db *data) ([]identity.Account, error) {
		return db.accounts.list(global, seek, func(*identity.Account) bool { return true }), nil
	})
}

// PruneRawMails forgets the oldest raw mails.
func (t tx) PruneRawMails(ctx context.Context, before time.Time, n int) (keys []string, err error) {
	err = t.write(ctx, func(db *data) error {
		keys = nil
		old := db.ledger.where(t.scope.AccountID, func(m *ledger.Mail) bool {
			return m.RawKey != "" && (m.State == ledger.Filed || m.State == ledger.Ignored) && m.ReceivedAt.Before(before.Truncate(time.Microsecond))
		})
		slices.SortStableFunc(old, func(a, b ledger.Mail) int { return a.ReceivedAt.Compare(b.ReceivedAt) })
		for _, m := range old[:min(max(n, 0), len(old))] {
			keys = append(keys, m.RawKey)
			m.RawKey = ""
			if err := db.ledger.update(t.scope.AccountID, m.ID, &m); err != nil {
				return err
			}
		}
		return nil
	})
	return keys, err
}

// PruneAudit deletes the oldest entries.
func (t tx) PruneAudit(ctx context.Context, before time.Time, n int) (removed int, err error) {
	err = t.write(ctx, func(db *data) error {
		old := db.audit.where(t.scope.AccountID, func(e *helpdesk.AuditEntry) bool { return e.CreatedAt.Before(before.Truncate(time.Microsecond)) })
		slices.SortStableFunc(old, func(a, b helpdesk.AuditEntry) int { return a.CreatedAt.Compare(b.CreatedAt) })
		removed = min(max(n, 0), len(old))
		for _, e := range old[:removed] {
			db.audit.set(t.scope.AccountID, e.ID, nil)
		}
		return nil
	})
	return removed, err
}

// PruneEvents deletes the oldest events that are no longer needed.
func (t tx) PruneEvents(ctx context.Context, before time.Time, n int) (removed int, err error) {
	account := t.scope.AccountID
	err = t.write(ctx, func(db *data) error {
		needed := db.lastEvent(account)
		if cursor, err := db.webhookCursors.get(global, account); err == nil {
			needed = min(needed, *cursor+1)
		}
		for _, d := range db.webhookDeliveries.all(account) {
			if d.State == subscription.WebhookPending {
				needed = min(needed, d.Seq)
			}
		}
		removed = 0
		first := slices.Clone(db.events.rows[account])
		for _, e := range first[:min(max(n, 0), len(first))] {
			if e.id < needed && value[storage.Event](e).Time.Before(before.Truncate(time.Microsecond)) {
				db.events.set(account, e.id, nil)
				removed++
			}
		}
		return nil
	})
	return removed, err
}

// lastEvent returns the number of an account's newest event, which is never deleted.
func (db *data) lastEvent(account int64) int64 {
	rows := db.events.rows[account]
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)-1].id
}

// PruneSessions deletes the sessions that expired first.
func (t systemTx) PruneSessions(ctx context.Context, before time.Time, n int) (removed int, err error) {
	err = change(ctx, t.open, func(db *data) error {
		old := db.tokens.where(global, func(t *identity.AccessToken) bool {
			return t.Session && !t.ExpiresAt.IsZero() && t.ExpiresAt.Before(before.Truncate(time.Microsecond))
		})
		slices.SortStableFunc(old, func(a, b identity.AccessToken) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
		removed = min(max(n, 0), len(old))
		for _, token := range old[:removed] {
			db.tokens.set(global, token.ID, nil)
		}
		return nil
	})
	return removed, err
}

// PruneFailedJobs deletes the oldest failed jobs.
func (t systemTx) PruneFailedJobs(ctx context.Context, before time.Time, n int) (removed int, err error) {
	err = change(ctx, t.open, func(db *data) error {
		removed = 0
		for _, j := range slices.Clone(db.jobs.rows[global]) {
			if job := value[jobRow](j); removed < n && job.Buried && job.RunAt.Before(before.Truncate(time.Microsecond)) {
				db.jobs.set(global, j.id, nil)
				removed++
			}
		}
		return nil
	})
	return removed, err
}
