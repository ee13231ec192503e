package storagetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func vaultTests() []testCase {
	return []testCase{
		{"Items", func(t *testing.T, b Backend) { // one after the other: the first lists all items that there are
			testVaultItems(t, b)
			testVaultReplace(t, b)
		}},
		{"Locks", testVaultLocks},
		{"LocksAtOnce", testVaultLocksAtOnce},
	}
}

// vault returns the backend's Vault, which is optional.
func vault(t *testing.T, b Backend) storage.Vault {
	t.Helper()
	v, ok := b.Store.(storage.Vault)
	if !ok {
		lacks(t, "the store keeps no items that belong to no account")
	}
	return v
}

func testVaultItems(t *testing.T, b Backend) {
	v, ctx := vault(t, b), t.Context()
	keys := []string{"a", "a/b", "a/b/c", "a/bc", "a0", "ab", "a.b", "A/b", "ä/b", "a_b", "a%"}
	for i, key := range keys {
		ok(t, v.SetItem(ctx, storage.VaultItem{Key: key, Value: []byte("old"), Modified: at(0)}))
		ok(t, v.SetItem(ctx, storage.VaultItem{Key: key, Value: append([]byte{0, 255}, make([]byte, i)...), Modified: at(i)}))
	}
	for i, key := range keys {
		got, err := v.Item(ctx, key)
		ok(t, err)
		same(t, key, storage.VaultItem{Key: key, Value: append([]byte{0, 255}, make([]byte, i)...), Size: 2 + i, Modified: at(i)}, got)
	}
	_, err := v.Item(ctx, "a/")
	fails(t, "an absent item", err, fault.NotFound)
	list := func(key string) (found []string) {
		items, err := v.Items(ctx, key)
		ok(t, err)
		for _, item := range items {
			full, err := v.Item(ctx, item.Key)
			ok(t, err)
			full.Value = nil
			same(t, "listed "+item.Key, full, item)
			found = append(found, item.Key)
		}
		return found
	}
	same(t, "below a", []string{"a", "a/b", "a/b/c", "a/bc"}, list("a"))
	same(t, "below a/b", []string{"a/b", "a/b/c"}, list("a/b"))
	same(t, "below none", []string(nil), list("b"))
	same(t, "all", []string{"A/b", "a", "a%", "a.b", "a/b", "a/b/c", "a/bc", "a0", "a_b", "ab", "ä/b"}, list(""))
	ok(t, v.DeleteItems(ctx, "a/b"))
	ok(t, v.DeleteItems(ctx, "none"))
	same(t, "what is left", []string{"a", "a/bc"}, list("a"))
	ok(t, v.SetItem(ctx, storage.VaultItem{Key: "a", Modified: at(1)}))
	got, err := v.Item(ctx, "a")
	ok(t, err)
	same(t, "an empty item", storage.VaultItem{Key: "a", Modified: at(1)}, got)
}

func testVaultReplace(t *testing.T, b Backend) {
	v, ctx := vault(t, b), t.Context()
	for _, key := range []string{"replaced", "replaced/b"} {
		ok(t, v.SetItem(ctx, storage.VaultItem{Key: key, Value: []byte{0, 255}, Modified: at(1)}))
	}
	for _, tt := range []struct {
		key        string
		old, value []byte
		want       bool
	}{
		{"none", nil, []byte("x"), false},
		{"replaced", []byte{0}, []byte("x"), false},
		{"replaced", nil, []byte("x"), false},
		{"replaced", []byte{0, 255}, []byte("longer"), true},
		{"replaced", []byte{0, 255}, []byte("twice"), false},
		{"replaced", []byte("longer"), nil, true},
		{"replaced", nil, []byte("new"), true},
	} {
		got, err := v.ReplaceValue(ctx, tt.key, tt.old, tt.value)
		ok(t, err)
		same(t, fmt.Sprintf("%q in place of %q", tt.value, tt.old), tt.want, got)
	}
	for key, value := range map[string]string{"replaced": "new", "replaced/b": "\x00\xff"} {
		got, err := v.Item(ctx, key)
		ok(t, err)
		same(t, key, storage.VaultItem{Key: key, Value: []byte(value), Size: len(value), Modified: at(1)}, got)
	}
}

func testVaultLocks(t *testing.T, b Backend) {
	v, ctx := vault(t, b), t.Context()
	take := func(holder string, now, until int, want bool) {
		t.Helper()
		got, err := v.TakeLock(ctx, t.Name(), holder, at(now), at(until))
		ok(t, err)
		same(t, "taken by "+holder, want, got)
	}
	take("one", 0, 10, true)
	take("two", 9, 20, false)
	take("one", 5, 12, true) // extended
	take("two", 11, 20, false)
	take("two", 12, 20, true) // it has expired
	take("one", 13, 30, false)
	ok(t, v.FreeLock(ctx, t.Name(), "one")) // no longer the holder
	take("one", 13, 30, false)
	ok(t, v.FreeLock(ctx, t.Name(), "two"))
	take("one", 13, 30, true)
}

// Of many concurrent attempts one gets the lock.
func testVaultLocksAtOnce(t *testing.T, b Backend) {
	v, ctx := vault(t, b), t.Context()
	var wait sync.WaitGroup
	var taken atomic.Int32
	for n := range 8 {
		wait.Go(func() {
			got, err := v.TakeLock(ctx, t.Name(), fmt.Sprint(n), at(0), at(1))
			if err != nil {
				t.Error(err)
			}
			if got {
				taken.Add(1)
			}
		})
	}
	wait.Wait()
	same(t, "taken", int32(1), taken.Load())
}
