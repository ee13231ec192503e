package theme_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/kb/theme"
)

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, home, want string
		line             int
	}{
		{"does not parse", "<p>\n\n{{if .Title}}", "unexpected EOF", 3},
		{"unknown function", "\n{{exec \"ls\"}}", `function "exec" not defined`, 2},
		{"printf", "\n\n{{printf \"%999999d\" 1}}", "printf is not available", 3},
		{"print", "{{.Title | print}}", "print is not available", 1},
		{"call", "{{call .Title}}", "call is not available", 1},
		{"slice", "{{slice .Title 1}}", "slice is not available", 1},
		{"html", "{{html .Title}}", "html is not available", 1},
		{"js", "{{with js .Title}}{{.}}{{end}}", "js is not available", 1},
		{"urlquery", "{{range .Collections}}{{if urlquery .Name}}{{end}}{{end}}", "urlquery is not available", 1},
		{"within brackets", "{{$x := (index (printf \"a\") 1)}}", "printf is not available", 1},
		{"of a chain", "{{(printf \"a\").B}}", "printf is not available", 1},
		{"handed to a template", "{{template \"partials/footer\" (print 1)}}", "print is not available", 1},
		{"within a definition", "{{define \"x\"}}\n{{println 1}}{{end}}", "println is not available", 2},
		{"the meter", "{{__leave}}", "__leave is not available", 1},
		{"no such template", "\n{{template \"x\" .}}", "no such template", 2},
		{"cannot be escaped", "<script>var a = \"{{.Title}}\n</script><p", "", 0},
		{"ends within an attribute", "<a href=\"{{.Title}}", "ends in a non-text context", 0},
		{"nested", strings.Repeat("{{if .Title}}", 200) + strings.Repeat("{{end}}", 200), "nested too deeply", 1},
		{"nested loops", strings.Repeat("{{range .Collections}}", 5000) + strings.Repeat("{{end}}", 5000), "nested too deeply", 1},
		{"brackets", "{{$x := " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + "}}", "nested too deeply", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := theme.Compile(map[string]string{"templates/layout.html": layout, "templates/article.html": article, "templates/home.html": tt.home})
			p, ok := errors.AsType[*theme.Problem](err)
			if !ok || !strings.Contains(p.Message, tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			if tt.line > 0 && (p.Path != "templates/home.html" || p.Line != tt.line) {
				t.Errorf("at %s:%d, want line %d: %v", p.Path, p.Line, tt.line, err)
			}
		})
	}
}

