package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

type themeRow struct {
	bun.BaseModel `bun:"table:hw_themes,alias:hw_themes"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	SiteID        int64
	Name          string
	IsActive      bool
	Source        string
	Version       string
	Revision      int64
	CreatedAt     int64
	UpdatedAt     int64
}

func (r *themeRow) theme() kb.Theme {
	return kb.Theme{
		ID: r.ID, SiteID: r.SiteID, Name: r.Name, IsActive: r.IsActive, Source: r.Source, Version: r.Version, Revision: r.Revision,
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func themeRowOf(account int64, t *kb.Theme) themeRow {
	return themeRow{
		ID: t.ID, AccountID: account, SiteID: t.SiteID, Name: t.Name, IsActive: t.IsActive, Source: t.Source, Version: t.Version,
		Revision: t.Revision, CreatedAt: micros(t.CreatedAt), UpdatedAt: micros(t.UpdatedAt),
	}
}

var themes = table[kbWriter, kb.Theme, storage.NoFilter, themeRow]{
	Noun: kbNouns.Themes, row: themeRowOf, item: (*themeRow).theme, scope: ofSite,
	refers: func(w kbWriter, _ *kb.Theme) (string, int64) { return "site", w.scope.SiteID },
}

// Themes implements [kb.Reader].
func (r kbReader) Themes() storage.RowReader[kb.Theme, storage.NoFilter] {
	return rowsOf(r.placed(), &themes)
}

// Themes implements [kb.Rows].
func (w kbWriter) Themes() storage.Rows[kb.Theme, storage.NoFilter] {
	return storedOf(w, &themes)
}

// ActiveTheme implements [kb.ThemeReader].
func (r kbReader) ActiveTheme(ctx context.Context) (kb.Theme, error) {
	var row themeRow
	if err := one(ctx, r.selects(&row).ApplyQueryBuilder(r.site).Where("is_active"), "theme", 0); err != nil {
		return kb.Theme{}, err
	}
	return row.theme(), nil
}
