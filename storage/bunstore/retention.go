package bunstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// Accounts implements [identity.PeopleDirectory].
func (d directory) Accounts(ctx context.Context, seek storage.Seek) ([]identity.Account, error) {
	var rows []accountRow
	err := page(d.selects(&rows), "id", seek).Scan(ctx)
	return mapped(rows, (*accountRow).account), failure(ctx, err, "account", 0)
}

// PruneRawMails implements [helpdesk.RetentionWriter].
func (w writer) PruneRawMails(ctx context.Context, before time.Time, n int) ([]string, error) {
	if n <= 0 {
		return nil, w.state()
	}
	var rows []inboundRow
	// The conditions of the index are literals.
	q := w.selects(&rows).Column("id", "raw_key").ApplyQueryBuilder(w.account).
		Where("raw_key <> '' AND state IN ('filed', 'ignored')").Where("received_at < ?", micros(before)).
		OrderExpr("received_at, id").Limit(int64(n))
	if err := w.forUpdate(q).Scan(ctx); err != nil || len(rows) == 0 {
		return nil, failure(ctx, err, "mail", 0)
	}
	ids, keys := make([]int64, len(rows)), make([]string, len(rows))
	for i, row := range rows {
		ids[i], keys[i] = row.ID, row.RawKey
	}
	_, err := w.updates((*inboundRow)(nil)).Set("raw_key = ''").ApplyQueryBuilder(w.account).Where("id IN (?)", bun.List(ids)).Exec(ctx)
	return keys, failure(ctx, err, "mail", 0)
}

// PruneAudit implements [helpdesk.RetentionWriter].
func (w writer) PruneAudit(ctx context.Context, before time.Time, n int) (int, error) {
	old := w.raw("SELECT id FROM hw_audit WHERE account_id = ? AND created_at < ? ORDER BY created_at, id LIMIT ?",
		w.scope.AccountID, micros(before), max(n, 0))
	// The time is stated again for the partitions.
	return pruned(ctx, "audit entry")(w.raw("DELETE FROM hw_audit WHERE account_id = ? AND created_at < ? AND id ?",
		w.scope.AccountID, micros(before), w.oneOf(old)).Exec(ctx))
}

// PruneEvents implements [helpdesk.RetentionWriter].
func (w writer) PruneEvents(ctx context.Context, before time.Time, n int) (int, error) {
	of, at := w.scope.AccountID, micros(before)
	first := w.raw("SELECT seq, time FROM hw_events WHERE account_id = ? AND seq < (?) ORDER BY seq LIMIT ?", of, w.neededSince(of), max(n, 0))
	old := w.raw("SELECT first.seq FROM (?) AS first WHERE first.time < ?", first, at)
	// The time is stated again for the partitions.
	return pruned(ctx, "event")(w.raw("DELETE FROM hw_events WHERE account_id = ? AND time < ? AND seq ?", of, at, w.oneOf(old)).Exec(ctx))
}

// oneOf compares a key with those that a query finds. On PostgreSQL they are found first: joined with the partitions, these
// would often be read as a whole.
func (s *querier) oneOf(keys *bun.RawQuery) *bun.RawQuery {
	if s.store.postgres {
		return s.raw("= ANY (ARRAY(?))", keys)
	}
	return s.raw("IN (?)", keys)
}

// neededSince selects the number of the first event that an account still needs.
func (s *querier) neededSince(account any) *bun.RawQuery {
	return s.raw(`SELECT MIN(seq) FROM (
		SELECT last_event AS seq FROM hw_accounts WHERE id = ?
		UNION ALL SELECT seq + 1 FROM hw_webhook_cursors WHERE account_id = ?
		UNION ALL SELECT MIN(seq) FROM hw_webhook_deliveries WHERE account_id = ? AND state = 'pending') AS needed`, account, account, account)
}

// PruneSessions implements [identity.UserWriter].
func (t systemTx) PruneSessions(ctx context.Context, before time.Time, n int) (int, error) {
	old := t.raw("SELECT id FROM hw_tokens WHERE session = TRUE AND expires_at > ? AND expires_at < ? ORDER BY expires_at, id LIMIT ?",
		noTime, micros(before), max(n, 0))
	return pruned(ctx, "token")(t.raw("DELETE FROM hw_tokens WHERE id IN (?)", old).Exec(ctx))
}

// PruneFailedJobs implements [identity.UserWriter].
func (t systemTx) PruneFailedJobs(ctx context.Context, before time.Time, n int) (int, error) {
	old := t.raw("SELECT id FROM hw_jobs WHERE buried AND run_at < ? ORDER BY id LIMIT ?", micros(before), max(n, 0))
	return pruned(ctx, "job")(t.raw("DELETE FROM hw_jobs WHERE id IN (?)", old).Exec(ctx))
}

// pruned returns how many rows were deleted.
func pruned(ctx context.Context, noun string) func(res sql.Result, err error) (int, error) {
	return func(res sql.Result, err error) (int, error) {
		if err != nil {
			return 0, failure(ctx, err, noun, 0)
		}
		removed, err := res.RowsAffected()
		return int(removed), failure(ctx, err, noun, 0)
	}
}
