package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/storage"
)

type vaultRow struct {
	bun.BaseModel `bun:"table:hw_vault,alias:hw_vault"`
	Key           string `bun:",pk"`
	Value         []byte
	Modified      int64
	Size          int `bun:",scanonly"`
}

var _ storage.Vault = (*DB)(nil)

// below returns a condition for a key and the keys below it, which is one range of the index: "0" is the character after
// "/".
func below(key string) (condition string, args []any) {
	if key == "" {
		return "1 = 1", nil
	}
	return "key >= ? AND key < ? AND (key = ? OR key > ?)", []any{key, key + "0", key, key + "/"}
}

// Item implements [storage.Vault].
func (db *DB) Item(ctx context.Context, key string) (storage.VaultItem, error) {
	var row vaultRow
	err := db.selects(&row).Where("key = ?", key).Scan(ctx)
	return storage.VaultItem{Key: row.Key, Value: row.Value, Size: len(row.Value), Modified: timeOf(row.Modified)}, failure(ctx, err, "item", 0)
}

// Items implements [storage.Vault].
func (db *DB) Items(ctx context.Context, key string) ([]storage.VaultItem, error) {
	var rows []vaultRow
	condition, args := below(key)
	err := db.selects(&rows).Column("key", "modified").ColumnExpr("length(value) AS size").Where(condition, args...).Order("key").Scan(ctx)
	items := make([]storage.VaultItem, len(rows))
	for i, row := range rows {
		items[i] = storage.VaultItem{Key: row.Key, Size: row.Size, Modified: timeOf(row.Modified)}
	}
	return items, failure(ctx, err, "item", 0)
}

// SetItem implements [storage.Vault].
func (db *DB) SetItem(ctx context.Context, item storage.VaultItem) error {
	_, err := db.queue().raw(`INSERT INTO hw_vault (key, value, modified) VALUES (?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, modified = excluded.modified`,
		item.Key, append([]byte{}, item.Value...), micros(item.Modified)).Exec(ctx)
	return failure(ctx, err, "item", 0)
}

// ReplaceValue implements [storage.Vault].
func (db *DB) ReplaceValue(ctx context.Context, key string, old, value []byte) (bool, error) {
	done, err := db.queue().raw("UPDATE hw_vault SET value = ? WHERE key = ? AND value = ?", append([]byte{}, value...), key, append([]byte{}, old...)).Exec(ctx)
	if err != nil {
		return false, failure(ctx, err, "item", 0)
	}
	n, err := done.RowsAffected()
	return n > 0, failure(ctx, err, "item", 0)
}

// DeleteItems implements [storage.Vault].
func (db *DB) DeleteItems(ctx context.Context, key string) error {
	condition, args := below(key)
	_, err := db.queue().raw("DELETE FROM hw_vault WHERE "+condition, args...).Exec(ctx)
	return failure(ctx, err, "item", 0)
}

// TakeLock implements [storage.Vault].
func (db *DB) TakeLock(ctx context.Context, name, holder string, now, until time.Time) (bool, error) {
	var got string
	err := db.queue().raw(`INSERT INTO hw_vault_locks (name, holder, until) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
		WHERE hw_vault_locks.until <= ? OR hw_vault_locks.holder = excluded.holder RETURNING holder`,
		name, holder, micros(until), micros(now)).Scan(ctx, &got)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, failure(ctx, err, "lock", 0)
}

// FreeLock implements [storage.Vault].
func (db *DB) FreeLock(ctx context.Context, name, holder string) error {
	_, err := db.queue().raw("DELETE FROM hw_vault_locks WHERE name = ? AND holder = ?", name, holder).Exec(ctx)
	return failure(ctx, err, "lock", 0)
}
