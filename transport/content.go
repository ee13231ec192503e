package transport

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/file"
)

// Content is a file that an operation answers with. Ranges, If-None-Match and If-Modified-Since are supported.
type Content struct {
	Name    string        // name under which a browser saves the file; "" for none
	Type    string        // media type; default application/octet-stream
	ModTime time.Time     // zero: unknown
	ETag    string        // strong, without quotes, such as a hash of the content; "" for none
	MaxAge  time.Duration // how long a browser may use it without revalidation; 0: not at all
	NoStore bool          // no cache may store it
	Body    io.ReadSeekCloser
	// Link is another address of the same file, which needs no further authentication; "" for none. Requests that it would
	// answer in the same way are redirected there: unconditional requests for files that are saved rather than displayed.
	Link   string
	Held   int  // bytes of the file that are in memory; 0 if it is read while it is sent
	Public bool // anyone may read it, from any page; shared caches may store it
	// Write writes a file whose size is not known before, in place of Body. If it fails after some of it was sent, the connection is
	// cut, so that nobody takes the beginning for the whole.
	Write func(w io.Writer) error
}

func (c Content) serve(w http.ResponseWriter, r *http.Request) error {
	if c.Write != nil {
		return c.stream(w, r)
	}
	defer func() { _ = c.Body.Close() }() // only read
	if out, ok := w.(*response); ok {
		out.holds = c.Held
	}
	h := w.Header()
	if c.Link != "" && file.Redirects(r, file.As(c.Type, c.Name)) {
		file.Redirect(w, c.Link)
		return nil
	}
	file.Describe(h, c.Type, c.Name)
	c.setCacheControl(h)
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

// stream answers with what Write writes.
func (c Content) stream(w http.ResponseWriter, r *http.Request) error {
	file.Describe(w.Header(), c.Type, c.Name)
	c.setCacheControl(w.Header())
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	out := &begunWriter{Writer: w}
	err := c.Write(out)
	if err != nil && out.begun {
		panic(http.ErrAbortHandler)
	}
	return err
}

// begunWriter notes whether anything was written.
type begunWriter struct {
	io.Writer
	begun bool
}

// Write implements [io.Writer].
func (w *begunWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.Writer.Write(p)
}

// Immutable is the MaxAge of content that never changes at its address.
const Immutable = 365 * 24 * time.Hour

// setCacheControl sets how the answer may be cached. Public content may be used by pages of all origins, such as sites on a host of
// their own.
func (c Content) setCacheControl(h http.Header) {
	cacheable(h)
	who, age := "private", fmt.Sprintf(", max-age=%d", int(c.MaxAge.Seconds()))
	if c.Public {
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		who = "public"
	}
	if c.MaxAge >= Immutable {
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

// contentWriter intercepts the plain text with which ServeContent answers errors.
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
