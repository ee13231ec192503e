package memstore

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func (r reader) AuditLog(ctx context.Context, f helpdesk.AuditFilter, seek storage.Seek) ([]helpdesk.AuditEntry, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.AuditEntry, error) {
		order := func(e *helpdesk.AuditEntry) storage.Position {
			return storage.Position{Key: e.CreatedAt.UnixMicro(), ID: e.ID}
		}
		var found []row
		for id, e := range db.audit.all(r.scope.AccountID) {
			user, given := f.UserID.Get()
			if (e.MailboxID == 0 || sees(r.scope, e.MailboxID)) && (!given || e.UserID == user) && (!f.UserID.IsNull() || e.UserID == 0) &&
				(f.Action == "" || e.Action == f.Action) && !e.CreatedAt.Before(f.Since.Truncate(time.Microsecond)) && beyond(order(e), seek) {
				found = append(found, row{id, e})
			}
		}
		return sorted(found, seek, order), nil
	})
}

// InsertAudit writes into the account's audit log.
func (o outbox) InsertAudit(ctx context.Context, entries []helpdesk.AuditEntry) error {
	return inAccount(ctx, o.into, o.account, func(db *data) error {
		for n := range entries {
			if err := db.audit.insert(o.account, &entries[n], &entries[n].ID); err != nil {
				return err
			}
		}
		return nil
	})
}
