package storage

import (
	"context"
	"time"
)

// BlobRows finds the blobs that the rows of a store refer to, in any table. Package storage/blobs uses it to remove blobs
// without a row and to report rows without a blob.
type BlobRows interface {
	// NamedBlobs returns the given keys that some row refers to, each once, in any order.
	NamedBlobs(ctx context.Context, keys []string) ([]string, error)
	// ListNamedBlobs returns at most limit of all keys that rows refer to and that sort after the key after, each once, in
	// bytewise order.
	ListNamedBlobs(ctx context.Context, after string, limit int) ([]string, error)
}

// Marks stores the mark that ties a database to its blobs: see storage/blobs.
type Marks interface {
	// Mark returns the mark, or "" when there is none yet.
	Mark(ctx context.Context) (string, error)
	// SetMark replaces the mark former ("" for none). It is a Conflict fault when the current mark is another one.
	SetMark(ctx context.Context, former, mark string) error
}

// BlobWalker is implemented by [Blobs] that list many blobs more cheaply in an order other than that of their keys.
// [WalkBlobs] uses it.
type BlobWalker interface {
	// Walk calls fn with batches of the blobs whose keys begin with prefix, in any order, until fn returns an error, which Walk
	// returns. A blob that exists throughout is passed exactly once; one that is created or deleted meanwhile may be missed.
	Walk(ctx context.Context, prefix string, fn func([]BlobInfo) error) error
}

// BlobTidier is implemented by [Blobs] where a crash can leave other remains than blobs, such as temporary files.
type BlobTidier interface {
	// Tidy removes remains older than before and returns how many there were. With dry it only counts.
	Tidy(ctx context.Context, before time.Time, dry bool) (int, error)
}

// BlobLinker is implemented by [Blobs] that anybody can download from who has an address.
type BlobLinker interface {
	// LinkBlob is an address from which a blob can be downloaded with GET, by anybody and for a short time. The address fixes
	// what the answer's Content-Type and Content-Disposition are. "": there are no addresses.
	LinkBlob(ctx context.Context, key string, as BlobDownload) (string, error)
}

// BlobDownload is how a browser sees a file.
type BlobDownload struct {
	Type        string // Content-Type
	Disposition string // Content-Disposition
}

// LinkBlob is the address of a blob that is there, "" where the store is no [BlobLinker].
func LinkBlob(ctx context.Context, blobs Blobs, key string, as BlobDownload) (string, error) {
	linker, can := blobs.(BlobLinker)
	if !can {
		return "", nil
	}
	return linker.LinkBlob(ctx, key, as)
}

// walkBatch is how many blobs WalkBlobs lists at a time when the store is no BlobWalker.
const walkBatch = 500

// WalkBlobs is [BlobWalker.Walk] for any blobs.
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
