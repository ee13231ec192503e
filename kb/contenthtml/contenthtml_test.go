package contenthtml_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/kb/contenthtml"
)

const frame = ` allowfullscreen loading="lazy" referrerpolicy="strict-origin-when-cross-origin"` +
	` sandbox="allow-scripts allow-same-origin allow-popups allow-presentation allow-forms"></iframe>`

func TestClean(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"text stays", `It's "fine" & well`, `It's "fine" &amp; well`},
		{"script", `a<script>alert(1)</script>b`, `ab`},
		{"handler", `<p onclick="x()">a</p>`, `<p>a</p>`},
		{"javascript link", `<a href="java&#10;script:x">a</a>`, `<a>a</a>`},
		{"data link", `<a href="data:text/html,x">a</a>`, `<a>a</a>`},
		{"link", `<a href="https://e.org/?a=1&b=2">a</a>`, `<a href="https://e.org/?a=1&amp;b=2">a</a>`},
		{"new window", `<a href="https://e.org/" target=_BLANK rel="NoFollow opener">a</a>`, `<a href="https://e.org/" target="_blank" rel="nofollow noopener">a</a>`},
		{"frame as target", `<a href="/x" target=top>a</a>`, `<a href="/x">a</a>`},
		{"relative", `<a href="../b?c#d">a</a><a href="#faq">b</a>`, `<a href="../b?c#d">a</a><a href="#faq">b</a>`},
		{"protocol-relative", `<img src="//e.org/x.png">`, `<img src="https://e.org/x.png">`},
		{"backslashes", `<a href="/\e.org">a</a><a href="\\e.org">b</a>`, `<a href="/%5Ce.org">a</a><a href="%5C%5Ce.org">b</a>`},
		{"no host", `<a href="https:e.org">a</a><a href="///e.org">b</a>`, `<a>a</a><a>b</a>`},
		{"form", `<form action=x><input name=q><textarea>t</textarea><button>b</button></form>`, `tb`},
		{"meta", `<meta http-equiv=refresh content=0><base href=x><link rel=stylesheet href=x>y`, `y`},
		{"style sheet", `<style>p{color:red}</style><p>a</p>`, `<p>a</p>`},
		{"svg", `<svg onload=x><a>t</a></svg>`, `<a>t</a>`},
		{"data images", `<img src="data:image/svg+xml;base64,AAAA"><img src="data:image/png;base64,iVBORw0KGgo=">`, `<img src="data:image/png;base64,iVBORw0KGgo=">`},
		{"style", `<p style="position:fixed; TEXT-ALIGN:Center; margin-left:-9px; color: rgb(1, 2, 3)">a</p>`, `<p style="text-align: center; color: rgb(1, 2, 3)">a</p>`},
		{"style that loads", `<p style="background-color:url(x); width:expression(x); color:var(--x); width:calc(1px)">a</p>`, `<p>a</p>`},
		{"table", `<table><thead><tr><th scope=col>a<tbody><tr><td colspan=2 align=RIGHT>b</table>`,
			`<table><thead><tr><th scope="col">a</th></tr></thead><tbody><tr><td colspan="2" align="right">b</td></tr></tbody></table>`},
		{"code", "<pre><code class=\"language-go hw-x x;y\">if a < b {\n\tc()\n}</code></pre>", "<pre><code class=\"language-go\">if a &lt; b {\n\tc()\n}</code></pre>"},
		{"figure", `<figure><img src="/f/1.png" alt="A" loading=lazy width=10 onerror=x><figcaption>A</figcaption></figure>`,
			`<figure><img src="/f/1.png" alt="A" loading="lazy" width="10"><figcaption>A</figcaption></figure>`},
		{"details", `<details open ontoggle=x><summary>a</summary>b</details>`, `<details open><summary>a</summary>b</details>`},
		{"task list", `<input checked="" disabled="" type="checkbox" onfocus=x autofocus> a<input type=text>`, `<input type="checkbox" disabled checked> a`},
		{"video", `<video src="/v.mp4" autoplay onplay=x poster="javascript:x"></video>`, `<video src="/v.mp4" controls></video>`},
		{"player", `<iframe src="//www.youtube.com/embed/a?rel=0" srcdoc="<script>" width=560 onload=x>text</iframe>b`,
			`<iframe src="https://www.youtube.com/embed/a?rel=0" width="560"` + frame + `b`},
		{"frame of another host", `<iframe src="https://e.org/embed/a"><b>text</b></iframe>b`, `b`},
		{"a host that looks alike", `<iframe src="https://www.youtube.com.e.org/embed/a"></iframe><iframe src="https://www.youtube.com@e.org/embed/a"></iframe>` +
			`<iframe src="https://www.youtube.com:8443/embed/a"></iframe><iframe src="https://www.youtube.com/embed/../redirect?x"></iframe>`, ``},
		{"unclosed frame", `<iframe src="https://player.vimeo.com/video/1">text <b>`, `<iframe src="https://player.vimeo.com/video/1"` + frame},
		{"unclosed", `<div><b>a<table><tr><td>x`, `<div><b>a<table><tr><td>x</td></tr></table></b></div>`},
		{"stray end", `</div></td>a</p>`, `a`},
		{"crossed", `<b>a<i>b</b>c</i>`, `<b>a<i>b</i></b>c`},
		{"list", `<ul><li>a<li>b<ul><li>c</ul><li>d</ul>`, `<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>`},
		{"paragraphs", `<p>a<p>b<div>c</div>`, `<p>a</p><p>b</p><div>c</div>`},
		{"rtl", `<p dir="RTL" lang="he">שלום</p>`, `<p dir="rtl" lang="he">שלום</p>`},
		{"comment", `a<!-- x --><![CDATA[y]]>b`, `ab`},
		{"raw text", `<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>`, `<img src="x">"&gt;`},
		{"math", `<math><mtext><table><mglyph><style><img src=x onerror=y>`, `<table></table>`},
		{"nul", "a\x00b\xff", "ab\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := contenthtml.Clean(tt.in)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Clean (-want +got):\n%s", d)
			}
			checkClean(t, got)
		})
	}
}

