package theme

import (
	"html/template"
	"strings"
	"testing"
	"text/template/parse"

	"github.com/google/go-cmp/cmp"
)

// odd holds what has to be escaped.
var odd = Page{
	Title: `A & B's "C" <d> +e`, URL: "https://kb.test/p?q=1&r=ü", Locale: "de", Dir: "ltr",
	Site:        Site{Hero: "globe", Name: "Help & <more>", URL: "/a b", SearchURL: "javascript:alert(1)", Head: "<meta>", Logo: &Image{URL: "data:x"}},
	Breadcrumbs: []Link{{`<">`, "/plain/path-1_2.3~?a=b"}, {"", "//other.test/x"}, {"x", "mailto:a@b.test"}, {"y", "a:b"}, {"z", "/%41%zz"}},
	Article: &Article{
		Title: "T'", URL: "/a/1", Content: "<p>&amp;</p>", UpdatedAt: "2026-11-21T10:00:00Z", Locale: "en", Fallback: true,
		Related: []Article{{Title: "+", URL: "/ü"}}, ReactURL: "/r", ViewURL: "/v?x&y", Headings: []Heading{{2, "a&b", "1 < 2"}, {3, "", ""}},
	},
	Search: &Search{Query: "<q>", Results: []Result{{Title: "\x00\xff", Snippet: "<mark>", Path: []string{"<a>", "&"}}}},
}

// Folding changes no byte of any page.
func TestFolding(t *testing.T) {
	t.Parallel()
	themes := map[string]map[string]string{
		"built-in": Builtin().Templates(),
		"contexts": {
			"templates/layout.html": `<title>{{t "Search"}}{{.Title}}</title><script>var a = {{t "Search"}}, b = "{{t "Search"}}", c = {{.Article.URL}};</script>
				<style>p { width: {{t "Search"}}; background: url({{.Site.URL}}) }</style>
				<p title={{t "Search"}} class='{{t "Search"}}{{icon "globe"}}' onclick="f({{t "Search"}})">{{icon "globe"}}{{icon .Title}}{{t "Updated %s" "<b>"}}</p>
				<a href="{{t "Search"}}">{{t .Title}}</a><a href="/x?{{.Site.URL}}">{{$x := t "Search"}}{{$x}}</a><a href={{.Site.URL}}>x</a>
				<textarea>{{t "Search"}}{{.Title}}</textarea><img srcset="{{.Site.URL}} 2x">{{with .Title}}{{.}}<b title="{{.}}" data-x={{.}}>{{end}}
				{{with .Site.URL}}<a href="{{.}}" title='{{.}}'>{{with $.Article}}{{.Title}}{{else}}{{.}}{{end}}</a><script>{{.}}</script>{{else}}{{.Title}}{{end}}{{$p := .}}{{$p.Title}}{{with $t := $p.Title}}{{$t}}{{.}}{{end}}
				{{with .Title | icon}}{{.}}{{end}}{{with "globe" | icon}}{{.}}<b title="{{.}}">{{end}}{{with .Site.Hero | icon}}{{.}}<b title="{{.}}">{{else with .Title}}{{.}}{{end}}{{with len .Title}}{{.}}{{end}}
				{{range $i, $link := .Breadcrumbs}}{{$link.Name}}{{$i}}{{with .Name}}{{.}}{{range $.Breadcrumbs}}{{with .URL}}{{.}}{{end}}{{break}}{{end}}{{.}}{{end}}{{if $i}}{{continue}}{{end}}{{.Name}}{{end}}
				{{with .Article}}{{with .Content}}{{.}}<b title="{{.}}">{{end}}{{range .Headings}}{{.Level}}{{.Text}}{{with .Level}}{{.}}{{end}}{{end}}{{end}}{{with .Search}}{{range .Results}}{{range .Path}}{{.}}{{end}}{{.Snippet}}{{end}}{{end}}{{template "content" .}}{{template "partials/name" .}}<i {{template "partials/name" .}}></i>`,
			"templates/article.html":       `{{range .Breadcrumbs}}<a href="{{.URL}}" data-x="{{.URL}}">{{.Name}}</a>{{else}}{{t "Search"}}{{end}}{{with .Article}}{{.Content}}<a title="{{.Content}}">{{t "Search" | t}}</a>{{end}}`,
			"templates/partials/name.html": `{{t "Search"}}`,
		},
	}
	for name, templates := range themes {
		set, err := Compile(templates)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, locale := range []string{"en", "en-US", "de", "ar", "xx", ""} {
			for _, kind := range Pages() {
				p := odd
				p.Kind, p.Locale = kind, locale
				if got, want := rendered(t, set, kind, p, true), rendered(t, set, kind, p, false); got != want {
					t.Errorf("%s, %s in %q: %s", name, kind, locale, cmp.Diff(want, got))
				}
			}
		}
	}
}

