package mailhtml_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/helpdesk/mailhtml"
)

func TestClean(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"text stays", `It's "fine" & well`, `It's "fine" &amp; well`},
		{"script", `a<script>alert(1)</script>b`, `ab`},
		{"handler", `<p onclick="x()">a</p>`, `<p>a</p>`},
		{"javascript link", `<a href="java&#10;script:x">a</a>`, `<a>a</a>`},
		{"link", `<a href="https://e.org/?a=1&b=2" target=x>a</a>`, `<a href="https://e.org/?a=1&amp;b=2" rel="noopener noreferrer nofollow" target="_blank">a</a>`},
		{"protocol-relative", `<a href="//e.org/x">a</a>`, `<a href="https://e.org/x" rel="noopener noreferrer nofollow" target="_blank">a</a>`},
		{"relative", `<a href="/logout">a</a><img src="/logout">`, `<a>a</a>`},
		{"tel", `<a href="tel:+4930">a</a>`, `<a href="tel:+4930" rel="noopener noreferrer nofollow" target="_blank">a</a>`},
		{"form", `<form action=x><input name=q><textarea>t</textarea></form>`, `t`},
		{"frames and meta", `<meta http-equiv=refresh content=0><iframe src=x>f</iframe><base href=x><link rel=stylesheet href=x>y`, `y`},
		{"style sheet", `<style>p{color:red}</style><p>a</p>`, `<p>a</p>`},
		{"svg", `<svg onload=x><a>t</a></svg>`, `<a>t</a>`},
		{"data images", `<img src="data:image/svg+xml;base64,AAAA"><img src="data:image/png;base64,iVBORw0KGgo=">`, `<img src="data:image/png;base64,iVBORw0KGgo=">`},
		{"cid", `<img src="cid:a@b" alt="x" width="10">`, `<img src="cid:a@b" alt="x" width="10">`},
		{"position", `<div style="position:fixed; z-index:9; COLOR:red; margin-left:-9px; width:10px">a</div>`, `<div style="color: red; width: 10px">a</div>`},
		{"url in style", `<div style="background:url(https://e.org/x); font-family:'Arial', sans-serif">a</div>`, `<div style="font-family: 'Arial', sans-serif">a</div>`},
		{"expression", `<div style="width:expression(alert(1));color:\72 ed;height:/**/1px">a</div>`, `<div>a</div>`},
		{"unclosed", `<div><b>a<table><tr><td>x`, `<div><b>a<table><tr><td>x</td></tr></table></b></div>`},
		{"stray end", `</div></td>a</p>`, `a`},
		{"crossed", `<b>a<i>b</b>c</i>`, `<b>a<i>b</i></b>c`},
		{"list", `<ul><li>a<li>b<ul><li>c</ul><li>d</ul>`, `<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>`},
		{"paragraphs", `<p>a<p>b<div>c</div>`, `<p>a</p><p>b</p><div>c</div>`},
		{"end tag in a cell", `<div><table><tr><td>a</div>b</td></tr></table></div>`, `<div><table><tr><td>ab</td></tr></table></div>`},
		{"rtl", `<p dir="rtl" lang="he">שלום</p>`, `<p dir="rtl" lang="he">שלום</p>`},
		{"quote marks", `<div class="gmail_quote x" id="evil"><blockquote type="cite" class=y>q</blockquote></div>`, `<div class="gmail_quote"><blockquote type="cite">q</blockquote></div>`},
		{"comment", `a<!-- x --><!--[if mso]>m<![endif]-->b`, `ab`},
		{"nul", "a\x00b\xff", "ab\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := mailhtml.Clean(tt.in)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Clean (-want +got):\n%s", d)
			}
			checkClean(t, got)
		})
	}
}