func TestAnchors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"words", `<h2>Getting <em>started</em>, fast!</h2>`, `<h2 id="getting-started-fast">Getting <em>started</em>, fast!</h2>`},
		{"apostrophe", `<h2>What’s new</h2>`, `<h2 id="whats-new">What’s new</h2>`},
		{"again", `<h2>A</h2><h3>a</h3><h2>A</h2>`, `<h2 id="a">A</h2><h3 id="a-1">a</h3><h2 id="a-2">A</h2>`},
		{"the author's stays", `<h2 id="Setup_1">Install</h2>`, `<h2 id="Setup_1">Install</h2>`},
		{"the author's comes first", `<h2>a</h2><p id=a>b</p>`, `<h2 id="a-1">a</h2><p id="a">b</p>`},
		{"twice", `<p id=a>b</p><p id=a>c</p>`, `<p id="a">b</p><p>c</p>`},
		{"old anchors", `<h2><a name="x"></a>a</h2>`, `<h2 id="a"><a id="x"></a>a</h2>`},
		{"German", `<h2>Über uns</h2>`, `<h2 id="über-uns">Über uns</h2>`},
		{"Hebrew", `<h2>שאלות נפוצות</h2>`, `<h2 id="שאלות-נפוצות">שאלות נפוצות</h2>`},
		{"Japanese", `<h2>はじめに（重要）</h2>`, `<h2 id="はじめに重要">はじめに（重要）</h2>`},
		{"Hindi", `<h2>हिन्दी में</h2>`, `<h2 id="हिन्दी-में">हिन्दी में</h2>`},
		{"decomposed", "<h2>Cafe\u0301</h2>", "<h2 id=\"café\">Cafe\u0301</h2>"},
		{"no letters", `<h2>🎉</h2><h2>!</h2>`, `<h2 id="section">🎉</h2><h2 id="section-1">!</h2>`},
		{"not the page's", `<h2>HW</h2><h2>hw main</h2><p id="hw-main">x</p>`, `<h2 id="h-hw">HW</h2><h2 id="h-hw-main">hw main</h2><p>x</p>`},
		{"signs", "<h2><code>--flag</code> &amp; snake_case (v1.2)</h2>", `<h2 id="--flag--snake_case-v12"><code>--flag</code> &amp; snake_case (v1.2)</h2>`},
		{"emoji", "<h2>🎉 Party</h2>", `<h2 id="-party">🎉 Party</h2>`},
		{"number taken", "<h2>a</h2><h2>a 1</h2><h2>a</h2>", `<h2 id="a">a</h2><h2 id="a-1">a 1</h2><h2 id="a-2">a</h2>`},
		{"broken", `<h2 id='a b"'>c</h2>`, `<h2 id="c">c</h2>`},
		{"one ends the other", `<h2>a<h3>b`, `<h2 id="a">a</h2><h3 id="b">b</h3>`},
		{"long", `<h2>` + strings.Repeat("ab ", 100) + `</h2>`, `<h2 id="` + strings.Repeat("ab-", 60) + `">` + strings.Repeat("ab ", 100) + `</h2>`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := contenthtml.Clean(tt.in)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Clean (-want +got):\n%s", d)
			}
			checkClean(t, got)
		})
	}
}

