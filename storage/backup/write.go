package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Source is what [Write] archives. Info and Blobs are required.
type Source struct {
	Info     Info   // Format is set by Write
	Database string // path of a copy of the database that does not change; "": none
	Files    []File
	Blobs    storage.Blobs
	Keys     iter.Seq2[string, error] // of the blobs, each once, in bytewise order; nil: none
	Progress func(Totals)             // called after each entry; nil: no reports
}

// File is a small file of the server's own folder.
type File struct {
	Name    string // within the folder, such as "secret.key" or "results/12-34"
	Content []byte
}

// Write writes an archive. A missing blob is recorded and counted as missing. Any other error ends Write, and [Read] refuses
// the incomplete output. Blobs must not change or be deleted meanwhile, see blobs.Hold. An error of w is returned unchanged.
func Write(ctx context.Context, w io.Writer, src Source) (Totals, error) {
	if src.Blobs == nil {
		return Totals{}, fault.Field("Blobs", "is required")
	}
	if src.Progress == nil {
		src.Progress = func(Totals) {}
	}
	// One thread only: a server has other work meanwhile.
	packed, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxWindow/2))
	if err != nil {
		return Totals{}, fault.Wrap(fault.Internal, "backup.Write", err)
	}
	out := &writer{ctx: ctx, src: src, tar: tar.NewWriter(packed), sums: newSums()}
	err = out.all()
	if err == nil {
		err = out.tar.Close()
	}
	if closed := packed.Close(); err == nil {
		err = closed
	}
	return out.sums.Totals, err
}

type writer struct {
	ctx  context.Context //nolint:containedctx // lives as long as one call
	src  Source
	tar  *tar.Writer
	sums *sums
}

func (w *writer) all() error {
	w.src.Info.Format = Format
	info, err := json.MarshalIndent(w.src.Info, "", "  ")
	if err != nil {
		return fault.Wrap(fault.Internal, "backup.Write", err)
	}
	if err := w.text(nameInfo, append(info, '\n')); err != nil {
		return err
	}
	if w.src.Database != "" {
		if err := w.database(); err != nil {
			return err
		}
	}
	files := slices.SortedFunc(slices.Values(w.src.Files), func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range files {
		if !validFile(f.Name) || len(f.Content) > maxFile {
			return fault.Newf(fault.Invalid, "The file %q cannot be part of a backup: its name is not allowed, or it is larger than 1 MiB.", f.Name)
		}
		if err := w.text(dirData+f.Name, f.Content); err != nil {
			return err
		}
	}
	if w.src.Keys != nil {
		if err := w.blobs(); err != nil {
			return err
		}
	}
	return w.end()
}

func (w *writer) database() error {
	file, err := os.Open(w.src.Database)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return w.entry(nameDatabase, info.Size(), w.src.Info.Created, file)
}

// blobs writes all blobs in key order. It prefetches some, because a remote store has a delay for each.
func (w *writer) blobs() error {
	ctx, cancel := context.WithCancel(w.ctx)
	due := make(chan chan found, ahead)
	go func() {
		defer close(due)
		for key, err := range w.src.Keys {
			one := make(chan found, 1)
			select {
			case due <- one:
			case <-ctx.Done():
				return
			}
			if err != nil {
				one <- found{err: err}
				return
			}
			go func() { one <- w.find(ctx, key) }()
		}
	}()
	defer func() { // ends the prefetching when this returns
		cancel()
		for one := range due {
			<-one
		}
	}()
	for one := range due {
		if err := w.blob(<-one); err != nil {
			return err
		}
	}
	return w.ctx.Err()
}

// How many blobs are prefetched, and up to which size their content is read ahead.
const (
	ahead     = 8
	aheadSize = 256 << 10 // bytes
)

// found is a prefetched blob.
type found struct {
	key     string
	info    storage.BlobInfo
	content io.Reader // nil: too large to read ahead, opened when it is written
	err     error
}

// find prefetches a blob, and reads its content if it is small.
func (w *writer) find(ctx context.Context, key string) (f found) {
	f.key = key
	if !storage.ValidBlobKey(key) {
		f.err = fault.Newf(fault.Internal, "The database refers to a file %q that the blob store does not have.", key)
		return f
	}
	if f.info, f.err = w.src.Blobs.Stat(ctx, key); f.err != nil || f.info.Size > aheadSize {
		return f
	}
	r, err := w.src.Blobs.Get(ctx, key)
	if err != nil {
		f.err = err
		return f
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, f.info.Size+1)) // one byte more reveals that it has changed
	f.content, f.err = bytes.NewReader(content), err
	return f
}

