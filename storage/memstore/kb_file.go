package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// removeFiles removes the files and themes of a site.
func (db *data) removeFiles(account, siteID int64) {
	db.siteFiles.removeIf(account, func(f *kb.File) bool { return f.SiteID == siteID })
	db.themes.removeIf(account, func(t *kb.Theme) bool { return t.SiteID == siteID })
	db.themeFiles.removeIf(account, func(f *kb.ThemeFile) bool { return f.SiteID == siteID })
}

// siteFile returns the stored file if the scope has it.
func (db *data) siteFile(s kb.Scope, id int64) (*kb.File, error) {
	f, err := db.siteFiles.get(s.AccountID, id)
	if err == nil && f.SiteID != s.SiteID {
		return nil, db.siteFiles.missing(id)
	}
	return f, err
}

func (r kbReader) File(ctx context.Context, id int64) (kb.File, error) {
	return query(ctx, r.src, func(db *data) (kb.File, error) { return copyOf(db.siteFile(r.scope, id)) })
}

func (r kbReader) FilesByID(ctx context.Context, ids []int64) ([]kb.File, error) {
	return query(ctx, r.src, func(db *data) ([]kb.File, error) {
		return db.siteFiles.where(r.scope.AccountID, func(f *kb.File) bool {
			return f.SiteID == r.scope.SiteID && slices.Contains(ids, f.ID)
		}), nil
	})
}

func (r kbReader) Files(ctx context.Context, seek storage.Seek) ([]kb.File, error) {
	return query(ctx, r.src, func(db *data) ([]kb.File, error) {
		return db.siteFiles.list(r.scope.AccountID, seek, func(f *kb.File) bool { return f.SiteID == r.scope.SiteID }), nil
	})
}

// writeSite is write in a site that must be there.
func (t kbTx) writeSite(ctx context.Context, fn func(db *data) error) error {
	return t.write(ctx, func(db *data) error {
		if t.scope.SiteID == 0 {
			return fault.Missing("site", 0)
		}
		if _, err := db.site(t.scope, t.scope.SiteID); err != nil {
			return err
		}
		return fn(db)
	})
}

func (t kbTx) InsertFile(ctx context.Context, f *kb.File) error {
	return t.writeSite(ctx, func(db *data) error {
		f.SiteID = t.scope.SiteID
		return db.siteFiles.insert(t.scope.AccountID, f, &f.ID)
	})
}

func (t kbTx) UpdateFile(ctx context.Context, f *kb.File) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.siteFile(t.scope, f.ID); err != nil {
			return err
		}
		row := *f
		row.SiteID = t.scope.SiteID
		return db.siteFiles.update(t.scope.AccountID, f.ID, &row)
	})
}

func (t kbTx) DeleteFile(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.siteFile(t.scope, id); err != nil {
			return err
		}
		db.siteFiles.set(t.scope.AccountID, id, nil)
		return nil
	})
}
