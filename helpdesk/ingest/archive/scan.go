package archive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// scan is the state of scanning an archive.
type scan struct {
	Config
	a *Archive
}

func (s *scan) skip(path, reason string, mails int) {
	s.a.Skipped = append(s.a.Skipped, Skipped{Path: path, Reason: reason, Mails: mails})
}

// leftOut maps folder names used by mail programs to the reason for leaving them out.
var leftOut = map[string]string{
	"drafts": "drafts", "draft": "drafts", "templates": "drafts", "unsent messages": "drafts",
	"trash": "deleted mails", "deleted": "deleted mails", "deleted items": "deleted mails", "deleted messages": "deleted mails", "bin": "deleted mails",
	"junk": "spam", "spam": "spam", "junk e-mail": "spam", "junk email": "spam", "bulk mail": "spam",
}

// LeftOut returns the reason why a folder is left out unless named explicitly: drafts, deleted mail or spam; "" for others.
// It accepts Maildir++ names (".INBOX.Trash"), file names ("Trash.mbox") and folder names.
func LeftOut(name string) string {
	name = strings.ToLower(name)
	for _, end := range []string{".mbox", ".mbx", ".sbd"} {
		name = strings.TrimSuffix(name, end)
	}
	return leftOut[name[strings.LastIndexByte(name, '.')+1:]]
}

// visit scans a file or a folder.
func (s *scan) visit(ctx context.Context, name string, d fs.DirEntry) error {
	named := name == s.Path || name == "."
	if why := s.Drop(d.Name()); why != "" && !named {
		s.skip(name, "it has "+why+"; name it to import it", 0)
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if d.IsDir() {
		if d.Name() == "tmp" && s.isMaildir(path.Dir(name)) {
			return fs.SkipDir // messages not yet delivered
		}
		return nil
	}
	if notes(d.Name()) {
		return nil
	}
	if !d.Type().IsRegular() {
		s.skip(name, "it is no file", 0)
		return nil
	}
	if parent := path.Base(path.Dir(name)); (parent == "cur" || parent == "new") && s.isMaildir(path.Dir(path.Dir(name))) {
		return s.maildir(name, d.Name())
	}
	if strings.EqualFold(path.Ext(name), ".eml") {
		return s.single(name)
	}
	return s.mbox(ctx, name)
}

// notes reports whether a file contains a mail program's own data.
func notes(name string) bool {
	for _, begin := range []string{"dovecot", "courierimap", "maildir", "subscriptions", ".mbsync", ".uidvalidity", ".DS_Store"} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	switch path.Ext(name) {
	case ".msf", ".dat", ".plist", ".lock":
		return true
	}
	return false
}

func (s *scan) isMaildir(name string) bool {
	for _, sub := range []string{"cur", "new"} {
		if info, err := fs.Stat(s.Files, path.Join(name, sub)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// maildir scans a file of a Maildir. Its flags follow ":2," (";2," and "!2," where names cannot contain colons).
func (s *scan) maildir(name, base string) error {
	for _, mark := range []string{":2,", ";2,", "!2,"} {
		if _, flags, found := strings.Cut(base, mark); found && strings.ContainsAny(flags, "DT") {
			reason := "it is marked as deleted"
			if strings.Contains(flags, "D") {
				reason = "it is a draft"
			}
			s.skip(name, reason, 1)
			return nil
		}
	}
	kept := time.Time{}
	if begin, _, found := strings.Cut(base, "."); found {
		if n, err := strconv.ParseInt(begin, 10, 64); err == nil && n > 0 && n < 1<<34 {
			kept = time.Unix(n, 0).UTC()
		}
	}
	return s.one(name, kept)
}

func (s *scan) single(name string) error {
	info, err := fs.Stat(s.Files, name)
	if err != nil {
		return err
	}
	return s.one(name, info.ModTime().UTC())
}

// one scans a file that contains one message.
func (s *scan) one(name string, kept time.Time) error {
	f, err := s.Files.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		s.skip(name, "it is empty", 1)
		return nil
	}
	begin, err := io.ReadAll(io.LimitReader(f, min(info.Size(), MaxHeader)))
	if err != nil {
		return err
	}
	e := Entry{Path: name, Size: info.Size(), Kept: kept}
	e.describe(header(begin))
	s.a.Mails = append(s.a.Mails, e)
	return nil
}

// header returns everything before the first empty line.
func header(raw []byte) []byte {
	for _, end := range []string{"\n\n", "\n\r\n"} {
		if i := bytes.Index(raw, []byte(end)); i >= 0 {
			raw = raw[:i+1]
		}
	}
	return raw
}

// mbox scans an mbox file and ignores other files.
func (s *scan) mbox(ctx context.Context, name string) error {
	f, err := s.Files.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is only read
	r := &reader{lines: bufio.NewReaderSize(f, 64<<10), name: name}
	ok, err := r.readFirstSeparator()
	if err != nil {
		return err
	}
	if !ok {
		s.skip(name, "it is no mbox file, no Maildir's and no .eml file", 0)
		return nil
	}
	skipped := map[string]int{}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, head, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		why := unwanted(head)
		if e.Size == 0 {
			why = "they are empty"
		}
		if why != "" {
			skipped[why]++
			continue
		}
		e.describe(head)
		s.a.Mails = append(s.a.Mails, e)
	}
	for why, n := range skipped {
		s.skip(name, why, n)
	}
	return nil
}

// unwanted returns the reason to leave out a message of an mbox file, from header fields set by mail programs.
func unwanted(head []byte) string {
	value := func(name string) string {
		for line := range bytes.Lines(head) {
			if key, v, found := bytes.Cut(line, []byte(":")); found && strings.EqualFold(string(key), name) {
				return strings.TrimSpace(string(v))
			}
		}
		return ""
	}
	if n, err := strconv.ParseUint(value("X-Mozilla-Status"), 16, 16); err == nil && n&0x0008 != 0 {
		return "they are marked as deleted" // until the folder is compacted
	}
	switch flags := value("X-Status"); {
	case strings.Contains(flags, "D"):
		return "they are marked as deleted"
	case strings.Contains(flags, "T"):
		return "they are drafts"
	}
	if value("X-IMAP") != "" || value("X-IMAPBASE") != "" && strings.Contains(value("Subject"), "FOLDER INTERNAL DATA") {
		return "they hold data of the mail server"
	}
	return ""
}
