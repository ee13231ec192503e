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

// coding is a content coding (RFC 9110 section 8.4.1) that pages are sent in.
type coding struct {
	name, tag string             // tag tells its ETag from those of the others
	pools     [efforts]sync.Pool // of encoder
}

// How much is done to make a page small.
const (
	once    = iota // it is sent once, and perhaps never again
	often          // it is kept until something changes
	forEver        // it never changes
	efforts
)

// encoder is what all compressors are.
type encoder interface {
	io.WriteCloser
	Reset(to io.Writer)
}

// newCodings are those that there are, the one that makes pages smallest first.
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
			// Browsers take windows of up to 8 MiB (RFC 9659).
			w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(levels.zs), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)) // valid
			return w
		}
		gz.pools[effort].New = func() any { w, _ := gzip.NewWriterLevel(nil, levels.gz); return w } // valid
	}
	return []*coding{br, zs, gz}
}

// encode is a text in the coding, nil if it would not be smaller.
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

// smallest is the size below which nothing is compressed: it would hardly get smaller.
const smallest = 1000

// compressible reports whether content of a type gets smaller: text, and what is written as such.
func compressible(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	kind, rest, _ := strings.Cut(media, "/")
	return kind == "text" || strings.HasSuffix(rest, "+xml") || strings.HasSuffix(rest, "json") || rest == "xml" || rest == "javascript"
}

// coded is a page in a coding, which is made when the page is asked for again.
type coded struct {
	*coding
	once sync.Once
	form *form // nil: it would not be smaller
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

// make makes the page unless it is there, and returns by how many bytes it has grown.
func (c *coded) make(plain []byte, etag string, effort int) (grown int) {
	c.once.Do(func() {
		if body := c.encode(plain, effort); body != nil {
			c.form = newForm(body, c.name, `"`+etag+c.tag+`"`, `"`+etag+c.tag+`1"`)
			grown = len(body)
		}
	})
	return grown
}

// accepted finds the first coding that a request accepts (RFC 9110 section 12.5.3), nil
// for none.
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

// accepts reports whether a header names a coding, and whether it does so with a weight above 0.
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