func TestHostile(t *testing.T) {
	t.Parallel()
	loop := func(depth int, in string) string {
		return strings.Repeat("{{range .Collections}}{{range $.Collections}}", depth) + in + strings.Repeat("{{end}}{{end}}", depth)
	}
	tests := []struct {
		name, home string
		limits     theme.Limits
		want       error
	}{
		{"a long loop", "{{range 1000000000}}{{end}}", theme.Limits{}, theme.ErrSteps},
		{"a loop that goes on", "{{range 1000000000}}{{continue}}{{end}}", theme.Limits{}, theme.ErrSteps},
		{"a loop without rounds", "{{range $i := 1000000000}}{{else}}x{{end}}", theme.Limits{}, theme.ErrSteps},
		{"loops in loops", strings.ReplaceAll(loop(4, "x"), "{{range .Coll", "{{range $.Coll"), theme.Limits{}, theme.ErrSteps},
		{"itself", `{{define "x"}}{{template "x" .}}{{end}}{{template "x" .}}`, theme.Limits{}, theme.ErrDepth},
		{"each other", `{{define "x"}}{{template "y" .}}{{end}}{{define "y"}}a{{template "x" .}}{{end}}{{template "x" .}}`, theme.Limits{}, theme.ErrDepth},
		{"a large page", "{{range 90000}}" + strings.Repeat("x", 1000) + "{{end}}", theme.Limits{}, theme.ErrOutput},
		{"a long time", "{{range 1000000000}}{{end}}", theme.Limits{Steps: 1 << 40, Time: time.Millisecond}, theme.ErrTime},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, err := theme.Compile(map[string]string{"templates/layout.html": layout, "templates/article.html": article, "templates/home.html": tt.home})
			if err != nil {
				t.Fatal(err)
			}
			_, err = set.Render(t.Context(), theme.PageHome, sample("en"), theme.Env{Limits: tt.limits})
			if !errors.Is(err, tt.want) {
				t.Fatalf("%v, want %v", err, tt.want)
			}
			if p, ok := errors.AsType[*theme.Problem](err); !ok || p.Path == "" && !errors.Is(err, theme.ErrOutput) {
				t.Errorf("no place: %v", err)
			}
			// One rendering does not use up the budget of the next.
			if _, err := set.Render(t.Context(), theme.PageArticle, sample("en"), theme.Env{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRenderEnds(t *testing.T) {
	t.Parallel()
	set, err := theme.Compile(map[string]string{"templates/layout.html": layout, "templates/article.html": "{{range 1000000000}}{{end}}"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := set.Render(ctx, theme.PageArticle, sample("en"), theme.Env{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := set.Render(t.Context(), "passwd", sample("en"), theme.Env{}); err == nil {
		t.Error("a page that is none was rendered")
	}
}

func TestRenderEscapes(t *testing.T) {
	t.Parallel()
	set, err := theme.Compile(map[string]string{
		"templates/layout.html": `<title>{{.Title}}</title><a href="{{.URL}}" title={{.Title}}>{{template "content" .}}</a><script>var a = {{.Title}}</script>`,
		// Defining the content is the other way to write a page.
		"templates/article.html": `{{define "content"}}{{.Article.Content}}|{{.Article.Title}}|{{t "Yes"}}|{{asset "a.css"}}|{{truncate 3 "größer"}}|{{date "x" "2006"}}{{end}}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := sample("de-AT")
	p.Title, p.URL, p.Article.Title = `</title><script>`, "javascript:alert(1)", "<b>"
	got, err := set.Render(t.Context(), theme.PageArticle, p, theme.Env{Asset: func(path string) string { return "/x/" + path }})
	if err != nil {
		t.Fatal(err)
	}
	want := `<title>&lt;/title&gt;&lt;script&gt;</title><a href="#ZgotmplZ" title=&lt;/title&gt;&lt;script&gt;>` +
		`<h2 id="one">One</h2>|&lt;b&gt;|Ja|/x/assets/a.css|gr…|</a><script>var a = "\u003c/title\u003e\u003cscript\u003e"</script>`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A page that a theme lacks comes from the built-in theme, in the theme's layout.
func TestMissingPages(t *testing.T) {
	t.Parallel()
	set, err := theme.Compile(map[string]string{"templates/layout": "MINE {{template \"content\" .}}", "templates/article": article})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range theme.Pages() {
		got, err := set.Render(t.Context(), name, sample("en"), theme.Env{})
		if err != nil || !bytes.HasPrefix(got, []byte("MINE ")) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestConcurrently(t *testing.T) {
	t.Parallel()
	set, err := theme.Compile(theme.Builtin().Templates())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				p := sample("en")
				p.Article.Title = fmt.Sprintf("Article %d", i)
				got, err := set.Render(t.Context(), theme.PageArticle, p, theme.Env{Asset: func(string) string { return fmt.Sprintf("/%d.css", i) }})
				if err != nil || !strings.Contains(string(got), ">"+p.Article.Title+"</h1>") || !strings.Contains(string(got), fmt.Sprintf("/%d.css", i)) {
					t.Errorf("%d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestBuiltin(t *testing.T) {
	t.Parallel()
	builtin := theme.Builtin()
	if builtin.Name == "" || !theme.Newer(builtin.Version, "0.0.1") {
		t.Errorf("%q %q", builtin.Name, builtin.Version)
	}
	for path := range builtin.Files {
		if clean, err := theme.CleanPath(path); err != nil || clean != path {
			t.Errorf("%q: %v", path, err)
		}
	}
	set, err := theme.Compile(builtin.Templates())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range theme.Pages() {
		for _, locale := range []string{"en", "he", "de-CH", "xx"} {
			got, err := set.Render(t.Context(), name, sample(locale), theme.Env{Asset: func(path string) string { return "/a/" + path }})
			if err != nil {
				t.Fatalf("%s in %s: %v", name, locale, err)
			}
			checkPage(t, name+" in "+locale, got)
		}
		if _, err := set.Render(t.Context(), name, theme.Page{}, theme.Env{}); err != nil {
			t.Errorf("%s of nothing: %v", name, err)
		}
	}
	he, _ := set.Render(t.Context(), theme.PageArticle, sample("he"), theme.Env{})
	for _, want := range []string{`<html lang="he" dir="rtl">`, "האם המאמר הזה עזר לכם?", `href="#one"`, `value="positive"`} {
		if !strings.Contains(string(he), want) {
			t.Errorf("%q is missing in\n%s", want, he)
		}
	}
}

// checkPage checks the invariants of every page of the built-in theme: balanced, one first heading, labels for form fields,
// unique ids, and nothing from other hosts.
func checkPage(t *testing.T, name string, page []byte) {
	t.Helper()
	ids, labels, inputs, headings := map[string]bool{}, map[string]bool{}, []string{}, 0
	var open []string
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			for _, id := range inputs {
				if !labels[id] {
					t.Errorf("%s: %s has no label", name, id)
				}
			}
			if headings != 1 || len(open) > 0 {
				t.Errorf("%s: %d first headings, left open: %v", name, headings, open)
			}
			return
		case html.StartTagToken:
			tok := z.Token()
			attrs := map[string]string{}
			for _, a := range tok.Attr {
				attrs[a.Key] = a.Val
			}
			if id := attrs["id"]; id != "" && ids[id] {
				t.Errorf("%s: id %s is there twice", name, id)
			} else if id != "" {
				ids[id] = true
			}
			switch tok.Data {
			case "h1":
				headings++
			case "label":
				labels[attrs["for"]] = true
			case "input", "textarea":
				if attrs["type"] != "hidden" && attrs["aria-label"] == "" && !slices.Contains(open, "label") {
					inputs = append(inputs, attrs["id"])
				}
			case "iframe", "style":
				t.Errorf("%s: element %s", name, tok.Data)
			case "script":
				if !strings.HasPrefix(attrs["src"], "/a/assets/") {
					t.Errorf("%s: %v", name, attrs)
				}
			case "link":
				if attrs["rel"] == "stylesheet" && attrs["href"] != "/a/assets/style.css" {
					t.Errorf("%s: %v", name, attrs)
				}
			}
			if !slices.Contains([]string{"meta", "link", "input", "br", "img", "source", "path", "circle", "rect", "ellipse"}, tok.Data) {
				open = append(open, tok.Data)
			}
		case html.EndTagToken:
			tag, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(tag) {
				t.Fatalf("%s: unbalanced </%s>", name, tag)
			}
			open = open[:len(open)-1]
		}
	}
}

// Every text of the built-in theme is translated into every language.
func TestTranslations(t *testing.T) {
	t.Parallel()
	used := regexp.MustCompile(`\bt "([^"]+)"`)
	for path, content := range theme.Builtin().Files {
		for _, m := range used.FindAllStringSubmatch(string(content), -1) {
			for _, locale := range []string{"de", "fr", "es", "it", "pt", "nl", "pl", "ar", "he", "ja", "zh"} {
				if got := theme.Text(locale, m[1]); got == m[1] && !slices.Contains([]string{"No", "Articles", "Menu", "Password", "(optional)"}, m[1]) {
					t.Errorf("%s: %q is not there in %s", path, m[1], locale)
				}
			}
		}
	}
}

func TestStyleSheet(t *testing.T) {
	t.Parallel()
	css := string(theme.Builtin().Files["assets/style.css"])
	for _, no := range []string{"url(", "@import", "http:", "https:", "margin-left", "padding-right"} {
		if strings.Contains(css, no) {
			t.Errorf("%q in the style sheet", no)
		}
	}
}

// Themes have nothing to call: no type of a page has methods.
func TestPageHasNoMethods(t *testing.T) {
	t.Parallel()
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		if typ.NumMethod() > 0 || reflect.PointerTo(typ).NumMethod() > 0 {
			t.Errorf("%v has methods", typ)
		}
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(typ.Elem())
		case reflect.Struct:
			for f := range typ.Fields() {
				walk(f.Type)
			}
		case reflect.String, reflect.Int, reflect.Int64, reflect.Bool:
		default:
			t.Errorf("%v is of kind %v", typ, typ.Kind())
		}
	}
	walk(reflect.TypeFor[theme.Page]())
}

func sample(locale string) theme.Page {
	dir := "ltr"
	if locale == "he" {
		dir = "rtl"
	}
	articles := []theme.Article{{ID: 1, Title: "First", URL: "/a/1", Summary: strings.Repeat("words ", 100)}, {ID: 2, Title: "Second", URL: "/a/2"}}
	category := theme.Category{ID: 1, Name: "Basics", Summary: "The basics", URL: "/c/1", ArticlesCount: 2, Articles: articles}
	collections := []theme.Collection{{ID: 1, Name: "Start", Summary: "How to", URL: "/k/1", ArticlesCount: 2, Categories: []theme.Category{category}, Articles: articles}}
	for i := range 20 {
		collections = append(collections, theme.Collection{ID: int64(i + 2), Name: fmt.Sprint("More ", i), URL: "/k/2"})
	}
	return theme.Page{
		Title: "Page", Description: "About it", URL: "https://kb.test/p", Locale: locale, Dir: dir,
		Locales:     []theme.Locale{{Code: "en", Name: "English", URL: "/en", Current: locale == "en"}, {Code: "he", Name: "עברית", URL: "/he", Current: locale == "he"}},
		Site:        theme.Site{Name: "Help", URL: "/", SearchURL: "/search", Head: template.HTML(`<meta name="x" content="y">`)},
		Breadcrumbs: []theme.Link{{Name: "Help", URL: "/"}, {Name: "Start", URL: "/k/1"}},
		Collections: collections, Collection: &collections[0], Category: &category,
		Article: &theme.Article{
			ID: 1, Title: "First", Summary: "Short", Content: `<h2 id="one">One</h2>`, URL: "/a/1", Locale: "en", Dir: "ltr", UpdatedAt: "2026-11-21T10:00:00+00:00",
			Outdated: true, Headings: []theme.Heading{{Level: 2, Anchor: "one", Text: "One"}}, Related: articles[1:],
			ReactURL: "/r", ViewURL: "/v", Token: "t", Sections: []theme.Category{category}, Previous: &articles[1], Next: &articles[1],
		},
		Search: &theme.Search{Query: "so", Next: "/n", Results: []theme.Result{{Title: "First", URL: "/a/1", Snippet: "a <mark>so</mark>", Path: []string{"Start", "Basics"}}}},
		Contact: &theme.Contact{URL: "/contact", Token: "t", MaxFiles: 5, MaxMB: 20, Suggestions: articles, EmailProblem: "Enter an address", Problems: []theme.FieldProblem{{Field: "email", Text: "Enter an address"}},
			Fields: []theme.ContactField{{Name: "f_a", Label: "A", Type: "text"}, {Name: "f_b", Label: "B", Type: "multiselect", Options: []theme.ContactOption{{Value: "x", Label: "X"}}, Problem: "Choose one"}}},
		SignIn: &theme.SignIn{URL: "/sign-in", Token: "t"}, Popular: articles, Recent: articles,
	}
}

func BenchmarkRender(b *testing.B) {
	set, err := theme.Compile(theme.Builtin().Templates())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := set.Render(b.Context(), theme.PageArticle, sample("en"), theme.Env{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := theme.Compile(theme.Builtin().Templates()); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{article, "{{range .Collections}}{{.Name}}{{end}}", "{{define \"x\"}}{{template \"x\"}}{{end}}{{template \"x\"}}", "<script>`${{{.Title}}}`</script>", "{{range 9}}{{break}}{{end}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := theme.Compile(map[string]string{"templates/layout.html": layout, "templates/article.html": text})
		if err != nil {
			if _, ok := errors.AsType[*theme.Problem](err); !ok {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		_, _ = set.Render(t.Context(), theme.PageArticle, sample("en"), theme.Env{Limits: theme.Limits{Steps: 1000, Output: 1 << 20}})
	})
}

func ExampleSet_Render() {
	set, err := theme.Compile(map[string]string{
		"templates/layout.html":  "<title>{{.Title}}</title>\n{{template \"content\" .}}",
		"templates/article.html": `<h1>{{.Article.Title}}</h1>{{range .Article.Headings}} #{{.Anchor}}{{end}}`,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	page := theme.Page{Title: "Install", Article: &theme.Article{Title: "Install & run", Headings: []theme.Heading{{Anchor: "first"}}}}
	html, err := set.Render(context.Background(), theme.PageArticle, page, theme.Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	os.Stdout.Write(html)
	// Output:
	// <title>Install</title>
	// <h1>Install &amp; run</h1> #first
}
