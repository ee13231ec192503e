package exchange_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/exchange"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/plain"
)

// hostileNames are names that some file system refuses, changes or takes for another.
var hostileNames = []string{
	"aux", "CON", "con", "Com1", "LPT¹", "NUL.tar", "conin$", "CON ", " prn", "COM0", "clock$", // devices of Windows
	"Foto fu\u0308r Hilfe", "Foto für Hilfe", "FOTO FÜR HILFE", "e\u0301te\u0301", "été", "Å", "A\u030a", "\u212b", "각", "\u1100\u1161\u11a8", // composition
	"straße", "STRASSE", "ſ", "İ", "i\u0307", "ǰ", "\u1fb3", "ᾳ", "\u0345", "a\u0345b", "ﬃ", "①", "1", "K", "\u212a", "ϓ\u0301", "𝅗𝅥", "\u0958", // folding
	".hidden", "..", "...", "trailing.", "trailing. .", "- -", "a:b", `a\b`, "a/b", "a*b?", `"x"`, "<i>", "a|b", "~", "%41", "a%2Fb", "a#b?c", // signs
	"\u200bx", "x\ufeff", "x\u2028y", "x\u0085y", "a\u202eb", "\ufffe", "\ue000", "a\u034f", "🙂", "👨\u200d👩\u200d👧", "", " ", "-", "_", "index", "README",
	strings.Repeat("long ", 60), strings.Repeat("語", 90), strings.Repeat("e\u0301", 90), strings.Repeat("ΐ", 30), strings.Repeat("각", 25),
	"a-2", "a", "A", "a.en", "a.draft", "true", "null", "1.0", "---", "# x", "[x](y)", "(", "a b", "a_b", "a__b", "site.yaml", "\u0301", "x\u00ad",
}

// hostileSite fills a site with resources of hostile names that link to each other.
func hostileSite(t *testing.T, x exchange.Exchange, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 8)) //nolint:gosec // the tests repeat
	name := func() string { return hostileNames[rng.IntN(len(hostileNames))] }
	ctx, e := t.Context(), x.Editor
	var links []string
	for n := range 14 {
		content := fmt.Sprint("text ", n)
		filename := name() + []string{".txt", ".TXT", ".md", ".csv"}[rng.IntN(4)]
		f, err := e.CreateFile(ctx, kb.FileUpload{Filename: filename, Content: strings.NewReader(content)})
		if err != nil {
			continue // a name that the service refuses, too
		}
		links = append(links, "https://old.example"+kb.FilePath(f))
	}
	texts := func(content string) kb.TextInput {
		in := kb.TextInput{SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{}}
		for _, locale := range []string{"en", "de", "zh-Hant"}[:1+rng.IntN(3)] {
			t := kb.TranslationInput{Title: storage.Some("t" + name()), Summary: storage.Some(name())}
			if title := name(); plain.Visible(title) && len([]rune(title)) <= 200 {
				t.Title = storage.Some(title)
			}
			if content != "" {
				t.Markdown = storage.Some(content)
			}
			in.Translations[locale] = storage.Some(t)
		}
		return in
	}
	for range 3 {
		c, err := e.CreateCollection(ctx, kb.CollectionInput{TextInput: texts("")})
		if refused(t, err) {
			continue
		}
		var categories []int64
		for range 2 {
			if g, err := e.CreateCategory(ctx, kb.CategoryInput{TextInput: texts(""), CollectionID: c.ID}); !refused(t, err) {
				categories = append(categories, g.ID)
			}
		}
		for range 4 {
			var content strings.Builder
			for range 3 {
				fmt.Fprintf(&content, "[%s](<%s>)\n\n", "x", links[rng.IntN(len(links))])
			}
			a, err := e.CreateArticle(ctx, kb.ArticleInput{
				TextInput: texts(content.String()), CollectionID: c.ID, CategoryIDs: storage.Some(categories[:rng.IntN(len(categories)+1)]), Status: storage.Some(kb.Published),
			})
			if refused(t, err) || rng.IntN(3) > 0 {
				continue
			}
			_, err = e.UpdateDraft(ctx, a.Article.ID, kb.ArticleInput{TextInput: texts(content.String()), CollectionID: c.ID, Status: storage.Some(kb.Unpublished)})
			refused(t, err)
		}
	}
}

// refused reports whether the service refused an input, and fails for any other error.
func refused(t *testing.T, err error) bool {
	t.Helper()
	if err != nil && !strings.Contains(err.Error(), "title") {
		t.Fatal(err)
	}
	return err != nil
}

// save exports a site into a folder, and returns its files.
func save(t *testing.T, x exchange.Exchange, root *os.Root) map[string]string {
	t.Helper()
	site, err := x.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := exchange.Save(site, root); err != nil {
		t.Fatal(err)
	}
	return onDisk(t, root)
}

