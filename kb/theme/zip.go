package theme

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/cases"
)

// File is a file of a theme.
type File struct {
	Path string
	Size int64 // bytes
}

// Archive is a verified zip archive of a theme.
type Archive struct {
	files       []File // by path
	entries     map[string]*zip.File
	templates   map[string]string
	description Description
}

// maxDirectory limits the directory of an archive: each entry costs memory before it can be checked.
const maxDirectory = 4 << 20

// Open reads a theme from a zip archive. It reads everything first, so that nothing of a bad archive is used. A *Problem
// says which entry is wrong and why. Open refuses archives beyond the limits, entries other than templates/, assets/ and
// theme.json, links, encrypted entries, duplicate names (also when they differ only in case), entries whose size or checksum
// is not as declared, and templates that [Compile] refuses. It skips the metadata of Finder and Windows (__MACOSX,
// .DS_Store, Thumbs.db).
func Open(r io.ReaderAt, size int64) (*Archive, error) {
	if size > MaxArchive {
		return nil, &Problem{Message: "The archive is larger than 30 MB."}
	}
	directory := &budgetReader{ReaderAt: r, left: maxDirectory}
	z, err := zip.NewReader(directory, size)
	if errors.Is(err, errDirectory) {
		return nil, &Problem{Message: "The archive's directory is too large."}
	}
	if err != nil {
		return nil, &Problem{Message: "This is not a zip archive, or it is damaged."}
	}
	directory.left = -1
	a := &Archive{entries: map[string]*zip.File{}, templates: map[string]string{}}
	if err := a.collect(z.File, size); err != nil {
		return nil, err
	}
	if err := a.verify(); err != nil {
		return nil, err
	}
	if _, err := Compile(a.templates); err != nil {
		return nil, err
	}
	return a, nil
}

// collect checks what the directory declares.
func (a *Archive) collect(entries []*zip.File, size int64) error {
	var unpacked, packed uint64
	names := map[string]string{}
	for _, f := range entries {
		if junk(f.Name) {
			continue
		}
		name, err := checkEntry(f)
		if err != nil {
			return err
		}
		if name == "" {
			continue // a folder
		}
		if err := claim(names, name); err != nil {
			return err
		}
		if len(a.files) == MaxFiles {
			return &Problem{Message: fmt.Sprintf("The archive has more than %d files.", MaxFiles)}
		}
		unpacked += min(f.UncompressedSize64, 2*MaxUnpacked)
		packed += min(f.CompressedSize64, 2*MaxUnpacked)
		a.entries[name] = f
		a.files = append(a.files, File{Path: name, Size: int64(min(f.UncompressedSize64, 2*MaxUnpacked))}) // bounded
	}
	switch {
	case unpacked > MaxUnpacked:
		return &Problem{Message: "The archive unpacks to more than 100 MB."}
	case packed > uint64(size): // a size
		return &Problem{Message: "The archive's entries overlap."}
	case tooDense(unpacked, packed):
		return &Problem{Message: "The archive's compression ratio is too high."}
	}
	slices.SortFunc(a.files, func(x, y File) int { return strings.Compare(x.Path, y.Path) })
	return nil
}

// claim makes sure that no other file has the name, or is a folder of that name, on a case-insensitive file system.
func claim(names map[string]string, name string) error {
	fold := cases.Fold()
	key := fold.String(name)
	if _, taken := names[key]; taken {
		return &Problem{Path: name, Message: "appears twice, or as both a file and a folder"}
	}
	names[key] = "file"
	for folder := path.Dir(key); folder != "."; folder = path.Dir(folder) {
		if names[folder] == "file" {
			return &Problem{Path: name, Message: "appears twice, or as both a file and a folder"}
		}
		names[folder] = "folder"
	}
	return nil
}

