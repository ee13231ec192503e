package storage

import (
	"context"
	"time"
)

// Vault stores small values that belong to no account and that all processes on a store share, such as TLS certificates with
// their keys. The caller encrypts secrets first ([Sealer]). Keys are slash-separated paths of at most 512 bytes.
type Vault interface {
	// Item returns an item with its value, otherwise a NotFound fault.
	Item(ctx context.Context, key string) (VaultItem, error)
	// Items returns the items at a key and below it ("a" finds "a" and "a/b", but not "ab"; "" finds all) in key order, without
	// values.
	Items(ctx context.Context, key string) ([]VaultItem, error)
	// SetItem stores an item, replacing any with its key. It ignores Size.
	SetItem(ctx context.Context, item VaultItem) error
	// ReplaceValue replaces an item's value if it still is old, and reports whether it did.
	ReplaceValue(ctx context.Context, key string, old, value []byte) (bool, error)
	// DeleteItems deletes the items that Items finds, if any.
	DeleteItems(ctx context.Context, key string) error

	// TakeLock takes or extends the named lock for holder until a time. It returns false while another holder's lock is still
	// valid at now.
	TakeLock(ctx context.Context, name, holder string, now, until time.Time) (bool, error)
	// FreeLock releases the named lock if holder has it.
	FreeLock(ctx context.Context, name, holder string) error
}

// VaultItem is a value in a [Vault].
type VaultItem struct {
	Key      string
	Value    []byte // at most 1 MiB
	Size     int    // bytes of Value
	Modified time.Time
}