// checkClean checks the invariants of every result of Clean.
func checkClean(t *testing.T, s string) {
	t.Helper()
	if again := contenthtml.Clean(s); again != s {
		t.Errorf("not a fixed point:\n%.2000q\n%.2000q", s, again)
	}
	if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
		t.Errorf("not valid text: %.2000q", s)
	}
	z := html.NewTokenizer(strings.NewReader(s))
	var open []string
	ids := map[string]bool{}
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("%d left open", len(open))
			}
			return
		case html.CommentToken, html.DoctypeToken:
			t.Errorf("comment or doctype in %.2000q", s)
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			checkTag(t, tok, ids)
			switch tok.Data {
			case "br", "col", "hr", "img", "input", "source", "track", "wbr":
			default:
				open = append(open, tok.Data)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Fatalf("unbalanced </%s> in %.2000q", name, s)
			}
			open = open[:len(open)-1]
		}
	}
}

func checkTag(t *testing.T, tok html.Token, ids map[string]bool) {
	t.Helper()
	switch tok.Data {
	case "script", "style", "object", "embed", "form", "meta", "base", "link", "svg", "math", "textarea", "title", "template", "noscript", "button":
		t.Errorf("element %s", tok.Data)
	}
	id := ""
	for _, a := range tok.Attr {
		switch {
		case strings.HasPrefix(a.Key, "on"), a.Key == "srcdoc", a.Key == "autoplay", a.Key == "formaction", a.Key == "srcset":
			t.Errorf("attribute %s", a.Key)
		case a.Key == "id":
			id = a.Val
		case a.Key == "href", a.Key == "src", a.Key == "poster", a.Key == "cite":
			scheme, _, ok := strings.Cut(strings.ToLower(a.Val), ":")
			if ok && !strings.ContainsAny(scheme, "/?#.%") && (!strings.Contains(" http https mailto tel data ", " "+scheme+" ") || scheme == "data" && tok.Data != "img") {
				t.Errorf("%s=%q", a.Key, a.Val)
			}
		}
	}
	if id != "" && ids[id] {
		t.Errorf("id %q is there twice", id)
	}
	if id == "" && len(tok.Data) == 2 && tok.Data[0] == 'h' && tok.Data != "hr" {
		t.Errorf("heading without an anchor: %v", tok)
	}
	ids[id] = true
}

func TestCleanLarge(t *testing.T) {
	t.Parallel()
	inputs := map[string]string{
		"deep":       strings.Repeat("<div>", 50_000),
		"formatting": strings.Repeat("<b><p>", 50_000),
		"cells":      strings.Repeat("<table><tr><td>", 30_000) + "x",
		"ends":       strings.Repeat("<b>", 90) + strings.Repeat("</i>", 200_000),
		"text":       "<p>" + strings.Repeat("ä &", 1_000_000),
		"styles":     `<p style="` + strings.Repeat("color:red;", 200_000) + `">x</p>`,
		"brackets":   strings.Repeat("<", 500_000),
		"entities":   strings.Repeat("&", 2_000_000),
		"headings":   strings.Repeat("<h2>", 100_000),
		"same":       strings.Repeat("<h2>a</h2>", 60_000),
		"same ids":   strings.Repeat("<h2 id=a>"+strings.Repeat("x", 90)+"</h2>", 40_000),
		"nested":     strings.Repeat("<table><td><h2>", 40) + strings.Repeat("<br>", 200_000),
		"full":       strings.Repeat("<h2><p><b>&amp;", 300_000),
	}
	for name, in := range inputs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := contenthtml.Clean(in)
			if len(got) > contenthtml.MaxOutput || name == "text" && len(got) < contenthtml.MaxOutput-20 {
				t.Errorf("%d bytes", len(got))
			}
			checkClean(t, got)
			if n := len(contenthtml.Text(in)); n > contenthtml.MaxText {
				t.Errorf("text of %d bytes", n)
			}
			if n := len(contenthtml.Headings(got)); n > contenthtml.MaxHeadings {
				t.Errorf("%d headings", n)
			}
		})
	}
}

