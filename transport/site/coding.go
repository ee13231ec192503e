package site

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// coding is a content coding (RFC 9110 section 8.4.1) for pages.
type coding struct {
	name, tag string             // tag distinguishes its ETags from those of the other codings
	pools     [efforts]sync.Pool // of encoder
}

// Compression efforts.
const (
	once    = iota // sent once, and perhaps never again
	often          // cached until something changes
	forEver        // immutable
	efforts
)

// encoder is the interface of all compressors.
type encoder interface {
	io.WriteCloser
	Reset(to io.Writer)
}

// newCodings returns the supported codings, the one with the smallest output first.
func newCodings() []*coding {
	br, zs, gz := &coding{name: "br", tag: "-br"}, &coding{name: "zstd", tag: "-zs"}, &coding{name: "gzip", tag: "-gz"}
	for effort, levels := range [efforts]struct {
		br, gz int
		zs     zstd.EncoderLevel
	}{
		once: {1, gzip.BestSpeed, zstd.SpeedFastest}, often: {5, 6, zstd.SpeedDefault}, forEver: {11, 9, zstd.SpeedBetterCompression},
	} {
		br.pools[effort].New = func() any { return brotli.NewWriterLevel(nil, levels.br) }
		zs.pools[effort].New = func() any {
			// Browsers accept windows of up to 8 MiB (RFC 9659).
			w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(levels.zs), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)) // valid
			return w
		}
		gz.pools[effort].New = func() any { w, _ := gzip.NewWriterLevel(nil, levels.gz); return w } // valid
	}
	return []*coding{br, zs, gz}
}

// encode returns a text in the coding, nil if it would not be smaller.
func (c *coding) encode(plain []byte, effort int) []byte {
	pool := &c.pools[effort]
	w, ok := pool.Get().(encoder)
	if !ok {
		return nil
	}
	defer pool.Put(w)
	var b bytes.Buffer
	w.Reset(&b)
	_, err := w.Write(plain)
	if err = cmp.Or(w.Close(), err); err != nil || b.Len() >= len(plain) {
		return nil
	}
	return bytes.Clone(b.Bytes())
}

// smallest is the size below which nothing is compressed, as it would hardly help.
const smallest = 1000

// compressible reports whether content of a type is worth compressing: text and text formats.
func compressible(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	kind, rest, _ := strings.Cut(media, "/")
	return kind == "text" || strings.HasSuffix(rest, "+xml") || strings.HasSuffix(rest, "json") || rest == "xml" || rest == "javascript"
}

// coded is a page in a coding, made when the page is requested again.
type coded struct {
	*coding
	once sync.Once
	form *form // nil if it would not be smaller
}

func newCoded(in []*coding, size int) []*coded {
	if size < smallest {
		return nil
	}
	var all []*coded
	for _, c := range in {
		all = append(all, &coded{coding: c})
	}
	return all
}

// make encodes the page once, and returns by how many bytes the entry has grown.
func (c *coded) make(plain []byte, etag string, effort int) (grown int) {
	c.once.Do(func() {
		if body := c.encode(plain, effort); body != nil {
			c.form = newForm(body, c.name, `"`+etag+c.tag+`"`, `"`+etag+c.tag+`1"`)
			grown = len(body)
		}
	})
	return grown
}

// accepted returns the first coding that a request accepts (RFC 9110 section 12.5.3), nil for none.
func accepted(header string, all []*coded) *coded {
	if header == "" {
		return nil
	}
	for _, c := range all {
		if named, ok := accepts(header, c.name); ok {
			return c
		} else if _, any := accepts(header, "*"); any && !named {
			return c
		}
	}
	return nil
}

// accepts reports whether a header names a coding, and whether with a weight above 0.
func accepts(header, coding string) (named, ok bool) {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), coding) {
			q, weighted := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=0")
			named, ok = true, ok || !weighted || strings.Trim(q, ".0") != ""
		}
	}
	return named, ok
}
