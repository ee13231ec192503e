package api_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/memstore"
)

// formWith makes a multipart body of one file and other fields.
func formWith(t testing.TB, field, filename string, content []byte, more ...string) (body string, header []string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(more); i += 2 {
		if err := w.WriteField(more[i], more[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile(field, filename)
	if err == nil {
		_, err = part.Write(content)
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.String(), []string{"Content-Type", w.FormDataContentType()}
}

// settleFiles adds a file and a theme to the site.
func (w *world) settleFiles(t testing.TB, ids map[string]string) {
	t.Helper()
	body, header := formWith(t, "file", "x.txt", []byte("X"))
	var file sentFile
	read(t, w.must(t, "POST", "/sites/"+ids["site_id"]+"/files", body, header...), &file)
	var theme struct{ Data struct{ ID int64 } }
	read(t, w.must(t, "POST", "/sites/"+ids["site_id"]+"/themes", "name=X", "Content-Type", "application/x-www-form-urlencoded"), &theme)
	ids["file_id"], ids["theme_id"] = strconv.FormatInt(file.ID, 10), strconv.FormatInt(theme.Data.ID, 10)
	segments := strings.Split(file.URL, "/")
	ids["file_path"], ids["asset_path"] = "templates/home.html", "style.css"
	ids["key"], ids["name"] = segments[len(segments)-2], segments[len(segments)-1]
}

func read(t testing.TB, rec *httptest.ResponseRecorder, to any) {
	t.Helper()
	if err := json.Unmarshal(rec.Body.Bytes(), to); err != nil {
		t.Fatalf("%d %s: %v", rec.Code, rec.Body, err)
	}
}

// get requests an address as given in an answer.
func (w *world) get(t testing.TB, who, address string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	_, path, ok := strings.Cut(address, "/api/v1")
	if !ok {
		t.Fatalf("address %q", address)
	}
	return w.do(t, who, "GET", path, "", header...)
}

type sentFile struct {
	ID       int64
	Filename string
	Size     int64
	URL      string
}

func (w *world) addFile(t testing.TB, filename, content string, more ...string) sentFile {
	t.Helper()
	body, header := formWith(t, "file", filename, []byte(content), more...)
	var f sentFile
	read(t, w.must(t, "POST", "/sites/1/files", body, header...), &f)
	return f
}

// The address of a file works for everybody and for good, also on a private site, and nothing at it runs.
func TestSiteFileContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.newSite(t, "owner", "account_id=1&name=Help&visibility=private")
	for _, tt := range []struct{ name, content, media, disposition string }{
		{"a.png", "\x89PNG\r\n\x1a\nabc", "image/png", "inline; filename=a.png"},
		{"b.txt", "text", "text/plain; charset=utf-8", "inline; filename=b.txt"},
		{"c.svg", "<svg onload='x'/>", "image/svg+xml", "attachment; filename=c.svg"},
		{"d.html", "<script>x</script>", "text/html", "attachment; filename=d.html"},
		{"e.xhtml", "<html/>", "application/xhtml+xml", "attachment; filename=e.xhtml"},
		{"f.js", "alert(1)", "text/javascript", "attachment; filename=f.js"},
		{"g.xml", "<x/>", "application/xml", "attachment; filename=g.xml"},
		{"h.pdf", "%PDF-1.7", "application/pdf", "attachment; filename=h.pdf"},
	} {
		f := w.addFile(t, tt.name, tt.content)
		rec := w.get(t, "", f.URL)
		got := map[string]string{}
		for _, key := range []string{"Content-Type", "Content-Disposition", "X-Content-Type-Options", "Content-Security-Policy", "Cache-Control",
			"Access-Control-Allow-Origin", "Cross-Origin-Resource-Policy", "Content-Length"} {
			got[key] = rec.Header().Get(key)
		}
		want := map[string]string{
			"Content-Type": tt.media, "Content-Disposition": tt.disposition, "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "public, max-age=31536000, immutable",
			"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin", "Content-Length": strconv.Itoa(len(tt.content)),
		}
		if diff := cmp.Diff(want, got); diff != "" || rec.Code != http.StatusOK || rec.Body.String() != tt.content {
			t.Errorf("%s: %d %q\n%s", tt.name, rec.Code, rec.Body, diff)
		}
	}
	f := w.addFile(t, "Große Datei.txt", "0123456789", "filename", "renamed")
	if f.Filename != "renamed.txt" || f.Size != 10 || !strings.HasSuffix(f.URL, "/renamed.txt") {
		t.Errorf("%+v", f)
	}
	rec := w.get(t, "", f.URL, "Range", "bytes=2-4")
	if rec.Code != http.StatusPartialContent || rec.Body.String() != "234" || rec.Header().Get("Content-Range") != "bytes 2-4/10" {
		t.Errorf("range: %d %s %v", rec.Code, rec.Body, rec.Header())
	}
	tag := rec.Header().Get("ETag")
	if rec := w.get(t, "", f.URL, "If-None-Match", tag); tag == "" || rec.Code != http.StatusNotModified {
		t.Errorf("ETag %s: %d", tag, rec.Code)
	}
	for _, address := range []string{
		strings.Replace(f.URL, "/files/9/", "/files/8/", 1), strings.Replace(f.URL, "/sites/1/", "/sites/2/", 1),
		f.URL[:strings.LastIndex(f.URL, "/")] + "x/renamed.txt",
	} {
		if rec := w.get(t, "owner", address); rec.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", address, rec.Code, rec.Body)
		}
	}
	w.must(t, "PUT", "/sites/1/files/9", `{"filename":"other"}`, "Content-Type", "application/json")
	if rec := w.get(t, "", f.URL); rec.Code != http.StatusOK || rec.Header().Get("Content-Disposition") != "inline; filename=other.txt" {
		t.Errorf("former address: %d %v", rec.Code, rec.Header())
	}
	w.do(t, "owner", "DELETE", "/sites/1/files/9", "")
	if rec := w.get(t, "", f.URL); rec.Code != http.StatusNotFound {
		t.Errorf("deleted: %d", rec.Code)
	}
}

func TestSiteFileRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.newSite(t, "owner", "account_id=1&name=Help")
	w.addFile(t, "a.png", "\x89PNG\r\n\x1a\n\x00abc")
	for _, tt := range []struct{ name, content, rename, field, want string }{
		{"a.exe", "MZ", "", "file", "files of this type are not accepted"},
		{"a.png", "<script>", "", "file", "the content is not what the name says"},
		{"a.txt", "\x7fELF\x01", "", "file", "programs are not accepted"},
		{"a.txt", "x", "a.php", "filename", "files of this type are not accepted"},
		{"a.txt", "x", "..", "filename", "is not a valid file name"},
	} {
		body, header := formWith(t, "file", tt.name, []byte(tt.content), "filename", tt.rename)
		rec := w.do(t, "owner", "POST", "/sites/1/files", body, header...)
		want := map[string][]string{tt.field: {tt.want}}
		if diff := cmp.Diff(want, problem(t, rec).Errors); diff != "" || rec.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s as %q: %d\n%s", tt.name, tt.rename, rec.Code, diff)
		}
	}
	for body, want := range map[string]string{
		`{"filename":"a.svg"}`: "", `{"filename":"a.exe"}`: "files of this type are not accepted", `{"filename":"a.gif"}`: "the content is not what the name says",
		`{"filename":""}`: "is not a valid file name",
	} {
		rec := w.do(t, "owner", "PUT", "/sites/1/files/1", body, "Content-Type", "application/json")
		if want == "" {
			want = "the content is not what the name says" // a picture is no text
		}
		if diff := cmp.Diff(map[string][]string{"filename": {want}}, problem(t, rec).Errors); diff != "" {
			t.Errorf("%s: %d\n%s", body, rec.Code, diff)
		}
	}
	rec := w.do(t, "owner", "POST", "/sites/1/files", "filename=a.txt", "Content-Type", "application/x-www-form-urlencoded")
	if rec.Code != http.StatusUnprocessableEntity || problem(t, rec).Errors["file"] == nil {
		t.Errorf("no file: %d %s", rec.Code, rec.Body)
	}
}

