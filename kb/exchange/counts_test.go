package exchange_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/exchange"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memstore"
)

// siteRows returns what a site has, by kind and key.
func siteRows(t *testing.T, x exchange.Exchange) map[string]string {
	t.Helper()
	ctx, e, rows := t.Context(), x.Editor, map[string]string{}
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	known, err := e.ExchangeKeys(ctx)
	must(err)
	keys := map[string]string{}
	for _, k := range known {
		keys[fmt.Sprint(k.Kind, k.ID)] = k.Key
	}
	key := func(kind kb.KeyKind, id int64) string { return fmt.Sprintf("%s %s", kind, keys[fmt.Sprint(kind, id)]) }
	whole := storage.PageRequest{Limit: storage.MaxLimit}
	site, err := e.Site(ctx)
	must(err)
	rows["site"] = fmt.Sprintf("%q %s %q %+v", site.Name, site.Visibility, site.HTMLHead, site.Look)
	text := func(of kb.Text) string {
		var b strings.Builder
		for _, tr := range of.Translations {
			fmt.Fprintf(&b, "%s %q %q %q %q\n", tr.Locale, tr.Title, tr.Summary, tr.Content, tr.Markdown)
		}
		return of.SourceLocale + b.String()
	}
	files, err := e.Files(ctx, whole)
	must(err)
	for _, f := range files.Items {
		rows[key(kb.FileKey, f.ID)] = fmt.Sprint(f.ID, f.Filename, f.Size)
	}
	collections, err := e.Collections(ctx, false, whole)
	must(err)
	for _, c := range collections.Items {
		rows[key(kb.CollectionKey, c.ID)] = fmt.Sprint(c.SortOrder, c.Icon, text(c.Text))
	}
	categories, err := e.Categories(ctx, kb.CategoryFilter{}, false, whole)
	must(err)
	for _, c := range categories.Items {
		rows[key(kb.CategoryKey, c.ID)] = fmt.Sprint(c.CollectionID, c.SortOrder, text(c.Text))
	}
	articles, err := e.Articles(ctx, kb.ArticleFilter{}, false, whole)
	must(err)
	revision := func(a kb.ArticleRevision) string {
		return fmt.Sprint(a.Article.CollectionID, a.Revision.SortOrder, a.Revision.Status, a.Revision.CategoryIDs, text(a.Revision.Text))
	}
	for _, a := range articles.Items {
		rows[key(kb.ArticleKey, a.Article.ID)] = revision(a)
	}
	drafts, err := e.Drafts(ctx, articles.Items)
	must(err)
	for _, d := range drafts {
		rows[key(kb.ArticleKey, d.Article.ID)+" (draft)"] = revision(d)
	}
	return rows
}

// rowsChanged returns how rows came to be others, as an import tells it.
func rowsChanged(before, after map[string]string) map[string]exchange.Action {
	changed := map[string]exchange.Action{}
	for name, row := range after {
		switch was, known := before[name]; {
		case !known:
			changed[name] = exchange.Create
		case was != row:
			changed[name] = exchange.Update
		}
	}
	for name := range before {
		article, draft := strings.CutSuffix(name, " (draft)")
		if _, left := after[article]; draft && !left {
			continue // it goes with its article
		}
		if _, kept := after[name]; !kept {
			changed[name] = exchange.Delete
		}
	}
	return changed
}

// told returns the changes of an import by kind and key.
func told(t *testing.T, changes []exchange.Change) map[string]exchange.Action {
	t.Helper()
	all := map[string]exchange.Action{}
	for _, c := range changes {
		path, draft := strings.CutSuffix(c.Path, " (draft)")
		name, parts := "site", strings.Split(path, "/")
		switch last := parts[len(parts)-1]; {
		case parts[0] == "files":
			name = string(kb.FileKey) + " " + last
		case len(parts) == 3:
			name = string(kb.CollectionKey) + " " + parts[1]
		case len(parts) == 4 && parts[2] == "categories":
			name = string(kb.CategoryKey) + " " + last
		case len(parts) == 4:
			name = string(kb.ArticleKey) + " " + last
		}
		if draft {
			name += " (draft)"
		}
		if _, twice := all[name]; twice {
			if name == "site" { // its fields and its look are two changes of one row
				continue
			}
			t.Errorf("%s is told twice", name)
		}
		all[name] = c.Action
	}
	return all
}

