package site_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage/memstore"
)

// What Markdown has is shown as the theme shows it: code in colours, alerts with an icon
// and a title in the language of the page.
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

// Whatever code says, a page has the same text, and no element that the code names.
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
