package bunstore

import (
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

var views = table[writer, helpdesk.View, storage.NoFilter, viewRow]{
	Noun: nouns.Views, row: viewRowOf, item: (*viewRow).view,
}

// Views implements [helpdesk.Reader].
func (r reader) Views() storage.RowReader[helpdesk.View, storage.NoFilter] {
	return rowsOf(r.placed(), &views)
}

// Views implements [helpdesk.Rows].
func (w writer) Views() storage.Rows[helpdesk.View, storage.NoFilter] {
	return storedOf(w, &views)
}