// folderDice makes folders.
type folderDice struct{ *rand.Rand }

func among[T any](d folderDice, from ...T) T { return from[d.IntN(len(from))] }

func (d folderDice) title() string {
	return among(d, "Door", " Door ", "Dóor", "Do\u0301or", "A  B", "a\tb", "x\u00a0y", "x\u200by", "é\u202eb", "Line\u2028two", "🙂", "x\u00ad", strings.Repeat("long ", 30), fmt.Sprint("T", d.IntN(9)))
}

func (d folderDice) summary() string {
	return among(d, "", " ", "Short", " two  spaces ", "a\nb", "a \n b\n", "\u200b", "x\u2029y", "tab\there")
}

func (d folderDice) locales() []string {
	all := []string{"en", "de", "pt-BR", "ar"}
	return all[:1+d.IntN(len(all))]
}

func (d folderDice) content(files, articles []string) (string, exchange.Format) {
	link := func() string {
		if len(files) > 0 && d.IntN(2) == 0 {
			return "../../../files/" + strings.ReplaceAll(among(d, files...), " ", "%20")
		}
		return among(d, "https://example.com/ü", "#top", "../../../files/gone.txt", among(d, articles...)+".md", "../../c1/articles/"+among(d, articles...)+".en.md", "../articles/"+among(d, articles...)+".md")
	}
	switch d.IntN(3) {
	case 0:
		return fmt.Sprintf("<p>Hello <a href=\"%s\">x</a></p><script>x</script><img src='%s'>%s", link(), link(), among(d, "", "\n", "<hr>", "<b>x")), exchange.HTML
	case 1:
		return among(d, "", " ", "\n\n# One\n\nTwo\n\n", "* a\n* b", "x\r\ny", "\ttab", "a\u2028b", "***", "<b>x</b>", "1) a"), exchange.Markdown
	}
	return fmt.Sprintf("Hello [x](%s) and ![](%s)\n", link(), link()), exchange.Markdown
}

func (d folderDice) texts() map[string]exchange.Text {
	all := map[string]exchange.Text{}
	for _, locale := range d.locales() {
		all[locale] = exchange.Text{Name: d.title(), Summary: d.summary()}
	}
	return all
}

func (d folderDice) order() exchange.Number {
	return among[exchange.Number](d, "", "1", "1.50", "-0", "-0.25", "007", "10.0")
}

func (d folderDice) version(files, articles, categories []string) exchange.Version {
	v := exchange.Version{Status: among(d, "", "published", "unpublished"), SourceLocale: "en", SortOrder: d.order(), Texts: map[string]exchange.ArticleText{}}
	for range d.IntN(3) {
		if len(categories) > 0 {
			v.Categories = append(v.Categories, among(d, categories...))
		}
	}
	for _, locale := range d.locales() {
		content, format := d.content(files, articles)
		v.Texts[locale] = exchange.ArticleText{Title: d.title(), Summary: d.summary(), Format: format, Content: content}
	}
	return v
}

func (d folderDice) some(all ...string) []string {
	return slices.DeleteFunc(all, func(string) bool { return d.IntN(3) == 0 })
}

