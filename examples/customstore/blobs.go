package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// mapBlobs is a file store written from scratch. It satisfies storage.Blobs by its methods alone. Note that keys are checked
// first, absent keys are NotFound faults, and a failed Put leaves the old blob in place.
type mapBlobs struct {
	mu    sync.Mutex
	files map[string]file
}

type file struct {
	data []byte
	time time.Time
}

func (b *mapBlobs) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	if err := check(ctx, key); err != nil {
		return 0, err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.files == nil {
		b.files = map[string]file{}
	}
	b.files[key] = file{data, time.Now()}
	return int64(len(data)), nil
}

func (b *mapBlobs) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	return b.GetRange(ctx, key, 0, -1)
}

func (b *mapBlobs) GetRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	f, err := b.find(ctx, key)
	if err != nil {
		return nil, err
	}
	if length < 0 {
		length = int64(len(f.data))
	}
	return io.NopCloser(io.NewSectionReader(bytes.NewReader(f.data), offset, length)), nil
}

func (b *mapBlobs) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	f, err := b.find(ctx, key)
	return storage.BlobInfo{Key: key, Size: int64(len(f.data)), Modified: f.time}, err
}

func (b *mapBlobs) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.files, key)
	return nil
}

func (b *mapBlobs) List(_ context.Context, prefix, after string, limit int) ([]storage.BlobInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var infos []storage.BlobInfo
	for _, key := range slices.Sorted(maps.Keys(b.files)) {
		if strings.HasPrefix(key, prefix) && key > after && len(infos) < limit {
			infos = append(infos, storage.BlobInfo{Key: key, Size: int64(len(b.files[key].data)), Modified: b.files[key].time})
		}
	}
	return infos, nil
}

func (b *mapBlobs) find(ctx context.Context, key string) (file, error) {
	if err := check(ctx, key); err != nil {
		return file{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	f, ok := b.files[key]
	if !ok {
		return file{}, fault.Missing("file", 0)
	}
	return f, nil
}

func check(ctx context.Context, key string) error {
	if !storage.ValidBlobKey(key) {
		return fault.Field("key", "is not a valid blob key")
	}
	return ctx.Err()
}
