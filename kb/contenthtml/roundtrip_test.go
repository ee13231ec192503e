package contenthtml_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage/testenv"
)

func TestNormal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"<p> a\n\t b </p>\n<p>c</p>\n":                               "<p>a b</p><p>c</p>",
		"<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>":         "<ul><li>a<ul><li>b</li></ul></li></ul>",
		"<p>a <b> b </b> c<br>\nd</p>":                               "<p>a <b> b </b> c<br>d</p>",
		"<pre>\n a\n\n  b\n</pre> c":                                 "<pre> a\n\n  b</pre>c",
		"<pre><code>\na \n</code></pre>":                             "<pre><code>\na </code></pre>",
		"<p style=\"white-space: pre-wrap\"> a\n  b </p> <p> c </p>": "<p style=\"white-space: pre-wrap\"> a\n  b </p><p>c</p>",
		"<p>\u00a0 a</p>":                                            "<p>\u00a0 a</p>",
	} {
		if diff := cmp.Diff(want, contenthtml.Normal(in)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

// What Markdown has a form for is written as Markdown, and the rest as HTML of the smallest block.
func TestToMarkdown(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"<p>a <strong>b</strong>, <em>c</em> <del>d</del> <code>e</code>.</p>":                                       "a **b**, *c* ~~d~~ `e`.\n",
		"<p><strong>a <em>b</em></strong></p>":                                                                       "**a *b***\n",
		"<p><b>Note:</b>Do it.</p>":                                                                                  "<b>Note:</b>Do it.\n",
		"<p><strong>Note:</strong>Do it.</p>":                                                                        "<strong>Note:</strong>Do it.\n",
		"<p><strong>「刻舟求剑」</strong>这是</p>":                                                                           "**「刻舟求剑」**这是\n",
		"<p>New!<a href=\"https://example.org/x\">Read</a></p>":                                                      "New\\![Read](https://example.org/x)\n",
		"<p>10<sup>-3</sup> m</p>":                                                                                   "10<sup>-3</sup> m\n",
		"<p>Press <kbd>Ctrl</kbd></p>":                                                                               "Press <kbd>Ctrl</kbd>\n",
		"<p><code>echo `date`</code></p>":                                                                            "`` echo `date` ``\n",
		"<h2 id=\"install\">Setup guide</h2><h2>Other</h2>":                                                          "## Setup guide {#install}\n\n## Other\n",
		"<h2>Ticket #</h2><p>~5~ items</p>":                                                                          "## Ticket \\#\n\n\\~5\\~ items\n",
		"<ol start=\"3\"><li>a</li><li>b<ol><li>c</li></ol></li></ol>":                                               "3. a\n4. b\n   1. c\n",
		"<ul><li><p>a</p><p>b</p></li><li><p>c</p></li></ul>":                                                        "- a\n\n  b\n\n- c\n",
		"<ul><li>a</li></ul><ul><li>b</li></ul>":                                                                     "- a\n\n<!-- -->\n\n- b\n",
		"<ol type=\"a\"><li>x</li></ol>":                                                                             "<ol type=\"a\">\n<li>x</li>\n</ol>\n",
		"<details><summary>S</summary><p>x</p></details>":                                                            "<details>\n<summary>S</summary>\n\nx\n\n</details>\n",
		"<div class=\"x\"><p>a</p><p style=\"text-align: center\">b</p></div>":                                       "<div class=\"x\">\n\na\n\n<p style=\"text-align: center\">b</p>\n</div>\n",
		"<pre>one<br>two</pre>":                                                                                      "<pre>one<br>two</pre>\n",
		"<pre><code class=\"language-go\">a\n\n```\n</code></pre>":                                                   "````go\na\n\n```\n````\n",
		"<blockquote><p>a</p><ul><li>b</li></ul></blockquote>":                                                       "> a\n> \n> - b\n",
		"<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b|<br>c</td></tr></tbody></table>":                  "| a |\n| --- |\n| b\\|<br>c |\n",
		"<table><tr><td colspan=\"2\">a</td></tr></table>":                                                           "<table>\n<tr>\n<td colspan=\"2\">a</td>\n</tr>\n</table>\n",
		"<dl><dt>a</dt><dd>b</dd></dl>":                                                                              "a\n: b\n",
		"<p>See https://example.org and a@b.example, 2 * 3</p>":                                                      "See https\\://example.org and a\\@b.example, 2 \\* 3\n",
		"<p><img src=\"/a.png\" alt=\"x\"> <img src=\"/a.png\" alt=\"a\" width=\"40\"></p>":                          "![x](/a.png) <img src=\"/a.png\" alt=\"a\" width=\"40\">\n",
		"<video src=\"/v.mp4\"></video>":                                                                             "<!-- --><video src=\"/v.mp4\" controls></video>\n",
		"<div class=\"markdown-alert markdown-alert-note\"><p class=\"markdown-alert-title\">Note</p><p>x</p></div>": "> [!NOTE]\n> x\n",
		"": "",
	} {
		got := contenthtml.ToMarkdown(in)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
		checkBack(t, in)
	}
}

// Markdown for reading lacks what only changes the look of a text.
func TestToReadableMarkdown(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`<div class="x">Hello<div>a <b>b</b> <span style="color: red">c</span></div></div>`:                   "Hello\n\na **b** c\n",
		`<table><tr><td style="color: red">a</td><td><p>b</p></td></tr><tr><td>c</td><td>d</td></tr></table>`: "| a | b |\n| --- | --- |\n| c | d |\n",
		`<table><tr><td colspan="2">a</td></tr></table>`:                                                      "<table>\n<tr>\n<td colspan=\"2\">a</td>\n</tr>\n</table>\n",
		`<pre style="color: red">a*</pre><p align="center">b<sup>2</sup></p>`:                                 "```\na*\n```\n\nb<sup>2</sup>\n",
		`<iframe src="https://www.youtube.com/embed/abc"></iframe>`:                                           `<iframe src="https://www.youtube.com/embed/abc"` + frame + "\n",
		`<h2 id="x">a</h2><blockquote>b<script>x</script></blockquote>`:                                       "## a {#x}\n\n> b\n",
	} {
		if diff := cmp.Diff(want, contenthtml.ToReadableMarkdown(in)); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
	}
}

