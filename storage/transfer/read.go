package transfer

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/helpwright/helpwright/storage/fault"
)

// Reader reads an archive, file after file. Its memory does not grow with it.
type Reader struct {
	from     source
	manifest Manifest
	sum      hash.Hash
	last     int64
	end      End // as far as it was counted
	body     io.Reader
	done     bool
}

// source gives the files of an archive in their order. find opens the one that comes next: it has one of some names, or in a
// folder begins with one.
type source interface {
	next(n int64) (name string, size int64, content io.Reader, err error)
	close() error
}

// Open opens an archive: a file, or a folder.
func Open(path string) (*Reader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		root, err := os.OpenRoot(path)
		if err != nil {
			return nil, err
		}
		return openArchive(&folderSource{root: root})
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.from.(*packedSource).file = f //nolint:forcetypeassert // NewReader has made it
	return r, nil
}

// NewReader reads the beginning of an archive that is a file.
func NewReader(r io.Reader) (*Reader, error) {
	plain, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "transfer.NewReader", err)
	}
	return openArchive(&packedSource{plain: plain, tar: tar.NewReader(plain)})
}

func openArchive(from source) (*Reader, error) {
	r := &Reader{from: from, sum: sha256.New(), end: End{Rows: map[string]int64{}}}
	if err := r.readManifest(); err != nil {
		return nil, errors.Join(err, from.close())
	}
	return r, nil
}

// Close lets go of the archive.
func (r *Reader) Close() error { return r.from.close() }

// Manifest is what the archive says of itself.
func (r *Reader) Manifest() Manifest { return r.manifest }

// End is what the archive says at its end, after [Reader.Next] has returned io.EOF.
func (r *Reader) End() End { return r.end }

func (r *Reader) readManifest() error {
	name, size, content, err := r.from.next(0)
	if err != nil {
		return err
	}
	if name != nameManifest || size > maxJSON {
		return damaged("it does not begin with %s", nameManifest)
	}
	text, err := r.readWhole(name, size, content)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &r.manifest); err != nil || r.manifest.Format != format || r.manifest.Version < 1 {
		return damaged("%s cannot be read", nameManifest)
	}
	if r.manifest.Version > Version {
		return &fault.Error{Kind: fault.Conflict, Code: CodeNewer, Message: fmt.Sprintf(
			"The archive was made by a later release (%.100s, version %d): import it with that one.", r.manifest.Program, r.manifest.Version)}
	}
	if !validID(r.manifest.ID) || r.manifest.Account < 1 {
		return damaged("%s cannot be read", nameManifest)
	}
	return nil
}

func validID(id string) bool {
	strange := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') }
	return len(id) >= 16 && len(id) <= 64 && !strings.ContainsFunc(id, strange)
}

// readWhole reads a small file whole.
func (r *Reader) readWhole(name string, size int64, content io.Reader) ([]byte, error) {
	account(r.sum, name, size)
	r.end.Bytes += size
	text, err := io.ReadAll(io.TeeReader(content, r.sum))
	if err == nil && int64(len(text)) != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, broken(err)
	}
	return text, nil
}

// Entry is a file of an archive.
type Entry struct {
	Path string
	// Rows is set for a file of rows.
	Rows *Chunk
	// Name is what rows call a file; Content is to be read before the next Entry, and nil for one that is missing.
	Name    string
	Content io.Reader
	Size    int64
}

// Chunk is a file of rows.
type Chunk struct {
	Path   string
	Number int64
	Noun   string
	Lines  [][]byte
}

// At is where a line is, for people.
func (c *Chunk) At(line int) string { return fmt.Sprintf("%s line %d", c.Path, line+1) }

// Next returns the next file, and io.EOF after the last one: the archive is whole and unchanged then.
func (r *Reader) Next() (Entry, error) {
	if r.body != nil {
		if _, err := io.Copy(io.Discard, r.body); err != nil {
			return Entry{}, broken(err)
		}
		r.body = nil
	}
	if r.done {
		return Entry{}, io.EOF
	}
	name, size, content, err := r.from.next(r.last + 1)
	if err != nil {
		return Entry{}, err
	}
	if name == nameEnd {
		return Entry{}, r.finish(size, content)
	}
	r.last++
	switch {
	case name == pathOf(r.last):
		account(r.sum, name, size)
		r.end.Bytes += size
		r.end.Files++
		r.body = &exact{r: io.TeeReader(content, r.sum), left: size}
		return Entry{Path: name, Name: blobName(r.last), Content: r.body, Size: size}, nil
	case name == missingName(r.last) && size == 0:
		r.end.Missing++
		account(r.sum, name, 0)
		return Entry{Path: name, Name: blobName(r.last)}, nil
	}
	return r.rows(name, size, content)
}