// rendered renders a page twice, with or without folding.
func rendered(t *testing.T, set *Set, kind string, p Page, folding bool) string {
	t.Helper()
	in := wordsOf(p.Locale)
	i, err := set.pages[kind].escaped()
	if err != nil {
		t.Fatal(err)
	}
	if folding {
		i.marks = fold(i.layout.Templates(), in)
	}
	env := Env{Asset: func(path string) string { return "/" + path }}
	first, err := i.render(t.Context(), p, env, in)
	if err != nil {
		t.Fatal(err)
	}
	second, err := i.render(t.Context(), p, env, in)
	if err != nil || string(second) != string(first) {
		t.Errorf("the second time: %v, %s", err, second)
	}
	return string(first)
}

// Most calls of the built-in theme are folded: a release of Go may name its functions otherwise.
func TestFolded(t *testing.T) {
	t.Parallel()
	set, err := Compile(Builtin().Templates())
	if err != nil {
		t.Fatal(err)
	}
	i, err := set.pages[PageArticle].escaped()
	if err != nil {
		t.Fatal(err)
	}
	all := calls(i.layout.Templates())
	marks := fold(i.layout.Templates(), wordsOf("de"))
	after := calls(i.layout.Templates())
	address := ` | ` + filterURL + ` | ` + escapeURL + ` | ` + escapeAttr + `}}`
	for before, now := range map[string]string{
		`{{t "Print" | ` + escapeText + `}}`: "", `{{.URL` + address: "{{.URL}}", `{{.Title | ` + escapeText + `}}`: "{{.Title}}",
		`{{. | ` + escapeAttr + `}}`: "{{.}}", `{{.Site.Name | ` + escapeTitle + `}}`: "{{.Site.Name}}", `{{$_ := ` + tickFunc + `}}`: "", `{{$_ := ` + enterFunc + `}}`: "",
	} {
		if all[before] == 0 || after[before] != 0 || now != "" && after[now] == 0 {
			t.Errorf("%s occurs %d times, then %d, and %d times as %q", before, all[before], after[before], after[now], now)
		}
	}
	found := map[deed]int{}
	for _, m := range marks {
		found[m.does]++
	}
	if found[tick] != all[`{{$_ := `+tickFunc+`}}`] || found[enter] != found[leave] || found[link] < all[`{{.URL`+address] {
		t.Errorf("the marks are %v", found)
	}
}

// calls counts the actions of templates by their text.
func calls(templates []*template.Template) map[string]int {
	all := map[string]int{}
	var list func(l *parse.ListNode)
	list = func(l *parse.ListNode) {
		if l == nil {
			return
		}
		for _, n := range l.Nodes {
			switch n := n.(type) {
			case *parse.ActionNode:
				all[n.String()]++
			case *parse.IfNode:
				list(n.List)
				list(n.ElseList)
			case *parse.WithNode:
				list(n.List)
				list(n.ElseList)
			case *parse.RangeNode:
				list(n.List)
				list(n.ElseList)
			}
		}
	}
	for _, one := range templates {
		if one.Tree != nil {
			list(one.Tree.Root)
		}
	}
	return all
}

func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"", "/a/1-b.c~d_e?f=g#h", "//x", "http://a:80/", "https://a/b:c", "javascript:alert(1)", "JAVASCRIPT:x", "a/b:c", "/ü", "/a b", "/%41", "/%zz", "/&+'\"<>`", "\x00", "/\xff", "http:javascript:x"} {
		f.Add(seed)
	}
	before := template.Must(template.New("").Parse(`<a href="{{.}}">`))
	f.Fuzz(func(t *testing.T, text string) {
		var b strings.Builder
		if err := before.Execute(&b, text); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b.String(), `<a href="`+address(text)+`">`); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzEscape(f *testing.F) {
	for _, seed := range []string{"", "Printer", `<a href="x">`, "1+1 = 2", "it's", "&amp;", "\x00", "\xff\xfe", "`{{.}}`", "ü \u2028 \ufdd0"} {
		f.Add(seed)
	}
	contexts := map[string]*template.Template{}
	for _, text := range []string{"%s", `<a title="%s">`, `<a title='%s'>`, "<title>%s</title>", "<textarea>%s</textarea>"} {
		contexts[text] = template.Must(template.New("").Parse(strings.Replace(text, "%s", "{{.}}", 1)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := &output{left: 10 * len(text)}
		if err := o.escape([]byte(text)); err != nil {
			t.Fatal(err)
		}
		for around, context := range contexts {
			var b strings.Builder
			if err := context.Execute(&b, text); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(b.String(), strings.Replace(around, "%s", string(o.buf), 1)); diff != "" {
				t.Error(diff)
			}
		}
	})
}

// Fields are taken for strings only if all fields of the name are.
func TestTextFields(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"Title": true, "URL": true, "Name": true, "Content": false, "Head": false, "Data": false, "Snippet": false, "Path": false, "Year": false, "Search": false, "Missing": false} {
		if textFields[name] != want {
			t.Errorf("%s: %t", name, textFields[name])
		}
	}
}
