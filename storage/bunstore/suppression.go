package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

type suppressionRow struct {
	bun.BaseModel `bun:"table:hw_suppressions,alias:hw_suppressions"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	Email         string
	EmailKey      string
	Reason        string
	Detail        string
	UserID        int64
	InteractionID int64
	CreatedAt     int64
}

func (r *suppressionRow) suppression() sending.Suppression {
	return sending.Suppression{
		ID: r.ID, Email: r.Email, Key: r.EmailKey, Reason: sending.SuppressionReason(r.Reason), Detail: r.Detail,
		UserID: r.UserID, InteractionID: r.InteractionID, CreatedAt: timeOf(r.CreatedAt),
	}
}

func suppressionRowOf(account int64, s *sending.Suppression) suppressionRow {
	return suppressionRow{
		ID: s.ID, AccountID: account, Email: s.Email, EmailKey: s.Key, Reason: string(s.Reason), Detail: s.Detail,
		UserID: s.UserID, InteractionID: s.InteractionID, CreatedAt: micros(s.CreatedAt),
	}
}

var suppressions = table[writer, sending.Suppression, storage.NoFilter, suppressionRow]{
	Noun: nouns.Suppressions, row: suppressionRowOf, item: (*suppressionRow).suppression,
}

// Suppressions implements [helpdesk.Reader].
func (r reader) Suppressions() storage.RowReader[sending.Suppression, storage.NoFilter] {
	return rowsOf(r.placed(), &suppressions)
}

// Suppressions implements [helpdesk.Rows].
func (w writer) Suppressions() storage.Rows[sending.Suppression, storage.NoFilter] {
	return storedOf(w, &suppressions)
}

// SuppressionsByKey implements [sending.SuppressionReader].
func (r reader) SuppressionsByKey(ctx context.Context, keys []string) ([]sending.Suppression, error) {
	if err := checkText(keys); err != nil || len(keys) == 0 {
		return nil, err
	}
	var rows []suppressionRow
	err := r.selects(&rows).ApplyQueryBuilder(r.account).Where("email_key IN (?)", bun.List(keys)).OrderExpr("+?TableName.id").Scan(ctx)
	return mapped(rows, (*suppressionRow).suppression), failure(ctx, err, "suppression", 0)
}
