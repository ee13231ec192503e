package memstore

import (
	"context"
	"maps"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// blobKeys returns the blob keys that rows refer to.
func (db *data) blobKeys() map[string]bool {
	keys := map[string]bool{}
	collect(keys, &db.attachments, func(a *helpdesk.Attachment) string { return a.BlobKey })
	collect(keys, &db.ledger, func(m *ledger.Mail) string { return m.RawKey })
	for _, t := range plainTables {
		for i, c := range t.Columns {
			if c.File {
				collect(keys, db.plain[t.Name], func(r *storage.Record) string { return r.Values[i].(string) }) //nolint:forcetypeassert // a key is text
			}
		}
	}
	collect(keys, &db.siteFiles, func(f *kb.File) string { return f.BlobKey })
	collect(keys, &db.themeFiles, func(f *kb.ThemeFile) string { return f.BlobKey })
	delete(keys, "")
	return keys
}

func collect[T any](keys map[string]bool, t *table[T], key func(*T) string) {
	for account := range t.rows {
		for _, v := range t.all(account) {
			keys[key(v)] = true
		}
	}
}

// NamedBlobs implements storage.BlobRows.
func (s *store) NamedBlobs(ctx context.Context, keys []string) ([]string, error) {
	return query(ctx, s, func(db *data) ([]string, error) {
		var named []string
		all := db.blobKeys()
		for _, key := range keys {
			if all[key] {
				named = append(named, key)
				delete(all, key)
			}
		}
		return named, nil
	})
}

// ListNamedBlobs implements storage.BlobRows.
func (s *store) ListNamedBlobs(ctx context.Context, after string, limit int) ([]string, error) {
	return query(ctx, s, func(db *data) ([]string, error) {
		var keys []string
		for _, key := range slices.Sorted(maps.Keys(db.blobKeys())) {
			if key > after && len(keys) < limit {
				keys = append(keys, key)
			}
		}
		return keys, nil
	})
}

// Mark implements storage.Marks.
func (s *store) Mark(ctx context.Context) (string, error) {
	return query(ctx, s, func(db *data) (string, error) { return db.mark, nil })
}

// SetMark implements storage.Marks.
func (s *store) SetMark(ctx context.Context, former, mark string) error {
	return s.transact(ctx, func(ctx context.Context, open *session) error {
		return change(ctx, open, func(db *data) error {
			if db.mark != former {
				return fault.New(fault.Conflict, "The database has another mark.")
			}
			db.mark = mark
			db.journal(func() { db.mark = former })
			return nil
		})
	})
}
