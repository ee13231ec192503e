package backup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/backup"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// distant is a blob store that answers only once four blobs have been requested concurrently.
type distant struct {
	*memblob.Blobs
	asked, most atomic.Int64
	enough      chan struct{}
}

func (d *distant) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	now := d.asked.Add(1)
	defer d.asked.Add(-1)
	for most := d.most.Load(); now > most && !d.most.CompareAndSwap(most, now); most = d.most.Load() {
	}
	if now == 4 {
		select {
		case <-d.enough:
		default:
			close(d.enough)
		}
	}
	select {
	case <-d.enough:
	case <-time.After(testenv.Patience):
		return storage.BlobInfo{}, errors.New("nobody asks ahead")
	case <-ctx.Done():
	}
	return d.Blobs.Stat(ctx, key)
}

// Blobs are prefetched up to a limit, and written to the archive in order.
func TestWriteAhead(t *testing.T) {
	t.Parallel()
	blobs := &distant{Blobs: memblob.New(), enough: make(chan struct{})}
	want := map[string]string{}
	var named []string
	for n := range 3000 {
		key := fmt.Sprintf("accounts/1/%05d", n)
		named = append(named, key)
		want[key] = strings.Repeat(fmt.Sprint(n), n%7)
		if n%500 == 0 {
			want[key] = strings.Repeat("large", 60_000)
		}
		if _, err := blobs.Put(t.Context(), key, strings.NewReader(want[key])); err != nil {
			t.Fatal(err)
		}
	}
	var got content
	var order []string
	read, write := io.Pipe()
	go func() {
		_, err := backup.Write(t.Context(), write, backup.Source{Info: backup.Info{Created: created}, Blobs: blobs, Keys: keys(named...)})
		_ = write.CloseWithError(err)
	}()
	sink := got.sink()
	take := sink.Blob
	sink.Blob = func(key string, r io.Reader, size int64) error {
		order = append(order, key)
		return take(key, r, size)
	}
	if _, err := backup.Read(t.Context(), read, sink); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Blobs); diff != "" || !slices.IsSorted(order) {
		t.Errorf("in order: %v\n%.1000s", slices.IsSorted(order), diff)
	}
	if most := blobs.most.Load(); most < 4 || most > 16 {
		t.Errorf("%d blobs were asked for at a time", most)
	}
}

// An error ends the prefetching.
func TestWriteAheadEnds(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	endless := func(at int) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for n := 0; ; n++ {
				var err error
				if n == at {
					err = failed
				}
				if !yield(fmt.Sprintf("accounts/1/%09d", n), err) {
					return
				}
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	for name, test := range map[string]struct {
		ctx  context.Context //nolint:containedctx // of the case
		keys iter.Seq2[string, error]
		w    io.Writer
		want error
	}{
		"of the keys":   {t.Context(), endless(100), io.Discard, failed},
		"of the writer": {t.Context(), endless(-1), &failing{left: 10_000, err: failed}, failed},
		"interrupted":   {ended, func(yield func(string, error) bool) { cancel(); endless(-1)(yield) }, io.Discard, context.Canceled},
	} {
		blobs := &distant{Blobs: memblob.New(), enough: make(chan struct{})}
		close(blobs.enough)
		_, err := backup.Write(test.ctx, test.w, backup.Source{Info: backup.Info{Created: created}, Blobs: blobs, Keys: test.keys})
		if !errors.Is(err, test.want) || fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if n := blobs.asked.Load(); n > 0 {
			t.Errorf("%s: %d blobs are asked for still", name, n)
		}
	}
}
