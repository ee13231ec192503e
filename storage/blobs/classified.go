package blobs

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Classified turns every error of a store into a fault: an error that is not a fault becomes an Unavailable fault, so that
// callers wait and retry instead of failing. Errors of the input of Put, and of content being read, stay as they are: they
// may come from the client, or from a single damaged file.
func Classified(of storage.Blobs) storage.Blobs { return classified{of} }

type classified struct{ of storage.Blobs }

var (
	_ storage.BlobWalker = classified{}
	_ storage.BlobTidier = classified{}
	_ storage.BlobLinker = classified{}
)

// classify returns faults and context errors unchanged.
func classify(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok || err == nil || ctx.Err() != nil {
		return err
	}
	return fault.Wrap(fault.Unavailable, "blobs", err)
}

// Put implements [storage.Blobs].
func (c classified) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	return c.of.Put(ctx, key, r)
}

// Get implements [storage.Blobs].
func (c classified) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	r, err := c.of.Get(ctx, key)
	return r, classify(ctx, err)
}

// GetRange implements [storage.Blobs].
func (c classified) GetRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := c.of.GetRange(ctx, key, offset, length)
	return r, classify(ctx, err)
}

// Stat implements [storage.Blobs].
func (c classified) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	info, err := c.of.Stat(ctx, key)
	return info, classify(ctx, err)
}

// Delete implements [storage.Blobs].
func (c classified) Delete(ctx context.Context, key string) error {
	return classify(ctx, c.of.Delete(ctx, key))
}

// List implements [storage.Blobs].
func (c classified) List(ctx context.Context, prefix, after string, limit int) ([]storage.BlobInfo, error) {
	found, err := c.of.List(ctx, prefix, after, limit)
	return found, classify(ctx, err)
}

// Walk implements [storage.BlobWalker].
func (c classified) Walk(ctx context.Context, prefix string, fn func([]storage.BlobInfo) error) error {
	return storage.WalkBlobs(ctx, c.of, prefix, fn)
}

// LinkBlob implements [storage.BlobLinker].
func (c classified) LinkBlob(ctx context.Context, key string, as storage.BlobDownload) (string, error) {
	link, err := storage.LinkBlob(ctx, c.of, key, as)
	return link, classify(ctx, err)
}

// Tidy implements [storage.BlobTidier].
func (c classified) Tidy(ctx context.Context, before time.Time, dry bool) (int, error) {
	if tidier, ok := c.of.(storage.BlobTidier); ok {
		return tidier.Tidy(ctx, before, dry)
	}
	return 0, nil
}
