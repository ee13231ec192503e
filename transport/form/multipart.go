package form

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"os"

	"github.com/helpwright/helpwright/storage/fault"
)

// File is an uploaded file. It is readable until the request ends.
type File struct {
	Filename    string // base name as given by the client; untrusted
	ContentType string // as given by the client, "" if missing; untrusted
	Size        int64  // bytes

	data []byte
	path string // of the temporary file, "" if in memory
}

// Open returns the content from its start. It may be called several times.
func (f *File) Open() (FileReader, error) {
	if f.path != "" {
		return os.Open(f.path)
	}
	return memoryFile{bytes.NewReader(f.data)}, nil
}

// FileReader reads a file from its start, or from anywhere.
type FileReader interface {
	io.ReadSeekCloser
	io.ReaderAt
}

type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

// ParseMultipart reads a `multipart/form-data` body. Files beyond limits.Memory go to temporary files, which cleanup
// removes; cleanup is never nil, and must be called even if there is an error.
//
// A broken body is Malformed; limits as in [Parse].
func ParseMultipart(body io.Reader, boundary string, limits Limits) (root *Node, cleanup func(), err error) {
	m := &parts{builder: newBuilder(limits)}
	ending := &endFinder{Reader: body, end: []byte("--" + boundary + "--")}
	reader := multipart.NewReader(ending, boundary)
	for {
		part, err := reader.NextPart()
		if err == io.EOF && ending.found { //nolint:errorlint // a wrapped EOF is a body that was cut off
			return m.root, m.cleanup, nil
		}
		if err != nil {
			return nil, m.cleanup, unreadable(err)
		}
		if err := m.read(part); err != nil {
			return nil, m.cleanup, err
		}
	}
}

// endFinder detects the closing delimiter. mime/multipart accepts a body that is cut off right after a delimiter as
// complete.
type endFinder struct {
	io.Reader
	end   []byte
	tail  []byte // end of the text read, shorter than the delimiter
	found bool
}

func (f *endFinder) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if f.found {
		return n, err
	}
	edge := append(f.tail, p[:min(n, len(f.end))]...)
	f.found = bytes.Contains(edge, f.end) || bytes.Contains(p[:n], f.end)
	if n >= len(f.end) {
		edge = p[:n]
	}
	f.tail = append([]byte(nil), edge[max(0, len(edge)-len(f.end)+1):]...)
	return n, err
}

func unreadable(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &fault.Error{Kind: fault.TooLarge, Message: "The body is too large.", Err: tooLarge}
	}
	return &fault.Error{Kind: fault.Malformed, Message: "The multipart body is malformed.", Err: err}
}

type parts struct {
	*builder
	text   int64 // bytes of text so far
	memory int64 // bytes of files in memory so far
	files  int
	paths  []string
}

func (m *parts) cleanup() {
	for _, path := range m.paths {
		_ = os.Remove(path) // nothing can be done about a leftover temporary file
	}
	m.paths = nil
}

func (m *parts) read(part *multipart.Part) error {
	name := part.FormName()
	if name == "" {
		return fault.New(fault.Malformed, "Part of the multipart body has no name.")
	}
	if part.FileName() == "" {
		text, err := io.ReadAll(io.LimitReader(part, m.limits.TextSize-m.text+1))
		if err != nil {
			return unreadable(err)
		}
		if m.text += int64(len(text)) + int64(len(name)); m.text > m.limits.TextSize {
			return fault.New(fault.TooLarge, "The text of the multipart body is too large.")
		}
		return m.add(name, &Node{kind: Text, text: string(text)})
	}
	if m.files++; m.files > m.limits.Files {
		return fault.New(fault.TooLarge, "The multipart body has too many files.")
	}
	if !validText(part.FileName()) {
		return invalid(name, "has a file name that is not valid UTF-8")
	}
	file, err := m.store(part)
	if err != nil {
		return err
	}
	return m.add(name, &Node{kind: Upload, file: file})
}

// store keeps a file in memory while there is room, and otherwise in a temporary file.
func (m *parts) store(part *multipart.Part) (*File, error) {
	file := &File{Filename: part.FileName(), ContentType: part.Header.Get("Content-Type")}
	room := m.limits.Memory - m.memory
	head, err := io.ReadAll(io.LimitReader(part, room+1))
	if err != nil {
		return nil, unreadable(err)
	}
	if int64(len(head)) <= room {
		m.memory += int64(len(head))
		file.data, file.Size = head, int64(len(head))
		return file, nil
	}
	temp, err := os.CreateTemp("", "helpwright-upload-*")
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "form.ParseMultipart", err)
	}
	m.paths = append(m.paths, temp.Name())
	source := &reader{Reader: io.MultiReader(bytes.NewReader(head), part)}
	file.Size, err = io.Copy(temp, source)
	if err = errors.Join(err, temp.Close()); source.err != nil {
		return nil, unreadable(source.err)
	} else if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "form.ParseMultipart", err)
	}
	file.path = temp.Name()
	return file, nil
}

// reader records a read error of the client's connection, to distinguish it from a disk error.
type reader struct {
	io.Reader
	err error
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