// checkClean checks invariants of every result of Clean.
func checkClean(t *testing.T, s string) {
	t.Helper()
	if again := mailhtml.Clean(s); again != s {
		t.Errorf("not a fixed point:\n%.2000q\n%.2000q", s, again)
	}
	if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
		t.Errorf("not valid text: %q", s)
	}
	z := html.NewTokenizer(strings.NewReader(s))
	var open []string
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("%d left open", len(open))
			}
			return
		case html.CommentToken, html.DoctypeToken:
			t.Errorf("comment or doctype in %q", s)
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			checkTag(t, tok)
			switch tok.Data {
			case "br", "col", "hr", "img", "wbr":
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

func checkTag(t *testing.T, tok html.Token) {
	t.Helper()
	switch tok.Data {
	case "script", "style", "iframe", "object", "embed", "form", "input", "meta", "base", "link", "svg", "math", "textarea", "title", "template":
		t.Errorf("element %s", tok.Data)
	}
	for _, a := range tok.Attr {
		if strings.HasPrefix(a.Key, "on") {
			t.Errorf("handler %s", a.Key)
		}
		if a.Key == "href" || a.Key == "src" {
			scheme, _, ok := strings.Cut(strings.ToLower(a.Val), ":")
			if !ok || !strings.Contains(" http https mailto tel cid data ", " "+scheme+" ") || scheme == "data" && a.Key == "href" {
				t.Errorf("%s=%q", a.Key, a.Val)
			}
		}
	}
}

func TestCleanLarge(t *testing.T) {
	t.Parallel()
	inputs := map[string]string{
		"deep":       strings.Repeat("<div>", 50_000),
		"formatting": strings.Repeat("<font color=red><p>", 50_000),
		"cells":      strings.Repeat("<table><tr><td>", 30_000) + "x",
		"ends":       strings.Repeat("<b>", 90) + strings.Repeat("</i>", 200_000),
		"long":       strings.Repeat("<p style='color:red'>some text &amp; more</p>", 50_000),
		"text":       "<p>" + strings.Repeat("ä &lt; ", 1_200_000),
		"styles":     `<p style="` + strings.Repeat("color:red;", 200_000) + `">x</p>`,
		"brackets":   strings.Repeat("<", 500_000),
		"entities":   strings.Repeat("&", 500_000),
	}
	for name, in := range inputs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mailhtml.Clean(in)
			if len(got) > mailhtml.MaxOutput || name == "text" && len(got) < mailhtml.MaxOutput-20 {
				t.Errorf("%d bytes", len(got))
			}
			checkClean(t, got)
			_ = mailhtml.Fold(got, true)
			_ = mailhtml.Preview(got, 0, true)
			if n := len(mailhtml.Text(in)); n > mailhtml.MaxText {
				t.Errorf("text of %d bytes", n)
			}
		})
	}
}

func TestFromText(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"plain", "Thanks, solved", "Thanks, solved"},
		{"lines", "a\r\n\nb", "a<br>\n<br>\nb"},
		{"escape", "a < b & c", "a &lt; b &amp; c"},
		{"link", "see https://e.org/a_(b)?x=1&y=2. ok", `see <a href="https://e.org/a_(b)?x=1&amp;y=2" rel="noopener noreferrer nofollow" target="_blank">https://e.org/a_(b)?x=1&amp;y=2</a>. ok`},
		{"link in brackets", "(https://e.org/)", `(<a href="https://e.org/" rel="noopener noreferrer nofollow" target="_blank">https://e.org/</a>)`},
		{"address", "<a.b@e.org>", `&lt;<a href="mailto:a.b@e.org" rel="noopener noreferrer nofollow" target="_blank">a.b@e.org</a>&gt;`},
		{"mention", "Ask @ada@e.org", `Ask @ada@e.org`},
		{"quote", "a\n> b\n>> c\n> d\ne", `a<blockquote type="cite">b<blockquote type="cite">c</blockquote>d</blockquote>e`},
		{"spaces", "  a  b", "\u00A0 a\u00A0 b"},
		{"script", "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := mailhtml.FromText(tt.in)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("FromText (-want +got):\n%s", d)
			}
			if d := cmp.Diff(got, mailhtml.Clean(got)); d != "" {
				t.Errorf("Clean changes it (-is +cleaned):\n%s", d)
			}
		})
	}
}

