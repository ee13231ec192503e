package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

var themeFiles = noun[kb.Scope, kb.ThemeFile, kb.ThemeFileFilter]{
	Noun: kbNouns.ThemeFiles, of: func(db *data) *table[kb.ThemeFile] { return &db.themeFiles },
	sees: func(_ *data, s kb.Scope, f *kb.ThemeFile) bool { return f.SiteID == s.SiteID },
	match: func(_ *data, _ kb.Scope, filter kb.ThemeFileFilter, f *kb.ThemeFile) bool {
		return f.ThemeID == filter.ThemeID
	},
	refers: func(db *data, s kb.Scope, f *kb.ThemeFile) error {
		_, err := themes.get(db, s.AccountID, s, f.ThemeID)
		return err
	},
}

// ThemeFiles implements [kb.Reader].
func (r kbReader) ThemeFiles() storage.RowReader[kb.ThemeFile, kb.ThemeFileFilter] {
	return kbRowsOf(r, &themeFiles)
}

// ThemeFiles implements [kb.Rows].
func (t kbTx) ThemeFiles() storage.Rows[kb.ThemeFile, kb.ThemeFileFilter] {
	return kbStoredOf(t, &themeFiles)
}

// inTheme matches the files of one theme of the scope.
func (r kbReader) inTheme(themeID int64) func(*kb.ThemeFile) bool {
	return func(f *kb.ThemeFile) bool { return f.SiteID == r.scope.SiteID && f.ThemeID == themeID }
}

func (r kbReader) ThemeFileByPath(ctx context.Context, themeID int64, path string) (kb.ThemeFile, error) {
	return query(ctx, r.src, func(db *data) (kb.ThemeFile, error) {
		of := r.inTheme(themeID)
		return db.themeFiles.first(r.scope.AccountID, func(f *kb.ThemeFile) bool { return of(f) && f.Path == path })
	})
}

func (t kbTx) DeleteThemeFiles(ctx context.Context, themeID int64, ids []int64) error {
	return t.write(ctx, func(db *data) error {
		of := t.inTheme(themeID)
		db.themeFiles.removeIf(t.scope.AccountID, func(f *kb.ThemeFile) bool { return of(f) && slices.Contains(ids, f.ID) })
		return nil
	})
}
