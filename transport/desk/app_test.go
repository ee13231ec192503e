package desk_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The manifest names icons that exist and have the size that it says, one of which the system may cut to a shape.
func TestManifest(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	got := b.do(http.MethodGet, "/desk/manifest.webmanifest", nil)
	var manifest struct {
		Name, Scope, Display string
		StartURL             string `json:"start_url"`
		Icons                []struct{ Src, Sizes, Type, Purpose string }
	}
	if err := json.Unmarshal([]byte(got.body), &manifest); err != nil || got.header.Get("Content-Type") != "application/manifest+json" {
		t.Fatal(err, got.header)
	}
	if manifest.Scope != "/desk/" || manifest.StartURL != "/desk/" || manifest.Display != "standalone" || manifest.Name == "" {
		t.Errorf("%+v", manifest)
	}
	purposes := map[string]bool{}
	for _, icon := range manifest.Icons {
		file := b.do(http.MethodGet, icon.Src, nil)
		if file.status != http.StatusOK || file.header.Get("Content-Type") != icon.Type {
			t.Errorf("%s: %d %s", icon.Src, file.status, file.header.Get("Content-Type"))
		}
		purposes[icon.Purpose+" "+icon.Sizes] = true
		if icon.Type != "image/png" {
			continue
		}
		picture, err := png.DecodeConfig(bytes.NewReader([]byte(file.body)))
		if size := strconv.Itoa(picture.Width) + "x" + strconv.Itoa(picture.Height); err != nil || size != icon.Sizes {
			t.Errorf("%s: %s, %v", icon.Src, size, err)
		}
	}
	if diff := cmp.Diff(map[string]bool{"any any": true, "any 192x192": true, "any 512x512": true, "maskable 512x512": true}, purposes); diff != "" {
		t.Error(diff)
	}
	if page := b.get("/inbox/all"); !strings.Contains(page.body, `<link rel="manifest" href="/desk/manifest.webmanifest">`) ||
		!strings.Contains(page.header.Get("Content-Security-Policy"), "manifest-src 'self'") {
		t.Error("the pages do not name the manifest")
	}
}

// The service worker keeps one page, which is the same for everybody, and the files that it shows.
func TestServiceWorkerKeepsNoPageOfMembers(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	got := b.do(http.MethodGet, "/desk/worker.js", nil)
	if !strings.HasPrefix(got.header.Get("Content-Type"), "text/javascript") || got.header.Get("Cache-Control") != "no-cache" {
		t.Error(got.header)
	}
	var given struct {
		Page  string
		Files []string
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(got.body, "const given = "), ";\n")
	if err := json.Unmarshal([]byte(first), &given); err != nil || given.Page != "/desk/offline" || len(given.Files) != 2 {
		t.Fatal(first, err)
	}
	for _, path := range given.Files {
		if file := b.do(http.MethodGet, path, nil); file.status != http.StatusOK || !strings.HasPrefix(path, "/desk/assets/") {
			t.Error(path, file.status)
		}
	}
	if n := strings.Count(got.body, "cache.put") + strings.Count(got.body, ".put("); n > 0 {
		t.Error("it keeps what pages ask for")
	}
	page := b.do(http.MethodGet, given.Page, nil)
	if page.status != http.StatusOK || !strings.Contains(page.body, "You are offline") || strings.Contains(page.body, `id="sidebar"`) || !strings.Contains(page.body, `data-me="0"`) {
		t.Error(page.status, page.body)
	}
}
