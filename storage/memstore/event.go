package memstore

import (
	"context"

	"github.com/helpwright/helpwright/storage"
)

// Emit appends events to the account's log.
func (t tx) Emit(ctx context.Context, events ...storage.Event) error {
	return t.write(ctx, func(db *data) error {
		account := t.scope.AccountID
		for _, e := range events {
			if err := check(&e); err != nil {
				return err
			}
			e.Seq = int64(len(db.events.rows[account])) + 1
			db.events.set(account, e.Seq, clone(&e))
		}
		return nil
	})
}

// Events reads an account's log.
func (s *Store) Events(ctx context.Context, accountID, after int64, limit int) ([]storage.Event, error) {
	return query(ctx, s, func(db *data) ([]storage.Event, error) {
		seek := storage.Seek{From: &storage.Position{ID: after}, Limit: limit}
		return db.events.list(accountID, seek, every), nil
	})
}
