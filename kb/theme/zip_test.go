package theme_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb/theme"
)

const (
	layout  = `<!doctype html><title>{{.Title}}</title>{{template "content" .}}`
	article = `{{.Article.Title}}`
)

// entry is an entry for a test archive.
type entry struct {
	name, content string
	header        func(h *zip.FileHeader)
}

// whole returns a valid archive with additional entries.
func whole(more ...entry) []entry {
	return append([]entry{{name: "templates/layout.html", content: layout}, {name: "templates/article.html", content: article}}, more...)
}

func pack(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.header != nil {
			e.header(h)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(archive []byte) (*theme.Archive, error) {
	return theme.Open(bytes.NewReader(archive), int64(len(archive)))
}

func TestOpen(t *testing.T) {
	t.Parallel()
	a, err := open(pack(t, whole(
		entry{name: "assets/"}, entry{name: "assets/css/"}, entry{name: "assets/css/a.css", content: "a{}"},
		entry{name: "assets/Cafe\u0301 größe.txt", content: "x"},
		entry{name: "theme.json", content: `{"name":"Mine","version":"2.1","author":"x"}`},
		entry{name: "__MACOSX/assets/._a.css", content: "junk"}, entry{name: "assets/.DS_Store", content: "junk"},
	)...))
	if err != nil {
		t.Fatal(err)
	}
	want := []theme.File{
		{Path: "assets/Café größe.txt", Size: 1}, {Path: "assets/css/a.css", Size: 3}, {Path: "templates/article.html", Size: int64(len(article))},
		{Path: "templates/layout.html", Size: int64(len(layout))}, {Path: "theme.json", Size: 44},
	}
	if d := cmp.Diff(want, a.Files()); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	if d := cmp.Diff(theme.Description{Name: "Mine", Version: "2.1"}, a.Description()); d != "" {
		t.Errorf("description (-want +got):\n%s", d)
	}
	got := contents(t, a)
	if got["templates/article.html"] != article || got["assets/css/a.css"] != "a{}" {
		t.Errorf("contents %q", got)
	}
}

func contents(t *testing.T, a *theme.Archive) map[string]string {
	t.Helper()
	got := map[string]string{}
	if err := a.Each(func(f theme.File, content io.Reader) error {
		b, err := io.ReadAll(content)
		got[f.Path] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	many := whole()
	for i := range theme.MaxFiles {
		many = append(many, entry{name: fmt.Sprintf("assets/%d", i)})
	}
	symlink := func(h *zip.FileHeader) { h.SetMode(0o777 | 1<<27) } // fs.ModeSymlink
	deep := strings.Repeat("a/", theme.MaxDepth-1) + "b"
	noise := make([]byte, 64<<10)
	for i := range noise {
		noise[i] = byte(i * i >> 7)
	}
	tests := []struct {
		name    string
		archive []byte
		want    string // part of the reason
	}{
		{"no zip", []byte("hello"), "not a zip archive"},
		{"nothing", nil, "not a zip archive"},
		{"cut", pack(t, whole()...)[:300], "not a zip archive"},
		{"no layout", pack(t, whole()[1:]...), "no templates/layout.html"},
		{"no article", pack(t, whole()[:1]...), "no templates/article.html"},
		{"in a folder", pack(t, entry{name: "mine/templates/layout.html", content: layout}), "must be at its top"},
		{"elsewhere", pack(t, whole(entry{name: "index.php"})...), "index.php: only templates/"},
		{"other letter case", pack(t, whole(entry{name: "Assets/a"})...), "only templates/"},
		{"traversal", pack(t, whole(entry{name: "assets/../../etc/passwd"})...), "without .."},
		{"traversal of Windows", pack(t, whole(entry{name: `assets\..\..\x`})...), "a character"},
		{"absolute", pack(t, whole(entry{name: "/assets/x"})...), "must be relative"},
		{"drive", pack(t, whole(entry{name: "assets/C:x"})...), "a character"},
		{"twice the slash", pack(t, whole(entry{name: "assets//x"})...), "empty segments"},
		{"dot", pack(t, whole(entry{name: "assets/./x"})...), "without empty segments, dots"},
		{"NUL", pack(t, whole(entry{name: "assets/a\x00.css"})...), "a character"},
		{"not UTF-8", pack(t, whole(entry{name: "assets/\xff"})...), "not valid UTF-8"},
		{"right to left override", pack(t, whole(entry{name: "assets/a\u202egpj.js"})...), "a character"},
		{"deep", pack(t, whole(entry{name: "assets/" + deep + "/c"})...), "deeper than 16"},
		{"long", pack(t, whole(entry{name: "assets/" + strings.Repeat("a", 255)})...), "longer than 255"},
		{"twice", pack(t, whole(entry{name: "assets/a"}, entry{name: "assets/a"})...), "appears twice"},
		{"twice but for case", pack(t, whole(entry{name: "assets/Straße"}, entry{name: "assets/STRASSE"})...), "appears twice"},
		{"twice but for composition", pack(t, whole(entry{name: "assets/é"}, entry{name: "assets/e\u0301"})...), "appears twice"},
		{"file and folder", pack(t, whole(entry{name: "assets/a"}, entry{name: "assets/a/b"})...), "a file and a folder"},
		{"folder and file", pack(t, whole(entry{name: "assets/a/b"}, entry{name: "assets/A"})...), "a file and a folder"},
		{"symbolic link", pack(t, whole(entry{name: "assets/a", content: "/etc/passwd", header: symlink})...), "not a regular file"},
		{"encrypted", pack(t, whole(entry{name: "assets/a", header: func(h *zip.FileHeader) { h.Flags |= 1 }})...), "is encrypted"},
		{"unknown method", relabel(pack(t, whole(entry{name: "assets/zzz", content: "x", header: func(h *zip.FileHeader) { h.Method = zip.Store }})...), 99), "method"},
		{"many", pack(t, many...), "more than 2000 files"},
		{"a bomb", pack(t, whole(entry{name: "assets/a", content: strings.Repeat("a", 10<<20)})...), "more tightly"},
		{"many small bombs", pack(t, whole(zeros(1500, 60<<10)...)...), "compression ratio"},
		{"large", pack(t, whole(dense(noise, 60)...)...), "more than 100 MB"},
		{"size that is not true", lie(t, "assets/a", "hello", 4), "damaged, or its size differs"},
		{"larger size that is not true", lie(t, "assets/a", "hello", 400), "damaged, or its size differs"},
		{"64 bit size that is not true", lie(t, "assets/a", "hello", 1<<40), "more tightly"},
		{"template of another encoding", pack(t, whole(entry{name: "templates/home.html", content: "caf\xe9"})...), "templates/home.html: is not UTF-8 text"},
		{"large template", pack(t, whole(entry{name: "templates/home.html", content: string(noise) + strings.Repeat("ab c", 80_000)})...), "larger than 256 KiB"},
		{"broken template", pack(t, whole(entry{name: "templates/home.html", content: "a\n{{if}}"})...), "templates/home.html, line 2"},
		{"same template", pack(t, whole(entry{name: "templates/layout", content: layout})...), "already exists"},
		{"manifest", pack(t, whole(entry{name: "theme.json", content: "[1]"})...), "theme.json: must be a JSON object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := open(tt.archive)
			if _, ok := errors.AsType[*theme.Problem](err); !ok || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func zeros(n, size int) (out []entry) {
	for i := range n {
		out = append(out, entry{name: fmt.Sprintf("assets/%d", i), content: strings.Repeat("a", size)})
	}
	return out
}

// dense returns entries of 2 MB with a compression ratio just below the limit.
func dense(noise []byte, n int) (out []entry) {
	block := string(noise) + strings.Repeat("a", 2<<20)
	for i := range n {
		out = append(out, entry{name: fmt.Sprintf("assets/%d", i), content: block})
	}
	return out
}

// relabel changes the compression method of the last entry in an archive's directory.
func relabel(archive []byte, method uint16) []byte {
	at := bytes.LastIndex(archive, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint16(archive[at+10:], method)
	return archive
}

// lie creates an archive whose last entry declares a wrong size.
func lie(t testing.TB, name, content string, size uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range whole() {
		w, err := z.Create(e.name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, e.content)
	}
	w, err := z.CreateRaw(&zip.FileHeader{
		Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE([]byte(content)),
		CompressedSize64: uint64(len(content)), UncompressedSize64: size,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, content)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A directory of a million entries is refused before each entry costs memory.
func TestOpenLargeDirectory(t *testing.T) {
	t.Parallel()
	one := make([]byte, 46)
	copy(one, "PK\x01\x02")
	directory := bytes.Repeat(one, 400_000)
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	binary.LittleEndian.PutUint16(end[8:], uint16(400_000%65536))
	binary.LittleEndian.PutUint16(end[10:], uint16(400_000%65536))
	binary.LittleEndian.PutUint32(end[12:], uint32(len(directory)))
	_, err := open(append(directory, end...))
	if err == nil || !strings.Contains(err.Error(), "directory is too large") {
		t.Errorf("%v", err)
	}
}

func TestWriteIsDeterministic(t *testing.T) {
	t.Parallel()
	files := map[string]string{"templates/layout.html": layout, "templates/article.html": article, "assets/a.png": "\x89PNG", "assets/ü.css": "a{}"}
	write := func(order ...string) []byte {
		var list []theme.File
		for _, path := range order {
			list = append(list, theme.File{Path: path})
		}
		var b bytes.Buffer
		if err := theme.Write(&b, list, func(path string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(files[path])), nil
		}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	one := write("templates/layout.html", "assets/a.png", "assets/ü.css", "templates/article.html")
	if !bytes.Equal(one, write("assets/ü.css", "templates/article.html", "templates/layout.html", "assets/a.png")) {
		t.Error("another order gives other bytes")
	}
	a, err := open(one)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(files, contents(t, a)); d != "" {
		t.Errorf("round trip (-want +got):\n%s", d)
	}
}

func TestCleanPath(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path string
		ok   bool
	}{
		{"theme.json", true}, {"templates/layout.html", true}, {"assets/a%2fb", true}, {"assets/.well-known", true}, {"assets/a b.css", true},
		{"", false}, {"assets", false}, {"assets/", false}, {"/theme.json", false}, {"Theme.json", false}, {"theme.json/x", false},
		{"assets/..", false}, {"assets/...", false}, {"../assets/a", false}, {"assets/a/../b", false}, {"assets/a.", false}, {"assets/ a", false},
		{"assets/a\nb", false}, {"assets/a:b", false}, {"assetsx/a", false},
	}
	for _, tt := range tests {
		got, err := theme.CleanPath(tt.path)
		if (err == nil) != tt.ok || tt.ok && got != tt.path {
			t.Errorf("CleanPath(%q) = %q, %v", tt.path, got, err)
		}
	}
}

func TestNewer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want bool
	}{
		{"1.0.1", "1.0.0", true}, {"1.0.0", "1.0.1", false}, {"1.0", "1.0.0", false}, {"1.0.0", "1.0", false},
		{"1.10", "1.9", true}, {"2", "1.99.99", true}, {"01.0", "1.0", false}, {"1.0", "", true}, {"", "1", false}, {"", "", false},
	}
	for _, tt := range tests {
		if got := theme.Newer(tt.a, tt.b); got != tt.want {
			t.Errorf("Newer(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(pack(f, whole(entry{name: "assets/a.css", content: "a{}"})...))
	f.Add(pack(f, whole(entry{name: "assets/../x"})...))
	f.Add(lie(f, "assets/a", "hello", 1<<40))
	f.Fuzz(func(t *testing.T, archive []byte) {
		a, err := open(archive)
		if err != nil {
			if _, ok := errors.AsType[*theme.Problem](err); !ok {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		var total int64
		for path, content := range contents(t, a) {
			if clean, err := theme.CleanPath(path); err != nil || clean != path {
				t.Errorf("path %q", path)
			}
			total += int64(len(content))
		}
		if total > theme.MaxUnpacked {
			t.Errorf("%d bytes", total)
		}
	})
}

func FuzzCleanPath(f *testing.F) {
	for _, seed := range []string{"assets/a", "templates/../x", `assets\a`, "assets/e\u0301", "theme.json"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		clean, err := theme.CleanPath(path)
		if err != nil {
			return
		}
		if again, err := theme.CleanPath(clean); err != nil || again != clean {
			t.Errorf("not a fixed point: %q, %q, %v", clean, again, err)
		}
		if strings.HasPrefix(clean, "/") || strings.Contains("/"+clean+"/", "/../") || strings.ContainsAny(clean, "\\\x00:") || len(clean) > theme.MaxPath {
			t.Errorf("%q", clean)
		}
	})
}
