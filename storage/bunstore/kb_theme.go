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

func themeRowOf(s kb.Scope, t *kb.Theme) themeRow {
	return themeRow{
		ID: t.ID, AccountID: s.AccountID, SiteID: s.SiteID, Name: t.Name, IsActive: t.IsActive, Source: t.Source, Version: t.Version,
		Revision: t.Revision, CreatedAt: micros(t.CreatedAt), UpdatedAt: micros(t.UpdatedAt),
	}
}

// Theme implements [kb.ThemeReader].
func (r kbReader) Theme(ctx context.Context, id int64) (kb.Theme, error) {
	return r.oneTheme(ctx, id, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("id = ?", id) })
}

// ActiveTheme implements [kb.ThemeReader].
func (r kbReader) ActiveTheme(ctx context.Context) (kb.Theme, error) {
	return r.oneTheme(ctx, 0, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("is_active") })
}

func (r kbReader) oneTheme(ctx context.Context, id int64, which func(*bun.SelectQuery) *bun.SelectQuery) (kb.Theme, error) {
	var row themeRow
	if err := one(ctx, r.selects(&row).ApplyQueryBuilder(r.inSite).Apply(which), "theme", id); err != nil {
		return kb.Theme{}, err
	}
	return row.theme(), nil
}

// Themes implements [kb.ThemeReader].
func (r kbReader) Themes(ctx context.Context, seek storage.Seek) ([]kb.Theme, error) {
	var rows []themeRow
	err := page(r.selects(&rows).ApplyQueryBuilder(r.inSite), "id", seek).Scan(ctx)
	return mapped(rows, (*themeRow).theme), failure(ctx, err, "theme", 0)
}

// ThemeForUpdate implements [kb.ThemeWriter].
func (w kbWriter) ThemeForUpdate(ctx context.Context, id int64) (kb.Theme, error) {
	return w.oneTheme(ctx, id, func(q *bun.SelectQuery) *bun.SelectQuery {
		if w.store.postgres {
			q.For("UPDATE")
		}
		return q.Where("id = ?", id)
	})
}

// InsertTheme implements [kb.ThemeWriter].
func (w kbWriter) InsertTheme(ctx context.Context, t *kb.Theme) error {
	row := themeRowOf(w.scope, t)
	row.ID = 0
	if _, err := w.inserts(&row).Exec(ctx); err != nil {
		return w.noSite(ctx, err, "theme")
	}
	t.ID, t.SiteID = row.ID, row.SiteID
	return nil
}

// UpdateTheme implements [kb.ThemeWriter].
func (w kbWriter) UpdateTheme(ctx context.Context, t *kb.Theme) error {
	row := themeRowOf(w.scope, t)
	res, err := w.updates(&row).ApplyQueryBuilder(w.inSite).Where("id = ?", t.ID).Exec(ctx)
	return changed(ctx, res, err, "theme", t.ID)
}

// DeleteTheme implements [kb.ThemeWriter].
func (w kbWriter) DeleteTheme(ctx context.Context, id int64) error {
	res, err := w.deletes((*themeRow)(nil)).ApplyQueryBuilder(w.inSite).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, "theme", id)
}

type themeFileRow struct {
	bun.BaseModel `bun:"table:hw_theme_files,alias:hw_theme_files"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	SiteID        int64
	ThemeID       int64
	Path          string
	Size          int64
	Hash          string
	BlobKey       string
	CreatedAt     int64
	UpdatedAt     int64
}

func (r *themeFileRow) file() kb.ThemeFile {
	return kb.ThemeFile{
		ID: r.ID, SiteID: r.SiteID, ThemeID: r.ThemeID, Path: r.Path, Size: r.Size, Hash: r.Hash, BlobKey: r.BlobKey,
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func themeFileRowOf(s kb.Scope, themeID int64, f *kb.ThemeFile) themeFileRow {
	return themeFileRow{
		ID: f.ID, AccountID: s.AccountID, SiteID: s.SiteID, ThemeID: themeID, Path: f.Path, Size: f.Size, Hash: f.Hash, BlobKey: f.BlobKey,
		CreatedAt: micros(f.CreatedAt), UpdatedAt: micros(f.UpdatedAt),
	}
}

// inTheme keeps a statement within one theme of the scope.
func (r kbReader) inTheme(themeID int64) func(bun.QueryBuilder) bun.QueryBuilder {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		return r.inSite(q).Where("?TableName.theme_id = ?", themeID)
	}
}

// ThemeFile implements [kb.ThemeReader].
func (r kbReader) ThemeFile(ctx context.Context, themeID int64, path string) (kb.ThemeFile, error) {
	var row themeFileRow
	q := r.selects(&row).Err(checkText(path)).ApplyQueryBuilder(r.inTheme(themeID)).Where("path = ?", path)
	if err := one(ctx, q, "file", 0); err != nil {
		return kb.ThemeFile{}, err
	}
	return row.file(), nil
}

// ThemeFiles implements [kb.ThemeReader].
func (r kbReader) ThemeFiles(ctx context.Context, themeID int64, seek storage.Seek) ([]kb.ThemeFile, error) {
	var rows []themeFileRow
	err := page(r.selects(&rows).ApplyQueryBuilder(r.inTheme(themeID)), "id", seek).Scan(ctx)
	return mapped(rows, (*themeFileRow).file), failure(ctx, err, "file", 0)
}

// InsertThemeFiles implements [kb.ThemeWriter].
func (w kbWriter) InsertThemeFiles(ctx context.Context, themeID int64, files []*kb.ThemeFile) error {
	const batch = 500 // rows of a statement
	for len(files) > 0 {
		n := min(batch, len(files))
		rows, ids := make([]themeFileRow, n), make([]*int64, n)
		for i, f := range files[:n] {
			rows[i], ids[i] = themeFileRowOf(w.scope, themeID, f), &f.ID
			rows[i].ID = 0
		}
		if err := insertAll(ctx, w.querier, rows, ids, "theme"); err != nil {
			return err // of the foreign key, when there is no such theme
		}
		for _, f := range files[:n] {
			f.SiteID, f.ThemeID = w.scope.SiteID, themeID
		}
		files = files[n:]
	}
	return nil
}

// UpdateThemeFile implements [kb.ThemeWriter].
func (w kbWriter) UpdateThemeFile(ctx context.Context, f *kb.ThemeFile) error {
	row := themeFileRowOf(w.scope, f.ThemeID, f)
	res, err := w.updates(&row).ApplyQueryBuilder(w.inTheme(f.ThemeID)).Where("id = ?", f.ID).Exec(ctx)
	return changed(ctx, res, err, "file", f.ID)
}

// DeleteThemeFiles implements [kb.ThemeWriter].
func (w kbWriter) DeleteThemeFiles(ctx context.Context, themeID int64, ids []int64) error {
	if len(ids) == 0 {
		return w.state()
	}
	_, err := w.deletes((*themeFileRow)(nil)).ApplyQueryBuilder(w.inTheme(themeID)).Where("id IN (?)", bun.List(ids)).Exec(ctx)
	return failure(ctx, err, "file", 0)
}
