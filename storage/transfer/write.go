package transfer

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// WriterConfig is what a [Writer] is made of.
type WriterConfig struct {
	Manifest Manifest      // Format, Version and ID are the writer's, and Created where it is zero
	Blobs    storage.Blobs // required: where the files are that rows name
	Secrets  *Secrets      // nil: secrets are left out
	Progress func(rows, files, bytes int64)
}

// Writer writes an archive. Its memory does not grow with it. It is for one goroutine.
type Writer struct {
	cfg   WriterConfig
	to    target
	sum   hash.Hash
	last  int64 // number of the last file
	noun  string
	group int64
	buf   bytes.Buffer
	rows  int
	at    int64    // number of the file of rows that is open
	named []string // keys of the files that these rows name, "" where one was missing already
	end   End
	total int64
}

// target takes the files of an archive.
type target interface {
	put(name string, size int64, content io.Reader) error
	close() error
}

// NewWriter returns a writer of a file. An error of w is returned as it is.
func NewWriter(w io.Writer, cfg WriterConfig) (*Writer, error) {
	packed, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxWindow))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "transfer.NewWriter", err)
	}
	return newWriter(&packedTarget{packed, tar.NewWriter(packed)}, cfg)
}

// NewFolderWriter returns a writer of a folder, which must be empty.
func NewFolderWriter(dir string, cfg WriterConfig) (*Writer, error) {
	there, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(there) > 0 {
		return nil, fault.New(fault.Conflict, "The folder is not empty.")
	}
	return newWriter(folderTarget(dir), cfg)
}

func newWriter(to target, cfg WriterConfig) (*Writer, error) {
	if cfg.Blobs == nil {
		return nil, fault.Field("Blobs", "is required")
	}
	if cfg.Progress == nil {
		cfg.Progress = func(int64, int64, int64) {}
	}
	m := &cfg.Manifest
	m.Format, m.Version, m.ID = format, Version, strings.ToLower(rand.Text())
	if m.Created.IsZero() {
		m.Created = time.Now()
	}
	m.Created = m.Created.UTC().Truncate(time.Second)
	if cfg.Secrets != nil {
		if err := cfg.Secrets.describe(m); err != nil {
			return nil, err
		}
	}
	w := &Writer{cfg: cfg, to: to, sum: sha256.New(), end: End{Rows: map[string]int64{}, Notes: []string{}}}
	return w, w.json(nameManifest, m)
}

// Manifest is what the archive says of itself.
func (w *Writer) Manifest() Manifest { return w.cfg.Manifest }

// End is what the archive says at its end, after [Writer.Close].
func (w *Writer) End() End { return w.end }

// Secrets seals what is secret; nil: it is left out.
func (w *Writer) Secrets() *Secrets { return w.cfg.Secrets }

// Note says what is not in the archive and somebody has to see to.
func (w *Writer) Note(text string) {
	if len(w.end.Notes) < maxNotes {
		w.end.Notes = append(w.end.Notes, text)
	}
}

// Row writes a row. Rows of a noun follow one another; those of another group, such as of another site, go into another
// file. The key of a file is replaced by the name that it has in the archive; nil: the row names none.
func (w *Writer) Row(ctx context.Context, noun string, group int64, row any, key *string) error {
	if w.rows > 0 && (noun != w.noun || group != w.group || w.rows == MaxRows || w.buf.Len() >= fullAt) {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	if w.rows == 0 {
		w.last++
		w.at, w.noun, w.group = w.last, noun, group
	}
	if key != nil && *key != "" {
		w.last++
		w.named = append(w.named, *key)
		*key = blobName(w.last)
	}
	e := json.NewEncoder(&w.buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(row); err != nil {
		return fault.Wrap(fault.Internal, "Writer.Row", err)
	}
	w.rows++
	w.end.Rows[noun]++
	w.total++
	return nil
}

// flush writes the open file of rows, and what it names.
func (w *Writer) flush(ctx context.Context) error {
	if w.rows == 0 {
		return ctx.Err()
	}
	if w.buf.Len() > maxChunk {
		return fault.Newf(fault.TooLarge, "Rows of %s are too large for an archive.", w.noun)
	}
	err := w.put(rowsName(w.at, w.noun), int64(w.buf.Len()), &w.buf)
	for n, key := range w.named {
		if err == nil {
			err = w.file(ctx, w.at+1+int64(n), key)
		}
	}
	w.rows, w.named = 0, w.named[:0]
	w.buf.Reset()
	w.cfg.Progress(w.total, w.end.Files, w.end.Bytes)
	return err
}

// file writes a file that a row names.
func (w *Writer) file(ctx context.Context, n int64, key string) error {
	info, err := w.cfg.Blobs.Stat(ctx, key)
	var content io.ReadCloser
	if err == nil {
		content, err = w.cfg.Blobs.Get(ctx, key)
	}
	if fault.Is(err, fault.NotFound) {
		w.end.Missing++
		return w.put(missingName(n), 0, strings.NewReader(""))
	}
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	w.end.Files++
	return w.put(pathOf(n), info.Size, content)
}

func (w *Writer) put(name string, size int64, content io.Reader) error {
	account(w.sum, name, size)
	w.end.Bytes += size
	counted := &counter{r: io.LimitReader(content, size)}
	if err := w.to.put(name, size, io.TeeReader(counted, w.sum)); err != nil {
		return err
	}
	if counted.n != size {
		return fault.New(fault.Unavailable, "A file became shorter while it was read.")
	}
	return nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (w *Writer) json(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fault.Wrap(fault.Internal, "transfer.Writer", err)
	}
	return w.put(name, int64(len(text)), bytes.NewReader(text))
}

// Close writes the end. An archive that was not closed is none.
func (w *Writer) Close(ctx context.Context) error {
	if err := w.flush(ctx); err != nil {
		return err
	}
	w.end.Sum = hex.EncodeToString(w.sum.Sum(nil))
	last := w.end
	if err := w.json(nameEnd, last); err != nil {
		return err
	}
	w.end = last
	return w.to.close()
}

type packedTarget struct {
	packed *zstd.Encoder
	tar    *tar.Writer
}

func (t *packedTarget) put(name string, size int64, content io.Reader) error {
	if err := t.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := io.Copy(t.tar, content)
	return err
}

func (t *packedTarget) close() error {
	if err := t.tar.Close(); err != nil {
		return err
	}
	return t.packed.Close()
}

type folderTarget string

func (t folderTarget) put(name string, _ int64, content io.Reader) error {
	path := filepath.Join(string(t), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, content); err != nil {
		_ = f.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

func (folderTarget) close() error { return nil }
