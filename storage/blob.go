package storage

import (
	"context"
	"io"
	"time"
)

// Blobs keeps files: raw mails and attachments. Keys are slash-separated
// segments of [a-z0-9._-], at most 512 bytes, none of them "." or ".."; another
// key is an Invalid fault. A store may refuse a key below another, as of a and
// a/b, by an Unsupported fault.
//
// An absent key is a NotFound fault for every method but Delete. Blobs that cannot be
// reached are an Unavailable fault: what needs them waits, while any other error may make
// it fail in the end. Of a store that has no faults blobs.Classified makes one that has.
type Blobs interface {
	// Put stores the whole of r under key, replacing what was there. When it
	// returns nil the blob survives a crash; a reader never sees half of it. It
	// returns the number of bytes.
	Put(ctx context.Context, key string, r io.Reader) (int64, error)
	// Get opens a blob from its start.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	// GetRange opens length bytes beginning at offset; a negative length means to
	// the end. An offset beyond the end gives an empty reader.
	GetRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	// Stat tells size and time of a blob.
	Stat(ctx context.Context, key string) (BlobInfo, error)
	// Delete removes a blob; removing an absent one is no error.
	Delete(ctx context.Context, key string) error
	// List returns at most limit blobs whose key begins with prefix and sorts after
	// the key after, in the order of their keys (bytewise).
	List(ctx context.Context, prefix, after string, limit int) ([]BlobInfo, error)
}

// BlobInfo describes a stored blob.
type BlobInfo struct {
	Key      string
	Size     int64 // bytes
	Modified time.Time
}

// ValidBlobKey reports whether key has the form that [Blobs] asks for. Adapters
// call it first in every method.
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
