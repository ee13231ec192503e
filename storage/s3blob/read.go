package s3blob

import (
	"context"
	"io"
	"math"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// reopenings is how often a blob is reopened after its connection was cut during reading.
const reopenings = 2

// Get opens a blob for reading from its start. It reopens a connection that is cut while reading, up to two times.
func (b *Blobs) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	return b.GetRange(ctx, key, 0, -1)
}

// GetRange opens a part of a blob.
func (b *Blobs) GetRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	object, err := b.object(ctx, key)
	if err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, fault.Field("offset", "must not be negative")
	}
	if length == 0 {
		_, err := b.Stat(ctx, key)
		return io.NopCloser(strings.NewReader("")), err
	}
	r := &reader{ctx: ctx, blobs: b, object: object, at: offset, end: math.MaxInt64, left: reopenings}
	if length > 0 && length < math.MaxInt64-offset {
		r.end = offset + length
	}
	err = r.open()
	if is := minio.ToErrorResponse(err); is.Code == minio.InvalidRange {
		return io.NopCloser(strings.NewReader("")), nil // it starts beyond the end
	}
	if err != nil {
		return nil, b.failed(ctx, err)
	}
	return r, nil
}

// reader reads an object from at to end.
type reader struct {
	ctx     context.Context //nolint:containedctx // of the whole reading, as that of a request's body is
	blobs   *Blobs
	object  string
	etag    string // of the first response
	at, end int64
	left    int // remaining reopenings
	body    io.ReadCloser
}

// open requests the unread part, and learns where the object ends.
func (r *reader) open() error {
	var opts minio.GetObjectOptions
	var err error
	switch {
	case r.end != math.MaxInt64:
		err = opts.SetRange(r.at, r.end-1)
	case r.at > 0:
		err = opts.SetRange(r.at, 0)
	}
	if err == nil && r.etag != "" {
		err = opts.SetMatchETag(r.etag)
	}
	if err != nil {
		return err
	}
	body, info, _, err := r.blobs.core.GetObject(r.ctx, r.blobs.cfg.Bucket, r.object, opts)
	if err != nil {
		return err
	}
	if info.Size >= 0 {
		r.end = r.at + info.Size // Content-Length, here that of the part
	}
	r.body, r.etag = body, info.ETag
	return nil
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	for {
		n, err := r.body.Read(p)
		r.at += int64(n)
		switch {
		case err == nil || err == io.EOF: //nolint:errorlint // as io.Copy compares it
			return n, err
		case r.at >= r.end:
			return n, io.EOF
		case r.left == 0 || r.etag == "" || r.ctx.Err() != nil:
			return n, r.blobs.failed(r.ctx, err)
		}
		r.left--
		old := r.body
		if err := r.open(); err != nil {
			if err = r.blobs.failed(r.ctx, err); fault.Is(err, fault.NotFound) {
				err = fault.New(fault.Unavailable, "The file was removed while it was read.")
			}
			return n, err
		}
		_ = old.Close()
		if n > 0 {
			return n, nil
		}
	}
}

// Close implements [io.Closer].
func (r *reader) Close() error { return r.body.Close() }

// pageSize is the most objects that a server lists at a time.
const pageSize = 1000

// List lists blobs in key order, with one request per thousand.
func (b *Blobs) List(ctx context.Context, prefix, after string, limit int) ([]storage.BlobInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if limit <= 0 || prefix != "" && !storage.ValidBlobKey(strings.TrimSuffix(prefix, "/")) && !storage.ValidBlobKey(prefix+"x") {
		return nil, nil // no key has this prefix
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	noOwner := false
	opts := minio.ListObjectsOptions{Prefix: b.cfg.Prefix + prefix, Recursive: true, MaxKeys: min(limit, pageSize), FetchOwner: &noOwner}
	if after > prefix {
		opts.StartAfter = b.cfg.Prefix + after
	}
	var found []storage.BlobInfo
	for object := range b.core.ListObjectsIter(ctx, b.cfg.Bucket, opts) {
		if object.Err != nil {
			return nil, b.failed(ctx, object.Err)
		}
		key, ours := b.key(object.Key)
		if !ours || key <= after {
			continue
		}
		if found = append(found, storage.BlobInfo{Key: key, Size: object.Size, Modified: object.LastModified.UTC()}); len(found) == limit {
			break
		}
	}
	return found, ctx.Err()
}

// key returns the key of an object's blob.
func (b *Blobs) key(object string) (string, bool) {
	key, ok := strings.CutPrefix(object, b.cfg.Prefix)
	return key, ok && storage.ValidBlobKey(key)
}
