package transport

import (
	"bytes"
	"compress/gzip"
	"sync"

	"github.com/helpwright/helpwright/transport/internal/encoding"
)

// minGzip is the size in bytes below which an answer fits into one packet anyway.
const minGzip = 1400

// gzips pools writers: each has a megabyte of state.
var gzips = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a valid level
	return w
}}

// zipped returns the compressed body of a list, nil if it must be sent uncompressed because it is short or the client does
// not accept gzip.
//
// Only lists are compressed: they have no ETag, which would have to differ by coding. The answer to a browser's request with
// a session cookie is never compressed: a page of another site that can make the browser send requests may vary the query
// and infer the rest of the answer from its length (BREACH).
func (r *Request) zipped(body []byte) []byte {
	if len(body) < minGzip || r.Header("Authorization") == "" || !encoding.TakesGzip(r.http.Header) {
		return nil
	}
	w, ok := gzips.Get().(*gzip.Writer)
	if !ok {
		return nil
	}
	defer gzips.Put(w)
	var b bytes.Buffer
	b.Grow(len(body) / 4)
	w.Reset(&b)
	_, _ = w.Write(body) // a buffer takes all
	if w.Close() != nil || b.Len() >= len(body) {
		return nil
	}
	return b.Bytes()
}