// checkBack checks that HTML comes back from Markdown as it was.
func checkBack(t *testing.T, in string) (markdown string) {
	t.Helper()
	markdown = contenthtml.ToMarkdown(in)
	back, err := contenthtml.FromMarkdown(markdown)
	if err != nil {
		t.Errorf("%q: %v\n%q", in, err, markdown)
	}
	if diff := cmp.Diff(contenthtml.Normal(in), contenthtml.Normal(back)); diff != "" {
		t.Errorf("%q became\n%q: %s", in, markdown, diff)
	}
	return markdown
}

// documents generates HTML of every allowed element and attribute, with hostile texts.
type documents struct{ *rand.Rand }

func (g documents) one(all ...string) string { return all[g.IntN(len(all))] }

func (g documents) text() string {
	pieces := []string{
		"word", "a", "Z9", " ", " ", " ", "\n", "\t", "  ", "*", "**", "_", "__", "~", "~~", "`", "``", "#", "# ", "##", "- ", "+ ", "-", "---", "===", "1. ", "2) ", "12.", "> ", ">", "|", "|--|", "!", "[", "]", "](", "(x)", "[a](b)", "![a](b)",
		"[^1]", "[^1]: a", "[a]: b", "[ ] ", "[!NOTE]", "\\", "\\*", "{#x}", "{", "}", ":", ": a", "::", "&amp;", "&lt;", "&gt;", "&amp;lt;", "&amp;#35;", "&quot;", "&nbsp;", "\u00a0", "&lt;b&gt;", "&lt;!-- --&gt;", "https://example.org/x_y", "www.example.org", "me@example.org", "ftp://a.b", "http:", "@",
		"，", "。", "「引号」", "中文", "日本語", "한국어", "）", "（", "שלום", "مرحبا", "\u200f", "\u200d", "😀", "🇩🇪", "é", "e\u0301", "$x$", "^", "%", "'", "\"", "...", "--", "\u2028", "\u0085", "\f", "\v", "\ufeff", "\u3000", "=", "~~~", "```", "    ",
	}
	var b strings.Builder
	for range 1 + g.IntN(6) {
		b.WriteString(pieces[g.IntN(len(pieces))])
	}
	return b.String()
}

