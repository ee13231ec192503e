// Package memblob stores blobs in memory, for tests and for programs that need no persistence.
package memblob

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Blobs implements storage.Blobs. Create it with [New].
type Blobs struct {
	mu    sync.RWMutex
	blobs map[string]blob
}

var _ storage.Blobs = (*Blobs)(nil)

// blob is never changed, only replaced.
type blob struct {
	data     []byte
	modified time.Time
}

// New returns an empty store of blobs.
func New() *Blobs { return &Blobs{blobs: map[string]blob{}} }

// Put stores all of r under key.
func (b *Blobs) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	if err := usable(ctx, key); err != nil {
		return 0, err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blobs[key] = blob{data, time.Now().UTC()}
	return int64(len(data)), nil
}

// Get opens a blob for reading from its start.
func (b *Blobs) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	return b.GetRange(ctx, key, 0, -1)
}

// GetRange opens a part of a blob.
func (b *Blobs) GetRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	found, err := b.find(ctx, key)
	if err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, fault.Field("offset", "must not be negative")
	}
	data := found.data[min(offset, int64(len(found.data))):]
	if length >= 0 {
		data = data[:min(length, int64(len(data)))]
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// Stat returns the size and the time of a blob.
func (b *Blobs) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	found, err := b.find(ctx, key)
	if err != nil {
		return storage.BlobInfo{}, err
	}
	return found.info(key), nil
}

// Delete removes a blob.
func (b *Blobs) Delete(ctx context.Context, key string) error {
	if err := usable(ctx, key); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.blobs, key)
	return nil
}

// List lists blobs in key order.
func (b *Blobs) List(ctx context.Context, prefix, after string, limit int) ([]storage.BlobInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	var keys []string
	for key := range b.blobs {
		if key > after && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var infos []storage.BlobInfo
	for _, key := range keys[:max(0, min(limit, len(keys)))] {
		infos = append(infos, b.blobs[key].info(key))
	}
	return infos, nil
}

func (b *Blobs) find(ctx context.Context, key string) (blob, error) {
	if err := usable(ctx, key); err != nil {
		return blob{}, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	found, ok := b.blobs[key]
	if !ok {
		return blob{}, fault.Missing("file", 0)
	}
	return found, nil
}

func (b blob) info(key string) storage.BlobInfo {
	return storage.BlobInfo{Key: key, Size: int64(len(b.data)), Modified: b.modified}
}

func usable(ctx context.Context, key string) error {
	if !storage.ValidBlobKey(key) {
		return fault.Field("key", "is not a valid blob key")
	}
	return ctx.Err()
}
