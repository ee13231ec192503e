package fileblob

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/storage"
)

// List lists blobs in key order. It reads only directories that can contain such blobs, until it has enough of them.
func (b *Blobs) List(ctx context.Context, prefix, after string, limit int) ([]storage.BlobInfo, error) {
	l := lister{ctx: ctx, blobs: b, prefix: prefix, after: after, limit: limit}
	top := prefix[:strings.LastIndexByte(prefix, '/')+1]
	if top != "" && !storage.ValidBlobKey(top+"x") {
		return nil, ctx.Err() // no key has this prefix
	}
	if err := l.walk(top); err != nil {
		return nil, err
	}
	return l.found, nil
}

type lister struct {
	ctx           context.Context //nolint:containedctx // lives as long as one call
	blobs         *Blobs
	prefix, after string
	limit         int
	found         []storage.BlobInfo
}

// entry is a blob with its key, or a directory with the common prefix of its keys.
type entry struct {
	key string
	fs.DirEntry
}

// walk adds the blobs of a directory, whose keys begin with dir.
func (l *lister) walk(dir string) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	entries, err := l.entries(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case len(l.found) >= l.limit:
			return nil
		case e.IsDir():
			if err := l.walk(e.key); err != nil {
				return err
			}
		default:
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // just deleted
			}
			if err != nil {
				return unavailable(err)
			}
			l.found = append(l.found, blobInfo(e.key, info))
		}
	}
	return nil
}

// entries reads a directory and returns the entries that can match, in key order.
func (l *lister) entries(dir string) ([]entry, error) {
	if len(l.found) >= l.limit {
		return nil, nil
	}
	all, err := l.blobs.readDir(dirName(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	var out []entry
	for _, e := range all {
		if key, isDir, ours := keyOf(dir, e); ours && l.matches(key, isDir) {
			out = append(out, entry{key, e})
		}
	}
	slices.SortFunc(out, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	return out, nil
}

func (l *lister) matches(key string, isDir bool) bool {
	if isDir {
		return (strings.HasPrefix(key, l.prefix) || strings.HasPrefix(l.prefix, key)) && (key > l.after || strings.HasPrefix(l.after, key))
	}
	return strings.HasPrefix(key, l.prefix) && key > l.after
}

func (b *Blobs) readDir(name string) ([]fs.DirEntry, error) {
	d, err := b.at().Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadDir(-1)
}