func TestFromMarkdown(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"paragraph", "Some *text* and `code`.", "<p>Some <em>text</em> and <code>code</code>.</p>\n"},
		{"heading", "# Über uns\n", "<h1 id=\"über-uns\">Über uns</h1>\n"},
		{"own anchor", "## Install it {#install}\n", "<h2 id=\"install\">Install it</h2>\n"},
		{"handler as an attribute", "## a {onclick=x}\n", "<h2 id=\"a\">a</h2>\n"},
		{"strikethrough", "~~a~~", "<p><del>a</del></p>\n"},
		{"automatic link", "See https://e.org/a.", "<p>See <a href=\"https://e.org/a\">https://e.org/a</a>.</p>\n"},
		{"table", "a|b\n-|-:\n1|2\n", "<table>\n<thead>\n<tr>\n<th>a</th>\n<th style=\"text-align: right\">b</th>\n</tr>\n</thead>\n" +
			"<tbody>\n<tr>\n<td>1</td>\n<td style=\"text-align: right\">2</td>\n</tr>\n</tbody>\n</table>\n"},
		{"tasks", "- [x] a\n", "<ul>\n<li><input type=\"checkbox\" disabled checked> a</li>\n</ul>\n"},
		{"fence", "```go\na < b\n```\n", "<pre><code class=\"language-go\">a &lt; b\n</code></pre>\n"},
		{"footnote", "a[^x] b[^x]\n\n[^x]: See `c`.\n", `<p>a<sup id="fnref:1"><a href="#fn:1" class="footnote-ref">1</a></sup> b<sup id="fnref1:1"><a href="#fn:1" class="footnote-ref">1</a></sup></p>
<div class="footnotes">
<hr>
<ol>
<li id="fn:1">
<p>See <code>c</code>.` + "\u00a0" + `<a href="#fnref:1" class="footnote-backref">↩︎</a>` + "\u00a0" + `<a href="#fnref1:1" class="footnote-backref">↩︎</a></p>
</li>
</ol>
</div>
`},
		{"definitions", "Term\n: What it *is*\n: And more\n", "<dl>\n<dt>Term</dt>\n<dd>What it <em>is</em></dd>\n<dd>And more</dd>\n</dl>\n"},
		{"alert", "> [!WARNING]\n> Hot *water*.\n>\n> - a\n", `<div class="markdown-alert markdown-alert-warning">
<p class="markdown-alert-title">Warning</p>
<p>Hot <em>water</em>.</p>
<ul>
<li>a</li>
</ul>
</div>
`},
		{"alert, kind alone", "> [!note]\n>\n> a\n", "<div class=\"markdown-alert markdown-alert-note\">\n<p class=\"markdown-alert-title\">Note</p>\n<p>a</p>\n</div>\n"},
		{"no alert", "> [!NOTE] a\n\n> [!SHRUG]\n> b\n\n> c\n> [!TIP]\n", "<blockquote>\n<p>[!NOTE] a</p>\n</blockquote>\n<blockquote>\n<p>[!SHRUG]\nb</p>\n</blockquote>\n<blockquote>\n<p>c\n[!TIP]</p>\n</blockquote>\n"},
		{"raw HTML", "a <b onclick=x>b</b> <script>x</script>", "<p>a <b>b</b> </p>\n"},
		{"javascript", "[a](javascript:x) ![b](data:text/html,x)", "<p><a>a</a> <img alt=\"b\"></p>\n"},
		{"rule", strings.Repeat("- ", 40) + "\n", "<hr>\n"},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := contenthtml.FromMarkdown(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("FromMarkdown (-want +got):\n%s", d)
			}
			checkClean(t, got)
		})
	}
}

func TestMarkdownRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     error
	}{
		{"long", strings.Repeat("a", contenthtml.MaxMarkdown+1), contenthtml.ErrMarkdownSize},
		{"as long as it may be", strings.Repeat("a", contenthtml.MaxMarkdown), nil},
		{"quotes", strings.Repeat("> ", 1000), contenthtml.ErrMarkdownDepth},
		{"lists", strings.Repeat("1. ", 1000) + "a", contenthtml.ErrMarkdownDepth},
		{"both", strings.Repeat(">- ", 1000) + "a", contenthtml.ErrMarkdownDepth},
		{"open links", strings.Repeat("[a](", 16<<10), contenthtml.ErrMarkdownLinks},
		{"open links in lines", strings.Repeat("[a](\n", 13_000), contenthtml.ErrMarkdownLinks},
		{"a list of links", strings.Repeat("- [a](https://e.org/some/page)\n", 2_000), nil},
		{"paragraphs of links", strings.Repeat("[a](https://e.org/some/page)\n\n", 2_000), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := contenthtml.FromMarkdown(tt.in); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"blocks", `<h1>A</h1><p>b <b>c</b>d,<br>e</p>`, "A\nb cd,\ne"},
		{"list", `<ul><li>a</li><li>b</li></ul>c`, "a\nb\nc"},
		{"cells", `<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>`, "a b\nc"},
		{"image", `a<img alt="a cat" src=x>b`, "a a cat b"},
		{"spaces", "  a \n\t b&nbsp;c  ", "a b c"},
		{"script", `<style>x</style>a<script>y</script><svg><text>z</text></svg>`, "a"},
		{"entities", `&lt;p&gt; &amp;`, "<p> &"},
		{"Japanese", `<p>東京<b>都</b></p>`, "東京都"},
		{"nothing", ` <p> </p>`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, contenthtml.Text(tt.in)); d != "" {
				t.Errorf("Text (-want +got):\n%s", d)
			}
		})
	}
}

func TestHeadings(t *testing.T) {
	t.Parallel()
	got := contenthtml.Headings(contenthtml.Clean(`<h2>First <i>one</i></h2><p>x</p><h3>Zweite</h3><h2></h2>`))
	want := []contenthtml.Heading{{Level: 2, Anchor: "first-one", Text: "First one"}, {Level: 3, Anchor: "zweite", Text: "Zweite"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Headings (-want +got):\n%s", d)
	}
}

// The mails of the help desk's tests serve as foreign HTML.
func TestCleanMails(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../helpdesk/mail/testdata/*.eml")
	if err != nil || len(files) == 0 {
		t.Fatal("no mails", err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		checkClean(t, contenthtml.Clean(string(raw)))
	}
}

func FuzzClean(f *testing.F) {
	f.Add(`<h2 id=a>b</h2><iframe src="https://www.youtube.com/embed/x">`)
	f.Fuzz(func(t *testing.T, s string) {
		checkClean(t, contenthtml.Clean(s))
		contenthtml.Text(s)
	})
}

func FuzzFromMarkdown(f *testing.F) {
	f.Add("# a {#b}\n\n| a | b |\n|---|---|\n| <b>c | [d](e) |\n")
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := contenthtml.FromMarkdown(s); err == nil {
			checkClean(t, got)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	in := strings.Repeat(`<h2>Step</h2><p style="text-align:center">Some <b>text</b> with a <a href="https://e.org/?a=1&amp;b=2">link</a>.</p>`, 500)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		contenthtml.Clean(in)
	}
}

func ExampleClean() {
	fmt.Println(contenthtml.Clean(`<h2>Erste Schritte</h2><p onclick="x()">Hallo<script>alert(1)</script>`))
	// Output: <h2 id="erste-schritte">Erste Schritte</h2><p>Hallo</p>
}

func ExampleFromMarkdown() {
	html, err := contenthtml.FromMarkdown("## Install\n\nRun `make`.\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(html)
	fmt.Println(contenthtml.Headings(html)[0].Anchor)
	fmt.Println(contenthtml.Text(html))
	// Output:
	// <h2 id="install">Install</h2>
	// <p>Run <code>make</code>.</p>
	// install
	// Install
	// Run make.
}
