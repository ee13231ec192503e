package backup_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/backup"
	"github.com/helpwright/helpwright/storage/memblob"
)

// endless is a store with blobs of one size under every key.
type endless struct {
	*memblob.Blobs
	size int64
}

func (e endless) Stat(_ context.Context, key string) (storage.BlobInfo, error) {
	return storage.BlobInfo{Key: key, Size: e.size, Modified: time.Unix(0, 0)}, nil
}

func (e endless) Get(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(io.LimitReader(zeros{}, e.size)), nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// An archive much larger than memory, and much larger than its compressed file, is written and read in little memory:
// entries are not retained, whether large or many.
func TestMemoryDoesNotGrow(t *testing.T) { //nolint:paralleltest // it looks at the memory of the process
	const limit = 48 << 20
	for name, test := range map[string]struct {
		blobs int
		size  int64
	}{"many": {blobs: 60_000, size: 10}, "large": {blobs: 3, size: 300 << 20}} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // as above
			var most atomic.Uint64
			before := inUse()
			look := func(done backup.Totals) {
				if done.Entries%20_000 == 0 || test.blobs < 10 {
					most.Store(max(most.Load(), inUse()))
				}
			}
			src := backup.Source{Blobs: endless{memblob.New(), test.size}, Progress: look, Keys: func(yield func(string, error) bool) {
				for i := range test.blobs {
					if !yield(fmt.Sprintf("accounts/1/attachments/%s%08d", strings.Repeat("x", 20), i), nil) {
						return
					}
				}
			}}
			r, w := io.Pipe()
			go func() {
				_, err := backup.Write(context.Background(), w, src)
				_ = w.CloseWithError(err)
			}()
			totals, err := backup.Read(t.Context(), r, backup.Sink{Progress: look})
			if err != nil || totals.Blobs != int64(test.blobs) {
				t.Fatalf("%+v %v", totals, err)
			}
			if grown := int64(most.Load()) - int64(before); grown > limit {
				t.Errorf("%d MiB more than before", grown>>20)
			}
		})
	}
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
