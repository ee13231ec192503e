package memstore

import (
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// removeFiles deletes the files and themes of a site.
func (db *data) removeFiles(account, siteID int64) {
	db.siteFiles.removeIf(account, func(f *kb.File) bool { return f.SiteID == siteID })
	db.themes.removeIf(account, func(t *kb.Theme) bool { return t.SiteID == siteID })
	db.themeFiles.removeIf(account, func(f *kb.ThemeFile) bool { return f.SiteID == siteID })
}

var siteFiles = noun[kb.Scope, kb.File, storage.NoFilter]{
	Noun: kbNouns.Files, of: func(db *data) *table[kb.File] { return &db.siteFiles },
	sees:   func(_ *data, s kb.Scope, f *kb.File) bool { return f.SiteID == s.SiteID },
	refers: func(db *data, s kb.Scope, _ *kb.File) error { return db.inSite(s) },
}

// Files implements [kb.Reader].
func (r kbReader) Files() storage.RowReader[kb.File, storage.NoFilter] {
	return kbRowsOf(r, &siteFiles)
}

// Files implements [kb.Rows].
func (t kbTx) Files() storage.Rows[kb.File, storage.NoFilter] {
	return kbStoredOf(t, &siteFiles)
}
