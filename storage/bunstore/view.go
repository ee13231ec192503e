package bunstore

import (
	"context"
	"database/sql/driver"
	"encoding/json"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type viewRow struct {
	bun.BaseModel `bun:"table:hw_views,alias:hw_views"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	UserID        int64
	Name          string
	Filter        viewFilter
	CreatedAt     int64
	UpdatedAt     int64
}

// viewFilter is a column with a [helpdesk.ViewFilter] as a JSON object.
type viewFilter helpdesk.ViewFilter

// Value implements [driver.Valuer].
func (f viewFilter) Value() (driver.Value, error) {
	text, err := json.Marshal(helpdesk.ViewFilter(f))
	return string(text), err
}

// Scan implements [sql.Scanner].
func (f *viewFilter) Scan(src any) error {
	*f = viewFilter{}
	return scanJSON(src, (*helpdesk.ViewFilter)(f))
}

func (r *viewRow) view() helpdesk.View {
	return helpdesk.View{
		ID: r.ID, UserID: r.UserID, Name: r.Name, Filter: helpdesk.ViewFilter(r.Filter),
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func viewRowOf(account int64, v *helpdesk.View) viewRow {
	filter := v.Filter
	filter.UpdatedSince = timeOf(micros(filter.UpdatedSince))
	return viewRow{
		ID: v.ID, AccountID: account, UserID: v.UserID, Name: v.Name, Filter: viewFilter(filter),
		CreatedAt: micros(v.CreatedAt), UpdatedAt: micros(v.UpdatedAt),
	}
}

// View implements [helpdesk.ViewReader].
func (r reader) View(ctx context.Context, id int64) (helpdesk.View, error) {
	var row viewRow
	if err := one(ctx, r.selects(&row).ApplyQueryBuilder(r.account).Where("id = ?", id), "view", id); err != nil {
		return helpdesk.View{}, err
	}
	return row.view(), nil
}

// Views implements [helpdesk.ViewReader].
func (r reader) Views(ctx context.Context, seek storage.Seek) ([]helpdesk.View, error) {
	var rows []viewRow
	err := page(r.selects(&rows).ApplyQueryBuilder(r.account), "id", seek).Scan(ctx)
	return mapped(rows, (*viewRow).view), failure(ctx, err, "view", 0)
}

// InsertView implements [helpdesk.ViewWriter].
func (w writer) InsertView(ctx context.Context, v *helpdesk.View) error {
	row := viewRowOf(w.scope.AccountID, v)
	row.ID = 0
	if _, err := w.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "view", 0)
	}
	v.ID = row.ID
	w.foundAccount()
	return nil
}

// UpdateView implements [helpdesk.ViewWriter].
func (w writer) UpdateView(ctx context.Context, v *helpdesk.View) error {
	row := viewRowOf(w.scope.AccountID, v)
	res, err := w.updates(&row).ApplyQueryBuilder(w.account).Where("id = ?", v.ID).Exec(ctx)
	return changed(ctx, res, err, "view", v.ID)
}

// DeleteView implements [helpdesk.ViewWriter].
func (w writer) DeleteView(ctx context.Context, id int64) error {
	res, err := w.deletes((*viewRow)(nil)).ApplyQueryBuilder(w.account).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, "view", id)
}
