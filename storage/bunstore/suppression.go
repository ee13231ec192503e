package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
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

func (r *suppressionRow) suppression() helpdesk.Suppression {
	return helpdesk.Suppression{
		ID: r.ID, Email: r.Email, Key: r.EmailKey, Reason: helpdesk.SuppressionReason(r.Reason), Detail: r.Detail,
		UserID: r.UserID, InteractionID: r.InteractionID, CreatedAt: timeOf(r.CreatedAt),
	}
}

// Suppression implements [helpdesk.SuppressionReader].
func (r reader) Suppression(ctx context.Context, id int64) (helpdesk.Suppression, error) {
	var row suppressionRow
	if err := one(ctx, r.selects(&row).ApplyQueryBuilder(r.account).Where("id = ?", id), "suppression", id); err != nil {
		return helpdesk.Suppression{}, err
	}
	return row.suppression(), nil
}

// Suppressions implements [helpdesk.SuppressionReader].
func (r reader) Suppressions(ctx context.Context, seek storage.Seek) ([]helpdesk.Suppression, error) {
	var rows []suppressionRow
	err := page(r.selects(&rows).ApplyQueryBuilder(r.account), "id", seek).Scan(ctx)
	return mapped(rows, (*suppressionRow).suppression), failure(ctx, err, "suppression", 0)
}

// SuppressionsByKey implements [helpdesk.SuppressionReader].
func (r reader) SuppressionsByKey(ctx context.Context, keys []string) ([]helpdesk.Suppression, error) {
	if err := checkText(keys); err != nil || len(keys) == 0 {
		return nil, err
	}
	var rows []suppressionRow
	err := r.selects(&rows).ApplyQueryBuilder(r.account).Where("email_key IN (?)", bun.List(keys)).Order("id").Scan(ctx)
	return mapped(rows, (*suppressionRow).suppression), failure(ctx, err, "suppression", 0)
}

// InsertSuppression implements [helpdesk.SuppressionWriter].
func (w writer) InsertSuppression(ctx context.Context, s *helpdesk.Suppression) error {
	row := suppressionRow{
		AccountID: w.scope.AccountID, Email: s.Email, EmailKey: s.Key, Reason: string(s.Reason), Detail: s.Detail,
		UserID: s.UserID, InteractionID: s.InteractionID, CreatedAt: micros(s.CreatedAt),
	}
	if _, err := w.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "suppression", 0)
	}
	s.ID = row.ID
	w.foundAccount()
	return nil
}

// DeleteSuppression implements [helpdesk.SuppressionWriter].
func (w writer) DeleteSuppression(ctx context.Context, id int64) error {
	res, err := w.deletes((*suppressionRow)(nil)).ApplyQueryBuilder(w.account).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, "suppression", id)
}
