package certs

import (
	"context"
	"crypto/rand"
	"io/fs"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

const (
	vaultPrefix = "acme/"         // of all keys in the vault
	lease       = 2 * time.Minute // when it ends after a crash, another process takes over
	lockPause   = 500 * time.Millisecond
)

// vault is the storage of certmagic over a [storage.Vault]: all processes on the store share the same accounts, certificates
// and challenges, and only one at a time orders a certificate. Values are sealed.
type vault struct {
	of     storage.Vault
	sealer storage.Sealer
	holder string // of locks
	now    func() time.Time

	mu    sync.Mutex
	locks map[string]func() // by name: ends the renewal of its lease, and returns when that has stopped
}

var (
	_ certmagic.Storage   = (*vault)(nil)
	_ certmagic.TryLocker = (*vault)(nil)
)

func newVault(of storage.Vault, sealer storage.Sealer, now func() time.Time) *vault {
	return &vault{of: of, sealer: sealer, holder: rand.Text(), now: now, locks: map[string]func(){}}
}

// Store implements [certmagic.Storage].
func (v *vault) Store(ctx context.Context, key string, value []byte) error {
	sealed, err := v.sealer.Seal(value, vaultPrefix+key)
	if err != nil {
		return err
	}
	return v.of.SetItem(ctx, storage.VaultItem{Key: vaultPrefix + key, Value: sealed, Modified: v.now()})
}

// Load implements [certmagic.Storage]. A value sealed with a key that is no longer configured counts as missing: a new
// certificate replaces it.
func (v *vault) Load(ctx context.Context, key string) ([]byte, error) {
	item, err := v.of.Item(ctx, vaultPrefix+key)
	if err != nil {
		return nil, absent(err)
	}
	value, err := v.sealer.Open(item.Value, vaultPrefix+key)
	if err != nil {
		return nil, fs.ErrNotExist
	}
	return value, nil
}

// absent converts an error to the one that certmagic expects for missing values.
func absent(err error) error {
	if fault.Is(err, fault.NotFound) {
		return fs.ErrNotExist
	}
	return err
}

// Delete implements [certmagic.Storage].
func (v *vault) Delete(ctx context.Context, key string) error {
	return v.of.DeleteItems(ctx, vaultPrefix+key)
}

// Exists implements [certmagic.Storage].
func (v *vault) Exists(ctx context.Context, key string) bool {
	if _, err := v.Load(ctx, key); err == nil {
		return true
	}
	items, err := v.of.Items(ctx, vaultPrefix+key)
	return err == nil && len(items) > 0 && items[len(items)-1].Key != vaultPrefix+key // there are values below it
}

// List implements [certmagic.Storage].
func (v *vault) List(ctx context.Context, path string, recursive bool) ([]string, error) {
	top := vaultPrefix[:len(vaultPrefix)-1]
	if path != "" {
		top = vaultPrefix + path
	}
	items, err := v.of.Items(ctx, top)
	if err != nil {
		return nil, err
	}
	return listed(items, top, recursive)
}

// Stat implements [certmagic.Storage].
func (v *vault) Stat(ctx context.Context, key string) (certmagic.KeyInfo, error) {
	items, err := v.of.Items(ctx, vaultPrefix+key)
	switch {
	case err != nil:
		return certmagic.KeyInfo{}, err
	case len(items) == 0:
		return certmagic.KeyInfo{}, fs.ErrNotExist
	case items[0].Key != vaultPrefix+key:
		return certmagic.KeyInfo{Key: key}, nil // a folder
	}
	return certmagic.KeyInfo{Key: key, Modified: items[0].Modified, Size: int64(items[0].Size), IsTerminal: true}, nil
}

// Lock implements [certmagic.Locker].
func (v *vault) Lock(ctx context.Context, name string) error {
	for {
		taken, err := v.TryLock(ctx, name)
		if taken || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause):
		}
	}
}

// TryLock implements [certmagic.TryLocker]. The lease is renewed until Unlock.
func (v *vault) TryLock(ctx context.Context, name string) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, held := v.locks[name]; held { // by another goroutine of this process
		return false, ctx.Err()
	}
	taken, err := v.takeLock(ctx, name)
	if !taken || err != nil {
		return false, err
	}
	held, free := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	v.locks[name] = func() {
		free()
		<-ended
	}
	go func() {
		defer close(ended)
		v.renew(held, name)
	}()
	return true, nil
}

func (v *vault) takeLock(ctx context.Context, name string) (bool, error) {
	now := v.now()
	return v.of.TakeLock(ctx, vaultPrefix+name, v.holder, now, now.Add(lease))
}

// renew extends the lease until ctx ends.
func (v *vault) renew(ctx context.Context, name string) {
	for tick := time.NewTicker(lease / 4); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			_, _ = v.takeLock(ctx, name) // another process may take the lock; a duplicate order does no harm
		}
	}
}

// Unlock implements [certmagic.Locker].
func (v *vault) Unlock(ctx context.Context, name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if free, held := v.locks[name]; held {
		free() // a lease renewed after its release would keep others out
		delete(v.locks, name)
	}
	return v.of.FreeLock(ctx, vaultPrefix+name, v.holder)
}