func TestFromInput(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"Thanks, solved", "Thanks, solved"},
		{`It's "done"`, `It's "done"`},
		{"a < b", "a &lt; b"},
		{"x<y and z>w", "x&lt;y and z&gt;w"},
		{"mail <a@e.org> & me", "mail &lt;a@e.org&gt; &amp; me"},
		{"one\ntwo", "one<br>\ntwo"},
		{"> not a quote", "&gt; not a quote"},
		{"https://e.org", "https://e.org"},
		{"<p>a", "<p>a</p>"},
		{"<b onclick=x>a</b>", "<b>a</b>"},
		{"a<script>alert(1)</script>", "a"},
		{"a &lt; b", "a &lt; b"},
		{"AT&T", "AT&amp;T"},
		{"", ""},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got := mailhtml.FromInput(tt.in)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("FromInput (-want +got):\n%s", d)
			}
			if d := cmp.Diff(got, mailhtml.FromInput(got)); d != "" {
				t.Errorf("not a fixed point:\n%s", d)
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"paragraphs", "<p>a\n b</p><p>c</p>", "a b\n\nc"},
		{"breaks", "a<br>b<br><br>c", "a\nb\n\nc"},
		{"list", "<ul><li>a</li><li>b<ol><li>c</li><li>d</li></ol></li></ul>e", "- a\n- b\n\n  1. c\n  2. d\n\ne"},
		{"link", `<a href="https://e.org/x">here</a> <a href="https://e.org">https://e.org/</a> <a href="mailto:a@e.org">a@e.org</a>`, "here <https://e.org/x> https://e.org/ a@e.org"},
		{"quote", "a<blockquote>b<br>c<blockquote>d</blockquote></blockquote>e", "a\n> b\n> c\n> > d\ne"},
		{"hidden", "<style>x</style><script>y</script>z<title>t</title>", "z"},
		{"entities", "a&nbsp;&amp;&lt;b", "a &<b"},
		{"table", "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"},
		{"pre", "<pre>a\n  b</pre>", "a\n  b"},
		{"pre-wrap", `<div style="white-space: pre-wrap">a` + "\n" + `b</div>`, "a\nb"},
		{"inline", "<b>a</b>b <i>c</i>", "ab c"},
		{"image", `<img src="cid:x" alt="logo">`, "[logo]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, mailhtml.Text(tt.in)); d != "" {
				t.Errorf("Text (-want +got):\n%s", d)
			}
		})
	}
}

const (
	folded = `<details class="quote"><summary>…</summary>`
	outlk  = `<div><p>Hi</p><div><div style="border-top: solid"><p><b>From:</b> A<br><b>Sent:</b> now<br><b>To:</b> B<br><b>Subject:</b> x</p></div></div><p>old</p></div>`
)

