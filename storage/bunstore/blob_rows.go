package bunstore

import (
	"context"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

var (
	_ storage.BlobRows = (*DB)(nil)
	_ storage.Marks    = (*DB)(nil)
)

// blobColumns lists all columns that hold blob keys. The sweep would delete the blobs of a column missing here: a test
// compares the list with the schema.
var blobColumns = append(plainBlobColumns(), []blobColumn{
	{"hw_attachments", "blob_key"},
	{"hw_inbound_mails", "raw_key"},
	{"hw_site_files", "blob_key"},
	{"hw_theme_files", "blob_key"},
}...)

// plainBlobColumns lists those of plain nouns.
func plainBlobColumns() (all []blobColumn) {
	for _, t := range nouns.Tables() {
		for _, c := range t.Columns {
			if c.File {
				all = append(all, blobColumn{t.Name, c.Name})
			}
		}
	}
	return all
}

type blobColumn struct{ table, column string }

// columns returns the blobColumns that exist in the database: an older snapshot may lack some.
func (db *DB) columns() []blobColumn {
	if db.snapshot {
		return db.has
	}
	return blobColumns
}

// look finds out which of the blobColumns a snapshot has.
func (db *DB) look(ctx context.Context) error {
	for _, c := range append(slices.Clone(blobColumns), blobColumn{"hw_marks", "mark"}) {
		var n int
		if err := db.raw("SELECT count(*) FROM pragma_table_info(?) WHERE name = ?", c.table, c.column).Scan(ctx, &n); err != nil {
			return failure(ctx, err, "database", 0)
		}
		switch {
		case n == 0:
		case c.table == "hw_marks":
			db.marked = true
		default:
			db.has = append(db.has, c)
		}
	}
	return nil
}

// bytewise returns a text column compared bytewise, as its index is.
func (db *DB) bytewise(column string) string {
	if db.postgres {
		return column + ` COLLATE "C"`
	}
	return column
}

// NamedBlobs implements [storage.BlobRows].
func (db *DB) NamedBlobs(ctx context.Context, keys []string) ([]string, error) {
	if len(keys) == 0 || len(db.columns()) == 0 {
		return nil, nil
	}
	var parts []string
	var args []any
	for _, c := range db.columns() {
		column := db.bytewise(c.column)
		parts = append(parts, "SELECT "+column+" AS k FROM "+c.table+" WHERE "+column+" IN (?) AND "+c.column+" <> ''")
		args = append(args, bun.List(keys))
	}
	var named []string
	err := db.raw(strings.Join(parts, " UNION "), args...).Scan(ctx, &named)
	return named, failure(ctx, err, "file", 0)
}

// ListNamedBlobs implements [storage.BlobRows].
func (db *DB) ListNamedBlobs(ctx context.Context, after string, limit int) ([]string, error) {
	if limit <= 0 || len(db.columns()) == 0 {
		return nil, nil
	}
	var parts []string
	var args []any
	for _, c := range db.columns() {
		column := db.bytewise(c.column)
		parts = append(parts, "SELECT k FROM (SELECT DISTINCT "+column+" AS k FROM "+c.table+" WHERE "+column+" > ? AND "+c.column+
			" <> '' ORDER BY "+column+" LIMIT ?) AS part")
		args = append(args, after, limit)
	}
	var keys []string
	query := strings.Join(parts, " UNION ") + " ORDER BY k LIMIT ?"
	err := db.raw(query, append(args, limit)...).Scan(ctx, &keys)
	return keys, failure(ctx, err, "file", 0)
}

// Mark implements [storage.Marks].
func (db *DB) Mark(ctx context.Context) (string, error) {
	if db.snapshot && !db.marked {
		return "", nil
	}
	var marks []string
	err := db.raw("SELECT mark FROM hw_marks").Scan(ctx, &marks)
	if err != nil || len(marks) == 0 {
		return "", failure(ctx, err, "mark", 0)
	}
	return marks[0], nil
}

// SetMark implements [storage.Marks].
func (db *DB) SetMark(ctx context.Context, former, mark string) error {
	query, args := "INSERT INTO hw_marks (id, mark) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET mark = excluded.mark WHERE hw_marks.mark = ''", []any{mark}
	if former != "" {
		query, args = "UPDATE hw_marks SET mark = ? WHERE mark = ?", []any{mark, former}
	}
	res, err := db.queue().raw(query, args...).Exec(ctx)
	if err != nil {
		return failure(ctx, err, "mark", 0)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return fault.New(fault.Conflict, "The database has another mark.")
	}
	return nil
}
