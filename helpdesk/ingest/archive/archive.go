// Package archive reads mails that lie in files: mbox files (RFC 4155), Maildir folders with their subfolders, and .eml
// files. It knows no help desk and no mail server.
//
// Open looks at everything once and puts the mails into the order in which they were sent, across all files: an answer comes
// after what it answers, wherever either lies. Mail then reads one of them.
package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mail"
)

// MaxHeader is how much of a mail is read to put it into order, in bytes.
const MaxHeader = 256 << 10

// Entry is a mail of an archive.
type Entry struct {
	Path string // of the file, within the archive
	Line int64  // of an mbox file where the mail begins, from 1; 0 in other files
	Size int64  // bytes of the mail as it lies there
	At   time.Time
	From string // address, "" if there is none
	// Kept is when the archive got the mail, as the archive says; zero: it does not. Programs that copy archives change it.
	Kept time.Time

	offset int64
	quoted bool // lines that begin with From are quoted
}

// Skipped is what an archive has and Open left out.
type Skipped struct {
	Path   string
	Reason string
	Mails  int // how many, 0 for a file or a folder
}

// Archive is what was found in a folder or a file.
type Archive struct {
	Mails   []Entry   // in the order in which they were sent
	Skipped []Skipped // by path

	files fs.FS
}

// Config says what to read.
type Config struct {
	Files fs.FS  // required
	Path  string // within Files: a folder, which is read with those below, or a file; "": all
	// Drop is asked about each folder below Path, by its name; what it returns is why the folder is left out, "" if it is not.
	// nil: [LeftOut].
	Drop func(name string) string
}

// Open reads what an archive has. A file that cannot be read is an error: half an archive is none.
func Open(ctx context.Context, cfg Config) (*Archive, error) {
	if cfg.Files == nil {
		return nil, errors.New("archive: Files is required")
	}
	if cfg.Drop == nil {
		cfg.Drop = LeftOut
	}
	a := &Archive{files: cfg.Files}
	s := &scan{Config: cfg, a: a}
	if err := fs.WalkDir(cfg.Files, cmp.Or(cfg.Path, "."), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.visit(ctx, path, d)
	}); err != nil {
		return nil, err
	}
	slices.SortStableFunc(a.Mails, func(x, y Entry) int { return x.At.Compare(y.At) })
	slices.SortStableFunc(a.Skipped, func(x, y Skipped) int {
		return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Reason, y.Reason))
	})
	return a, nil
}

// Mail reads a mail of the archive, at most limit bytes of it: one that is longer comes cut, and its Size says so.
func (a *Archive) Mail(e Entry, limit int64) (raw []byte, err error) {
	f, err := a.files.Open(e.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if e.offset > 0 {
		if err := skip(f, e.offset); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	raw, err = io.ReadAll(io.LimitReader(f, min(e.Size, limit)))
	if err == nil && int64(len(raw)) < min(e.Size, limit) {
		err = errors.New("the file has become shorter")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Path, err)
	}
	if e.quoted {
		raw = unquote(raw)
	}
	return raw, nil
}

// skip goes on to a place of a file.
func skip(f fs.File, offset int64) error {
	if s, ok := f.(io.Seeker); ok {
		_, err := s.Seek(offset, io.SeekStart)
		return err
	}
	_, err := io.CopyN(io.Discard, f, offset)
	return err
}

// describe fills in what a mail's header says.
func (e *Entry) describe(header []byte) {
	m, err := mail.Parse(header, mail.Limits{})
	if err != nil {
		e.At = e.Kept
		return
	}
	if len(m.From) > 0 {
		e.From = m.From[0].Email
	}
	e.At = e.Kept
	for _, t := range []time.Time{m.LastHop(), m.Date} { // the clock of a server before that of a sender
		if t.Year() >= 1970 && t.Year() < 9999 {
			e.At = t
			break
		}
	}
	if m.Date.Year() >= 1970 || m.LastHop().Year() >= 1970 {
		e.Kept = time.Time{} // it is not needed
	}
}