func (g documents) attrs(tag string) string {
	if g.IntN(3) > 0 {
		return ""
	}
	id := fmt.Sprintf("i%d", g.IntN(1000))
	global := []string{` id="` + id + `"`, ` class="a b"`, ` class="language-go"`, ` style="color: red"`, ` style="white-space: pre-wrap"`, ` style="text-align: right"`, ` dir="rtl"`, ` lang="de"`, ` title="a &quot;b&quot; *c* ` + "`" + `"`, ` title="a` + "\n\n" + `b"`, ` aria-label="x"`, ` aria-hidden="true"`}
	own := map[string][]string{
		"a":  {` href="https://example.org/x"`, ` href="/a_b(c)?d=e&amp;f=g*h*"`, ` href="#x" title="t"`, ` href="mailto:a@b.example"`, ` href="tel:+49" target="_blank"`, ` href="https://example.org/" rel="nofollow"`, ` name="n` + id + `"`},
		"ol": {` start="3"`, ` start="1"`, ` start="0"`, ` type="a"`, ` reversed`}, "ul": {` type="square"`}, "li": {` value="3"`},
		"td": {` colspan="2"`, ` rowspan="2"`, ` align="right"`, ` headers="x"`, ` width="10"`}, "th": {` scope="col"`, ` abbr="x"`, ` valign="top"`}, "table": {` width="100%"`, ` align="center"`}, "col": {` span="2"`}, "colgroup": {` span="2"`},
		"blockquote": {` cite="https://example.org/"`}, "q": {` cite="/x"`}, "del": {` cite="/x"`, ` datetime="2026-01-02"`}, "ins": {` datetime="2026-01-02"`}, "time": {` datetime="2026-01-02"`}, "details": {` open`}, "p": {` align="center"`},
	}
	all := append(global, own[tag]...)
	all = append(all, own[tag]...)
	return all[g.IntN(len(all))]
}

var inlineTags = strings.Fields("a a a abbr b bdi bdo cite code code del del dfn em em em i ins kbd mark q s samp small span strike strong strong strong sub sup time u var")

func (g documents) inline(depth int) string {
	var b strings.Builder
	for range g.IntN(4) {
		switch n := g.IntN(10); {
		case n < 5 || depth <= 0:
			b.WriteString(g.text())
		case n < 9:
			tag := inlineTags[g.IntN(len(inlineTags))]
			b.WriteString("<" + tag + g.attrs(tag) + ">" + g.inline(depth-1) + "</" + tag + ">")
		default:
			b.WriteString(g.one("<br>", "<br>", "<br class=\"x\">", "<wbr>", `<img src="/a.png" alt="a*b">`, `<img src="https://example.org/a b.png" alt="" width="40" height="40">`, `<img alt="x">`, `<img src="/a_b.png" alt="[x]" title="t">`,
				`<img src="data:image/png;base64,iVBORw0KGgo=" alt="d" loading="lazy">`, `<iframe src="https://www.youtube.com/embed/abc" title="t"></iframe>`, `<video src="https://example.org/v.mp4" poster="/p.png" playsinline><source src="/v.webm" type="video/webm"><track src="/t.vtt" kind="captions" srclang="en" label="E" default>no video</video>`,
				`<audio src="/a.mp3" loop muted preload="none"></audio>`, `<picture><source src="/a.webp"><img src="/a.png" alt="p"></picture>`, `<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>`, `<input type="checkbox">`, `<input type="checkbox" checked>`, "<b></b>", "<strong> </strong>", "<a href=\"/x\"></a>", "<a href=\"https://example.org/q\">https://example.org/q</a>"))
		}
	}
	return b.String()
}

func (g documents) blocks(depth int) string {
	var b strings.Builder
	for range g.IntN(4) {
		b.WriteString(g.block(depth))
		b.WriteString(g.one("", "", "\n", "\n\n", " "))
	}
	return b.String()
}

// content is that of an element which may have text or blocks or both.
func (g documents) content(depth int) string {
	switch g.IntN(5) {
	case 0:
		return g.blocks(depth)
	case 1:
		return g.inline(1) + g.blocks(depth)
	case 2:
		return "<p>" + g.inline(2) + "</p>"
	}
	return g.inline(2)
}

