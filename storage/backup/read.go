package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/helpwright/helpwright/storage/fault"
)

// Sink receives the contents that [Read] finds, in the order of the archive. An error of a function ends reading and is
// returned unchanged. Read itself consumes and checks what a function leaves unread. nil functions are skipped.
//
// Only when Read returns nil is the archive known to be complete and unmodified.
type Sink struct {
	Info     func(Info) error
	Database func(r io.Reader, size int64) error
	File     func(File) error
	Blob     func(key string, r io.Reader, size int64) error
	Missing  func(key string) error
	Progress func(Totals)
}

// Read reads an archive to its end and checks every byte of it. It accepts only what [Write] makes: plain files, each name
// once and in order. A damaged archive, or other data, is an Invalid fault with the code [CodeDamaged], an archive of a
// later format a Conflict fault with [CodeNewer]. Memory is independent of the archive's size, and time is proportional to
// its unpacked size.
func Read(ctx context.Context, r io.Reader, sink Sink) (Totals, error) {
	from := &source{ctx: ctx, r: r}
	plain, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return Totals{}, fault.Wrap(fault.Internal, "backup.Read", err)
	}
	defer plain.Close()
	in := &reader{sink: sink, tar: tar.NewReader(plain), sums: newSums()}
	err = in.all()
	if err == nil {
		err = in.nothingMore(plain)
	}
	if err != nil && from.err != nil {
		err = from.err // not the archive's fault
	}
	return in.sums.Totals, err
}

type reader struct {
	sink   Sink
	tar    *tar.Reader
	sums   *sums
	files  int    // of data/
	part   int    // part of the archive that the last entry was in
	within string // and its sort key there
}

// all reads the entries up to the last one.
func (r *reader) all() error {
	for {
		header, err := r.next()
		if err != nil {
			return err
		}
		switch {
		case header.Name == nameEnd:
			return r.end(header)
		case strings.HasPrefix(header.Name, dirSums):
			err = r.compareSums(header)
		case r.sums.count == sumsEach:
			err = damaged("it has no sums where some belong")
		default:
			err = r.entry(header)
		}
		if err != nil {
			return err
		}
	}
}

// next returns the next entry, which must be a plain file.
func (r *reader) next() (*tar.Header, error) {
	header, err := r.tar.Next()
	if err != nil {
		return nil, broken(err)
	}
	plain := header.Typeflag == tar.TypeReg && header.Linkname == "" && header.Size >= 0 &&
		(header.Format == tar.FormatUSTAR || header.Format == tar.FormatPAX)
	for record := range header.PAXRecords { // other programs write sparse files, which unpack to more than is read of them
		plain = plain && (record == "path" || record == "size")
	}
	if !plain {
		return nil, damaged("it has an entry that is no plain file")
	}
	return header, nil
}

// entry reads an entry that is not sums and passes it to the sink.
func (r *reader) entry(header *tar.Header) error {
	part, within, ok := place(header.Name)
	if !ok {
		return damaged("it has a file %.100q, which belongs in none", header.Name)
	}
	if part != 1 && r.part == 0 {
		return damaged("it does not begin with %s", nameInfo)
	}
	if part < r.part || part == r.part && within <= r.within {
		return damaged("%.100q is in the wrong place, or in it twice", header.Name)
	}
	r.part, r.within = part, within
	hash := sha256.New()
	content := &source{ctx: context.Background(), r: io.TeeReader(r.tar, hash)}
	if err := r.give(header, within, content); err != nil {
		if content.err != nil {
			return broken(content.err) // the cause
		}
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return broken(err)
	}
	r.sums.add(header.Name, header.Size, hash.Sum(nil))
	if r.sink.Progress != nil {
		r.sink.Progress(r.sums.Totals)
	}
	return nil
}

// give passes an entry to the sink.
func (r *reader) give(header *tar.Header, within string, content io.Reader) error {
	switch {
	case header.Name == nameInfo:
		return r.info(header, content)
	case header.Name == nameDatabase && r.sink.Database != nil:
		return r.sink.Database(content, header.Size)
	case strings.HasPrefix(header.Name, dirData):
		return r.file(header, within, content)
	case strings.HasPrefix(header.Name, dirBlobs) && r.sink.Blob != nil:
		return r.sink.Blob(within, content, header.Size)
	case strings.HasPrefix(header.Name, dirMissing):
		if header.Size != 0 {
			return damaged("what is missing is there")
		}
		if r.sink.Missing != nil {
			return r.sink.Missing(within)
		}
	}
	return nil
}

func (r *reader) info(header *tar.Header, content io.Reader) error {
	text, err := small(header, content, maxJSON)
	if err != nil {
		return err
	}
	var info Info
	if err := json.Unmarshal(text, &info); err != nil || info.Format < 1 {
		return damaged("%s cannot be read", nameInfo)
	}
	if info.Format > Format {
		return &fault.Error{Kind: fault.Conflict, Code: CodeNewer, Message: "The backup was made by a later release. Restore it with that release."}
	}
	if r.sink.Info != nil {
		return r.sink.Info(info)
	}
	return nil
}

func (r *reader) file(header *tar.Header, name string, content io.Reader) error {
	if r.files++; r.files > maxFiles {
		return damaged("it has more than %d files of the server's folder", maxFiles)
	}
	text, err := small(header, content, maxFile)
	if err != nil || r.sink.File == nil {
		return err
	}
	return r.sink.File(File{Name: name, Content: text})
}

// small returns the content of an entry that is never large.
func small(header *tar.Header, content io.Reader, limit int64) ([]byte, error) {
	if header.Size > limit {
		return nil, damaged("%.100q is too large", header.Name)
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return nil, broken(err)
	}
	return text, nil
}

// compareSums compares the checksums of the entries since the last sums entry.
func (r *reader) compareSums(header *tar.Header) error {
	name, want := r.sums.next()
	if header.Name != name || r.sums.count == 0 || header.Size != int64(len(want)) {
		return damaged("its sums are not those of its files")
	}
	got, err := small(header, r.tar, int64(len(want)))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return damaged("%s", firstDifference(got, want))
	}
	r.sums.taken()
	return nil
}

// firstDifference names the first file whose checksum differs.
func firstDifference(got, want []byte) string {
	for line := range bytes.Lines(want) {
		other, rest, _ := bytes.Cut(got, []byte("\n"))
		if !bytes.Equal(append(other, '\n'), line) {
			_, name, _ := strings.Cut(strings.TrimSpace(string(line)), "  ")
			return "the sum of " + name + " is another one"
		}
		got = rest
	}
	return "its sums are not those of its files"
}

// end checks the last entry.
func (r *reader) end(header *tar.Header) error {
	text, err := small(header, r.tar, maxJSON)
	if err != nil {
		return err
	}
	var got end
	if err := json.Unmarshal(text, &got); err != nil || r.sums.count > 0 || r.part == 0 || got != r.sums.end() {
		return damaged("its end does not fit to what is before it")
	}
	return nil
}

// nothingMore checks that the archive ends after its last entry.
func (r *reader) nothingMore(plain io.Reader) error {
	if _, err := r.tar.Next(); !errors.Is(err, io.EOF) {
		return damaged("something follows its end")
	}
	n, err := io.Copy(io.Discard, io.LimitReader(plain, 1))
	if err != nil {
		return broken(err)
	}
	if n > 0 {
		return damaged("something follows its end")
	}
	return nil
}

// broken turns an unpacking error into a fault.
func broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("it is cut short")
	}
	return damaged("%v", err)
}
