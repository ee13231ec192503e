package storage

import (
	"context"
	"time"
)

// BlobRows tells which blobs the rows of a store name, in whatever table. With it blobs that no row names are found and
// removed, and rows whose blobs are missing are told: see storage/blobs.
type BlobRows interface {
	// NamedBlobs returns those of keys that a row names, each once, in any order.
	NamedBlobs(ctx context.Context, keys []string) ([]string, error)
	// ListNamedBlobs returns at most limit of all keys that rows name and that sort after the key after, each once, in
	// the order of their bytes.
	ListNamedBlobs(ctx context.Context, after string, limit int) ([]string, error)
}

// Marks keeps the mark that a database and its blobs have in common: see storage/blobs.
type Marks interface {
	// Mark returns the mark, "" when there is none yet.
	Mark(ctx context.Context) (string, error)
	// SetMark replaces the mark former, "" for none. When there is another one it is a Conflict fault.
	SetMark(ctx context.Context, former, mark string) error
}

// BlobWalker is implemented by [Blobs] that can list many blobs at less cost in another order than that of their keys.
// [WalkBlobs] makes use of it.
type BlobWalker interface {
	// Walk calls fn with the blobs whose key begins with prefix, some at a time and in any order, until fn returns an
	// error, which it returns. A blob that is there all the time is given once; one that comes or goes meanwhile may be
	// given or not.
	Walk(ctx context.Context, prefix string, fn func([]BlobInfo) error) error
}

// BlobTidier is implemented by [Blobs] in which a crash can leave more than blobs behind, such as temporary files.
type BlobTidier interface {
	// Tidy removes what was left behind before a time and returns how much there was. With dry it only counts.
	Tidy(ctx context.Context, before time.Time, dry bool) (int, error)
}

// walkBatch is how many blobs WalkBlobs lists at a time where it has to list them by their keys.
const walkBatch = 500

// WalkBlobs does what [BlobWalker.Walk] says with any blobs.
func WalkBlobs(ctx context.Context, blobs Blobs, prefix string, fn func([]BlobInfo) error) error {
	if w, ok := blobs.(BlobWalker); ok {
		return w.Walk(ctx, prefix, fn)
	}
	for after := ""; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		found, err := blobs.List(ctx, prefix, after, walkBatch)
		if err != nil || len(found) == 0 {
			return err
		}
		if err := fn(found); err != nil {
			return err
		}
		if len(found) < walkBatch {
			return nil
		}
		after = found[len(found)-1].Key
	}
}
