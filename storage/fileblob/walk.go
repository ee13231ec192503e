package fileblob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
)

var (
	_ storage.BlobWalker = (*Blobs)(nil)
	_ storage.BlobTidier = (*Blobs)(nil)
)

// walkBatch is how many directory entries are read at a time: a large mailbox has a million.
const walkBatch = 500

// Walk implements [storage.BlobWalker]. It reads each directory once, in batches.
func (b *Blobs) Walk(ctx context.Context, prefix string, fn func([]storage.BlobInfo) error) error {
	top := prefix[:strings.LastIndexByte(prefix, '/')+1]
	if top != "" && !storage.ValidBlobKey(top+"x") {
		return ctx.Err() // no key has this prefix
	}
	w := walker{lister: lister{ctx: ctx, blobs: b, prefix: prefix}, fn: fn}
	if err := w.walk(top); err != nil {
		return err
	}
	return w.flush()
}

// walker passes the blobs it finds to fn, in batches that span directories.
type walker struct {
	lister
	fn func([]storage.BlobInfo) error
}

func (w *walker) flush() error {
	if len(w.found) == 0 {
		return nil
	}
	found := w.found
	w.found = nil
	return w.fn(found)
}

// walk walks the directory of the blobs whose keys begin with dir. It visits subdirectories after the files, so that only a
// few directories are open at a time.
func (w *walker) walk(dir string) error {
	var below []string
	err := w.blobs.eachEntry(w.ctx, dirName(dir), func(e fs.DirEntry) error {
		key, isDir, ours := keyOf(dir, e)
		if !ours || !w.matches(key, isDir) {
			return nil
		}
		if isDir {
			below = append(below, key)
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // just deleted
		}
		if err != nil {
			return unavailable(err)
		}
		if w.found = append(w.found, blobInfo(key, info)); len(w.found) < walkBatch {
			return nil
		}
		return w.flush()
	})
	if err != nil {
		return err
	}
	for _, key := range below {
		if err := w.walk(key); err != nil {
			return err
		}
	}
	return nil
}

// Tidy implements [storage.BlobTidier]: it removes temporary files last written before a time.
func (b *Blobs) Tidy(ctx context.Context, before time.Time, dry bool) (int, error) {
	found := 0
	err := b.eachEntry(ctx, tmpDir, func(e fs.DirEntry) error {
		info, err := e.Info()
		if err != nil || !info.ModTime().Before(before) {
			return nil //nolint:nilerr // another process was faster, or it is in use
		}
		if !dry {
			err = b.at().Remove(path.Join(tmpDir, e.Name()))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return unavailable(err)
		}
		found++
		return nil
	})
	return found, err
}

// eachEntry calls fn with the entries of a directory, which may be missing.
func (b *Blobs) eachEntry(ctx context.Context, name string, fn func(fs.DirEntry) error) error {
	d, err := b.at().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return ctx.Err()
	}
	if err != nil {
		return unavailable(err)
	}
	defer d.Close()
	return eachOf(ctx, d, fn)
}

func eachOf(ctx context.Context, d *os.File, fn func(fs.DirEntry) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := d.ReadDir(walkBatch)
		for _, e := range entries {
			if err := fn(e); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, fs.ErrNotExist): // removed while it was read
			return nil
		case err != nil:
			return unavailable(err)
		}
	}
}

// dirName returns the directory of the blobs whose keys begin with dir.
func dirName(dir string) string {
	if dir == "" {
		return "."
	}
	return strings.TrimSuffix(strings.ReplaceAll(dir, "/", dirMark+"/"), "/")
}

// keyOf returns the key of an entry of dir, or the common prefix of all keys below it.
func keyOf(dir string, e fs.DirEntry) (key string, isDir, ours bool) {
	key, isDir = dir+e.Name(), e.IsDir()
	if isDir {
		key = dir + strings.TrimSuffix(e.Name(), dirMark) + "/"
	}
	ours = isDir == strings.HasSuffix(e.Name(), dirMark) && !strings.HasPrefix(e.Name(), "=")
	return key, isDir, ours
}
