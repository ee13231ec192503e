package memstore

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// vaultLock records who holds a lock, and until when.
type vaultLock struct {
	holder string
	until  time.Time
}

func (s *store) changeVault(ctx context.Context, fn func(db *data)) error {
	return s.transact(ctx, func(ctx context.Context, open *session) error {
		return change(ctx, open, func(db *data) error {
			items, locks := maps.Clone(db.items), maps.Clone(db.locks)
			db.journal(func() { db.items, db.locks = items, locks })
			fn(db)
			return nil
		})
	})
}

// Item implements storage.Vault.
func (s *store) Item(ctx context.Context, key string) (storage.VaultItem, error) {
	return query(ctx, s, func(db *data) (storage.VaultItem, error) {
		item, ok := db.items[key]
		if !ok {
			return storage.VaultItem{}, fault.Missing("item", 0)
		}
		item.Value = bytes.Clone(item.Value)
		return item, nil
	})
}

func below(key, top string) bool { return top == "" || key == top || strings.HasPrefix(key, top+"/") }

// Items implements storage.Vault.
func (s *store) Items(ctx context.Context, key string) ([]storage.VaultItem, error) {
	return query(ctx, s, func(db *data) (items []storage.VaultItem, err error) {
		for _, k := range slices.Sorted(maps.Keys(db.items)) {
			if below(k, key) {
				item := db.items[k]
				item.Value = nil
				items = append(items, item)
			}
		}
		return items, nil
	})
}

// SetItem implements storage.Vault.
func (s *store) SetItem(ctx context.Context, item storage.VaultItem) error {
	return s.changeVault(ctx, func(db *data) {
		item.Value, item.Size, item.Modified = bytes.Clone(item.Value), len(item.Value), item.Modified.UTC()
		db.items[item.Key] = item
	})
}

// ReplaceValue implements storage.Vault.
func (s *store) ReplaceValue(ctx context.Context, key string, old, value []byte) (done bool, err error) {
	err = s.changeVault(ctx, func(db *data) {
		item, ok := db.items[key]
		if done = ok && bytes.Equal(item.Value, old); done {
			item.Value, item.Size = bytes.Clone(value), len(value)
			db.items[key] = item
		}
	})
	return done, err
}

// DeleteItems implements storage.Vault.
func (s *store) DeleteItems(ctx context.Context, key string) error {
	return s.changeVault(ctx, func(db *data) {
		maps.DeleteFunc(db.items, func(k string, _ storage.VaultItem) bool { return below(k, key) })
	})
}

// TakeLock implements storage.Vault.
func (s *store) TakeLock(ctx context.Context, name, holder string, now, until time.Time) (taken bool, err error) {
	err = s.changeVault(ctx, func(db *data) {
		if l, ok := db.locks[name]; !ok || l.holder == holder || !l.until.After(now) {
			db.locks[name], taken = vaultLock{holder, until}, true
		}
	})
	return taken, err
}

// FreeLock implements storage.Vault.
func (s *store) FreeLock(ctx context.Context, name, holder string) error {
	return s.changeVault(ctx, func(db *data) {
		if db.locks[name].holder == holder {
			delete(db.locks, name)
		}
	})
}