// In the wanted results "{" and "}" are the tags that Fold adds.
func TestFold(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, want string }{
		{"nothing", `<p>a</p>`},
		{"gmail", `<div dir="ltr">a</div><br>{<div class="gmail_quote"><div class="gmail_attr">On 1 May B wrote:<br></div><blockquote>q</blockquote></div>}`},
		{"gmail, answers inside", `<div>a</div><div class="gmail_quote"><blockquote>q</blockquote><div>answer</div>{<blockquote>r</blockquote>}</div>`},
		{"thunderbird", `<p>a</p>{<div class="moz-cite-prefix">Am 1.5. schrieb B:</div><blockquote type="cite">q</blockquote>}`},
		{"apple", `<div>a</div><div>{<blockquote type="cite"><div>On 1 May, B wrote:</div><div>q</div></blockquote>}</div>`},
		{"text", "a<br>\n<br>\n{On 1 May B wrote:<blockquote type=\"cite\">q</blockquote>}"},
		{"introduction in a paragraph", `<p>a</p>{<p>On 1 May B wrote:</p><blockquote>q</blockquote>}`},
		{"outlook", strings.Replace(outlk, "<div><div style", "{<div><div style", 1)[:len(outlk)+1-len("</div>")] + "}</div>"},
		{"outlook on the web", `<div>a</div>{<hr><div id="divRplyFwdMsg">From: x</div><div>q</div>}`},
		{"yahoo", `<div>a</div>{<div class="yahoo_quoted"><div>On Monday, B wrote:</div><div>q</div></div>}`},
		{"separator", "a<br>\n{-----Original Message-----<br>\nq}"},
		{"answer below", `<blockquote>q</blockquote><p>a</p>`},
		{"between", `<p>a</p><blockquote>q</blockquote><p>b</p>`},
		{"last of several", `<p>a</p><blockquote>q</blockquote><p>b</p>{<blockquote>r</blockquote>}`},
		{"all quote", `<blockquote>q</blockquote>`},
		{"unbalanced", `<p>a<blockquote>q`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := strings.NewReplacer("{", "", "}", "").Replace(tt.want)
			want := strings.NewReplacer("{", folded, "}", "</details>").Replace(tt.want)
			got := mailhtml.Fold(in, true)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("Fold (-want +got):\n%s", d)
			}
			if again := mailhtml.Fold(got, true); again != got {
				t.Errorf("folded twice: %s", again)
			}
		})
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		n    int
		want string
	}{
		{"<p>Hello</p><p>you</p><blockquote>q</blockquote>", 0, "Hello you"},
		{"<blockquote>q</blockquote><p>below</p>", 0, "below"},
		{"<blockquote>only</blockquote>", 0, "only"},
		{"<div style=\"display: none\">hidden</div>seen", 0, "seen"},
		{"äöü äöü", 5, "äöü ä"},
		{strings.Repeat("ab ", 200), 0, strings.TrimSpace(strings.Repeat("ab ", 200)[:140])},
		{"", 3, ""},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, mailhtml.Preview(tt.in, tt.n, true)); d != "" {
				t.Errorf("Preview (-want +got):\n%s", d)
			}
		})
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	in := `<p>a &amp; b<img src="cid:one%40e.org" alt="x"><img src="https://e.org/t.gif"><img src="CID:two"><img src="cid:two"></p>`
	if d := cmp.Diff([]string{"one@e.org", "two"}, mailhtml.CIDs(in)); d != "" {
		t.Errorf("CIDs (-want +got):\n%s", d)
	}
	got := mailhtml.RewriteImages(in, func(src string) string {
		if strings.HasPrefix(src, "https:") {
			return ""
		}
		return strings.Replace(src, "cid:one%40e.org", `/files/1?a="&b`, 1)
	})
	want := `<p>a &amp; b<img src="/files/1?a=&quot;&amp;b" alt="x"><img><img src="CID:two"><img src="cid:two"></p>`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("RewriteImages (-want +got):\n%s", d)
	}
}

func TestHoldImages(t *testing.T) {
	t.Parallel()
	in := `<p><img src="https://e.org/t.gif?a&amp;b" alt="x"><img src="cid:one"><img alt="y"></p>`
	held := mailhtml.HoldImages(in, mailhtml.Remote)
	want := `<p><img data-remote-src="https://e.org/t.gif?a&amp;b" alt="x"><img src="cid:one"><img alt="y"></p>`
	if d := cmp.Diff(want, held); d != "" {
		t.Errorf("HoldImages (-want +got):\n%s", d)
	}
	if d := cmp.Diff(in, mailhtml.RestoreImages(held)); d != "" {
		t.Errorf("RestoreImages (-want +got):\n%s", d)
	}
	for src, want := range map[string]bool{"http://a": true, "HTTPS://a": true, " //a": true, "cid:a": false, "data:image/png;base64,": false, "/a": false, "": false} {
		if mailhtml.Remote(src) != want {
			t.Errorf("Remote(%q) is not %t", src, want)
		}
	}
}

