// Package file answers with uploaded files: a file is displayed in place only if a browser cannot execute anything in it.
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
	"github.com/helpwright/helpwright/storage/filetype"
)

// inlineTypes are the types that a browser may display in place; all others are saved, as they might be executed under the
// site's origin.
var inlineTypes = []string{
	"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif",
	"audio/mpeg", "audio/ogg", "video/mp4", "video/webm", "text/plain",
}

// Describe sets the header of an answer with a file: its type, the name under which it is saved, and a policy against
// executing its content.
func Describe(h http.Header, kind, name string) {
	as := As(kind, name)
	h.Set("Content-Type", as.Type)
	h.Set("Content-Disposition", as.Disposition)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
}

// As returns the content type and disposition for a file of a claimed type and name.
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

// InPlace reports whether a browser displays a file, by itself or as an image of a page, rather than only saving it.
func InPlace(as storage.BlobDownload) bool {
	return strings.HasPrefix(as.Disposition, "inline") || filetype.InBrowser(as.Type)
}

// Redirects reports whether a request for a file may be redirected to another address of the same file: an unconditional GET
// for a file that is saved. Files displayed in place stay on the server, since pages load them from there only, and so do
// range requests and revalidations, which refer to the server's versions.
func Redirects(r *http.Request, as storage.BlobDownload) bool {
	for _, name := range []string{"Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return r.Method == http.MethodGet && !InPlace(as)
}

// Redirect redirects a browser to an address that must stay secret.
func Redirect(w http.ResponseWriter, link string) {
	h := w.Header()
	h.Set("Location", link)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusFound)
}

// fileDisposition returns a Content-Disposition (RFC 6266), with the name encoded by RFC 8187 if it is not ASCII.
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

// Seeker adapts a file of a blob store for http.ServeContent. Seeking costs nothing; the file is reopened at the next read.
type Seeker struct {
	size int64
	open func(offset int64) (io.ReadCloser, error)

	at   int64         // position of the next read
	body io.ReadCloser // nil if not open
	from int64         // position of body
}

// Open opens the file at its start, so that a missing file is found before the answer begins.
func Open(size int64, open func(offset int64) (io.ReadCloser, error)) (*Seeker, error) {
	body, err := open(0)
	if err != nil {
		return nil, err
	}
	return &Seeker{size: size, open: open, body: body}, nil
}

// Later is Open for a file that is known to exist; it is opened by the first read.
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
