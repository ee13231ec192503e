// Package archive reads messages in files: mbox files (RFC 4155), Maildir folders with their subfolders, and .eml files. It
// does not depend on the help desk or on a mail server.
//
// Open scans everything once and sorts the messages by sending time across all files, so that a reply follows the message
// that it answers, wherever either is. Mail then reads one of them.
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

// MaxHeader is how much of a message is read for sorting, in bytes.
const MaxHeader = 256 << 10

// Entry is a message in an archive.
type Entry struct {
	Path string // of the file, within the archive
	Line int64  // line where the message begins in an mbox file, from 1; 0 in other files
	Size int64  // bytes of the message as stored
	At   time.Time
	From string // address, "" if missing
	// Kept is when the archive received the message, as far as the archive records it; zero: unknown. Copying may change it.
	Kept time.Time

	offset int64
	quoted bool // lines that begin with From are quoted
}

// Skipped is a part of an archive that Open left out.
type Skipped struct {
	Path   string
	Reason string
	Mails  int // how many, 0 for a file or a folder
}

// Archive contains the messages found in a folder or a file.
type Archive struct {
	Mails   []Entry   // in order of sending
	Skipped []Skipped // by path

	files fs.FS
}

// Config selects what to read.
type Config struct {
	Files fs.FS  // required
	Path  string // within Files: a folder, read with its subfolders, or a file; "": all
	// Drop is called with the name of each folder below Path. It returns the reason to leave it out, or "". nil: [LeftOut].
	Drop func(name string) string
}

// Open scans an archive. An unreadable file is an error, so that no archive is imported incompletely.
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

// Mail reads one message of the archive, up to limit bytes. A longer one is truncated; its Size is the full size.
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

// skip advances to an offset in a file.
func skip(f fs.File, offset int64) error {
	if s, ok := f.(io.Seeker); ok {
		_, err := s.Seek(offset, io.SeekStart)
		return err
	}
	_, err := io.CopyN(io.Discard, f, offset)
	return err
}

// describe fills in the header fields of a message.
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
	for _, t := range []time.Time{m.LastHop(), m.Date} { // a server's clock rather than a sender's
		if t.Year() >= 1970 && t.Year() < 9999 {
			e.At = t
			break
		}
	}
	if m.Date.Year() >= 1970 || m.LastHop().Year() >= 1970 {
		e.Kept = time.Time{} // not needed
	}
}
