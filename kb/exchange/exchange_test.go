package exchange_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb/exchange"
)

func Example() {
	site := exchange.Site{Name: "Help", Collections: []exchange.Collection{{
		Key: "basics", SourceLocale: "en", SortOrder: "1", Texts: map[string]exchange.Text{"en": {Name: "Basics", Summary: "Where to begin"}},
		Articles: []exchange.Article{{Key: "hello", Live: exchange.Version{
			Status: "published", SourceLocale: "en", SortOrder: "1.5",
			Texts: map[string]exchange.ArticleText{
				"en": {Title: "Hello", Format: exchange.Markdown, Content: "Welcome **all**."},
				"de": {Title: "Hallo", Format: exchange.Markdown, Content: "Willkommen."},
			},
		}}},
	}}}
	err := exchange.Write(site, func(name string, content io.Reader) error {
		data, err := io.ReadAll(content)
		fmt.Printf("== %s\n%s", name, data)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// == site.yaml
	// name: Help
	// == collections/basics/index.en.md
	// ---
	// name: Basics
	// source: true
	// sort_order: 1
	// ---
	//
	// Where to begin
	// == collections/basics/articles/hello.de.md
	// ---
	// title: Hallo
	// ---
	//
	// Willkommen.
	// == collections/basics/articles/hello.en.md
	// ---
	// title: Hello
	// source: true
	// status: published
	// sort_order: 1.5
	// ---
	//
	// Welcome **all**.
}

// written returns what Write makes of a site.
func written(t *testing.T, s exchange.Site) fstest.MapFS {
	t.Helper()
	folder := fstest.MapFS{}
	err := exchange.Write(s, func(name string, content io.Reader) error {
		data, err := io.ReadAll(content)
		folder[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func contents(folder fstest.MapFS) map[string]string {
	all := map[string]string{}
	for name, f := range folder {
		all[name] = string(f.Data)
	}
	return all
}

// full returns a site with everything that a folder can contain, including unusual texts.
func full() exchange.Site {
	text := func(title, content string, f exchange.Format) exchange.ArticleText {
		return exchange.ArticleText{Title: title, Summary: "About: " + title, Format: f, Content: content}
	}
	return exchange.Site{
		Name: "Yes: no # 'x' \"y\"", Visibility: "private", HTMLHead: "<style>\n  p{}\n</style>\n",
		Look: &exchange.Look{
			Accent: "#7a1fa2", Hero: "plain", HideRecent: true,
			Texts: map[string]exchange.LookText{
				"de":    {Title: "Wie können wir helfen?", Searches: []string{"1.0", "yes"}, FooterLinks: []exchange.Link{{Name: "AGB", URL: "https://example.com/agb"}}},
				"pt-BR": {Line: "null", Copyright: "Acme", ContactText: "- amanhã", HeaderLinks: []exchange.Link{{Name: "~", URL: "mailto:a@example.com"}}},
			},
		},
		Collections: []exchange.Collection{
			{
				Key: "erste-schritte", SourceLocale: "de", SortOrder: "-1.250", Icon: "coins",
				Texts:      map[string]exchange.Text{"de": {Name: "Erste Schritte", Summary: "---\nkeine: Kopfzeilen\n---"}, "pt-BR": {Name: "1.0"}},
				Categories: []exchange.Category{{Key: "東京", SourceLocale: "ja", SortOrder: "1", Texts: map[string]exchange.Text{"ja": {Name: "東京"}}}},
				Articles: []exchange.Article{
					{Key: "a", Live: exchange.Version{Status: "published", SourceLocale: "en", SortOrder: "10", Categories: []string{"東京"},
						Texts: map[string]exchange.ArticleText{
							"en": text("true", "\n\n# One\n\nTwo\n\n", exchange.Markdown), "ar": text("مرحبا", "", exchange.Markdown),
							"fr": text("  été ", "<p>x</p>\n---\n", exchange.HTML),
						}},
						Draft: &exchange.Version{Status: "unpublished", SourceLocale: "en", SortOrder: "10",
							Texts: map[string]exchange.ArticleText{"en": text("Draft", "later", exchange.Markdown)}}},
					{Key: "b", Live: exchange.Version{Status: "unpublished", SourceLocale: "en", SortOrder: "11",
						Texts: map[string]exchange.ArticleText{"en": text("null", "\t- ~\n", exchange.Markdown)}}},
				},
			},
			{Key: "leer", SourceLocale: "en", SortOrder: "2", Texts: map[string]exchange.Text{"en": {Name: "Empty"}}},
		},
		Files: []exchange.File{{Name: "Bild 1.png", Size: 3, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("PNG")), nil
		}}},
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	first := written(t, full())
	site, err := exchange.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	ignoreOpen := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Open" }, cmp.Ignore())
	if diff := cmp.Diff(full(), site, ignoreOpen); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(contents(first), contents(written(t, site))); diff != "" {
		t.Errorf("written again (-first +second):\n%s", diff)
	}
}

// Changes that editors and version control make to text files have no effect.
func TestEditors(t *testing.T) {
	t.Parallel()
	folder := written(t, full())
	want := contents(folder)
	edited := fstest.MapFS{"README.md": {Data: []byte("about this folder")}, ".git/config": {Data: []byte("x")}}
	for name, f := range folder {
		if strings.HasPrefix(name, "files/") {
			edited[name] = f
			continue
		}
		edited[name] = &fstest.MapFile{Data: []byte("\ufeff" + strings.ReplaceAll(string(f.Data), "\n", "\r\n"))}
	}
	site, err := exchange.Read(edited)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, contents(written(t, site))); diff != "" {
		t.Error(diff)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	const a = "collections/c/articles/"
	valid := map[string]string{
		"site.yaml":                 "name: x\n",
		"collections/c/index.en.md": "---\nname: C\nsource: true\n---\n",
	}
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"nothing is there", map[string]string{"site.yaml": "", "collections/c/index.en.md": ""}, []string{"collections/c/index", "site.yaml"}},
		{"site.yaml with more than it has", map[string]string{"site.yaml": "name: x\ntitle: y\n"}, []string{"site.yaml"}},
		{"a look with more than it has", map[string]string{"site.yaml": "name: x\nlook:\n  colour: red\n"}, []string{"site.yaml"}},
		{"a look in no language", map[string]string{"site.yaml": "name: x\nlook:\n  texts:\n    PT-br: {title: x}\n"}, []string{"site.yaml"}},
		{"an icon of a category", map[string]string{"collections/c/categories/g.en.md": "---\nname: G\nsource: true\nicon: coins\n---\n"}, []string{"collections/c/categories/g.en.md"}},
		{"an icon in a translation", map[string]string{"collections/c/index.de.md": "---\nname: G\nicon: coins\n---\n"}, []string{"collections/c/index.de.md"}},
		{"two documents", map[string]string{"site.yaml": "name: x\n---\nname: y\n"}, []string{"site.yaml"}},
		{"no front matter", map[string]string{a + "a.en.md": "# Title\n"}, []string{a + "a.en.md"}},
		{"front matter without an end", map[string]string{a + "a.en.md": "---\ntitle: x\n"}, []string{a + "a.en.md"}},
		{"not text", map[string]string{a + "a.en.md": "---\ntitle: x\n---\n\xff"}, []string{a + "a.en.md"}},
		{"NUL", map[string]string{a + "a.en.md": "---\ntitle: x\n---\n\x00"}, []string{a + "a.en.md"}},
		{"no locale", map[string]string{a + "a.md": "---\ntitle: x\n---\n"}, []string{a + "a.md"}},
		{"a locale of another spelling", map[string]string{a + "a.PT-br.md": "---\ntitle: x\n---\n"}, []string{a + "a.PT-br.md"}},
		{"a key in capitals", map[string]string{a + "Ab.en.md": "---\ntitle: x\n---\n"}, []string{a + "Ab.en.md"}},
		{"a device's name", map[string]string{a + "con.en.md": "---\ntitle: x\n---\n"}, []string{a + "con.en.md"}},
		{"no source", map[string]string{a + "a.en.md": "---\ntitle: x\n---\n"}, []string{a + "a.en.md"}},
		{"two sources", map[string]string{
			a + "a.de.md": "---\ntitle: x\nsource: true\n---\n", a + "a.en.md": "---\ntitle: x\nsource: true\n---\n",
		}, []string{a + "a.en.md"}},
		{"status in a translation", map[string]string{
			a + "a.de.md": "---\ntitle: x\nsource: true\n---\n", a + "a.en.md": "---\ntitle: x\nstatus: published\n---\n",
		}, []string{a + "a.en.md"}},
		{"a category that is not there", map[string]string{a + "a.en.md": "---\ntitle: x\nsource: true\ncategories: [y]\n---\n"}, []string{a + "a.en.md"}},
		{"a draft alone", map[string]string{a + "a.en.draft.md": "---\ntitle: x\nsource: true\n---\n"}, []string{a + "a.en.draft.md"}},
		{"a word for a number", map[string]string{a + "a.en.md": "---\ntitle: x\nsource: true\nsort_order: last\n---\n"}, []string{a + "a.en.md"}},
		{"a number of another kind", map[string]string{a + "a.en.md": "---\ntitle: x\nsource: true\nsort_order: 0x10\n---\n"}, []string{a + "a.en.md"}},
		{"a format of another kind", map[string]string{a + "a.en.md": "---\ntitle: x\nsource: true\nformat: rst\n---\n"}, []string{a + "a.en.md"}},
		{"too deep", map[string]string{a + "x/a.en.md": "---\ntitle: x\n---\n"}, []string{a + "x/a.en.md"}},
		{"elsewhere", map[string]string{"articles/a.en.md": "x", "files/a/b.png": "x"}, []string{"articles/a.en.md", "files/a/b.png"}},
		{"a key in two collections", map[string]string{
			"collections/d/index.en.md": "---\nname: D\nsource: true\n---\n", "collections/d/articles/a.en.md": "---\ntitle: x\nsource: true\n---\n",
			a + "a.en.md": "---\ntitle: x\nsource: true\n---\n",
		}, []string{"collections/d/articles/a.en.md"}},
		{"aliases without end", map[string]string{"site.yaml": "name: &a [x, *a]\n"}, []string{"site.yaml"}},
		{"a file name for one system", map[string]string{"files/a:b.png": "x", "files/nul.txt": "x"}, []string{"files/a:b.png", "files/nul.txt"}},
		{"front matter without bounds", map[string]string{"site.yaml": "name: " + strings.Repeat("x", 100<<10)}, []string{"site.yaml"}},
		{"a text without bounds", map[string]string{a + "a.en.md": "---\ntitle: x\nsource: true\n---\n" + strings.Repeat("x", 3<<20)}, []string{a + "a.en.md"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			folder := fstest.MapFS{}
			for _, files := range []map[string]string{valid, test.files} {
				for name, data := range files {
					folder[name] = &fstest.MapFile{Data: []byte(data)}
					if data == "" {
						delete(folder, name)
					}
				}
			}
			if test.name == "nothing is there" {
				folder["collections/c/categories/g.en.md"] = &fstest.MapFile{Data: []byte("---\nname: G\nsource: true\n---\n")}
			}
			_, err := exchange.Read(folder)
			var problems exchange.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, p := range problems {
				got = append(got, p.Path)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// Problems name the line in the file.
func TestLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# Title\n":                  "1: it has to begin with front matter between lines of ---",
		"---\ntitle: x\n":            "1: it has to begin with front matter between lines of ---",
		"---\ntitle: x\n---\n\n\xff": "5: it is not UTF-8 text",
		"---\ntitle: x\nsource: true\nauthor: me\nkind: y\n---\n":      "4: there is no field author|5: there is no field kind",
		"---\r\ntitle: x\r\nsource: [true]\r\n---\r\n":                 "3: cannot unmarshal !!seq into bool",
		"---\ntitle: x\nsource: true\nsort_order: last\n---\n":         "4: a decimal number is needed, such as 1 or 2.5",
		"---\ntitle: x\nsource: true\nformat: rst\n---\n":              "4: format is markdown or html",
		"---\ntitle: x: y\nsource: true\n---\n":                        "2: mapping values are not allowed in this context",
		"---\ntitle: x\ncategories: []\nstatus: published\n---\n":      "3: status, sort_order, categories and icon belong into the file that says source: true",
		"---\ntitle: x\nsource: true\nsort_order: 1\n---\n\n---\n\n\n": "",
	} {
		_, err := exchange.Read(fstest.MapFS{
			"site.yaml":                            {Data: []byte("name: x\n")},
			"collections/c/index.en.md":            {Data: []byte("---\nname: C\nsource: true\n---\n")},
			"collections/c/articles/a.en.md":       {Data: []byte(text)},
			"collections/c/articles/a.en.draft.md": {Data: []byte("---\ntitle: x\nsource: true\n---\n")},
		})
		var got []string
		var problems exchange.Problems
		if err != nil && !errors.As(err, &problems) {
			t.Fatal(err)
		}
		for _, p := range problems {
			if line, ok := strings.CutPrefix(p.Path+":"+strconv.Itoa(p.Line)+": "+p.Message, "collections/c/articles/a.en.md:"); ok && p.Line > 0 {
				got = append(got, line)
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, "|")); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	var keys exchange.Keys
	keys.Take("taken")
	for _, test := range []struct{ title, want string }{
		{"Reset your Password!", "reset-your-password"}, {"Reset your password", "reset-your-password-2"}, {"Taken", "taken-2"},
		{"東京都", "東京都"}, {"Größe & Maß", "grösse-mass"}, {"  --  ", "article"}, {"???", "article-2"}, {"CON", "article-con"},
		{"a/../b", "a-b"}, {strings.Repeat("ü", 100), strings.Repeat("ü", 60)}, {strings.Repeat("ü", 101), strings.Repeat("ü", 59) + "-2"},
	} {
		got := keys.New(test.title, "article")
		if got != test.want {
			t.Errorf("%q: %q, want %q", test.title, got, test.want)
		}
		if !exchange.ValidKey(got) {
			t.Errorf("%q is not a valid blob key", got)
		}
	}
}

// A text is read back as it was written, and an invalid folder is an error.
func FuzzRoundTrip(f *testing.F) {
	for _, seed := range [][3]string{
		{"Title", "Summary", "# Hello\n"}, {"---", "---\n", "---\n---\n"}, {"'\"", ": x", "\n"}, {"1e3", "~", ""},
		{"\u2028", "\u0085 x", "\t"}, {"!!binary x", "&a *a", "{{"}, {"- a", "? b", "|"}, {" lead", "trail ", " \n "},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, title, summary, content string) {
		site := exchange.Site{Name: title, Collections: []exchange.Collection{{
			Key: "c", SourceLocale: "en", Texts: map[string]exchange.Text{"en": {Name: title, Summary: summary}},
			Articles: []exchange.Article{{Key: "a", Live: exchange.Version{SourceLocale: "en", Texts: map[string]exchange.ArticleText{
				"en": {Title: title, Summary: summary, Format: exchange.Markdown, Content: content},
			}}}},
		}}}
		first := written(t, site)
		read, err := exchange.Read(first)
		if err != nil {
			var problems exchange.Problems
			if !errors.As(err, &problems) {
				t.Fatal(err)
			}
			return // not text, or too much of it
		}
		if !strings.ContainsAny(title+summary+content, "\r") {
			if diff := cmp.Diff(site, read); diff != "" {
				t.Fatal(diff)
			}
		}
		if diff := cmp.Diff(contents(first), contents(written(t, read))); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Read returns for any file content.
func FuzzRead(f *testing.F) {
	f.Add([]byte("name: x\n"), []byte("---\ntitle: x\nsource: true\n---\nx"))
	f.Add([]byte("a: &a [*a]"), []byte("---\n---\n---"))
	f.Add([]byte("\ufeffname: !!binary x"), []byte("---\r\ntitle: [\r\n---"))
	f.Fuzz(func(t *testing.T, site, article []byte) {
		_, err := exchange.Read(fstest.MapFS{
			"site.yaml": {Data: site}, "collections/c/articles/a.en.md": {Data: article},
			"collections/c/index.en.md": {Data: []byte("---\nname: C\nsource: true\n---\n")},
		})
		var problems exchange.Problems
		if err != nil && !errors.As(err, &problems) {
			t.Fatal(err)
		}
	})
}
