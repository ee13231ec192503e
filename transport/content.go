package transport

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/helpwright/helpwright/storage/fault"
)

// Content is a file that an operation answers with. Ranges, If-None-Match and
// If-Modified-Since work.
type Content struct {
	Name    string        // file name that a browser saves under; "" for none
	Type    string        // media type; default application/octet-stream
	ModTime time.Time     // zero: unknown
	ETag    string        // strong, without quotes, such as the content's hash; "" for none
	MaxAge  time.Duration // how long a browser may use it unasked; 0: not at all
	NoStore bool          // nobody may keep it
	Body    io.ReadSeekCloser
	Held    int  // bytes of it that are in memory; 0: it is read as it is sent
	Public  bool // everybody may read it, from any page; caches may share it
}

// inlineTypes are what a browser may show in place; anything else is saved, as it
// might be run in the name of the site.
var inlineTypes = []string{
	"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif",
	"audio/mpeg", "audio/ogg", "video/mp4", "video/webm", "text/plain",
}

func (c Content) serve(w http.ResponseWriter, r *http.Request) error {
	defer func() { _ = c.Body.Close() }() // only read
	if out, ok := w.(*response); ok {
		out.holds = c.Held
	}
	h := w.Header()
	media, _, err := mime.ParseMediaType(c.Type)
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
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", fileDisposition(disposition, c.Name))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	c.keep(h)
	if c.ETag != "" {
		h.Set("ETag", `"`+strings.ReplaceAll(c.ETag, `"`, "")+`"`)
	}
	cw := &contentWriter{ResponseWriter: w}
	http.ServeContent(cw, r, "", c.ModTime, c.Body)
	switch {
	case cw.failed == http.StatusRequestedRangeNotSatisfiable:
		return errRange
	case cw.failed != 0:
		return fault.Newf(fault.Internal, "serving content: status %d", cw.failed)
	}
	return nil
}

// forGood is the MaxAge of what never changes at its address.
const forGood = 365 * 24 * time.Hour

// keep says who may use the answer again, and for how long. What is public may be used
// by pages of all origins, such as sites with a host of their own.
func (c Content) keep(h http.Header) {
	cacheable(h)
	who, age := "private", fmt.Sprintf(", max-age=%d", int(c.MaxAge.Seconds()))
	if c.Public {
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		who = "public"
	}
	if c.MaxAge >= forGood {
		age += ", immutable"
	}
	switch {
	case c.NoStore:
		h.Set("Cache-Control", "no-store")
		h.Del("Vary")
	case c.MaxAge > 0:
		h.Set("Cache-Control", who+age)
		h.Del("Vary")
	}
}

// contentWriter holds back the plain text that ServeContent answers errors with.
type contentWriter struct {
	http.ResponseWriter
	failed int
}

func (w *contentWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest && status != http.StatusPreconditionFailed {
		w.failed = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *contentWriter) Write(p []byte) (int, error) {
	if w.failed != 0 {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
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
