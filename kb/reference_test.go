package kb_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// onePixel is a PNG.
const onePixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"

// Links to the site are stored without host, path, language and slug, in whatever form they were written. Other links are
// stored unchanged.
func TestReferences(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, func(cfg *kb.Config) { cfg.BaseURL = "https://desk.example.net" })
	site := mustSite(t, w, kb.SiteInput{
		AccountID: 1, Name: "Help", Path: storage.Some("docs"), Subdomain: storage.Some("acme"), CustomDomain: storage.Some("help.acme.example"),
	})
	var err error
	if w.Editor, err = w.Service.Editor(t.Context(), erin, site.ID); err != nil {
		t.Fatal(err)
	}
	f, err := w.CreateFile(t.Context(), kb.FileUpload{Filename: "a b.png", Content: strings.NewReader(onePixel)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.CreateCollection(t.Context(), kb.CollectionInput{TextInput: kb.TextInput{
		SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{"en": storage.Some(kb.TranslationInput{Title: storage.Some("Basics")})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := kb.Reference{Kind: kb.FilePages, ID: f.ID, URLKey: f.URLKey, Filename: f.Filename}.String()
	address := "/files/1/" + f.URLKey + "/old%20name.png"
	for given, want := range map[string]string{
		"https://help.acme.example/docs/en/articles/12-install":            "kb:articles/12",
		"http://help.acme.example/docs/de/articles/12-x?print=1#erste-%C3": "kb:articles/12?print=1#erste-%C3",
		"https://help.acme.example/docs/de/articles/12-x?print=1#a%20b":    "kb:articles/12?print=1#a%20b",
		"https://help.acme.example/docs/articles/12":                       "kb:articles/12",
		"https://HELP.acme.example/docs/en/collections/3-basics/":          "kb:collections/3",
		"https://acme.desk.example.net/docs/zh-Hant/categories/4":          "kb:categories/4",
		"https://desk.example.net/docs/en/articles/5":                      "kb:articles/5",
		"/docs/en/articles/5-x#y":                                          "kb:articles/5#y",
		"/en/articles/5-x#y":                                               "kb:articles/5#y",
		"/articles/5":                                                      "kb:articles/5",
		"kb:articles/5":                                                    "kb:articles/5",
		"https://help.acme.example" + address:                              file,
		"http://127.0.0.1:8080/api/v1/sites/7" + address + "#page=2":       file + "#page=2",
		address: file,
		"https://help.acme.example/other/en/articles/12":       "",
		"https://help.acme.example/docs/en/articles/12/edit":   "",
		"https://help.acme.example/docs/en/articles/12-x.md":   "",
		"https://help.acme.example/docs/en/search?query=x":     "",
		"https://evil.example/docs/en/articles/12":             "",
		"https://a@help.acme.example/docs/en/articles/12":      "",
		"https://help.acme.example:8443/docs/en/articles/12":   "",
		"https://help.acme.example/docs/nonsense1/articles/2":  "",
		"https://help.acme.example/files/1/wrongkey12345/a":    "",
		"https://help.acme.example/files/2/" + f.URLKey + "/a": "",
		"articles/5":           "",
		"../en/articles/5":     "",
		"#install":             "",
		"mailto:a@example.org": "",
		"/docs/en/articles/0":  "",
	} {
		if want == "" {
			want = given
		}
		for form, in := range map[string]kb.TranslationInput{
			"HTML":     {Title: storage.Some("A"), Content: storage.Some(`<p><a href="` + given + `">x</a></p>`)},
			"Markdown": {Title: storage.Some("A"), Markdown: storage.Some("[x](" + given + ")")},
		} {
			a, err := w.CreateArticle(t.Context(), kb.ArticleInput{
				CollectionID: c.ID, TextInput: kb.TextInput{SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{"en": storage.Some(in)}},
			})
			if err != nil {
				t.Fatal(given, err)
			}
			got := a.Revision.Translations[0]
			if content := strings.TrimSuffix(got.Content, "\n"); content != `<p><a href="`+want+`">x</a></p>` {
				t.Errorf("%s, %s: %s", given, form, content)
			}
			if form == "Markdown" && got.Markdown != "["+"x]("+want+")" {
				t.Errorf("%s: %s", given, got.Markdown)
			}
			// Content that is served and sent back is stored unchanged.
			linked := got.Linked(func(r kb.Reference) string { return w.Service.URL(site) + r.Path("de") })
			back, err := w.UpdateArticle(t.Context(), a.Article.ID, kb.ArticleInput{
				CollectionID: c.ID, TextInput: kb.TextInput{SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{
					"en": storage.Some(kb.TranslationInput{Content: storage.Some(linked.Content), Markdown: storage.Some(linked.Markdown)}),
				}},
			})
			if form == "Markdown" { // giving both forms is refused
				back, err = w.UpdateArticle(t.Context(), a.Article.ID, kb.ArticleInput{
					CollectionID: c.ID, TextInput: kb.TextInput{SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{
						"en": storage.Some(kb.TranslationInput{Markdown: storage.Some(linked.Markdown)}),
					}},
				})
			}
			if err != nil {
				t.Fatal(given, form, err)
			}
			if diff := cmp.Diff(got, back.Revision.Translations[0]); diff != "" {
				t.Errorf("%s, %s, served and sent back: %s", given, form, diff)
			}
			if strings.HasPrefix(want, "kb:") && strings.Contains(linked.Content+linked.Markdown, "kb:") {
				t.Errorf("%s is served as %s", given, linked.Content)
			}
		}
	}
}

func mustSite(t *testing.T, w *workshop, in kb.SiteInput) kb.Site {
	t.Helper()
	sites, err := w.Sites(erin)
	if err != nil {
		t.Fatal(err)
	}
	site, err := sites.Create(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// A reference is parsed as it was written.
func TestParseReference(t *testing.T) {
	t.Parallel()
	for _, r := range []kb.Reference{
		{Kind: kb.ArticlePages, ID: 1},
		{Kind: kb.CategoryPages, ID: 1<<62 + 1, Suffix: "?a=b#c/d?e"},
		{Kind: kb.CollectionPages, ID: 7, Suffix: "#تثبيت"},
		{Kind: kb.FilePages, ID: 9, URLKey: "abcdefgh2345", Filename: "ä (b) 50%?#/\".pdf", Suffix: "#page=2"},
	} {
		got, ok := kb.ParseReference(r.String())
		if diff := cmp.Diff(r, got); diff != "" || !ok {
			t.Errorf("%s: %t %s", r, ok, diff)
		}
	}
	for _, s := range []string{
		"", "kb:", "kb:articles", "kb:articles/", "kb:articles/x", "kb:articles/01", "kb:articles/-1", "kb:articles/1/2", "kb:files/1",
		"kb:files/1/key", "articles/1", "KB:articles/1", "kb:articles/99999999999999999999", "kb:articles/1/abcdefgh/x", "kb:files/1/abcdefgh/%zz",
	} {
		if r, ok := kb.ParseReference(s); ok {
			t.Errorf("%q is read as %v", s, r)
		}
	}
}
