package storage

import (
	"context"
	"io"
	"time"
)

// Blobs stores files, such as raw mails and attachments. Keys are slash-separated segments of [a-z0-9._-], at most 512
// bytes, no segment "." or ".."; any other key is an Invalid fault. A store may refuse a key nested below an existing one,
// such as a/b below a, with an Unsupported fault.
//
// For an absent key every method but Delete returns a NotFound fault. A store that cannot be reached returns an Unavailable
// fault; callers then wait and retry, while any other error may end their work for good. blobs.Classified adds these faults
// to a store that lacks them.
type Blobs interface {
	// Put stores all of r under key, replacing any previous blob, and returns the number of bytes. Once it returns nil the blob
	// survives a crash; readers never see a partial blob.
	Put(ctx context.Context, key string, r io.Reader) (int64, error)
	// Get opens a blob for reading from its start.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	// GetRange opens length bytes starting at offset; a negative length reads to the end. An offset beyond the end returns an
	// empty reader.
	GetRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	// Stat returns the size and the time of a blob.
	Stat(ctx context.Context, key string) (BlobInfo, error)
	// Delete removes a blob; deleting an absent blob is not an error.
	Delete(ctx context.Context, key string) error
	// List returns at most limit blobs whose keys begin with prefix and sort after the key after, in bytewise key order.
	List(ctx context.Context, prefix, after string, limit int) ([]BlobInfo, error)
}

// BlobInfo describes a stored blob.
type BlobInfo struct {
	Key      string
	Size     int64 // bytes
	Modified time.Time
}

// ValidBlobKey reports whether key has the form that [Blobs] requires. Adapters call it first in every method.
func ValidBlobKey(key string) bool {
	if key == "" || len(key) > 512 {
		return false
	}
	segment := 0
	for i := 0; i <= len(key); i++ {
		if i < len(key) && key[i] != '/' {
			c := key[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
				return false
			}
			continue
		}
		if s := key[segment:i]; s == "" || s == "." || s == ".." {
			return false
		}
		segment = i + 1
	}
	return true
}
