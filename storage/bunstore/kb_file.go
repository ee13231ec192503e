package bunstore

import (
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

type siteFileRow struct {
	bun.BaseModel `bun:"table:hw_site_files,alias:hw_site_files"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	SiteID        int64
	Filename      string
	ContentType   string
	Size          int64
	URLKey        string `bun:"url_key"`
	BlobKey       string
	CreatedAt     int64
	UpdatedAt     int64
}

func (r *siteFileRow) file() kb.File {
	return kb.File{
		ID: r.ID, SiteID: r.SiteID, Filename: r.Filename, ContentType: r.ContentType, Size: r.Size, URLKey: r.URLKey, BlobKey: r.BlobKey,
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func siteFileRowOf(account int64, f *kb.File) siteFileRow {
	return siteFileRow{
		ID: f.ID, AccountID: account, SiteID: f.SiteID, Filename: f.Filename, ContentType: f.ContentType, Size: f.Size,
		URLKey: f.URLKey, BlobKey: f.BlobKey, CreatedAt: micros(f.CreatedAt), UpdatedAt: micros(f.UpdatedAt),
	}
}

var siteFiles = table[kbWriter, kb.File, storage.NoFilter, siteFileRow]{
	Noun: kbNouns.Files, row: siteFileRowOf, item: (*siteFileRow).file, scope: ofSite,
	refers: func(w kbWriter, _ *kb.File) (string, int64) { return "site", w.scope.SiteID },
}

// Files implements [kb.Reader].
func (r kbReader) Files() storage.RowReader[kb.File, storage.NoFilter] {
	return rowsOf(r.placed(), &siteFiles)
}

// Files implements [kb.Rows].
func (w kbWriter) Files() storage.Rows[kb.File, storage.NoFilter] {
	return storedOf(w, &siteFiles)
}
