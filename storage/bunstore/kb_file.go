package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
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

func siteFileRowOf(s kb.Scope, f *kb.File) siteFileRow {
	return siteFileRow{
		ID: f.ID, AccountID: s.AccountID, SiteID: s.SiteID, Filename: f.Filename, ContentType: f.ContentType, Size: f.Size,
		URLKey: f.URLKey, BlobKey: f.BlobKey, CreatedAt: micros(f.CreatedAt), UpdatedAt: micros(f.UpdatedAt),
	}
}

// inSite keeps a statement about what is in a site within the scope.
func (r kbReader) inSite(q bun.QueryBuilder) bun.QueryBuilder {
	return r.account(q).Where("?TableName.site_id = ?", r.scope.SiteID)
}

// noSite turns what a foreign key says about a new row into the fault of the site.
func (w kbWriter) noSite(ctx context.Context, err error, resource string) error {
	if foreignKeyViolation(err) {
		return fault.Missing("site", w.scope.SiteID)
	}
	return failure(ctx, err, resource, 0)
}

// File implements [kb.FileReader].
func (r kbReader) File(ctx context.Context, id int64) (kb.File, error) {
	var row siteFileRow
	if err := one(ctx, r.selects(&row).ApplyQueryBuilder(r.inSite).Where("id = ?", id), "file", id); err != nil {
		return kb.File{}, err
	}
	return row.file(), nil
}

// FilesByID implements [kb.FileReader].
func (r kbReader) FilesByID(ctx context.Context, ids []int64) ([]kb.File, error) {
	if len(ids) == 0 {
		return nil, r.state()
	}
	var rows []siteFileRow
	err := r.selects(&rows).ApplyQueryBuilder(r.inSite).Where("id IN (?)", bun.List(ids)).Scan(ctx)
	return mapped(rows, (*siteFileRow).file), failure(ctx, err, "file", 0)
}

// Files implements [kb.FileReader].
func (r kbReader) Files(ctx context.Context, seek storage.Seek) ([]kb.File, error) {
	var rows []siteFileRow
	err := page(r.selects(&rows).ApplyQueryBuilder(r.inSite), "id", seek).Scan(ctx)
	return mapped(rows, (*siteFileRow).file), failure(ctx, err, "file", 0)
}

// InsertFile implements [kb.FileWriter].
func (w kbWriter) InsertFile(ctx context.Context, f *kb.File) error {
	row := siteFileRowOf(w.scope, f)
	row.ID = 0
	if _, err := w.inserts(&row).Exec(ctx); err != nil {
		return w.noSite(ctx, err, "file")
	}
	f.ID, f.SiteID = row.ID, row.SiteID
	return nil
}

// UpdateFile implements [kb.FileWriter].
func (w kbWriter) UpdateFile(ctx context.Context, f *kb.File) error {
	row := siteFileRowOf(w.scope, f)
	res, err := w.updates(&row).ApplyQueryBuilder(w.inSite).Where("id = ?", f.ID).Exec(ctx)
	return changed(ctx, res, err, "file", f.ID)
}

// DeleteFile implements [kb.FileWriter].
func (w kbWriter) DeleteFile(ctx context.Context, id int64) error {
	res, err := w.deletes((*siteFileRow)(nil)).ApplyQueryBuilder(w.inSite).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, "file", id)
}
