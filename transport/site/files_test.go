package site_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memstore"
)

var png = append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), bytes.Repeat([]byte("pixel"), 1000)...)

// upload stores a file, and returns it with its path.
func (w *world) upload(name string, content []byte) (kb.File, string) {
	w.t.Helper()
	f, err := w.editor.CreateFile(w.t.Context(), kb.FileUpload{Filename: name, Content: bytes.NewReader(content)})
	if err != nil {
		w.t.Fatal(err)
	}
	return f, kb.FilePath(f)
}

// Small files of public sites are kept like pages, as long as they exist.
func TestKeptFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	f, path := w.upload("drawing.png", png)
	want := []string{"image/png", `inline; filename=drawing.png`, "public, max-age=31536000, immutable", "default-src 'none'; sandbox", ""}
	var tag string
	for i := range 3 {
		rec := w.get(path, "Accept-Encoding", "br, gzip")
		h := rec.Header()
		got := []string{h.Get("Content-Type"), h.Get("Content-Disposition"), h.Get("Cache-Control"), h.Get("Content-Security-Policy"), h.Get("Content-Encoding")}
		if diff := cmp.Diff(want, got); diff != "" || rec.Code != 200 || !bytes.Equal(rec.Body.Bytes(), png) {
			t.Errorf("request %d: %d, %d bytes: %s", i, rec.Code, rec.Body.Len(), diff)
		}
		if tag = h.Get("ETag"); tag == "" {
			t.Error("no ETag")
		}
	}
	if hits := w.CacheStats().Hits; hits != 2 {
		t.Errorf("%d requests were answered with the file that is kept", hits)
	}
	if rec := w.get(path, "If-None-Match", tag); rec.Code != http.StatusNotModified || rec.Body.Len() > 0 {
		t.Errorf("unchanged: %d", rec.Code)
	}
	if err := w.editor.DeleteFile(t.Context(), f.ID); err != nil {
		t.Fatal(err)
	}
	w.advance(2 * time.Second)
	if rec := w.get(path); rec.Code != http.StatusNotFound {
		t.Errorf("a deleted file: %d", rec.Code)
	}
}

// Other files are read from where they are stored each time.
func TestFilesNotKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file    string
		content []byte
		private bool
		header  []string
		code    int
	}{
		"large":          {"big.png", append(bytes.Clone(png), make([]byte, 64<<10)...), false, nil, 200},
		"a part":         {"part.png", png, false, []string{"Range", "bytes=0-9"}, 206},
		"a private site": {"secret.png", png, true, nil, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, memstore.New())
			if tt.private {
				if _, err := w.editor.UpdateSite(t.Context(), kb.SiteInput{AccountID: w.site.AccountID, Name: "Acme", Visibility: storage.Some(kb.Private)}); err != nil {
					t.Fatal(err)
				}
			}
			_, path := w.upload(tt.file, tt.content)
			for range 2 {
				rec := w.get(path, tt.header...)
				if tt.code == 206 && rec.Body.Len() != 10 || tt.code == 200 && !tt.private && !bytes.Equal(rec.Body.Bytes(), tt.content) {
					t.Errorf("%d: %d bytes", rec.Code, rec.Body.Len())
				}
				if rec.Code != tt.code && !tt.private {
					t.Error(rec.Code)
				}
			}
			if hits := w.CacheStats().Hits; hits != 0 {
				t.Errorf("it is kept: %d", hits)
			}
		})
	}
}

// Text is compressed, and pictures are not.
func TestCompressedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	_, path := w.upload("notes.txt", []byte(strings.Repeat("Hold the button for five seconds.\n", 100)))
	for range 2 {
		if rec := w.get(path, "Accept-Encoding", "gzip"); rec.Header().Get("Content-Encoding") != "gzip" || rec.Header().Get("Vary") == "" {
			t.Errorf("%v", rec.Header())
		}
	}
}
