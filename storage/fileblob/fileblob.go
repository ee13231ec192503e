// Package fileblob stores blobs as files below one directory, for a server with its own disk.
//
// A key's last segment is a file of that name. The other segments are directories with "+" appended to their names, so that
// both "a" and "a/b" can exist. A segment has at most 250 bytes. Blobs are written to the directory "=tmp" first and renamed
// once they are completely on disk: a crash leaves no partial blobs, only files in "=tmp", which [Open] removes when they
// are a day old.
package fileblob

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

const (
	tmpDir     = "=tmp" // no segment has "=" in it
	dirMark    = "+"
	maxSegment = 250   // file systems allow 255 bytes
	maxKnown   = 10000 // directories remembered as being on disk
	tmpAge     = 24 * time.Hour
)

// Blobs implements storage.Blobs on a directory. Open it with [Open]; several processes may use the same directory.
type Blobs struct {
	dir  string
	root atomic.Pointer[os.Root]
	look atomic.Int64 // when to check again whether dir is still root, in microseconds

	mu     sync.Mutex
	known  map[string]bool // directories that exist and survive a crash
	within *os.Root        // root that they are in
}

var _ storage.Blobs = (*Blobs)(nil)

// Open opens the directory dir and creates it if necessary. Access stays inside dir, whatever symbolic links it contains.
// The caller must Close it.
func Open(dir string) (*Blobs, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	b := &Blobs{dir: dir, known: map[string]bool{}}
	b.root.Store(root)
	err = root.MkdirAll(tmpDir, 0o700)
	if err == nil {
		_, err = b.Tidy(context.Background(), time.Now().Add(-tmpAge), false)
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return b, nil
}

// lookInterval is how often to check whether another file system was mounted on the directory.
const lookInterval = time.Second

// at returns the current root: a mount may have come or gone since it was opened.
func (b *Blobs) at() *os.Root {
	root, now, next := b.root.Load(), time.Now().UnixMicro(), b.look.Load()
	if now < next || !b.look.CompareAndSwap(next, now+lookInterval.Microseconds()) {
		return root
	}
	there, err := os.Stat(b.dir)
	if err != nil {
		return root // the directory may come back
	}
	if mine, err := root.Stat("."); err == nil && os.SameFile(there, mine) {
		return root
	}
	fresh, err := os.OpenRoot(b.dir)
	if err != nil {
		return root
	}
	b.root.Store(fresh)
	_ = root.Close() // files open in it stay open
	return fresh
}

// Close releases the directory. Open readers stay usable.
func (b *Blobs) Close() error { return b.root.Load().Close() }

// Put stores all of r under key. An error of r is returned unchanged.
func (b *Blobs) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	file, err := place(ctx, key)
	if err != nil {
		return 0, err
	}
	tmp := path.Join(tmpDir, rand.Text())
	n, err := b.write(ctx, tmp, r)
	if err == nil {
		err = b.publish(tmp, file)
	}
	if err != nil {
		_ = b.at().Remove(tmp)
		return 0, err
	}
	return n, nil
}

// write creates a file from r that survives a crash.
func (b *Blobs) write(ctx context.Context, name string, r io.Reader) (int64, error) {
	f, err := b.at().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // the directory was emptied
		if err = b.at().MkdirAll(tmpDir, 0o700); err == nil {
			f, err = b.at().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
	}
	if err != nil {
		return 0, unavailable(err)
	}
	in := &input{ctx: ctx, r: r}
	n, err := io.Copy(f, in)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	switch {
	case in.err != nil:
		return 0, in.err
	case err != nil:
		return 0, unavailable(err)
	}
	return n, nil
}

// input records that the reader failed, and fails when the context ends.
type input struct {
	ctx context.Context //nolint:containedctx // it is for one Put
	r   io.Reader
	err error
}

func (i *input) Read(p []byte) (int, error) {
	if i.err = i.ctx.Err(); i.err != nil {
		return 0, i.err
	}
	n, err := i.r.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // as io.Copy compares it
		i.err = err
	}
	return n, err
}

