package server_test

import (
	"context"
	"io"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport/server"
)

// page requests a page of help.example.org at an address.
func page(t *testing.T, address, path string, fields ...string) (res *http.Response, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "help.example.org"
	r.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	res, err = http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(all)
}

// A kept page has the fields that caches need, in all its forms, and stays until it changes.
func TestKeptPages(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Listener = listen(t)
	var observed atomic.Value
	cfg.Observe = func(r server.Request) {
		r.Took = 0
		observed.Store(r)
	}
	srv, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	editor, at := publish(t, srv)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	address := cfg.Listener.Addr().String()
	_, plain := page(t, address, at)
	const control = "public, max-age=0, s-maxage=60, stale-while-revalidate=86400, stale-if-error=86400"
	tags := map[string]bool{}
	for coding, wanted := range map[string]string{"identity": "", "gzip": "gzip", "gzip, deflate, br, zstd": "br", "zstd": "zstd", "gzip;q=0": ""} {
		page(t, address, at, "Accept-Encoding", coding) // the next one is kept in this form
		res, body := page(t, address, at, "Accept-Encoding", coding)
		type fields struct{ Coding, Control, Vary string }
		want := fields{wanted, control, "Accept-Encoding"}
		got := fields{res.Header.Get("Content-Encoding"), res.Header.Get("Cache-Control"), res.Header.Get("Vary")}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", coding, diff)
		}
		if wanted == "" && body != plain || wanted != "" && len(body) >= len(plain) {
			t.Errorf("%q: %d of %d bytes", coding, len(body), len(plain))
		}
		tag := res.Header.Get("Etag")
		tags[tag] = true
		for given, status := range map[string]int{tag: http.StatusNotModified, "W/" + tag: http.StatusNotModified, `"a", ` + tag: http.StatusNotModified, "*": http.StatusNotModified, `"a"`: http.StatusOK} {
			res, body := page(t, address, at, "Accept-Encoding", coding, "If-None-Match", given)
			if res.StatusCode != status || res.Header.Get("Etag") != tag || res.Header.Get("Cache-Control") != control || (body == "") != (status == http.StatusNotModified) {
				t.Errorf("%q, %s: %d %v, %d bytes", coding, given, res.StatusCode, res.Header, len(body))
			}
		}
	}
	if len(tags) != 4 { // one for each coding, and one for none
		t.Error(tags)
	}
	page(t, address, at, "If-None-Match", "*")
	want := server.Request{Method: "GET", Route: "{site}/{locale}/articles/{name}", Status: http.StatusNotModified}
	testenv.Eventually(t, "the request is observed", func() bool { return cmp.Equal(want, observed.Load()) })
	if stats, ok := srv.SiteCache(); !ok || stats.Hits < 20 {
		t.Errorf("%+v", stats)
	}
	id, _ := kb.ParsePageName(path.Base(at))
	if err := editor.DeleteArticle(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the change", func() bool {
		res, body := page(t, address, at)
		return res.StatusCode == http.StatusNotFound && !strings.Contains(body, "Step 1")
	})
}
