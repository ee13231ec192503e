package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// theme returns the stored theme if the scope has it.
func (db *data) theme(s kb.Scope, id int64) (*kb.Theme, error) {
	t, err := db.themes.get(s.AccountID, id)
	if err == nil && t.SiteID != s.SiteID {
		return nil, db.themes.missing(id)
	}
	return t, err
}

func (r kbReader) Theme(ctx context.Context, id int64) (kb.Theme, error) {
	return query(ctx, r.src, func(db *data) (kb.Theme, error) { return copyOf(db.theme(r.scope, id)) })
}

func (r kbReader) Themes(ctx context.Context, seek storage.Seek) ([]kb.Theme, error) {
	return query(ctx, r.src, func(db *data) ([]kb.Theme, error) {
		return db.themes.list(r.scope.AccountID, seek, func(t *kb.Theme) bool { return t.SiteID == r.scope.SiteID }), nil
	})
}

func (r kbReader) ActiveTheme(ctx context.Context) (kb.Theme, error) {
	return query(ctx, r.src, func(db *data) (kb.Theme, error) {
		return db.themes.first(r.scope.AccountID, func(t *kb.Theme) bool { return t.SiteID == r.scope.SiteID && t.IsActive })
	})
}

// inTheme matches the files of one theme of the scope.
func (r kbReader) inTheme(themeID int64) func(*kb.ThemeFile) bool {
	return func(f *kb.ThemeFile) bool { return f.SiteID == r.scope.SiteID && f.ThemeID == themeID }
}

func (r kbReader) ThemeFile(ctx context.Context, themeID int64, path string) (kb.ThemeFile, error) {
	return query(ctx, r.src, func(db *data) (kb.ThemeFile, error) {
		of := r.inTheme(themeID)
		return db.themeFiles.first(r.scope.AccountID, func(f *kb.ThemeFile) bool { return of(f) && f.Path == path })
	})
}

func (r kbReader) ThemeFiles(ctx context.Context, themeID int64, seek storage.Seek) ([]kb.ThemeFile, error) {
	return query(ctx, r.src, func(db *data) ([]kb.ThemeFile, error) {
		return db.themeFiles.list(r.scope.AccountID, seek, r.inTheme(themeID)), nil
	})
}

func (t kbTx) ThemeForUpdate(ctx context.Context, id int64) (kb.Theme, error) {
	return t.Theme(ctx, id)
}

// storedTheme is a theme as it is kept, if no other is active beside it.
func (t kbTx) storedTheme(db *data, theme *kb.Theme) (kb.Theme, error) {
	row := *theme
	row.SiteID, row.UpdateAvailable = t.scope.SiteID, false
	if row.IsActive && db.themes.conflict(t.scope.AccountID, theme.ID, func(o *kb.Theme) bool { return o.SiteID == row.SiteID && o.IsActive }) {
		return row, unique(kb.UniqueActiveTheme, "Another theme is active.")
	}
	return row, nil
}

func (t kbTx) InsertTheme(ctx context.Context, theme *kb.Theme) error {
	return t.writeSite(ctx, func(db *data) error {
		theme.ID = 0
		row, err := t.storedTheme(db, theme)
		if err != nil {
			return err
		}
		theme.SiteID = row.SiteID
		if err := db.themes.insert(t.scope.AccountID, &row, &theme.ID); err != nil {
			return err
		}
		row.ID = theme.ID
		return db.themes.update(t.scope.AccountID, row.ID, &row)
	})
}

func (t kbTx) UpdateTheme(ctx context.Context, theme *kb.Theme) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.theme(t.scope, theme.ID); err != nil {
			return err
		}
		row, err := t.storedTheme(db, theme)
		if err != nil {
			return err
		}
		return db.themes.update(t.scope.AccountID, theme.ID, &row)
	})
}

func (t kbTx) DeleteTheme(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.theme(t.scope, id); err != nil {
			return err
		}
		db.themes.set(t.scope.AccountID, id, nil)
		db.themeFiles.removeIf(t.scope.AccountID, func(f *kb.ThemeFile) bool { return f.ThemeID == id })
		return nil
	})
}

// uniquePath fails when another file of the theme is at the path.
func (t kbTx) uniquePath(db *data, f *kb.ThemeFile) error {
	if db.themeFiles.conflict(t.scope.AccountID, f.ID, func(o *kb.ThemeFile) bool { return o.ThemeID == f.ThemeID && o.Path == f.Path }) {
		return unique(kb.UniqueThemeFile, "There is such a file already.")
	}
	return nil
}

func (t kbTx) InsertThemeFiles(ctx context.Context, themeID int64, files []*kb.ThemeFile) error {
	return t.write(ctx, func(db *data) error {
		if len(files) == 0 {
			return nil
		}
		if _, err := db.theme(t.scope, themeID); err != nil {
			return err
		}
		for _, f := range files {
			f.ID, f.SiteID, f.ThemeID = 0, t.scope.SiteID, themeID
			if err := t.uniquePath(db, f); err != nil {
				return err
			}
			if err := db.themeFiles.insert(t.scope.AccountID, f, &f.ID); err != nil {
				return err
			}
			if err := db.themeFiles.update(t.scope.AccountID, f.ID, f); err != nil {
				return err
			}
		}
		return nil
	})
}

// themeFile returns the stored file if the theme of the scope has it.
func (t kbTx) themeFile(db *data, themeID, id int64) (*kb.ThemeFile, error) {
	f, err := db.themeFiles.get(t.scope.AccountID, id)
	if err == nil && !t.inTheme(themeID)(f) {
		return nil, db.themeFiles.missing(id)
	}
	return f, err
}

func (t kbTx) UpdateThemeFile(ctx context.Context, f *kb.ThemeFile) error {
	return t.write(ctx, func(db *data) error {
		if _, err := t.themeFile(db, f.ThemeID, f.ID); err != nil {
			return err
		}
		if err := t.uniquePath(db, f); err != nil {
			return err
		}
		row := *f
		row.SiteID = t.scope.SiteID
		return db.themeFiles.update(t.scope.AccountID, f.ID, &row)
	})
}

func (t kbTx) DeleteThemeFiles(ctx context.Context, themeID int64, ids []int64) error {
	return t.write(ctx, func(db *data) error {
		of := t.inTheme(themeID)
		db.themeFiles.removeIf(t.scope.AccountID, func(f *kb.ThemeFile) bool { return of(f) && slices.Contains(ids, f.ID) })
		return nil
	})
}