// blob writes a blob, or an entry that it is missing.
func (w *writer) blob(f found) error {
	content := f.content
	if f.err == nil && content == nil {
		r, err := w.src.Blobs.Get(w.ctx, f.key)
		if err == nil {
			defer r.Close()
		}
		content, f.err = r, err
	}
	switch {
	case fault.Is(f.err, fault.NotFound):
		return w.text(dirMissing+f.key, nil)
	case f.err != nil && f.key != "":
		return fmt.Errorf("the file %s cannot be read: %w", f.key, f.err)
	case f.err != nil:
		return f.err
	}
	return w.entry(dirBlobs+f.key, f.info.Size, f.info.Modified, content)
}

func (w *writer) text(name string, content []byte) error {
	return w.entry(name, int64(len(content)), w.src.Info.Created, bytes.NewReader(content))
}

// entry writes an entry, followed by the sums when they are due.
func (w *writer) entry(name string, size int64, at time.Time, r io.Reader) error {
	sum, err := w.copy(name, size, at, r)
	if err != nil {
		return err
	}
	w.sums.add(name, size, sum)
	w.src.Progress(w.sums.Totals)
	if w.sums.count == sumsEach {
		return w.writeSums()
	}
	return nil
}

// copy writes an entry and returns its hash.
func (w *writer) copy(name string, size int64, at time.Time, r io.Reader) ([]byte, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: at}
	if err := w.tar.WriteHeader(header); err != nil {
		return nil, err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w.tar, sum), &source{ctx: w.ctx, r: r})
	if errors.Is(err, tar.ErrWriteTooLong) || err == nil && n != size {
		err = fault.Newf(fault.Unavailable, "%s changed while it was being read. Try again.", name)
	}
	return sum.Sum(nil), err
}

// writeSums writes the checksums of the entries since the last sums entry.
func (w *writer) writeSums() error {
	name, content := w.sums.next()
	_, err := w.copy(name, int64(len(content)), w.src.Info.Created, bytes.NewReader(content))
	w.sums.taken()
	return err
}

func (w *writer) end() error {
	if w.sums.count > 0 {
		if err := w.writeSums(); err != nil {
			return err
		}
	}
	content, err := json.Marshal(w.sums.end())
	if err != nil {
		return fault.Wrap(fault.Internal, "backup.Write", err)
	}
	content = append(content, '\n')
	_, err = w.copy(nameEnd, int64(len(content)), w.src.Info.Created, bytes.NewReader(content))
	return err
}

// keysAtOnce is how many keys are read at a time.
const keysAtOnce = 500

// Named returns the keys of all blobs that rows refer to.
func Named(ctx context.Context, rows storage.BlobRows) iter.Seq2[string, error] {
	return pages(func(after string) ([]string, error) { return rows.ListNamedBlobs(ctx, after, keysAtOnce) })
}

// Stored returns the keys of all blobs that begin with prefix.
func Stored(ctx context.Context, blobs storage.Blobs, prefix string) iter.Seq2[string, error] {
	return pages(func(after string) ([]string, error) {
		found, err := blobs.List(ctx, prefix, after, keysAtOnce)
		var keys []string
		for _, info := range found {
			keys = append(keys, info.Key)
		}
		return keys, err
	})
}

// pages returns the keys of a list that is read page by page.
func pages(page func(after string) ([]string, error)) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for after := ""; ; {
			keys, err := page(after)
			if err != nil {
				yield("", err)
				return
			}
			for _, key := range keys {
				if !yield(key, nil) {
					return
				}
				after = key
			}
			if len(keys) < keysAtOnce {
				return
			}
		}
	}
}
