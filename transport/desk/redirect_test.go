package desk_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
)

// linking is a blob store with addresses.
type linking struct{ storage.Blobs }

// LinkBlob implements [storage.BlobLinker].
func (linking) LinkBlob(_ context.Context, key string, as storage.BlobDownload) (string, error) {
	return "https://bucket.example/" + key + "?as=" + as.Type + ";" + as.Disposition, nil
}

// A large file that is saved is downloaded from the bucket; files shown on a page, and range requests, are not.
func TestFileRedirects(t *testing.T) {
	t.Parallel()
	b := newBundleWith(t, nil, nil, func(cfg *helpdesk.Config) { cfg.Blobs, cfg.LinkFrom = linking{memblob.New()}, 100 })
	c := b.asks("ada@example.com", "Files", "See below.")
	note, err := b.desk.Interactions().Create(t.Context(), c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "Files."})
	if err != nil {
		t.Fatal(err)
	}
	path := func(name, start string, size int) string {
		content := append([]byte(start), bytes.Repeat([]byte("x"), size-len(start))...)
		a, err := b.desk.Attachments().Create(t.Context(), c.ID, note.ID, helpdesk.Upload{Filename: name, Content: bytes.NewReader(content)})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("/c/%d/i/%d/files/%d", c.ID, note.ID, a.ID)
	}
	const pdf = "%PDF-1.7\n"
	large, image := path("large.pdf", pdf, 100), path("large.png", "\x89PNG\r\n\x1a\n", 100)
	for name, test := range map[string]struct {
		path, header, value string
		redirects           bool
	}{
		"a large file":  {large, "", "", true},
		"a part of it":  {large, "Range", "bytes=1-2", false},
		"a kept one":    {large, "If-None-Match", `"attachment-1"`, false},
		"a small file":  {path("small.pdf", pdf, 99), "", "", false},
		"a large image": {image, "", "", false},
	} {
		header := []string{}
		if test.header != "" {
			header = []string{test.header, test.value}
		}
		a := b.get(test.path, header...)
		if (a.status == http.StatusFound) != test.redirects {
			t.Errorf("%s: %d", name, a.status)
		}
		if !test.redirects {
			continue
		}
		to := a.header.Get("Location")
		if !strings.HasPrefix(to, "https://bucket.example/accounts/") || !strings.Contains(to, ";attachment; filename=") ||
			a.header.Get("Cache-Control") != "no-store" || a.header.Get("Referrer-Policy") != "no-referrer" || a.header.Get("ETag") != "" || a.body != "" {
			t.Errorf("%s: %v", name, a.header)
		}
	}
	if a := b.do(http.MethodHead, "/desk/a/1"+large, nil); a.status != http.StatusOK || a.header.Get("Content-Length") != "100" {
		t.Errorf("HEAD: %d %v", a.status, a.header)
	}
}
