package theme_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage/testenv"
)

// themeOf returns a theme whose article page has the given body.
func themeOf(body string, partials ...string) map[string]string {
	files := map[string]string{
		"templates/layout.html": `<!DOCTYPE html><html><head><title>x</title></head><body>{{template "content" .}}</body></html>`, "templates/article.html": body,
	}
	for i, text := range partials {
		files[fmt.Sprintf("templates/partials/p%d.html", i)] = text
	}
	return files
}

func nested(open string, n int, inside string) string {
	return strings.Repeat(open, n) + inside + strings.Repeat("{{end}}", n)
}

// TestCostlyThemes checks that costly themes are refused before compilation, with a reason, or compile quickly.
func TestCostlyThemes(t *testing.T) {
	t.Parallel()
	chain := func(n int, text string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{{define "t%d"}}%s{{end}}`, i, strings.ReplaceAll(text, "NEXT", fmt.Sprint("t", i+1)))
		}
		return b.String() + fmt.Sprintf(`{{define "t%d"}}x{{end}}{{template "t0" .}}`, n)
	}
	for name, c := range map[string]struct {
		theme   map[string]string
		problem string // "": it compiles
	}{
		"ranges, 8":                       {themeOf(nested("{{range .Collections}}", 8, "x")), ""},
		"ranges, 9":                       {themeOf(nested("{{range .Collections}}", 9, "x")), "nested too deeply"},
		"ranges, 728 bytes":               {themeOf(nested("{{range .Collections}}", 26, "x")), "nested too deeply"},
		"ranges of variables":             {themeOf(nested("{{range $i, $e := .Collections}}", 20, "x")), "nested too deeply"},
		"ranges in else":                  {themeOf(strings.Repeat("{{range .Collections}}{{else}}", 30) + strings.Repeat("{{end}}", 30)), ""},
		"ranges and others":               {themeOf(nested("{{range .Collections}}{{if .}}", 20, strings.Repeat("{{end}}", 20))), "nested too deeply"},
		"with":                            {themeOf(nested("{{with .Site}}", 90, "x")), ""},
		"with, 1000":                      {themeOf(nested("{{with .Site}}", 1000, "x")), "nested too deeply"},
		"if, 1000":                        {themeOf(nested("{{if .Site}}", 1000, "x")), "nested too deeply"},
		"else if, 1000":                   {themeOf("{{if .Site}}" + strings.Repeat("{{else if .Site}}", 1000) + "{{end}}"), "nested too deeply"},
		"parentheses":                     {themeOf("{{" + strings.Repeat("(", 200_000)), "depth"},
		"parentheses, closed":             {themeOf("{{" + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200) + "}}"), "nested too deeply"},
		"actions":                         {themeOf(strings.Repeat("{{1}}", 30_000)), "20,000 actions"},
		"templates":                       {themeOf(chain(600, "x")), "500 templates"},
		"a chain of 10":                   {themeOf(chain(10, `{{template "NEXT" .}}`)), ""},
		"a chain of 400":                  {themeOf(chain(400, `{{template "NEXT" .}}`)), "call each other"},
		"a chain of ranges":               {themeOf(chain(100, `{{range .Collections}}{{template "NEXT" .}}{{end}}`)), "call each other"},
		"a chain, twice":                  {themeOf(chain(100, `{{template "NEXT" .}}{{template "NEXT" .}}`)), "call each other"},
		"a chain, many contexts":          {themeOf(chain(30, `{{template "NEXT" .}}<a href="{{template "NEXT" .}}" title='{{template "NEXT" .}}'>`)), "call each other"},
		"a chain with a mistake":          {themeOf(strings.Replace(chain(30, `{{template "NEXT" .}}`), "x{{end}}", "<a {{if .}}'{{end}}{{end}}", 1)), "call each other"},
		"a short chain with a mistake":    {themeOf(strings.Replace(chain(12, `{{template "NEXT" .}}`), "x{{end}}", "<a {{if .}}'{{end}}{{end}}", 1)), "in attribute name"},
		"itself":                          {themeOf(`{{define "menu"}}{{range .}}<li>{{template "menu" .}}</li>{{end}}{{end}}{{template "menu" .Collections}}`), "calls itself"},
		"each other":                      {themeOf(`{{define "a"}}{{template "b"}}{{end}}{{define "b"}}{{if .}}{{template "a"}}{{end}}{{end}}{{template "a"}}`), ""},
		"itself, uncalled":                {themeOf(`{{define "a"}}<p>{{template "a"}}{{end}}`), "calls itself"},
		"itself, into braces":             {themeOf("{{define \"a\"}}`${ {{template \"a\" .}}{{end}}<script>{{template \"a\" .}}</script>"), "calls itself"},
		"the layout from the page":        {themeOf(`{{template "layout" .}}`), "calls itself"},
		"much text in loops":              {themeOf(nested("{{range .Collections}}", 6, strings.Repeat("x", 100_000)), nested("{{range .Collections}}", 6, strings.Repeat("x", 100_000))), ""},
		"much text in templates in loops": {themeOf(nested("{{range .Collections}}", 6, `{{template "partials/p0" .}}`), nested("{{range .Collections}}", 6, strings.Repeat("x", 200_000))), "call each other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := theme.Compile(c.theme)
			var p *theme.Problem
			switch {
			case c.problem == "" && err != nil:
				t.Error(err)
			case c.problem != "" && (!errors.As(err, &p) || !strings.Contains(p.Error(), c.problem)):
				t.Errorf("got %v, want %q", err, c.problem)
			}
		})
	}
}

// TestCompileGrowsWithTheTheme doubles the parts that themes may have many of.
func TestCompileGrowsWithTheTheme(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]func(n int) string{
		"text":    func(n int) string { return strings.Repeat("<p>text</p>", 10*n) },
		"actions": func(n int) string { return strings.Repeat("{{.Site.Name}} ", n) },
		"loops":   func(n int) string { return strings.Repeat("{{range .Collections}}x{{end}} ", n) },
		"if":      func(n int) string { return strings.Repeat("{{if .Site}}x{{else}}y{{end}} ", n) },
		"calls":   func(n int) string { return `{{define "x"}}x{{end}}` + strings.Repeat(`{{template "x"}} `, n) },
		"pipes":   func(n int) string { return `{{1` + strings.Repeat(` | eq 1`, n) + `}}` },
		"tags":    func(n int) string { return strings.Repeat("<a href='x?y=", 3*n) },
		"strings": func(n int) string { return `{{"` + strings.Repeat(`\"`, 10*n) + `"}}` },
	} {
		testenv.Growth(t, 500, func(n int) func() {
			files := themeOf(body(n))
			return func() { _, _ = theme.Compile(files) }
		})
		if t.Failed() {
			t.Fatal(name)
		}
	}
}
