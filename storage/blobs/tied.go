package blobs

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// undoLimit limits the time for deleting a blob that was put into the wrong place.
const undoLimit = 10 * time.Second

// Put implements [storage.Blobs]. A blob does not count as stored when its store has lost the mark meanwhile.
func (t *Tie) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	if err := t.fresh(ctx); err != nil {
		return 0, err
	}
	n, err := t.cfg.Blobs.Put(ctx, key, r)
	if err != nil {
		return n, err
	}
	if _, err := t.cfg.Blobs.Stat(ctx, MarkKey); fault.Is(err, fault.NotFound) {
		if err := t.Check(ctx); err != nil {
			undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
			defer cancel()
			_ = t.cfg.Blobs.Delete(undo, key)
			return 0, err
		}
	}
	return n, nil
}

// absent returns the fault for a missing blob: perhaps all blobs are gone.
func (t *Tie) absent(ctx context.Context, err error) error {
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	if away := t.Check(ctx); away != nil {
		return away
	}
	return err
}

// Get implements [storage.Blobs].
func (t *Tie) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := t.fresh(ctx); err != nil {
		return nil, err
	}
	r, err := t.cfg.Blobs.Get(ctx, key)
	return r, t.absent(ctx, err)
}

// GetRange implements [storage.Blobs].
func (t *Tie) GetRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := t.fresh(ctx); err != nil {
		return nil, err
	}
	r, err := t.cfg.Blobs.GetRange(ctx, key, offset, length)
	return r, t.absent(ctx, err)
}

// Stat implements [storage.Blobs].
func (t *Tie) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	if err := t.fresh(ctx); err != nil {
		return storage.BlobInfo{}, err
	}
	info, err := t.cfg.Blobs.Stat(ctx, key)
	return info, t.absent(ctx, err)
}

// Delete implements [storage.Blobs]. While the blobs are held, see [Hold], it is an Unavailable fault. It checks right
// before deleting: a blob without a row at that time is in no snapshot of a later holder.
func (t *Tie) Delete(ctx context.Context, key string) error {
	if err := t.fresh(ctx); err != nil {
		return err
	}
	if !strings.HasPrefix(key, holdPrefix) {
		held, err := isHeld(ctx, t.cfg.Blobs)
		if err != nil {
			return err
		}
		if held {
			return errHeld
		}
	}
	return t.cfg.Blobs.Delete(ctx, key)
}

// List implements [storage.Blobs].
func (t *Tie) List(ctx context.Context, prefix, after string, limit int) ([]storage.BlobInfo, error) {
	if err := t.fresh(ctx); err != nil {
		return nil, err
	}
	return t.cfg.Blobs.List(ctx, prefix, after, limit)
}

// Walk implements [storage.BlobWalker]. It checks the blobs first, because the caller may be about to delete some.
func (t *Tie) Walk(ctx context.Context, prefix string, fn func([]storage.BlobInfo) error) error {
	if err := t.Check(ctx); err != nil {
		return err
	}
	return storage.WalkBlobs(ctx, t.cfg.Blobs, prefix, fn)
}

// LinkBlob implements [storage.BlobLinker].
func (t *Tie) LinkBlob(ctx context.Context, key string, as storage.BlobDownload) (string, error) {
	if err := t.fresh(ctx); err != nil {
		return "", err
	}
	link, err := storage.LinkBlob(ctx, t.cfg.Blobs, key, as)
	return link, t.absent(ctx, err)
}

// Tidy implements [storage.BlobTidier].
func (t *Tie) Tidy(ctx context.Context, before time.Time, dry bool) (int, error) {
	tidier, can := t.cfg.Blobs.(storage.BlobTidier)
	if !can {
		return 0, nil
	}
	if err := t.fresh(ctx); err != nil {
		return 0, err
	}
	return tidier.Tidy(ctx, before, dry)
}
