package exchange_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/exchange"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memstore"
)

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"

// documentation is a folder as found in repositories.
func documentation() fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"README.md":                "<h1 align=\"center\">Widget</h1>\n\n[Install](guide/01-install.md#from-source) [API](/api/) [code](src/Makefile) [changes](CHANGELOG) ![logo](./img/logo.png \"Logo\") <img src=\"img/logo.png\"> [site](https://example.org/a.md)\n",
		"CHANGELOG.md":             "1.0\n===\n\nFirst.\n",
		"guide/index.md":           "---\ntitle: The guide\ndescription: How to.\nlayout: default\ntags: [a, {b: c}]\n---\n# Not this\n\n[2](02-use.html) [up](../README.md) [self](#not-this) [api](../api)\n",
		"guide/01-install.md":      "# Install `widget`\n\n## From source\n\n[next][use] `[x](gone.md)`\n\n```\n[y](gone.md)\n```\n\n[use]: ./02-use \"Use it\"\n",
		"guide/02-use.md":          "---\nsidebar_position: 1\ndraft: true\n---\nNo heading. [dead](gone.md) [dead](gone.md) ![dead](gone.png) [out](../../etc/passwd) [escaped](%67one.md)\n",
		"guide/advanced/deep.md":   "---\nnot: [closed\n---\n# Deep\n\n[a b](a%20b.md) [c](/guide/02-use.md)\n",
		"guide/advanced/a b.md":    "\ufeff# A b\r\n\r\nText.\r\n",
		"api/methods.markdown":     "---\n\nA rule, no front matter.\n",
		"node_modules/x/README.md": "# No\n",
		".github/README.md":        "# No\n",
		"_drafts/x.md":             "# No\n",
		"img/logo.png":             png,
		"img/unused.png":           png,
		"src/Makefile":             "alert(1)",
		"broken.md":                "a\x00b",
		"guide/.hidden.md":         "# No\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func TestReadDocs(t *testing.T) {
	t.Parallel()
	site, remarks, err := exchange.ReadDocs(documentation(), exchange.DocsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"*.png: 1 left out: img/unused.png",
		"README.md: a link leads to src/Makefile, which is no page and no file that a site takes: only its text stays",
		"_*: 1 left out: _drafts",
		"broken.md: it is left out: line 1: it is not UTF-8 text",
		"files without extension: 1 left out: src/Makefile",
		"guide/02-use.md: a link leads to %67one.md, which is no page and no file that a site takes: only its text stays",
		"guide/02-use.md: a link leads to ../../etc/passwd, which is no page and no file that a site takes: only its text stays",
		"guide/02-use.md: a link leads to gone.md, which is no page and no file that a site takes: only its text stays",
		"guide/02-use.md: a link leads to gone.png, which is no page and no file that a site takes: only its text stays",
		"guide/advanced/deep.md: its front matter is left out: line 1: did not find expected ',' or ']'",
	}
	if diff := cmp.Diff(want, strings.Split(remarks.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
	var shape []string
	for _, c := range site.Collections {
		shape = append(shape, string(c.SortOrder)+" "+c.Key+": "+c.Texts["en"].Name+" ("+c.Texts["en"].Summary+")")
		for _, g := range c.Categories {
			shape = append(shape, "- "+g.Key+": "+g.Texts["en"].Name)
		}
		for _, a := range c.Articles {
			text := a.Live.Texts["en"]
			shape = append(shape, strings.Join([]string{string(a.Live.SortOrder), a.Key, text.Title, text.Summary, a.Live.Status, strings.Join(a.Live.Categories, " ")}, "|"))
		}
	}
	if diff := cmp.Diff([]string{
		"2 api: Api ()", "3|api-methods|Methods||published|",
		"1 documentation: Widget ()", "2|changelog|1.0||published|", "1|readme|Widget||published|",
		"3 guide: The guide (How to.)", "- guide-advanced: Advanced",
		"6|guide-01-install|Install widget||published|", "5|guide-02-use|Use||unpublished|",
		"7|guide-advanced-a-b|A b||published|guide-advanced", "8|guide-advanced-deep|Deep||published|guide-advanced",
		"4|guide-index|The guide|How to.|published|",
	}, shape); diff != "" {
		t.Error(diff)
	}
	if len(site.Files) != 1 || site.Files[0].Name != "img-logo.png" {
		t.Errorf("files: %v", site.Files)
	}
	if _, _, err := exchange.ReadDocs(fstest.MapFS{"a.txt": {Data: []byte("x")}}, exchange.DocsOptions{}); err == nil {
		t.Error("a folder without pages is read")
	}
	linked, remarks, err := exchange.ReadDocs(documentation(), exchange.DocsOptions{Source: "https://git.example/widget/"})
	if err != nil || strings.Contains(remarks.Error(), "a link") {
		t.Error(remarks, err)
	}
	if got := linked.Collections[1].Articles[1].Live.Texts["en"].Content; !strings.Contains(got, "[code](https://git.example/widget/src/Makefile)") {
		t.Error(got)
	}
}

// All links of imported documentation work, and importing it again changes nothing.
func TestImportDocs(t *testing.T) {
	t.Parallel()
	x := newExchange(t, memstore.New())
	for round := range 2 {
		site, _, err := exchange.ReadDocs(documentation(), exchange.DocsOptions{})
		if err != nil {
			t.Fatal(err)
		}
		changes, err := x.Import(t.Context(), site, exchange.Options{})
		if err != nil || (len(changes) == 0) != (round == 1) {
			t.Fatal(round, changes, err)
		}
	}
	if site, err := x.Editor.Site(t.Context()); err != nil || site.Name != "New" {
		t.Error("the site's own name:", site.Name, err)
	}
	page, err := x.Editor.Articles(t.Context(), kb.ArticleFilter{}, false, storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	titles := map[int64]string{}
	for _, a := range page.Items {
		titles[a.Article.ID] = a.Revision.Translations[0].Title
	}
	links := map[string][]string{}
	for _, a := range page.Items {
		text := a.Revision.Translations[0]
		for _, r := range text.References() {
			to := r.Kind
			switch r.Kind {
			case kb.ArticlePages:
				to = titles[r.ID]
			case kb.FilePages:
				to = r.Filename
			}
			links[text.Title] = append(links[text.Title], to+r.Suffix)
		}
		for _, dead := range []string{`.md`, `href=""`, `src="img`} {
			for _, part := range strings.Split(text.Content, `="`)[1:] {
				address, _, _ := strings.Cut(part, `"`)
				if strings.Contains(address, dead) && !strings.HasPrefix(address, "https:") {
					t.Errorf("%s has a dead link: %s", text.Title, address)
				}
			}
		}
	}
	if diff := cmp.Diff(map[string][]string{
		"Widget":         {"Install widget#from-source", "collections", "1.0", "img-logo.png"},
		"The guide":      {"Use", "Widget", "collections"},
		"Install widget": {"Use"},
		"Deep":           {"A b", "Use"},
	}, links); diff != "" {
		t.Error(diff)
	}
}

// Links that are valid only where the documentation was written, and pages that all begin with the name of the product.
func TestReadDocsAsWrittenElsewhere(t *testing.T) {
	t.Parallel()
	folder := fstest.MapFS{}
	for name, text := range map[string]string{
		"api/agent.md": "<h1 align=\"center\">Widget</h1>\n\n## The agent\n\n" +
			"[1](/docs/docs/api/pool.md#pool-options) [2](/latest/api/pool/) [3](pool.md#PoolOptions) [4](pool.md#gone) [5](#gone)" +
			" [6](#The-Agent) [7](/elsewhere/gone) [8](/) [9](pool.md#same_1) [10](pool.md#SAME1) [11](#widget)\n",
		"api/pool.md":  "# Widget\n\n## The pool\n\n### Pool options\n\n<a id=\"same_1\"></a><a id=\"same-1\"></a>\n",
		"api/only.md":  "# Widget\n\nNo more headings.\n",
		"api/apart.md": "# Widget\n\n### Too deep\n",
	} {
		folder[name] = &fstest.MapFile{Data: []byte(text)}
	}
	site, remarks, err := exchange.ReadDocs(folder, exchange.DocsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]string{}
	for _, a := range site.Collections[0].Articles {
		titles[a.Key] = a.Live.Texts["en"].Title
	}
	if diff := cmp.Diff(map[string]string{"api-agent": "The agent", "api-pool": "The pool", "api-only": "Only", "api-apart": "Apart"}, titles); diff != "" {
		t.Error(diff)
	}
	const pool = "(../../../collections/api/articles/api-pool.en.md"
	_, links, _ := strings.Cut(site.Collections[0].Articles[0].Live.Texts["en"].Content, "[1]")
	if diff := cmp.Diff(pool+"#pool-options) [2]"+pool+") [3]"+pool+"#pool-options) [4]"+pool+") [5](<>) [6](#the-agent) [7](<>) [8](<>) [9]"+pool+"#same_1) [10]"+pool+"#same_1) [11](#widget)\n", links); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"api/agent.md: a link leads to #gone, which the page does not have: only its text stays",
		"api/agent.md: a link leads to /, which is no page and no file that a site takes: only its text stays",
		"api/agent.md: a link leads to /elsewhere/gone, which is no page and no file that a site takes: only its text stays",
		"api/agent.md: a link leads to pool.md#gone, but that page has no such anchor: it leads to the page now",
	}, strings.Split(remarks.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}
