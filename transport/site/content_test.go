package site_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport/site"
)

// Markdown is shown in the style of the theme: code in colours, alerts with an icon and a title in the language of the page.
func TestDressedContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	c := w.collection(map[string]string{"en": "Basics"}, "")
	for markdown, want := range map[string]string{
		"```go\nfunc main() { println(\"<b>\", 1) } // x\n```": `<pre tabindex="0"><code class="language-go"><span class="kd">func</span> <span class="nf">main</span>() { <span class="nb">println</span>(<span class="s">&#34;&lt;b&gt;&#34;</span>, <span class="mi">1</span>) } <span class="c1">// x</span>
</code></pre>`,
		"```nonsense\na < b\n```":                         `<pre tabindex="0"><code class="language-nonsense">a &lt; b` + "\n</code></pre>",
		"```\na < b\n```":                                 "<pre tabindex=\"0\"><code>a &lt; b\n</code></pre>",
		"```json\n" + strings.Repeat("[", 3000) + "\n```": `<code class="language-json">[[[`,
		"> [!NOTE]\n> Mind.":                              `</svg>` + "\n" + `<p class="markdown-alert-title">Remarque</p>` + "\n<p>Mind.</p>",
		"> [!CAUTION]\n> Mind.":                           `<p class="markdown-alert-title">Attention</p>`,
		"<p class=\"markdown-alert-title\">Own words</p>": `<p class="markdown-alert-title">Own words</p>`,
	} {
		content, err := contenthtml.FromMarkdown(markdown)
		if err != nil {
			t.Fatal(err)
		}
		a := w.article(c.ID, nil, map[string]string{"en": "Title", "fr": "Titre"}, content)
		body := w.get(kb.PagePath("fr", kb.ArticlePages, a.Article.ID, "Titre")).Body.String()
		if !strings.Contains(body, want) {
			_, article, _ := strings.Cut(body, "hw-content")
			t.Errorf("%s: no %s in %s", markdown, want, article[:min(len(article), 900)])
		}
	}
}

// Highlighting never changes the text of code, and adds no element from the code itself.
func TestHighlightedText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	c := w.collection(map[string]string{"en": "Basics"}, "")
	code := "a <script>alert(1)</script> &amp; \"'` \t\u2028 \\ <!-- x --> {{ . }} </code></pre>\n"
	for _, language := range []string{"html", "php", "javascript", "bash", "yaml", "django", "sql", "markdown", "c", "python", "../x", "<b>"} {
		content, err := contenthtml.FromMarkdown(fmt.Sprintf("~~~%s\n%s~~~\n", language, code))
		if err != nil {
			t.Fatal(err)
		}
		a := w.article(c.ID, nil, map[string]string{"en": "Title"}, content)
		body := w.get(kb.PagePath("en", kb.ArticlePages, a.Article.ID, "Title")).Body.String()
		_, shown, _ := strings.Cut(body, "<pre tabindex")
		shown, _, _ = strings.Cut("<pre tabindex"+shown, "</pre>")
		if strings.Contains(shown, "<script") || strings.Contains(shown, "<!--") {
			t.Errorf("%s: %s", language, shown)
		}
		if diff := cmp.Diff(contenthtml.Text("<pre>"+strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(code)+"</pre>"), contenthtml.Text(shown)); diff != "" {
			t.Errorf("%s: %s", language, diff)
		}
	}
}

// Markdown converted from an article's HTML has the same content.
func TestToMarkdown(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"<p>2026. A year</p><p># no heading</p><p>- no list &amp;lt; &lt;b&gt; R&amp;D</p>": "2026\\. A year\n\n\\# no heading\n\n\\- no list \\&lt; \\<b> R&D\n",
		"<p>a<br># b</p><p>~~~</p><p>===</p>":                                               "a  \n\\# b\n\n\\~\\~\\~\n\n\\===\n",
		"<ul>lost<li>a</li><b>found</b></ul>":                                               "<ul>lost<li>a</li><b>found</b></ul>\n",
		"<ol><li><ol><li>a</li><li>b</li></ol></li><li>c</li></ol>":                         "1. 1. a\n   2. b\n2. c\n",
		"<p><a href=\"/x\">a<br>b</a><a href=\"/y\"></a></p>":                               "[a  \nb](/x)<a href=\"/y\"></a>\n",
		"<h2>a {#b}</h2><p><code>c\nd</code></p>":                                           "## a \\{#b}\n\n`c d`\n",
	} {
		got := site.ToMarkdown(content)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", content, diff)
		}
		back, err := contenthtml.FromMarkdown(got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(letters(contenthtml.Text(content)), letters(contenthtml.Text(back))); diff != "" {
			t.Errorf("%s became %s: %s", content, got, diff)
		}
	}
}

// letters are those of a text, with its digits.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

func FuzzToMarkdown(f *testing.F) {
	for _, seed := range append(testenv.HostileHTML(), "<ul><li>a<ol start=3><li>b</li></ol></li></ul>", "<table><tr><th>a|b</th></tr></table>", "<pre><code>`\n```\n</code></pre>") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		content := contenthtml.Clean(in)
		if markdown := site.ToMarkdown(content); !utf8.ValidString(markdown) {
			t.Fatalf("%q became %q", content, markdown)
		}
	})
}

// The contents of an article have its highest headings and those below.
func TestContents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	c := w.collection(map[string]string{"en": "Basics"}, "")
	for name, tt := range map[string]struct{ content, want string }{
		"chapters":             {"<h1>One</h1><h2>a</h2><h3>b</h3><h4>no</h4><h1>Two</h1><h2>c</h2>", "One, -a, -b, Two, -c"},
		"h1 only":              {"<h1>One</h1><p>x</p><h1>Two</h1><p>y</p><h1>Three</h1>", "One, Two, Three"},
		"the title, and h2":    {"<h1>Title</h1><h2>a</h2><h3>b</h3><h2>c</h2>", "a, -b, c"},
		"h2 and h3":            {"<h2>a</h2><h3>b</h3><h4>no</h4><h2>c</h2>", "a, -b, c"},
		"h3 and h4":            {"<h3>a</h3><h4>b</h4><h5>no</h5><h3>c</h3>", "a, -b, c"},
		"a lower one first":    {"<h3>a</h3><h2>b</h2><h2>c</h2>", "-a, b, c"},
		"too few":              {"<h1>One</h1><h2>a</h2>", ""},
		"rules are no heading": {"<hr><hr><hr><h2>a</h2>", ""},
	} {
		a := w.article(c.ID, nil, map[string]string{"en": "Title"}, tt.content)
		body := w.get(kb.PagePath("en", kb.ArticlePages, a.Article.ID, "Title")).Body.String()
		_, nav, _ := strings.Cut(body, `<nav class="hw-contents"`)
		nav, _, _ = strings.Cut(nav, "</nav>")
		var got []string
		for _, m := range regexp.MustCompile(`<li( class="([^"]*)")?><a href="#[^"]+">([^<]+)`).FindAllStringSubmatch(nav, -1) {
			got = append(got, strings.Repeat("-", len(strings.Fields(m[2])))+m[3])
		}
		if d := cmp.Diff(tt.want, strings.Join(got, ", ")); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
