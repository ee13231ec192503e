package bunstore

import (
	"context"
	"database/sql"
	"slices"
)

// Die leaves what a killed process does: its locks are free, the file of one is there, and its connections are closed.
func Die(db *DB) {
	h := &db.holder
	h.mu.Lock()
	if h.file != nil {
		_ = h.file.Close()
	}
	if h.conn != nil {
		_ = h.conn.Close()
	}
	h.mu.Unlock()
	_ = db.write.Close()
	if db.read != db.write {
		_ = db.read.Close()
	}
}

// BlobColumns are the columns in which keys of blobs are looked for, sorted, as table.column.
func BlobColumns() []string {
	var all []string
	for _, c := range blobColumns {
		all = append(all, c.table+"."+c.column)
	}
	slices.Sort(all)
	return all
}

// Exec runs a statement on the connection that writes.
func Exec(ctx context.Context, db *DB, query string) error {
	_, err := db.write.DB.ExecContext(ctx, query)
	return err
}

// QueryRow asks on the connection that writes.
func QueryRow(ctx context.Context, db *DB, query string) *sql.Row {
	return db.write.DB.QueryRowContext(ctx, query)
}