func (d folderDice) site() exchange.Site {
	s := exchange.Site{Name: d.title(), Visibility: among(d, "", "public", "private"), HTMLHead: among(d, "", "<style>p{}</style>", "<meta name=x content=y>\r\n", "  <meta name=a>  "), Partial: d.IntN(4) == 0}
	files := d.some("a note.txt", "b.csv", "fotö.txt", "icon.png")
	for _, name := range files {
		content := among(d, "one", "two!")
		if name == "icon.png" {
			content = png
		}
		s.Files = append(s.Files, textFile(name, content))
	}
	if d.IntN(2) == 0 {
		s.Look = &exchange.Look{Accent: among(d, "", " #ABCDEF", "#016770"), Hero: among(d, "", "plain"), HideRecent: d.IntN(2) == 0, Texts: map[string]exchange.LookText{}}
		if slices.Contains(files, "icon.png") && d.IntN(2) == 0 {
			s.Look.Favicon = "icon.png"
		}
		for _, locale := range d.locales() {
			s.Look.Texts[locale] = exchange.LookText{Title: among(d, "", d.title()), Line: among(d, "", " a  b ", "a\u200b"), Searches: among(d, nil, []string{" x ", "y"}, []string{""}),
				FooterLinks: among(d, nil, []exchange.Link{{Name: " Terms ", URL: " https://example.com/a "}})}
		}
	}
	collections, articles, categories := d.some("c1", "c2", "c3"), map[string][]string{}, map[string][]string{}
	if len(collections) == 0 {
		return s
	}
	names, linked := append(d.some("a1", "a2", "a3", "a4"), "ä5"), []string{"a1", "a2", "a3", "a4", "ä5"}
	for _, name := range names {
		in := among(d, collections...)
		articles[in] = append(articles[in], name)
	}
	for _, name := range d.some("g1", "g2", "g3") {
		in := among(d, collections...)
		categories[in] = append(categories[in], name)
	}
	for _, key := range collections {
		c := exchange.Collection{Key: key, SourceLocale: "en", SortOrder: d.order(), Icon: among(d, "", "coins", " book "), Texts: d.texts()}
		for _, name := range categories[key] {
			c.Categories = append(c.Categories, exchange.Category{Key: name, SourceLocale: "en", SortOrder: d.order(), Texts: d.texts()})
		}
		for _, name := range articles[key] {
			a := exchange.Article{Key: name, Live: d.version(files, linked, categories[key])}
			if d.IntN(3) == 0 {
				draft := d.version(files, linked, categories[key])
				a.Draft = &draft
			}
			c.Articles = append(c.Articles, a)
		}
		s.Collections = append(s.Collections, c)
	}
	return s
}

// The changes that a dry run tells are those of the import, and these are the rows that became others, each once; the same
// folder once more changes nothing.
func TestChangesAreRows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			d, x := folderDice{rand.New(rand.NewPCG(seed, 4))}, newExchange(t, memstore.New()) //nolint:gosec // the tests repeat
			for step := range 5 {
				folder, opts := d.site(), exchange.Options{Delete: d.IntN(2) == 0}
				if d.IntN(2) == 0 {
					read, err := exchange.Read(written(t, folder))
					if err != nil {
						continue
					}
					folder = read
				}
				before := siteRows(t, x)
				planned, err := x.Import(t.Context(), folder, exchange.Options{DryRun: true, Delete: opts.Delete})
				if diff := cmp.Diff(before, siteRows(t, x)); diff != "" {
					t.Fatalf("step %d: a dry run changes rows:\n%s", step, diff)
				}
				var problems exchange.Problems
				if errors.As(err, &problems) {
					_, again := x.Import(t.Context(), folder, opts)
					if diff := cmp.Diff(err.Error(), fmt.Sprint(again)); diff != "" {
						t.Errorf("step %d: problems of the dry run and of the import:\n%s", step, diff)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				done, err := x.Import(t.Context(), folder, opts)
				if err != nil {
					t.Fatalf("step %d: a dry run had no problem: %v", step, err)
				}
				if diff := cmp.Diff(planned, done); diff != "" {
					t.Errorf("step %d: planned and done:\n%s", step, diff)
				}
				after := siteRows(t, x)
				if diff := cmp.Diff(rowsChanged(before, after), told(t, done)); diff != "" {
					t.Errorf("step %d: the rows and the import differ:\n%s\n%v", step, diff, done)
					for _, name := range slices.Sorted(maps.Keys(after)) {
						if before[name] != after[name] {
							t.Logf("%s\nwas %s\nis  %s", name, before[name], after[name])
						}
					}
				}
				again, err := x.Import(t.Context(), folder, opts)
				if err != nil || len(again) > 0 {
					t.Errorf("step %d: once more: %v %v", step, again, err)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}
