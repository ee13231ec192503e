package s3blob

import (
	"context"
	"net/url"
	"time"

	"github.com/helpwright/helpwright/storage"
)

// linkLife is how long an address works. A download that has begun goes on.
const linkLife = 2 * time.Minute

// LinkBlob implements [storage.BlobLinker] by a presigned address of the configured endpoint, which works for two minutes.
// It asks the server whether the blob is there.
func (b *Blobs) LinkBlob(ctx context.Context, key string, as storage.BlobDownload) (string, error) {
	if _, err := b.Stat(ctx, key); err != nil {
		return "", err
	}
	answer := url.Values{"response-content-type": {as.Type}, "response-content-disposition": {as.Disposition}, "response-cache-control": {"private, no-store"}}
	link, err := b.core.PresignedGetObject(ctx, b.cfg.Bucket, b.cfg.Prefix+key, linkLife, answer)
	if err != nil {
		return "", b.failed(ctx, err)
	}
	return link.String(), nil
}