func (r *Reader) rows(name string, size int64, content io.Reader) (Entry, error) {
	noun, ok := strings.CutPrefix(name, fmt.Sprintf("%05d/%08d-", r.last/1000, r.last))
	noun, jsonl := strings.CutSuffix(noun, ".jsonl")
	if !ok || !jsonl || !validNoun(noun) || size > maxChunk || size == 0 {
		return Entry{}, damaged("%.100q is not what comes next", name)
	}
	text, err := r.readWhole(name, size, content)
	if err != nil {
		return Entry{}, err
	}
	c := &Chunk{Path: name, Number: r.last, Noun: noun}
	for line := range bytes.Lines(text) {
		if len(c.Lines) == MaxRows || line[len(line)-1] != '\n' {
			return Entry{}, damaged("%s has too many lines, or its last one is cut", name)
		}
		c.Lines = append(c.Lines, line)
	}
	r.end.Rows[noun] += int64(len(c.Lines))
	return Entry{Path: name, Rows: c}, nil
}

// finish compares the last file with what was read.
func (r *Reader) finish(size int64, content io.Reader) error {
	if size > maxJSON+maxNotes*1000 {
		return damaged("%s is too large", nameEnd)
	}
	counted, sum := r.end, hex.EncodeToString(r.sum.Sum(nil))
	text, err := r.readWhole(nameEnd, size, content)
	if err != nil {
		return err
	}
	var said End
	if err := json.Unmarshal(text, &said); err != nil {
		return damaged("%s cannot be read", nameEnd)
	}
	same := said.Sum == sum && said.Files == counted.Files && said.Bytes == counted.Bytes && said.Missing == counted.Missing && maps.Equal(said.Rows, counted.Rows)
	if !same || len(said.Notes) > maxNotes {
		return damaged("what it says at its end does not fit to what is in it")
	}
	r.end, r.done = said, true
	if _, _, _, err := r.from.next(r.last + 1); !errors.Is(err, io.EOF) {
		return damaged("something follows its end")
	}
	return io.EOF
}

// exact refuses a content that is shorter than was said.
type exact struct {
	r    io.Reader
	left int64
}

func (e *exact) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	e.left -= int64(n)
	if e.left < 0 || errors.Is(err, io.EOF) && e.left > 0 {
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// broken is what an error of unpacking says about the archive.
func broken(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("it is cut short")
	}
	return damaged("%v", err)
}

type packedSource struct {
	plain *zstd.Decoder
	tar   *tar.Reader
	file  io.Closer
	ended bool
}

func (s *packedSource) next(int64) (string, int64, io.Reader, error) {
	header, err := s.tar.Next()
	if s.ended {
		if errors.Is(err, io.EOF) {
			if n, err := io.Copy(io.Discard, io.LimitReader(s.plain, 1)); n == 0 && err == nil {
				return "", 0, nil, io.EOF
			}
		}
		return "", 0, nil, damaged("something follows its end")
	}
	if err != nil {
		return "", 0, nil, broken(err)
	}
	plain := header.Typeflag == tar.TypeReg && header.Linkname == "" && header.Size >= 0
	for record := range header.PAXRecords { // others make files of holes, which are larger than what is read of them
		plain = plain && (record == "path" || record == "size")
	}
	if !plain {
		return "", 0, nil, damaged("it has something that is no plain file")
	}
	s.ended = header.Name == nameEnd
	return header.Name, header.Size, s.tar, nil
}

func (s *packedSource) close() error {
	s.plain.Close()
	if s.file != nil {
		return s.file.Close()
	}
	return nil
}

// folderSource reads a folder, and nothing outside of it.
type folderSource struct {
	root  *os.Root
	open  *os.File
	dir   int64
	names []string // in the folder dir, sorted
	ended bool
}

func (s *folderSource) next(n int64) (string, int64, io.Reader, error) {
	if s.open != nil {
		_ = s.open.Close()
		s.open = nil
	}
	if s.ended {
		return "", 0, nil, io.EOF
	}
	name, err := s.find(n)
	if err != nil {
		return "", 0, nil, err
	}
	if s.open, err = s.root.Open(name); err != nil {
		return "", 0, nil, broken(err)
	}
	info, err := s.open.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", 0, nil, damaged("%.100q is no plain file", name)
	}
	s.ended = name == nameEnd
	return name, info.Size(), io.LimitReader(s.open, info.Size()), nil
}

// find is the name of the nth file, of the end if there is none.
func (s *folderSource) find(n int64) (string, error) {
	if n == 0 {
		return nameManifest, nil
	}
	dir := fmt.Sprintf("%05d", n/1000)
	if s.names == nil || s.dir != n/1000 {
		entries, err := fs.ReadDir(s.root.FS(), dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nameEnd, nil
		}
		if err != nil {
			return "", broken(err)
		}
		if len(entries) > 1000 {
			return "", damaged("%s has too many files", dir)
		}
		s.dir, s.names = n/1000, []string{}
		for _, e := range entries {
			s.names = append(s.names, e.Name())
		}
	}
	want := fmt.Sprintf("%08d", n)
	at, _ := slices.BinarySearch(s.names, want)
	if at < len(s.names) && strings.HasPrefix(s.names[at], want) {
		return dir + "/" + s.names[at], nil
	}
	return nameEnd, nil
}

func (s *folderSource) close() error {
	if s.open != nil {
		_ = s.open.Close()
	}
	return s.root.Close()
}
