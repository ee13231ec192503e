package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

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

func themeFileRowOf(account int64, f *kb.ThemeFile) themeFileRow {
	return themeFileRow{
		ID: f.ID, AccountID: account, SiteID: f.SiteID, ThemeID: f.ThemeID, Path: f.Path, Size: f.Size, Hash: f.Hash, BlobKey: f.BlobKey,
		CreatedAt: micros(f.CreatedAt), UpdatedAt: micros(f.UpdatedAt),
	}
}

var themeFiles = table[kbWriter, kb.ThemeFile, kb.ThemeFileFilter, themeFileRow]{
	Noun: kbNouns.ThemeFiles, row: themeFileRowOf, item: (*themeFileRow).file, scope: ofSite,
	match: func(_ context.Context, _ kbWriter, q *bun.SelectQuery, f kb.ThemeFileFilter) error {
		q.Where("?TableName.theme_id = ?", f.ThemeID)
		return nil
	},
}

// ThemeFiles implements [kb.Reader].
func (r kbReader) ThemeFiles() storage.RowReader[kb.ThemeFile, kb.ThemeFileFilter] {
	return rowsOf(r.placed(), &themeFiles)
}

// ThemeFiles implements [kb.Rows].
func (w kbWriter) ThemeFiles() storage.Rows[kb.ThemeFile, kb.ThemeFileFilter] {
	return storedOf(w, &themeFiles)
}

// inTheme restricts a statement to one theme of the scope.
func (r kbReader) inTheme(themeID int64) func(bun.QueryBuilder) bun.QueryBuilder {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		return r.site(q).Where("?TableName.theme_id = ?", themeID)
	}
}

// ThemeFileByPath implements [kb.ThemeReader].
func (r kbReader) ThemeFileByPath(ctx context.Context, themeID int64, path string) (kb.ThemeFile, error) {
	var row themeFileRow
	q := r.selects(&row).Err(checkText(path)).ApplyQueryBuilder(r.inTheme(themeID)).Where("path = ?", path)
	if err := one(ctx, q, "file", 0); err != nil {
		return kb.ThemeFile{}, err
	}
	return row.file(), nil
}

// DeleteThemeFiles implements [kb.ThemeWriter].
func (w kbWriter) DeleteThemeFiles(ctx context.Context, themeID int64, ids []int64) error {
	if len(ids) == 0 {
		return w.state()
	}
	_, err := w.deletes((*themeFileRow)(nil)).ApplyQueryBuilder(w.inTheme(themeID)).Where("id IN (?)", bun.List(ids)).Exec(ctx)
	return failure(ctx, err, "file", 0)
}