// publish renames a written file to its final name. It recreates directories that are concurrently removed because they were
// empty.
func (b *Blobs) publish(tmp, file string) error {
	dir := path.Dir(file)
	var err error
	for range 100 {
		if err = b.makeDir(dir); err == nil {
			err = b.at().Rename(tmp, file)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		b.forget(dir)
	}
	if err != nil {
		return unavailable(err)
	}
	// when the directory is not there the blob has been deleted since, as its last one
	if err = b.syncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable(err)
	}
	return nil
}

// makeDir creates a directory and its parents, with each entry synced to disk.
func (b *Blobs) makeDir(dir string) error {
	if dir == "." {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if root := b.at(); root != b.within {
		clear(b.known)
		b.within = root
	}
	return b.makeDirLocked(dir)
}

func (b *Blobs) makeDirLocked(dir string) error {
	if dir == "." || b.known[dir] {
		return nil
	}
	parent := path.Dir(dir)
	if err := b.makeDirLocked(parent); err != nil {
		return err
	}
	if err := b.at().Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := b.syncDir(parent); err != nil {
		return err
	}
	if len(b.known) >= maxKnown {
		clear(b.known)
	}
	b.known[dir] = true
	return nil
}

// forget drops a directory and its parents from the known ones.
func (b *Blobs) forget(dir string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ; dir != "."; dir = path.Dir(dir) {
		delete(b.known, dir)
	}
}

func (b *Blobs) syncDir(dir string) error {
	d, err := b.at().Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Get opens a blob for reading from its start.
func (b *Blobs) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	f, err := b.open(ctx, key)
	if err != nil {
		return nil, err
	}
	return part{reading{f}, f}, nil
}

// reading turns the errors of a file into faults: a disk or server that does not answer says nothing about the file.
type reading struct{ file io.Reader }

func (r reading) Read(p []byte) (int, error) {
	n, err := r.file.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // as io.Copy compares it
		err = unavailable(err)
	}
	return n, err
}

func (b *Blobs) open(ctx context.Context, key string) (*os.File, error) {
	file, err := place(ctx, key)
	if err != nil {
		return nil, err
	}
	f, err := b.at().Open(file)
	if err != nil {
		return nil, missing(err)
	}
	return f, nil
}

// GetRange opens a part of a blob.
func (b *Blobs) GetRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	f, err := b.open(ctx, key)
	if err != nil {
		return nil, err
	}
	if offset < 0 {
		_ = f.Close()
		return nil, fault.Field("offset", "must not be negative")
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		_ = f.Close()
		return nil, unavailable(err)
	}
	if length < 0 {
		return part{reading{f}, f}, nil
	}
	return part{io.LimitReader(reading{f}, length), f}, nil
}

type part struct {
	io.Reader
	io.Closer
}

// Stat returns the size and the time of a blob.
func (b *Blobs) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	file, err := place(ctx, key)
	if err != nil {
		return storage.BlobInfo{}, err
	}
	info, err := b.at().Stat(file)
	if err != nil {
		return storage.BlobInfo{}, missing(err)
	}
	return blobInfo(key, info), nil
}

func blobInfo(key string, info fs.FileInfo) storage.BlobInfo {
	return storage.BlobInfo{Key: key, Size: info.Size(), Modified: info.ModTime().UTC()}
}

// Delete removes a blob and the directories that are then empty.
func (b *Blobs) Delete(ctx context.Context, key string) error {
	file, err := place(ctx, key)
	if err != nil {
		return err
	}
	if err := b.at().Remove(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return unavailable(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if b.at().Remove(dir) != nil {
			break // not empty
		}
		delete(b.known, dir)
	}
	return nil
}

// place returns the file of a key.
func place(ctx context.Context, key string) (string, error) {
	if !storage.ValidBlobKey(key) {
		return "", fault.Field("key", "is not a valid blob key")
	}
	for segment := range strings.SplitSeq(key, "/") {
		if len(segment) > maxSegment {
			return "", fault.Field("key", "has a segment of more than 250 bytes")
		}
	}
	return strings.ReplaceAll(key, "/", dirMark+"/"), ctx.Err()
}

func unavailable(err error) error { return fault.Wrap(fault.Unavailable, "fileblob", err) }

func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Missing("file", 0)
	}
	return unavailable(err)
}
