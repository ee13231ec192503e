package site_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport/site"
)

// decoded returns the content of a body in a coding.
func decoded(t *testing.T, coding string, body []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(body)
	var err error
	switch coding {
	case "br":
		r = brotli.NewReader(r)
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r)
	case "":
	default:
		t.Fatalf("coding %q", coding)
	}
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// Pages and assets use the best coding that the client accepts, each with its own ETag and the same content.
func TestCodings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	style := regexp.MustCompile(`/-/assets/[0-9a-f]+/style\.css`).FindString(w.get("/en").Body.String())
	for _, path := range []string{articlePath, style} {
		plain := w.get(path)
		tags := map[string]string{"": plain.Header().Get("ETag")}
		for _, tt := range []struct{ accepts, want string }{
			{"gzip, deflate, br, zstd", "br"},
			{"gzip, deflate, zstd", "zstd"},
			{"gzip, deflate", "gzip"},
			{"GZIP;q=0.5 , br ; q = 0.000", "gzip"},
			{"br;q=0.001", "br"},
			{"identity", ""},
			{"deflate", ""},
			{"gzip;q=0", ""},
			{"*", "br"},
			{"br;q=0, *;q=0.1", "zstd"},
			{"*;q=0", ""},
			{",;,q=1,", ""},
			{"brotli, gzippy", ""},
		} {
			rec := w.get(path, "Accept-Encoding", tt.accepts)
			got := rec.Header().Get("Content-Encoding")
			if got != tt.want {
				t.Errorf("%q is answered with %q", tt.accepts, got)
				continue
			}
			if rec.Header().Get("Vary") != "Accept-Encoding" || rec.Header().Get("Content-Length") != fmt.Sprint(rec.Body.Len()) {
				t.Errorf("%q: %v", tt.accepts, rec.Header())
			}
			if diff := cmp.Diff(plain.Body.String(), decoded(t, got, rec.Body.Bytes())); diff != "" {
				t.Errorf("%q: %s", tt.accepts, diff)
			}
			if got != "" && rec.Body.Len() >= plain.Body.Len() {
				t.Errorf("%q: %d bytes of %d", tt.accepts, rec.Body.Len(), plain.Body.Len())
			}
			tags[got] = rec.Header().Get("ETag")
			if again := w.get(path, "Accept-Encoding", tt.accepts, "If-None-Match", tags[got]); again.Code != 304 {
				t.Errorf("%q: %d for its own ETag", tt.accepts, again.Code)
			}
		}
		different := map[string]bool{}
		for _, tag := range tags {
			different[tag] = true
		}
		if len(different) != 4 {
			t.Errorf("the ETags of the codings are %v", tags)
		}
	}
	if rec := w.get("/robots.txt", "Accept-Encoding", "br"); rec.Header().Get("Content-Encoding") != "" {
		t.Error("what is too small is compressed")
	}
}

// A page that was just made has other bytes than the same from the cache, and so another ETag; either is 304.
func TestCodingsOfTheFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	for _, coding := range []string{"br", "zstd", "gzip"} {
		w.collection(map[string]string{"en": "For " + coding}, "") // changes the page
		w.advance(2 * time.Second)
		first, then := w.get("/en", "Accept-Encoding", coding), w.get("/en", "Accept-Encoding", coding)
		one, two := first.Header().Get("ETag"), then.Header().Get("ETag")
		if one == two || decoded(t, coding, first.Body.Bytes()) != decoded(t, coding, then.Body.Bytes()) || first.Body.Len() < then.Body.Len() {
			t.Errorf("%s: %s with %d bytes, %s with %d", coding, one, first.Body.Len(), two, then.Body.Len())
		}
		for _, etag := range []string{one, two} {
			if again := w.get("/en", "Accept-Encoding", coding, "If-None-Match", etag); again.Code != 304 || again.Header().Get("ETag") != etag {
				t.Errorf("%s: %d %s for %s", coding, again.Code, again.Header().Get("ETag"), etag)
			}
		}
	}
}

// The cache stays within its size when pages in it are compressed, by many at once.
func TestCodingsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	const size = 200_000
	w.Handler = w.handler(func(c *site.Config) { c.CacheSize = size })
	var all sync.WaitGroup
	for _, coding := range []string{"", "br", "zstd", "gzip"} {
		for id := range int64(11) {
			all.Go(func() {
				path := w.get("/articles/" + fmt.Sprint(id+1)).Header().Get("Location")
				if rec := w.get(path, "Accept-Encoding", coding); rec.Code != 200 {
					t.Errorf("%s: %d", path, rec.Code)
				}
			})
		}
	}
	all.Wait()
	if counted, really := w.Handler.Kept(); really <= 0 || really > counted || counted > size {
		t.Errorf("%d bytes are kept, %d are counted", really, counted)
	}
}