func ExampleHoldImages() {
	fmt.Println(mailhtml.HoldImages(`<p>Hi<img src="https://example.org/i.png"></p>`, mailhtml.Remote))
	// Output: <p>Hi<img data-remote-src="https://example.org/i.png"></p>
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"<p>a<b>c</p>", `<a href="javascript:x" onclick=y>`, "<svg><style><img src=x onerror=y>", "<table><tr><td></div>",
		`<p style="color:red;position:fixed">`, "<!--><script>x</script>-->", "<noscript><p title=\"</noscript><img src=x onerror=y>\">", outlk} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := mailhtml.Clean(s)
		checkClean(t, c)
		fold := mailhtml.Fold(c, true)
		if fold != c && strings.Replace(strings.Replace(fold, folded, "", 1), "</details>", "", 1) != c &&
			!strings.Contains(c, "</details>") {
			t.Errorf("Fold removed something: %q from %q", fold, c)
		}
		if in := mailhtml.FromInput(s); mailhtml.FromInput(in) != in {
			t.Errorf("FromInput: %q", in)
		}
		checkClean(t, mailhtml.FromText(s))
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"<p>a<br>b", "<ul><li>a<ol><li>b", `<a href="https://e.org">x</a>`, "<blockquote><blockquote>a", "<pre>a\n b", outlk} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		text := mailhtml.Text(s)
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") || len(text) > mailhtml.MaxText {
			t.Errorf("bad text %q", text)
		}
		line := mailhtml.Preview(s, n%1000, true)
		if want := n % 1000; want > 0 && utf8.RuneCountInString(line) > want || strings.ContainsAny(line, "\n\r\x00") {
			t.Errorf("bad preview %q", line)
		}
		mailhtml.CIDs(s)
		if same := mailhtml.RewriteImages(s, func(src string) string { return src }); same != s {
			t.Errorf("rewritten: %q to %q", s, same)
		}
	})
}

var benchPage = strings.Repeat(`<div style="font-family: Arial; color: #333"><p>Some <b>text</b> of a <a href="https://example.org/x?y=1">mail</a></p><ul><li>one</li></ul></div>`, 500)

func BenchmarkClean(b *testing.B) {
	b.Run("clean", func(b *testing.B) {
		b.SetBytes(int64(len(benchPage)))
		for b.Loop() {
			mailhtml.Clean(benchPage)
		}
	})
	b.Run("floor-tokenize", func(b *testing.B) {
		b.SetBytes(int64(len(benchPage)))
		for b.Loop() {
			z := html.NewTokenizer(strings.NewReader(benchPage))
			for z.Next() != html.ErrorToken {
				z.Token()
			}
		}
	})
	b.Run("text", func(b *testing.B) {
		b.SetBytes(int64(len(benchPage)))
		for b.Loop() {
			mailhtml.Text(benchPage)
		}
	})
	b.Run("fold", func(b *testing.B) {
		b.SetBytes(int64(len(benchPage)))
		for b.Loop() {
			mailhtml.Fold(benchPage, true)
		}
	})
}

func ExampleClean() {
	fmt.Println(mailhtml.Clean(`<p onclick="x()">Hello <b>you<script>alert(1)</script>`))
	// Output: <p>Hello <b>you</b></p>
}

func ExampleFromText() {
	fmt.Println(mailhtml.FromText("Yes.\n> Is it 1 < 2?"))
	// Output: Yes.<blockquote type="cite">Is it 1 &lt; 2?</blockquote>
}

func ExampleFromInput() {
	fmt.Println(mailhtml.FromInput("a < b"))
	fmt.Println(mailhtml.FromInput("<p>a &lt; b"))
	// Output:
	// a &lt; b
	// <p>a &lt; b</p>
}

func ExampleText() {
	fmt.Println(mailhtml.Text(`<p>See <a href="https://example.org/help">the page</a>:</p><ul><li>one<li>two</ul>`))
	// Output:
	// See the page <https://example.org/help>:
	//
	// - one
	// - two
}

func ExampleFold() {
	fmt.Println(mailhtml.Fold(`<p>Thanks!</p><blockquote>How are you?</blockquote>`, true))
	// Output: <p>Thanks!</p><details class="quote"><summary>…</summary><blockquote>How are you?</blockquote></details>
}

func ExamplePreview() {
	fmt.Println(mailhtml.Preview(`<p>Thanks,<br>all is well.</p><blockquote>How are you?</blockquote>`, 0, true))
	// Output: Thanks, all is well.
}
