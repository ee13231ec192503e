package storage

import (
	"context"
	"time"
)

// Vault keeps small values that belong to no account and that all processes on a store share, such as TLS certificates
// with their keys. The caller seals what is secret ([Sealer]) first. Keys are slash-separated paths of at most 512 bytes.
type Vault interface {
	// Item returns an item with its value, else a NotFound fault.
	Item(ctx context.Context, key string) (VaultItem, error)
	// Items returns the items at a key and below it ("a" finds "a" and "a/b", but not "ab"), all of them for "", in the
	// order of their keys, without values.
	Items(ctx context.Context, key string) ([]VaultItem, error)
	// SetItem stores an item in place of the one with its key. Size is not read.
	SetItem(ctx context.Context, item VaultItem) error
	// DeleteItems removes the items that Items finds. There may be none.
	DeleteItems(ctx context.Context, key string) error

	// TakeLock takes the lock of a name for holder until a time, or extends it. It reports false while another holder's
	// lock has not ended at now.
	TakeLock(ctx context.Context, name, holder string, now, until time.Time) (bool, error)
	// FreeLock frees the lock of a name if holder has it.
	FreeLock(ctx context.Context, name, holder string) error
}

// VaultItem is a value in a [Vault].
type VaultItem struct {
	Key      string
	Value    []byte // at most 1 MiB
	Size     int    // bytes of Value
	Modified time.Time
}