// checkEntry returns the path of an entry, or "" for a folder.
func checkEntry(f *zip.File) (string, error) {
	refuse := func(message string) (string, error) {
		return "", &Problem{Path: strings.ToValidUTF8(f.Name[:min(len(f.Name), MaxPath)], "\uFFFD"), Message: message}
	}
	name, folder := strings.CutSuffix(f.Name, "/")
	if folder && (name == "templates" || name == "assets") {
		return "", nil
	}
	name, err := CleanPath(name)
	if err != nil {
		return "", err
	}
	const encrypted = 1<<0 | 1<<6 | 1<<13
	switch mode := f.Mode(); {
	case f.Flags&encrypted != 0:
		return refuse("is encrypted")
	case folder != mode.IsDir() || !folder && !mode.IsRegular():
		return refuse("is not a regular file")
	case folder && f.UncompressedSize64 != 0:
		return refuse("is a folder with content")
	case folder:
		return "", nil
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return refuse("is packed by a method that is not known; use deflate")
	case tooDense(f.UncompressedSize64, f.CompressedSize64):
		return refuse("is packed more tightly than any real file")
	}
	return name, nil
}

// tooDense reports a suspicious compression ratio. Small files are exempt, because they may repeat a single letter.
func tooDense(unpacked, packed uint64) bool {
	return unpacked > 64<<10 && unpacked/MaxRatio > packed
}

func junk(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(name, "__MACOSX/") || base == ".DS_Store" || base == "Thumbs.db"
}

// verify reads every file to its end.
func (a *Archive) verify() error {
	for _, f := range a.files {
		keep := IsTemplate(f.Path) || f.Path == Manifest
		if keep && f.Size > max(MaxTemplate, MaxManifest) {
			return &Problem{Path: f.Path, Message: "is a template larger than 256 KiB"}
		}
		var text strings.Builder
		var to io.Writer = io.Discard
		if keep {
			to = &text
		}
		if err := a.copy(to, f); err != nil {
			return err
		}
		if err := CheckFile(f.Path, []byte(text.String())); err != nil {
			return err
		}
		if f.Path == Manifest {
			a.description, _ = ParseManifest([]byte(text.String())) // already validated
		} else if keep {
			a.templates[f.Path] = text.String()
		}
	}
	return nil
}

func (a *Archive) copy(to io.Writer, f File) error {
	damaged := &Problem{Path: f.Path, Message: "is damaged, or its size differs from what the archive says"}
	from, err := a.entries[f.Path].Open()
	if err != nil {
		return damaged
	}
	defer from.Close()
	source := &sourceReader{Reader: from}
	n, err := io.Copy(to, io.LimitReader(source, f.Size+1))
	if source.failed || n != f.Size {
		return damaged
	}
	return err
}

// sourceReader distinguishes errors of the archive from errors of the destination.
type sourceReader struct {
	io.Reader
	failed bool
}

func (r *sourceReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.failed = r.failed || err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// Description returns the theme's own description.
func (a *Archive) Description() Description { return a.description }

// Files returns the files by path.
func (a *Archive) Files() []File { return slices.Clone(a.files) }

// Each calls fn with every file and its content, by path, until one fails.
func (a *Archive) Each(fn func(f File, content io.Reader) error) error {
	for _, f := range a.files {
		from, err := a.entries[f.Path].Open()
		if err != nil {
			return &Problem{Path: f.Path, Message: "is damaged"}
		}
		err = fn(f, io.LimitReader(from, f.Size))
		from.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// packed are the extensions of files that are compressed already.
var packed = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".woff", ".woff2", ".mp4", ".webm", ".mp3", ".zip", ".gz"}

// Write writes a theme as a zip archive. The same files always give the same bytes.
func Write(w io.Writer, files []File, open func(path string) (io.ReadCloser, error)) error {
	z := zip.NewWriter(w)
	files = slices.Clone(files)
	slices.SortFunc(files, func(x, y File) int { return strings.Compare(x.Path, y.Path) })
	for _, f := range files {
		if err := writeEntry(z, f.Path, open); err != nil {
			return err
		}
	}
	return z.Close()
}

func writeEntry(z *zip.Writer, name string, open func(path string) (io.ReadCloser, error)) error {
	from, err := open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
	header.SetMode(0o644)
	if slices.Contains(packed, strings.ToLower(path.Ext(name))) {
		header.Method = zip.Store
	}
	to, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return err
}

var errDirectory = errors.New("directory too large")

// budgetReader reads up to a number of bytes; a negative budget is unlimited.
type budgetReader struct {
	io.ReaderAt
	left int
}

func (b *budgetReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := b.ReaderAt.ReadAt(p, at)
	if b.left >= 0 {
		if b.left -= n; b.left < 0 {
			b.left = 0
			return 0, errDirectory
		}
	}
	return n, err
}
