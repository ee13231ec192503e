package s3blob_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/testenv"
)

// An address gives the file as requested, whole and in ranges, and nothing if any part of the address is changed.
func TestLinkBlob(t *testing.T) {
	t.Parallel()
	b := open(t, config(testenv.S3(t)))
	const key, content = "attachments/7", "PDF, in a manner of speaking"
	if _, err := b.Put(t.Context(), key, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	if link, err := b.LinkBlob(t.Context(), "attachments/8", storage.BlobDownload{}); !fault.Is(err, fault.NotFound) || link != "" {
		t.Errorf("of a file that is not there: %q, %v", link, err)
	}
	as := storage.BlobDownload{Type: "application/pdf", Disposition: `attachment; filename*=utf-8''%C3%9Cber%20%22uns%22.pdf`}
	link, err := b.LinkBlob(t.Context(), key, as)
	if err != nil {
		t.Fatal(err)
	}
	get := func(link string, header ...string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
	res, body := get(link)
	if res.StatusCode != http.StatusOK || body != content || res.Header.Get("Content-Type") != as.Type || res.Header.Get("Content-Disposition") != as.Disposition {
		t.Errorf("%d %v %q", res.StatusCode, res.Header, body)
	}
	if res, body := get(link, "Range", "bytes=5-6"); res.StatusCode != http.StatusPartialContent || body != content[5:7] {
		t.Errorf("a part: %d %q", res.StatusCode, body)
	}
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	if life := u.Query().Get("X-Amz-Expires"); life != "120" {
		t.Errorf("it lives for %s seconds", life)
	}
	for name, value := range map[string]string{
		"response-content-type": "text/html", "response-content-disposition": "inline", "X-Amz-Expires": "604800", "X-Amz-Date": "20400101T000000Z",
	} {
		q := u.Query()
		q.Set(name, value)
		forged := *u
		forged.RawQuery = q.Encode()
		if res, body := get(forged.String()); res.StatusCode < 400 || body == content {
			t.Errorf("%s can be changed: %d", name, res.StatusCode)
		}
	}
	forged := *u
	forged.Path = strings.TrimSuffix(forged.Path, "7") + "8"
	if res, _ := get(forged.String()); res.StatusCode < 400 {
		t.Errorf("another file: %d", res.StatusCode)
	}
}
