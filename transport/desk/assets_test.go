package desk_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"testing"
)

// Assets are compressed for clients that accept gzip, with the same content.
func TestCompressedAssets(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	page := b.do(http.MethodGet, "/desk/sign-in", nil)
	found := regexp.MustCompile(`/desk/assets/desk\.[0-9a-f]+\.css`).FindString(page.body)
	if found == "" {
		t.Fatal("the page names no style sheet")
	}
	get := func(accept, coding string) []byte {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.web.URL+found, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", accept) // so that the client leaves the answer as it is
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Vary") != "Accept-Encoding" || answer.Header.Get("Content-Encoding") != coding {
			t.Fatalf("%s, %v, %v", answer.Status, answer.Header, err)
		}
		return body
	}
	plain, zipped := get("gzip;q=0", ""), get("br, gzip", "gzip")
	if len(zipped) > len(plain)/2 {
		t.Errorf("%d bytes, compressed %d", len(plain), len(zipped))
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || !bytes.Equal(text, plain) {
		t.Error("it comes to something else", err)
	}
}