// A theme that was downloaded can be uploaded again, and comes back the same.
func TestThemeArchive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.newSite(t, "owner", "account_id=1&name=Help")
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	w.must(t, "POST", "/sites/1/themes", "name=Mine", form...)
	archive := w.must(t, "GET", "/sites/1/themes/1/download", "")
	if got := archive.Header().Get("Content-Disposition"); got != "attachment; filename=Mine.zip" || archive.Header().Get("Content-Type") != "application/zip" {
		t.Errorf("%v", archive.Header())
	}
	body, header := formWith(t, "zip", "Winter.zip", archive.Body.Bytes(), "name", "Again")
	rec := w.must(t, "POST", "/sites/1/themes/upload", body, header...)
	if got := rec.Header().Get("Location"); got != "/api/v1/sites/1/themes/2" && !strings.HasSuffix(got, "/api/v1/sites/1/themes/2") {
		t.Errorf("Location %s", got)
	}
	again := w.must(t, "GET", "/sites/1/themes/2/download", "")
	if !bytes.Equal(archive.Body.Bytes(), again.Body.Bytes()) {
		t.Error("another archive")
	}
	if rec := w.must(t, "GET", "/sites/1/themes/2/download", "", "Range", "bytes=0-1"); rec.Body.String() != "PK" {
		t.Errorf("range: %q", rec.Body)
	}

	files := w.must(t, "GET", "/sites/1/themes/2/files", "").Body.String()
	bad := func(entries ...string) []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i := 0; i < len(entries); i += 2 {
			f, _ := z.Create(entries[i])
			_, _ = io.WriteString(f, entries[i+1])
		}
		_ = z.Close()
		return b.Bytes()
	}
	for _, tt := range []struct {
		archive []byte
		want    string
	}{
		{[]byte("x"), "This is not a zip archive, or it is damaged."},
		{bad("templates/layout.html", "a", "templates/article.html", "a", "../x", "y"), "../x: the path must be relative, without empty segments, dots or spaces at their ends, and without .."},
		{bad("templates/layout.html", "a", "templates/article.html", "\n{{nope}}"), `templates/article.html, line 2: function "nope" not defined`},
		{bad("templates/layout.html", "a"), "The theme has no templates/article.html."},
	} {
		body, header := formWith(t, "zip", "x.zip", tt.archive)
		rec := w.do(t, "owner", "POST", "/sites/1/themes/upload", body, header...)
		if diff := cmp.Diff(map[string][]string{"zip": {tt.want}}, problem(t, rec).Errors); diff != "" || rec.Code != http.StatusUnprocessableEntity {
			t.Errorf("%d\n%s", rec.Code, diff)
		}
	}
	if got := w.must(t, "GET", "/sites/1/themes", "").Body.String(); strings.Count(got, `"id":`) != 2 {
		t.Errorf("a bad archive left something: %s", got)
	}
	if got := w.must(t, "GET", "/sites/1/themes/2/files", "").Body.String(); got != files {
		t.Errorf("a bad archive changed something: %s", got)
	}
	body, header = formWith(t, "zip", "x.zip", make([]byte, 30<<20+1))
	if rec := w.do(t, "owner", "POST", "/sites/1/themes/upload", body, header...); rec.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("large: %d %s", rec.Code, rec.Body)
	}
}

