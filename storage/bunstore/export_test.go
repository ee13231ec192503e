package bunstore

import (
	"context"
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

// Before0021 makes interactions what migration 0021 makes of older ones.
func (db *DB) Before0021(ctx context.Context) error {
	for _, statement := range []string{
		"UPDATE hw_interactions SET at = created_at, received_at = -62135596800000000",
		"INSERT INTO hw_order_pending SELECT id FROM hw_accounts",
	} {
		if _, err := db.write.NewRaw(statement).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}