func (g documents) block(depth int) string {
	wrap := func(tag, in string) string { return "<" + tag + g.attrs(tag) + ">" + in + "</" + tag + ">" }
	if depth <= 0 {
		return wrap("p", g.inline(2))
	}
	switch g.IntN(18) {
	case 0:
		return wrap(g.one("h1", "h2", "h3", "h4", "h5", "h6"), g.inline(2))
	case 1, 2:
		return wrap(g.one("ul", "ol"), func() string {
			in := ""
			for range g.IntN(4) {
				in += g.one("", "\n") + wrap("li", g.content(depth-1))
			}
			return in
		}())
	case 3:
		tag := g.one("ul", "ol")
		return "<" + tag + "><li>" + g.inline(1) + "</li><li>" + g.one(`<input type="checkbox" disabled> `, "") + g.inline(2) + "<ul><li>" + g.inline(1) + "</li></ul></li></" + tag + ">"
	case 4:
		return wrap("blockquote", g.content(depth-1))
	case 5:
		return wrap("pre", g.one("", "\n", "\n\n")+wrap("code", strings.ReplaceAll(g.text()+"\n"+g.text()+g.one("", "\n", "\n\n")+g.text(), "\r", "")))
	case 6:
		return wrap("pre", g.inline(2)+g.one("", "\n", "\n\n")+g.text()+g.one("<br>", "")+g.inline(1))
	case 7:
		return "<table>" + g.one("", "<caption>c</caption>", "<colgroup><col span=\"2\"></colgroup>") + "<thead><tr>" + wrap("th", g.inline(1)) + wrap("th", g.inline(1)) + "</tr></thead><tbody><tr>" + wrap("td", g.inline(2)) + wrap("td", g.inline(2)) + "</tr></tbody></table>"
	case 8:
		return wrap("table", wrap("tr", wrap("td", g.content(depth-1))+wrap(g.one("td", "th"), g.content(depth-1)))+g.one("", "<tfoot><tr><td>f</td></tr></tfoot>"))
	case 9:
		return wrap(g.one("div", "section", "article", "aside", "header", "footer", "address", "figure"), g.content(depth-1))
	case 10:
		return wrap("details", "<summary>"+g.inline(1)+"</summary>"+g.content(depth-1))
	case 11:
		return wrap("dl", wrap("dt", g.inline(1))+wrap("dd", g.content(depth-1)))
	case 12:
		return "<figure>" + g.one(`<img src="/a.png" alt="x">`, g.block(depth-1)) + "<figcaption>" + g.inline(1) + "</figcaption></figure>"
	case 13:
		return g.one("<hr>", "<hr class=\"x\">", "<p></p>", "<p>&nbsp;</p>", "<div></div>", "<ul></ul>", "<ul><li></li></ul>", "<blockquote></blockquote>", "<pre></pre>", "<h2></h2>", "<table></table>", "<p><br></p>")
	case 14:
		return g.inline(2)
	case 15:
		kind := g.one("note Note", "tip Tip", "warning Warning", "note Hint")
		name, title, _ := strings.Cut(kind, " ")
		return `<div class="markdown-alert markdown-alert-` + name + `"><p class="markdown-alert-title">` + title + "</p>" + g.blocks(depth-1) + "</div>"
	}
	return wrap("p", g.inline(2))
}

func (g documents) document() string {
	if g.IntN(20) == 0 {
		tag := g.one("blockquote", "ul", "div", "b", "ol", "table")
		n := 1 + g.IntN(30)
		switch tag {
		case "ul", "ol":
			return strings.Repeat("<"+tag+"><li>", n) + g.content(1) + strings.Repeat("</li></"+tag+">", n)
		case "table":
			return strings.Repeat("<table><tr><td>", n) + g.content(1) + strings.Repeat("</td></tr></table>", n)
		}
		return strings.Repeat("<"+tag+">", n) + g.content(1) + strings.Repeat("</"+tag+">", n)
	}
	return g.blocks(4) + g.block(3)
}

// Every generated document comes back from Markdown as it was.
func TestDocumentsComeBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		g := documents{rand.New(rand.NewPCG(seed, 1))}
		checkBack(t, g.document())
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// Hostile HTML, and text that is not cleaned, comes back as its cleaned form.
func TestHostileComesBack(t *testing.T) {
	t.Parallel()
	for _, in := range testenv.HostileHTML() {
		checkBack(t, in)
	}
}

func FuzzToMarkdown(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(documents{rand.New(rand.NewPCG(seed, 2))}.document())
	}
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) < 20_000 {
			checkBack(t, in)
		}
		contenthtml.ToReadableMarkdown(in)
	})
}
