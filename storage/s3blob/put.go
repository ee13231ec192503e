package s3blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/helpwright/helpwright/storage/fault"
)

// The parts of a blob. Each upload holds one part in memory.
const (
	smallBlob  = 64 << 10
	partSize   = 8 << 20
	maxPart    = 1 << 30
	maxParts   = 10000 // of an upload: 78 GiB with the default PartSize
	abortLimit = 10 * time.Second
)

// contentType is that of all objects: the media type of a file is in its row.
const contentType = "application/octet-stream"

// Put stores all of r under key. An error of r is returned unchanged. A blob larger than [Config.PartSize] is sent in parts,
// and becomes visible with the last one.
func (b *Blobs) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	object, err := b.object(ctx, key)
	if err != nil {
		return 0, err
	}
	in := &input{ctx: ctx, r: r}
	first := make([]byte, smallBlob)
	n, more := in.fill(first)
	for more && len(first) < b.cfg.PartSize { // most files are smaller than a part
		larger := make([]byte, min(4*len(first), b.cfg.PartSize))
		copy(larger, first)
		read := 0
		read, more = in.fill(larger[n:])
		first, n = larger, n+read
	}
	switch {
	case in.err != nil:
		return 0, in.err
	case more:
		return b.putParts(ctx, object, first, in)
	}
	return b.putWhole(ctx, object, first[:n])
}

// input records that the reader failed, and fails when the context ends.
type input struct {
	ctx context.Context //nolint:containedctx // lives as long as one call
	r   io.Reader
	err error
}

// fill reads until p is full. more is false at the end of the input.
func (i *input) fill(p []byte) (n int, more bool) {
	for n < len(p) {
		if i.err = i.ctx.Err(); i.err != nil {
			return n, false
		}
		read, err := i.r.Read(p[n:])
		n += read
		if err == io.EOF { //nolint:errorlint // as io.Copy compares it
			return n, false
		}
		if err != nil {
			i.err = err
			return n, false
		}
	}
	return n, true
}

func (b *Blobs) putWhole(ctx context.Context, object string, content []byte) (int64, error) {
	_, err := b.core.PutObject(ctx, b.cfg.Bucket, object, bytes.NewReader(content), int64(len(content)), "", sum(content),
		minio.PutObjectOptions{ContentType: contentType, DisableContentSha256: true}) // the checksum is known, and no chunks are sent
	if err != nil {
		return 0, b.failed(ctx, err)
	}
	return int64(len(content)), nil
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}

// putParts sends the first part and the rest of r.
func (b *Blobs) putParts(ctx context.Context, object string, part []byte, in *input) (int64, error) {
	upload, err := b.core.NewMultipartUpload(ctx, b.cfg.Bucket, object, minio.PutObjectOptions{ContentType: contentType})
	if err != nil {
		return 0, b.failed(ctx, err)
	}
	size, err := b.sendParts(ctx, object, upload, part, in)
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortLimit)
		defer cancel()
		_ = b.core.AbortMultipartUpload(undo, b.cfg.Bucket, object, upload) // Tidy removes what stays
		return 0, err
	}
	return size, nil
}

func (b *Blobs) sendParts(ctx context.Context, object, upload string, part []byte, in *input) (int64, error) {
	var parts []minio.CompletePart
	size := int64(0)
	for n, more := len(part), true; n > 0; {
		if len(parts) == maxParts {
			return 0, fault.New(fault.TooLarge, "The file is too large to be stored.")
		}
		content := part[:n]
		sent, err := b.core.PutObjectPart(ctx, b.cfg.Bucket, object, upload, len(parts)+1, bytes.NewReader(content), int64(n),
			minio.PutObjectPartOptions{Sha256Hex: sum(content), DisableContentSha256: true})
		if err != nil {
			return 0, b.failed(ctx, err)
		}
		parts = append(parts, minio.CompletePart{PartNumber: sent.PartNumber, ETag: sent.ETag})
		size += int64(n)
		n = 0
		if more {
			n, more = in.fill(part)
		}
		if in.err != nil {
			return 0, in.err
		}
	}
	_, err := b.core.CompleteMultipartUpload(ctx, b.cfg.Bucket, object, upload, parts, minio.PutObjectOptions{})
	return size, b.failed(ctx, err)
}

// Tidy implements [storage.BlobTidier]: it aborts unfinished uploads that began before a time.
func (b *Blobs) Tidy(ctx context.Context, before time.Time, dry bool) (int, error) {
	found, afterKey, afterUpload := 0, "", ""
	for {
		page, err := b.core.ListMultipartUploads(ctx, b.cfg.Bucket, b.cfg.Prefix, afterKey, afterUpload, "", pageSize)
		if err != nil {
			return found, b.failed(ctx, err)
		}
		for _, upload := range page.Uploads {
			if _, ours := b.key(upload.Key); !ours || !upload.Initiated.Before(before) {
				continue
			}
			if !dry {
				err = b.core.AbortMultipartUpload(ctx, b.cfg.Bucket, upload.Key, upload.UploadID)
			}
			if is, ok := errors.AsType[minio.ErrorResponse](err); ok && is.Code == minio.NoSuchUpload {
				continue // another process was faster
			}
			if err != nil {
				return found, b.failed(ctx, err)
			}
			found++
		}
		if !page.IsTruncated || page.NextKeyMarker == "" {
			return found, nil
		}
		afterKey, afterUpload = page.NextKeyMarker, page.NextUploadIDMarker
	}
}