// unchanged expects that importing a folder changes nothing.
func unchanged(t *testing.T, what string, x exchange.Exchange, folder fs.FS) {
	t.Helper()
	site, err := exchange.Read(folder)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	changes, err := x.Import(t.Context(), site, exchange.Options{Delete: true})
	if err != nil || len(changes) > 0 {
		t.Errorf("%s: %v %v", what, changes, err)
	}
}

// Whatever names a site has, importing its export changes nothing, exporting again gives the same bytes, and so does a new
// site; also where the file system decomposes the names.
func TestNamesSurvive(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			x := newExchange(t, memstore.New())
			hostileSite(t, x, seed)
			first, decomposed := openRoot(t, t.TempDir()), openRoot(t, t.TempDir())
			want := save(t, x, first)
			unchanged(t, "untouched", x, first.FS())
			if diff := cmp.Diff(want, save(t, x, openRoot(t, t.TempDir()))); diff != "" {
				t.Errorf("exported again: %s", diff)
			}
			names := map[string]string{}
			for name, content := range want {
				one := cases.Fold().String(norm.NFD.String(name))
				if other := names[one]; other != "" {
					t.Errorf("%q and %q are one file where case does not count", name, other)
				}
				names[one] = name
				if err := decomposed.MkdirAll(norm.NFD.String(path.Dir(name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := decomposed.WriteFile(norm.NFD.String(name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			unchanged(t, "decomposed", x, decomposed.FS())
			if diff := cmp.Diff(want, save(t, x, decomposed)); diff != "" {
				t.Errorf("exported over decomposed names: %s", diff)
			}
			site, err := exchange.Read(first.FS())
			if err != nil {
				t.Fatal(err)
			}
			fresh := newExchange(t, memstore.New())
			if _, err := fresh.Import(t.Context(), site, exchange.Options{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, save(t, fresh, openRoot(t, t.TempDir()))); diff != "" {
				t.Errorf("exported from a new site: %s", diff)
			}
		})
	}
}

// TestFileNames shows what the names of files become.
func TestFileNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ names, want []string }{
		{[]string{"aux.txt", "CON.txt", "COM1.md", "Com¹.txt", "nul .txt"}, []string{"file-aux.txt", "file-con.txt", "file-com1.md", "file-com1.txt", "file-nul.txt"}},
		{[]string{"Foto fu\u0308r.txt", "Foto für.txt", "foto FÜR.TXT"}, []string{"Foto für.txt", "Foto für-2.txt", "foto FÜR-3.TXT"}},
		{[]string{"a.txt", "A.TXT", "a-2.txt", "a.md"}, []string{"a.txt", "A-2.TXT", "a-2-2.txt", "a.md"}},
		{[]string{".env.txt", "..txt", "a?.txt", "x .txt"}, []string{"env.txt", "file.txt", "a.txt", "x .txt"}},
	} {
		x := newExchange(t, memstore.New())
		for _, name := range test.names {
			if _, err := x.Editor.CreateFile(t.Context(), kb.FileUpload{Filename: name, Content: strings.NewReader(name)}); err != nil {
				t.Fatal(err)
			}
		}
		site, err := x.Export(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range site.Files {
			got = append(got, f.Name)
		}
		slices.Sort(test.want)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// Keys of earlier releases that not every system takes are replaced, and those of files that are one file elsewhere.
func TestFormerKeys(t *testing.T) {
	t.Parallel()
	x := newExchange(t, memstore.New())
	for _, key := range []string{"aux.txt", "fu\u0308r.txt", "Bild.txt", "bild.txt", "kept.txt"} {
		if _, err := x.Editor.CreateFile(t.Context(), kb.FileUpload{Filename: key, Content: strings.NewReader(key), ExchangeKey: key}); err != nil {
			t.Fatal(err)
		}
	}
	root := openRoot(t, t.TempDir())
	got := save(t, x, root)
	delete(got, "site.yaml")
	want := map[string]string{
		"files/file-aux.txt": "aux.txt", "files/für.txt": "fu\u0308r.txt", "files/Bild.txt": "Bild.txt", "files/bild-2.txt": "bild.txt", "files/kept.txt": "kept.txt",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	unchanged(t, "exported", x, root.FS())
}

// Read names files that many systems take for one.
func TestNamesTwice(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"files/a.txt", "files/A.txt"}, {"files/f\u00fc.txt", "files/fu\u0308.txt"},
		{"collections/c/articles/\u00fc.en.md", "collections/c/articles/u\u0308.en.md"},
	} {
		folder := fstest.MapFS{"site.yaml": {Data: []byte("name: x\n")}, "collections/c/index.en.md": {Data: []byte("---\nname: C\nsource: true\n---\n")}}
		for _, name := range pair {
			folder[name] = &fstest.MapFile{Data: []byte("---\ntitle: x\nsource: true\n---\n")}
		}
		_, err := exchange.Read(folder)
		var problems exchange.Problems
		if !errors.As(err, &problems) || len(problems) != 1 || !strings.Contains(problems[0].Message, "take its name for the same") {
			t.Errorf("%q: %v", pair, err)
		}
	}
}