// The path of a theme file is decoded exactly once, and never leads anywhere else.
func TestThemeFilePaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.newSite(t, "owner", "account_id=1&name=Help")
	w.must(t, "POST", "/sites/1/themes", "name=Mine", "Content-Type", "application/x-www-form-urlencoded")
	const files = "/sites/1/themes/1/files/"
	put := func(path, content string) *httptest.ResponseRecorder {
		body, _ := json.Marshal(map[string]string{"content": base64.StdEncoding.EncodeToString([]byte(content))})
		return w.do(t, "owner", "PUT", files+path, string(body), "Content-Type", "application/json")
	}
	for _, tt := range []struct {
		path, want string // want is the stored path, "" for none
		status     int
	}{
		{"assets/a.css", "assets/a.css", 200},
		{"assets%2Fb.css", "assets/b.css", 200},
		{"assets/c%2fd.css", "assets/c/d.css", 200},
		{"assets/e%252ff.css", "assets/e%2ff.css", 200},
		{"assets/gr%C3%B6%C3%9Fe.css", "assets/größe.css", 200},
		{"assets/A.css", "", 422},
		{"assets/a.css/x", "", 422},
		{"assets/../../../etc/passwd", "", 404},
		{"assets/%2e%2e/x", "", 404},
		{"..%2f..%2fx", "", 404},
		{"%2e%2e%2fx", "", 404},
		{"assets/%252e%252e/x", "assets/%2e%2e/x", 200},
		{"assets%5c..%5cx", "", 404},
		{"assets/a%00.css", "", 404},
		{"assets/a%0a.css", "", 422},
		{"index.html", "", 422},
		{"templates/home.html", "templates/home.html", 200},
	} {
		rec := put(tt.path, "x{}")
		if rec.Code != tt.status {
			t.Errorf("PUT %s: %d %s", tt.path, rec.Code, rec.Body)
			continue
		}
		var got struct {
			Data struct{ File, Content string }
		}
		if tt.want == "" {
			if rec := w.do(t, "owner", "GET", files+tt.path, ""); rec.Code != http.StatusNotFound {
				t.Errorf("GET %s: %d %s", tt.path, rec.Code, rec.Body)
			}
			continue
		}
		read(t, w.must(t, "GET", files+tt.path, ""), &got)
		if got.Data.File != tt.want || got.Data.Content != "eHt9" {
			t.Errorf("GET %s: %+v", tt.path, got)
		}
	}
	rec := put("templates/home.html", "<p>\n{{if}}")
	want := map[string][]string{"content": {"templates/home.html, line 2: missing value for if"}}
	if diff := cmp.Diff(want, problem(t, rec).Errors); diff != "" {
		t.Error(diff)
	}
	if rec := w.do(t, "owner", "DELETE", files+"templates/layout.html", ""); rec.Code != http.StatusConflict {
		t.Errorf("layout: %d %s", rec.Code, rec.Body)
	}
	for range 2 {
		want := http.StatusNoContent
		rec := w.do(t, "owner", "DELETE", files+"assets/e%252ff.css", "")
		if rec.Code != want && rec.Code != http.StatusNotFound {
			t.Errorf("delete: %d %s", rec.Code, rec.Body)
		}
	}
	for body, status := range map[string]int{`{"content":"%%%"}`: 422, `{"content":"eHl6eg"}`: 200, `{"content":""}`: 200, `{}`: 200} {
		if rec := w.do(t, "owner", "PUT", files+"assets/z.txt", body, "Content-Type", "application/json"); rec.Code != status {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
}

func TestThemeAssets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.newSite(t, "owner", "account_id=1&name=Help&visibility=private")
	w.must(t, "POST", "/sites/1/themes", "name=Mine", "Content-Type", "application/x-www-form-urlencoded")
	asset := func(path, content string) string {
		var got struct {
			Data struct {
				URL *string `json:"public_url"`
			}
		}
		body, _ := json.Marshal(map[string]string{"content": base64.StdEncoding.EncodeToString([]byte(content))})
		read(t, w.must(t, "PUT", "/sites/1/themes/1/files/"+path, string(body), "Content-Type", "application/json"), &got)
		if got.Data.URL == nil {
			return ""
		}
		return *got.Data.URL
	}
	for path, media := range map[string]string{
		"assets/a.css": "text/css", "assets/a.js": "text/javascript", "assets/f/a.woff2": "font/woff2", "assets/a.svg": "image/svg+xml",
		"assets/50%25 ü.html": "text/html", "assets/a.bin": "application/octet-stream",
	} {
		address := asset(strings.ReplaceAll(path, " ", "%20"), "<x>")
		rec := w.get(t, "", address)
		h := rec.Header()
		if rec.Code != http.StatusOK || rec.Body.String() != "<x>" || h.Get("Content-Type") != media || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Content-Security-Policy") != "default-src 'none'; sandbox" || h.Get("Cache-Control") != "public, max-age=300" || h.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %s %v", address, rec.Code, rec.Body, h)
		}
		version := strings.Trim(h.Get("ETag"), `"`)[:12]
		if got := w.get(t, "", address+"?v="+version).Header().Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s with its version: %s", path, got)
		}
	}
	if got := asset("templates/partials/x.html", "x"); got != "" {
		t.Errorf("a template is public: %s", got)
	}
	for _, path := range []string{"assets/../templates/layout.html", "assets/%2e%2e/templates/layout.html", "assets/none.css", "assets"} {
		if rec := w.do(t, "owner", "GET", "/sites/1/themes/1/"+path, ""); rec.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}
