package transport

import (
	"bytes"
	"compress/gzip"
	"sync"

	"github.com/helpwright/helpwright/transport/internal/encoding"
)

// minGzip is the size in bytes below which an answer fits into one packet anyway.
const minGzip = 1400

// gzips are writers that can be used again: each has a megabyte of state.
var gzips = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a valid level
	return w
}}

// zipped is the body of a list compressed, nil if it is to be sent as it is: it is short, or the client does not take it.
//
// Lists alone are compressed, as they have no ETag, which would have to differ by coding. A request that a browser makes with
// a session's cookie gets nothing compressed: a page of another site that can make the browser ask may add to the query, and
// learn from the length of the answer what else is in it (BREACH).
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
