// Package file answers with files that people have sent: they are shown in place only where
// a browser cannot run anything of them.
package file

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/helpwright/helpwright/storage"
)

// inlineTypes are what a browser may show in place; anything else is saved, as it
// might be run in the name of the site.
var inlineTypes = []string{
	"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif",
	"audio/mpeg", "audio/ogg", "video/mp4", "video/webm", "text/plain",
}

// Describe sets the header of an answer with a file: its type, how it is saved under its name,
// and that nothing in it may run.
func Describe(h http.Header, kind, name string) {
	as := As(kind, name)
	h.Set("Content-Type", as.Type)
	h.Set("Content-Disposition", as.Disposition)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
}

// As is how a browser sees a file of a type that people say, and a name.
func As(kind, name string) storage.BlobDownload {
	media, _, err := mime.ParseMediaType(kind)
	if err != nil {
		media = "application/octet-stream"
	}
	disposition := "attachment"
	if slices.Contains(inlineTypes, media) {
		disposition = "inline"
	}
	if media == "text/plain" {
		media += "; charset=utf-8"
	}
	return storage.BlobDownload{Type: media, Disposition: fileDisposition(disposition, name)}
}

// InPlace reports whether a browser shows a file, rather than saving it.
func InPlace(as storage.BlobDownload) bool { return strings.HasPrefix(as.Disposition, "inline") }

// Redirects says whether a request for a file may be answered with an address elsewhere, where the same answer
// awaits: a plain GET for a file that is saved. Files that are shown in place stay at the server, since pages load
// them from there alone, and so do parts and revalidations, which name the server's versions.
func Redirects(r *http.Request, as storage.BlobDownload) bool {
	for _, name := range []string{"Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return r.Method == http.MethodGet && !InPlace(as)
}

// Redirect sends a browser to an address that only it may know.
func Redirect(w http.ResponseWriter, link string) {
	h := w.Header()
	h.Set("Location", link)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusFound)
}

// fileDisposition is RFC 6266, with the name in RFC 8187 where it is not ASCII.
func fileDisposition(disposition, name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '/' || r == '\\' {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	if name == "" {
		return disposition
	}
	if value := mime.FormatMediaType(disposition, map[string]string{"filename": name}); value != "" {
		return value
	}
	return disposition
}

// Seeker is a file of a blob store as http.ServeContent wants it. Seeking costs
// nothing; the file is opened anew where it is read next.
type Seeker struct {
	size int64
	open func(offset int64) (io.ReadCloser, error)

	at   int64         // where the next read begins
	body io.ReadCloser // nil: not open
	from int64         // where body stands
}

// Open opens the file at its start, so that a missing one is found out
// before the answer begins.
func Open(size int64, open func(offset int64) (io.ReadCloser, error)) (*Seeker, error) {
	body, err := open(0)
	if err != nil {
		return nil, err
	}
	return &Seeker{size: size, open: open, body: body}, nil
}

// Later is Open of a file that is known to be there, which opens it when it is read first.
func Later(size int64, open func(offset int64) (io.ReadCloser, error)) *Seeker {
	return &Seeker{size: size, open: open}
}

// Read implements io.Reader.
func (s *Seeker) Read(p []byte) (int, error) {
	if s.at >= s.size {
		return 0, io.EOF
	}
	if s.body != nil && s.from != s.at {
		if err := s.Close(); err != nil {
			return 0, err
		}
	}
	if s.body == nil {
		body, err := s.open(s.at)
		if err != nil {
			return 0, err
		}
		s.body, s.from = body, s.at
	}
	n, err := s.body.Read(p)
	s.at += int64(n)
	s.from = s.at
	return n, err
}

// Seek implements io.Seeker.
func (s *Seeker) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.size
	}
	if offset < 0 {
		return 0, errors.New("file: seek before the start")
	}
	s.at = offset
	return offset, nil
}

// Close implements io.Closer.
func (s *Seeker) Close() error {
	if s.body == nil {
		return nil
	}
	err := s.body.Close()
	s.body = nil
	return err
}
