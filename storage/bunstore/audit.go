package bunstore

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type auditRow struct {
	bun.BaseModel `bun:"table:hw_audit,alias:hw_audit"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	Action        string
	Subject       int64
	MailboxID     int64
	UserID        int64
	TokenID       int64
	Address       string
	Changes       items[storage.AuditChange]
	CreatedAt     int64
}

func (r *auditRow) entry() helpdesk.AuditEntry {
	return helpdesk.AuditEntry{
		ID: r.ID, Action: r.Action, Subject: r.Subject, MailboxID: r.MailboxID, UserID: r.UserID, TokenID: r.TokenID,
		Address: r.Address, Changes: r.Changes, CreatedAt: timeOf(r.CreatedAt),
	}
}

// AuditLog implements [helpdesk.AuditReader].
func (r reader) AuditLog(ctx context.Context, f helpdesk.AuditFilter, seek storage.Seek) ([]helpdesk.AuditEntry, error) {
	var rows []auditRow
	q := r.selects(&rows).Err(checkText(f.Action)).ApplyQueryBuilder(r.account)
	if r.scope.Mailboxes != nil {
		q.Where("mailbox_id IN (?)", bun.List(append(slices.Clone(r.scope.Mailboxes), 0)))
	}
	if f.UserID.IsSet() {
		q.Where("user_id = ?", f.UserID.Or(0))
	}
	if f.Action != "" {
		q.Where("action = ?", f.Action)
	}
	if !f.Since.IsZero() {
		q.Where("created_at >= ?", micros(f.Since))
	}
	err := page(q, "created_at", seek).Scan(ctx)
	return mapped(rows, (*auditRow).entry), failure(ctx, err, "audit entry", 0)
}

// InsertAudit implements [storage.AuditWriter].
func (o outbox) InsertAudit(ctx context.Context, entries []helpdesk.AuditEntry) error {
	rows := make([]auditRow, len(entries))
	ids := make([]*int64, len(entries))
	for i, e := range entries {
		rows[i] = auditRow{
			AccountID: o.of, Action: e.Action, Subject: e.Subject, MailboxID: e.MailboxID, UserID: e.UserID,
			TokenID: e.TokenID, Address: e.Address, Changes: e.Changes, CreatedAt: micros(e.CreatedAt),
		}
		ids[i] = &entries[i].ID
	}
	if len(rows) == 0 {
		return o.requireAccount(ctx)
	}
	if err := insertAll(ctx, o.into, rows, ids, "audit entry"); err != nil {
		return err
	}
	o.foundAccount()
	return nil
}
