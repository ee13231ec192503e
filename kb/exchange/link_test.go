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

func folderOf(t *testing.T, files map[string]string) exchange.Site {
	t.Helper()
	folder := fstest.MapFS{"site.yaml": {Data: []byte("name: New\n")}}
	for name, text := range files {
		folder[name] = &fstest.MapFile{Data: []byte(text)}
	}
	site, err := exchange.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// articleHTML returns the HTML of a site's articles by title, with references.
func articleHTML(t *testing.T, x exchange.Exchange) map[string]string {
	t.Helper()
	page, err := x.Editor.Articles(t.Context(), kb.ArticleFilter{}, false, storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, a := range page.Items {
		for _, o := range a.Revision.Translations {
			all[o.Title] = strings.TrimSpace(o.Content)
		}
	}
	return all
}

// Links between texts and to files are references in the site, in whatever order articles are created, and paths in the
// folder. A second import changes nothing.
func TestLinks(t *testing.T) {
	t.Parallel()
	x := newExchange(t, memstore.New())
	files := map[string]string{
		"collections/a/index.en.md":           "---\nname: A\nsource: true\n---\n",
		"collections/a/categories/c.en.md":    "---\nname: C\nsource: true\n---\n",
		"collections/b/index.en.md":           "---\nname: B\nsource: true\n---\n",
		"files/note 1.txt":                    "txt",
		"collections/a/articles/first.en.md":  "---\ntitle: First\nsource: true\n---\n\n[1](second.en.md#top) [2](../../b/articles/third.en.md) [3](../index.en.md) [4](../categories/c.en.md) [5](../../../files/note%201.txt) [6](gone.en.md) [7](./first.en.md?x=y) `[8](second.en.md)`\n",
		"collections/a/articles/second.en.md": "---\ntitle: Second\nformat: html\nsource: true\n---\n\n<p><a href=\"first.en.md\">1</a> <a href=\"../../../collections/b/articles/third.de.md\">2</a></p>\n",
		"collections/b/articles/third.en.md":  "---\ntitle: Third\nsource: true\n---\n\n[1](../../a/articles/first.en.md)\n",
		"collections/b/articles/third.de.md":  "---\ntitle: Dritter\n---\n\n[1](../../a/articles/first.en.md) [2](third.en.md)\n",
	}
	folder := folderOf(t, files)
	if _, err := x.Import(t.Context(), folder, exchange.Options{}); err != nil {
		t.Fatal(err)
	}
	fileList, err := x.Editor.Files(t.Context(), storage.PageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	note := kb.Reference{Kind: kb.FilePages, ID: fileList.Items[0].ID, URLKey: fileList.Items[0].URLKey, Filename: "note 1.txt"}.String()
	want := map[string]string{
		"First": `<p><a href="kb:articles/2#top">1</a> <a href="kb:articles/3">2</a> <a href="kb:collections/3">3</a> <a href="kb:categories/1">4</a> <a href="` +
			note + `">5</a> <a href="gone.en.md">6</a> <a href="kb:articles/1?x=y">7</a> <code>[8](second.en.md)</code></p>`,
		"Second":  `<p><a href="kb:articles/1">1</a> <a href="kb:articles/3">2</a></p>`,
		"Third":   `<p><a href="kb:articles/1">1</a></p>`,
		"Dritter": `<p><a href="kb:articles/1">1</a> <a href="kb:articles/3">2</a></p>`,
	}
	if diff := cmp.Diff(want, articleHTML(t, x)); diff != "" {
		t.Error(diff)
	}
	if changes, err := x.Import(t.Context(), folder, exchange.Options{}); err != nil || len(changes) > 0 {
		t.Errorf("a second import: %v %v", changes, err)
	}

	out, err := x.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	third := out.Collections[1].Articles[0].Live.Texts
	if got, want := third["de"].Content, "[1](../../../collections/a/articles/first.en.md) [2](../../../collections/b/articles/third.de.md)"; got != want {
		t.Errorf("exported: %s, want %s", got, want)
	}
	again := newExchange(t, memstore.New())
	if _, err := again.Import(t.Context(), out, exchange.Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(withoutKeys(articleHTML(t, x)), withoutKeys(articleHTML(t, again))); diff != "" {
		t.Error("an export, imported elsewhere:", diff)
	}
	if changes, err := x.Import(t.Context(), out, exchange.Options{}); err != nil || len(changes) > 0 {
		t.Errorf("an export, imported where it comes from: %v %v", changes, err)
	}

	files["collections/a/articles/gone.en.md"] = "---\ntitle: Gone\nsource: true\n---\n\nIt has come.\n"
	var said []string
	for _, dry := range []bool{true, false} {
		changes, err := x.Import(t.Context(), folderOf(t, files), exchange.Options{DryRun: dry})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, c := range changes {
			lines = append(lines, c.String())
		}
		if said != nil && cmp.Diff(said, lines) != "" {
			t.Errorf("the dry run says %v, and done is %v", said, lines)
		}
		said = lines
	}
	if diff := cmp.Diff([]string{"update collections/a/articles/first (links)", "create collections/a/articles/gone"}, said); diff != "" {
		t.Error(diff)
	}
	if got := articleHTML(t, x)["First"]; !strings.Contains(got, `<a href="kb:articles/6">6</a>`) {
		t.Errorf("a link to what came later: %s", got)
	}
}

// withoutKeys removes what differs between two sites.
func withoutKeys(all map[string]string) map[string]string {
	out := map[string]string{}
	for title, content := range all {
		if i := strings.Index(content, "kb:files/"); i >= 0 {
			rest := content[i:]
			content = content[:i] + rest[strings.IndexByte(rest, '"'):]
		}
		out[title] = content
	}
	return out
}
