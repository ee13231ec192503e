package memstore

import (
	"context"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

var themes = noun[kb.Scope, kb.Theme, storage.NoFilter]{
	Noun: kbNouns.Themes, of: func(db *data) *table[kb.Theme] { return &db.themes },
	sees:   func(_ *data, s kb.Scope, t *kb.Theme) bool { return t.SiteID == s.SiteID },
	strip:  func(t *kb.Theme) { t.UpdateAvailable = false },
	refers: func(db *data, s kb.Scope, _ *kb.Theme) error { return db.inSite(s) },
	remove: func(db *data, s kb.Scope, id int64) error {
		db.themeFiles.removeIf(s.AccountID, func(f *kb.ThemeFile) bool { return f.ThemeID == id })
		return nil
	},
}

// Themes implements [kb.Reader].
func (r kbReader) Themes() storage.RowReader[kb.Theme, storage.NoFilter] {
	return kbRowsOf(r, &themes)
}

// Themes implements [kb.Rows].
func (t kbTx) Themes() storage.Rows[kb.Theme, storage.NoFilter] {
	return kbStoredOf(t, &themes)
}

func (r kbReader) ActiveTheme(ctx context.Context) (kb.Theme, error) {
	return query(ctx, r.src, func(db *data) (kb.Theme, error) {
		return db.themes.first(r.scope.AccountID, func(t *kb.Theme) bool { return t.SiteID == r.scope.SiteID && t.IsActive })
	})
}
