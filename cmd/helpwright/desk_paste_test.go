package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// pasted is what a program puts on the clipboard, and what becomes of it.
type pasted struct {
	name, html, text string
	pictures         int    // files of the clipboard
	reply            string // HTML in the composer; "": not tried
	article          string // Markdown in the article; "": not tried
}

// onePixel is a PNG image, in base64.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// wordItem is a paragraph of Word that is an item of a list.
func wordItem(list string, level int, marker, text string) string {
	return fmt.Sprintf(`<p class=MsoListParagraphCxSpMiddle style='margin-left:.5in;text-indent:-.25in;mso-list:%s level%d lfo1'><![if !supportLists]><span style='font-family:Symbol;mso-bidi-font-family:Symbol'>`+
		`<span style='mso-list:Ignore'>%s<span style='font:7.0pt "Times New Roman"'>&nbsp;&nbsp;&nbsp; </span></span></span><![endif]>%s<o:p></o:p></p>`, list, level, marker, text)
}

var pastes = []pasted{
	{
		name: "Google Docs", text: "Title",
		html: `<meta charset='utf-8'><b style="font-weight:normal;" id="docs-internal-guid-9a"><h2 dir="ltr" style="line-height:1.38;"><span style="font-size:16pt;font-weight:400;">Title</span></h2>` +
			`<p dir="ltr" style="margin-top:0pt"><span style="font-weight:400;white-space:pre-wrap;">Plain </span><span style="font-weight:700;white-space:pre-wrap;">bold</span><span style="font-style:italic;white-space:pre-wrap;"> slanted</span>` +
			`<span style="white-space:pre-wrap;">, see </span><a href="https://docs.example/a?b=1&amp;c=2" style="text-decoration:none;"><span style="text-decoration:underline;">the page</span></a></p><br />` +
			`<ul style="margin-top:0"><li dir="ltr" style="list-style-type:disc" aria-level="1"><p dir="ltr" role="presentation"><span>one</span></p></li><ul><li aria-level="2" style="list-style-type:circle"><p role="presentation"><span>inner</span></p></li></ul>` +
			`<li aria-level="1"><p role="presentation"><span>two</span></p></li></ul><ol><li aria-level="1"><p role="presentation"><span>first</span></p></li></ol><br class="Apple-interchange-newline"></b>`,
		reply:   `<p><b>Title</b></p><p>Plain <b>bold</b> <i>slanted</i>, see <a href="https://docs.example/a?b=1&amp;c=2">the page</a></p><ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul><ol><li>first</li></ol>`,
		article: "## Title\n\nPlain **bold** *slanted*, see [the page](https://docs.example/a?b=1&amp;c=2)\n\n- one\n  - inner\n- two\n\n<!-- -->\n\n1. first",
	},
	{
		name: "Word", text: "Dear",
		html: `<html xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:w="urn:schemas-microsoft-com:office:word"><head><meta name=Generator content="Microsoft Word 15"><title>Letter</title><!--[if gte mso 9]><xml><o:p>settings</o:p></xml><![endif]-->` +
			`<style><!-- p.MsoNormal {margin:0in; color:red} --></style></head><body lang=EN-US style='tab-interval:.5in'><!--StartFragment--><p class=MsoTitle>Letter</p><p class=MsoNormal>Dear <b style='mso-bidi-font-weight:normal'>Ada</b>,<o:p></o:p></p><p class=MsoNormal><o:p>&nbsp;</o:p></p>` +
			wordItem("l0", 1, "·", "A") + wordItem("l0", 2, "o", "B") + wordItem("l0", 3, "§", "C") + wordItem("l0", 1, "·", "D") + wordItem("l1", 1, "1.", "E") + wordItem("l1", 2, "a)", "F") + wordItem("l1", 3, "iv.", "G") + wordItem("l1", 1, "2.", "H") +
			`<p class=MsoNormal><span style='display:none;mso-hide:all'>hidden</span><span style='mso-hide:all'>too</span>Yours<br>Bob<span style='mso-special-character:comment'>[1]</span></p><div style='mso-element:comment-list'>A remark</div><!--EndFragment--></body></html>`,
		reply:   `<p><b>Letter</b></p><p>Dear <b>Ada</b>,</p><ul><li>A<ul><li>B<ul><li>C</li></ul></li></ul></li><li>D</li></ul><ol><li>E<ol><li>F<ol><li>G</li></ol></li></ol></li><li>H</li></ol><p>Yours<br>Bob</p>`,
		article: "# Letter\n\nDear **Ada**,\n\n- A\n  - B\n    - C\n- D\n\n<!-- -->\n\n1. E\n   1. F\n      1. G\n2. H\n\nYours  \nBob",
	},
	{
		name: "Excel", text: "Total\t\nA x\tB|1\n\tC", pictures: 1,
		html: `<html xmlns:x="urn:schemas-microsoft-com:office:excel"><body><!--StartFragment--><table border=0 style='border-collapse:collapse'><col width=64 span=2><tr height=0 style='display:none'><td>width</td></tr><tr><td colspan=2 class=xl65 style='height:15pt'>Total</td></tr>` +
			"<tr><td rowspan=2>A<br>\n    x</td><td>B|1</td></tr><tr><td>C</td></tr><!--EndFragment--></table></body></html>",
		reply:   `<div>Total</div><div>A x | B|1</div><div> | C</div>`,
		article: "<table>\n<tr>\n<td colspan=\"2\">Total</td>\n</tr>\n<tr>\n<td rowspan=\"2\">A<br>x</td>\n<td>B|1</td>\n</tr>\n<tr>\n<td>C</td>\n</tr>\n</table>",
	},
	{
		name: "Excel with bold cells", pictures: 1,
		html:  "<html xmlns:x=\"urn:schemas-microsoft-com:office:excel\"><head><style>\n<!--td\n\t{color:black;font-weight:400;}\n.xl65\n\t{font-weight:700;}\n.gone{display:none}\n--></style></head><body><table><tr><td class=xl65>Name</td><td class=xl65>Price</td></tr><tr><td>Nut</td><td>&nbsp;</td></tr><tr class=gone><td>secret</td></tr></table>",
		reply: `<div><b>Name</b> | <b>Price</b></div><div>Nut</div>`, article: "| **Name** | **Price** |\n| --- | --- |\n| Nut |  |",
	},
	{
		name: "Google Sheets",
		html: `<google-sheets-html-origin><style type="text/css"><!--td {border: 1px solid #cccccc;}br {mso-data-placement:same-cell;}--></style><table xmlns="http://www.w3.org/1999/xhtml" cellspacing="0" dir="ltr" border="1" data-sheets-root="1"><colgroup><col width="100"/></colgroup><tbody>` +
			`<tr style="height:21px;"><td style="overflow:hidden;font-weight:bold;" data-sheets-value="{&quot;1&quot;:2}">Part</td><td>Page</td></tr><tr><td>*Nut* | _1_</td><td><a class="in-cell-link" target="_blank" href="https://parts.example/nut?a=1&amp;b">nut</a></td></tr></tbody></table>`,
		reply:   `<div><b>Part</b> | Page</div><div>*Nut* | _1_ | <a href="https://parts.example/nut?a=1&amp;b">nut</a></div>`,
		article: "| **Part** | Page |\n| --- | --- |\n| \\*Nut\\* \\| \\_1\\_ | [nut](https://parts.example/nut?a=1&amp;b) |",
	},
	{name: "one cell", html: `<google-sheets-html-origin><span data-sheets-value="x" style="font-size:10pt;font-weight:bold;">only</span>`, reply: `<b>only</b>`, article: "**only**"},
	{name: "rows alone", html: `<meta charset="utf-8"><tr><td>A1</td><td>B1</td></tr><tr><td>A2</td><td>B2</td></tr>`, reply: `<div>A1 | B1</div><div>A2 | B2</div>`, article: "| A1 | B1 |\n| --- | --- |\n| A2 | B2 |"},
	{
		name:  "LibreOffice Calc",
		html:  `<!DOCTYPE html><html><head><meta http-equiv="content-type" content="text/html; charset=utf-8"/><title>t</title><meta name="generator" content="LibreOffice 7.4"/><style type="text/css">td { font-size:x-small } comment { display:none; }</style></head><body><table cellspacing="0" border="0"><colgroup width="85"></colgroup><tr><td height="17" align="left"><b><font color="#000">Name</font></b></td><td sdval="3" sdnum="1033;">3</td></tr><tr><td>x<br>y</td><td><br></td></tr></table></body></html>`,
		reply: `<div><b>Name</b> | 3</div><div>x y</div>`, article: "| **Name** | 3 |\n| --- | --- |\n| x<br>y |  |",
	},
	{
		name:  "a table of Word",
		html:  `<html xmlns:w="urn:schemas-microsoft-com:office:word"><body><p class=MsoNormal>See:<o:p></o:p></p><table class=MsoTableGrid border=1><tr style='mso-yfti-irow:0'><td width=311><p class=MsoNormal>A1<o:p></o:p></p></td><td><p class=MsoNormal><b>B1</b></p><p class=MsoNormal>more</p></td></tr><tr><td><p class=MsoNormal>A2</p></td><td><p class=MsoNormal>B2</p></td></tr></table>`,
		reply: `<p>See:</p><div>A1 | <b>B1</b> more</div><div>A2 | B2</div>`, article: "See:\n\n| A1 | **B1**<br>more |\n| --- | --- |\n| A2 | B2 |",
	},
	{
		name: "Outlook",
		html: `<html xmlns:o="urn:schemas-microsoft-com:office:office"><body><div class=WordSection1><p class=MsoNormal><span style='font-size:11.0pt'>Hello,<o:p></o:p></span></p><p class=MsoNormal><o:p>&nbsp;</o:p></p><div style='border-top:solid #E1E1E1 1.0pt'><p class=MsoNormal><b>From:</b> Ann &lt;<a href="mailto:ann@a.example">ann@a.example</a>&gt;<br>
<b>Sent:</b> Monday</p></div><blockquote style='margin-top:5.0pt'><p class=MsoNormal>quoted</p></blockquote></div>`,
		reply:   `<p>Hello,</p><p><b>From:</b> Ann &lt;<a href="mailto:ann@a.example">ann@a.example</a>&gt;<br><b>Sent:</b> Monday</p><blockquote><p>quoted</p></blockquote>`,
		article: "Hello,\n\n**From:** Ann \\<[ann\\@a.example](mailto:ann@a.example)>  \n**Sent:** Monday\n\n> quoted",
	},
	{
		name:  "Word for the web",
		html:  `<div class="ListContainerWrapper"><ul role="list"><li data-leveltext="x" aria-level="1"><p><span>a</span><span>&nbsp;</span></p></li></ul></div><div class="ListContainerWrapper"><ul role="list"><li data-aria-level="2"><p><span>b</span></p></li></ul></div><div><ul><li data-aria-level="1"><p>c</p></li></ul></div>`,
		reply: `<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>`, article: "- a\n  - b\n- c",
	},
	{
		name:  "a list of Word without a level",
		html:  wordItem("l0", 1, "·", "A") + wordItem("l0", 3, "·", "B") + wordItem("l0", 2, "·", "C") + wordItem("l0", 2, "(i)", "D") + wordItem("l0", 2, "(ii)", "E"),
		reply: `<ul><li>A<ul><li>B</li><li>C</li></ul><ol><li>D</li><li>E</li></ol></li></ul>`, article: "- A\n  - B\n  - C\n  1. D\n  2. E",
	},
	{
		name:  "an interrupted list of Word",
		html:  wordItem("l0", 1, "1.", "A") + `<p class=MsoListParagraph>more of A</p><p class=MsoNormal>between</p>` + wordItem("l0", 1, "2.", "B") + wordItem("l0", 1, "3.", "C"),
		reply: `<ol><li>A<br>more of A</li></ol><p>between</p><ol start="2"><li>B</li><li>C</li></ol>`, article: "1. A\n\n   more of A\n\nbetween\n\n2. B\n3. C",
	},
	{
		name:  "Apple Notes",
		html:  `<meta charset="UTF-8"><div><b><span style="font-size: 18px">Title</span></b><br></div><div><br></div><div>line one</div><div>line<span class="Apple-converted-space">&nbsp;</span>two</div><ul class="Apple-dash-list"><li>a</li></ul>`,
		reply: `<div><b>Title</b></div><div><br></div><div>line one</div><div>line two</div><ul><li>a</li></ul>`, article: "**Title**\n\nline one\n\nline two\n\n- a",
	},
	{
		name:  "Notion",
		html:  `<meta charset='utf-8'><!-- notionvc: 1 --><h3>Head</h3><p>a <strong>b</strong><em>c</em></p><ul class="bulleted-list"><li style="list-style-type:disc">x<ul><li>y</li></ul></li></ul><ul class="bulleted-list"><li>z</li></ul><blockquote>said</blockquote>`,
		reply: `<p><b>Head</b></p><p>a <b>b</b><i>c</i></p><ul><li>x<ul><li>y</li></ul></li><li>z</li></ul><blockquote><div>said</div></blockquote>`, article: "### Head\n\na **b**_c_\n\n- x\n  - y\n- z\n\n> said",
	},
	{
		name: "tables for the layout",
		html: `<table width="100%"><tbody><tr><td colspan="2"><h1>Shop</h1></td></tr><tr><td><ul><li><a href="/rel">Rel</a></li><li><a href="https://s.example/">Abs</a></li></ul></td><td><table border=1><tbody><tr><th>Item</th><th>Price</th></tr><tr><td>Nut</td><td>1</td></tr></tbody></table></td></tr></tbody></table>` +
			`<table role="presentation"><tr><td>left</td><td>right</td></tr></table>`,
		reply:   `<p><b>Shop</b></p><ul><li>Rel</li><li><a href="https://s.example/">Abs</a></li></ul><div>Item | Price</div><div>Nut | 1</div><div>left</div><div>right</div>`,
		article: "# Shop\n\n- Rel\n- [Abs](https://s.example/)\n\n| Item | Price |\n| --- | --- |\n| Nut | 1 |\n\nleft\n\nright",
	},
	{
		name:  "code",
		html:  "<p>Run <code>a*b</code>:</p><pre class=\"x\"><div><span>bash</span><button>Copy</button></div><code class=\"hljs language-bash\">if a &lt; b\n  <span style=\"color:red\">c</span>\n</code></pre><ol><li><p>x</p><pre>y\n z</pre></li></ol>",
		reply: "<p>Run <code>a*b</code>:</p><pre>if a &lt; b\n  c</pre><ol><li>x<pre>y\n z</pre></li></ol>", article: "Run `a*b`:\n\n```bash\nif a < b\n  c\n```\n\n1. x\n   ```\n   y\n    z\n   ```",
	},
	{
		name:  "an editor of code",
		html:  `<meta charset='utf-8'><div style="color: #ccc;font-family: 'Droid Sans Mono', monospace;font-weight: normal;white-space: pre;"><div><span style="color:#c586c0;">if</span> (x)</div><br><div>    y();</div></div>`,
		reply: "<pre>if (x)\n\n    y();</pre>", article: "```\nif (x)\n\n    y();\n```",
	},
	{
		name:  "Hebrew, and emoji",
		html:  `<p dir="rtl" style="text-align:right">שלום <b>עולם</b> 👩‍👩‍👧 <img class="emoji" alt="👍" src="https://e.example/e.png"></p><ol dir=rtl><li>א</li></ol>`,
		reply: `<p>שלום <b>עולם</b> 👩‍👩‍👧 👍</p><ol><li>א</li></ol>`, article: "שלום **עולם** 👩‍👩‍👧 👍\n\n1. א",
	},
	{
		name:    "signs of Markdown",
		html:    "<p># 1. *not* _em_ `c` ~~s~~ [x](y) &lt;b&gt; &amp;amp; a|b</p><p>- dash</p><p>1. one</p><p>&gt; quote</p><p>---</p>",
		reply:   "<p># 1. *not* _em_ `c` ~~s~~ [x](y) &lt;b&gt; &amp;amp; a|b</p><p>- dash</p><p>1. one</p><p>&gt; quote</p><p>---</p>",
		article: "\\# 1. \\*not\\* \\_em\\_ \\`c\\` \\~\\~s\\~\\~ \\[x\\](y) \\<b> \\&amp; a|b\n\n\\- dash\n\n1\\. one\n\n\\> quote\n\n\\---",
	},
	{
		name: "what must not come in", text: "x",
		html: `<title>t</title><base href="https://evil.example/"><link rel=stylesheet href="https://evil.example/s.css"><style>@import "https://evil.example/i.css"; p{background:url(https://evil.example/b.png)}</style><script>window.ran=1</script>` +
			`<p onclick="window.ran=1" STYLE='color:red;background:url("https://evil.example/c.png")' class="c" id=main>a<script>window.ran=1</script><img src=x onerror="window.ran=1"><img src="https://evil.example/p.png" srcset="https://evil.example/q.png"></p>` +
			`<svg onload="window.ran=1"><style>x</style><a href="javascript:window.ran=1"><text>svg</text></a></svg><a href="java&#10;script:window.ran=1">b</a> <a href=" JAVASCRIPT:x">c</a> <a href="data:text/html,x">d</a> <a href="vbscript:x">e</a> <a href="//evil.example/">f</a>` +
			`<iframe src="https://evil.example/"><p>g</p></iframe><object data="https://evil.example/"></object><form action="https://evil.example/"><input value=h><button formaction="javascript:x">i</button></form><video src="https://evil.example/v" autoplay></video><math><mtext><style><img src=x onerror="window.ran=1"></style></mtext></math>` +
			`<span style="display:none">j</span><span hidden>k</span><span style="VISIBILITY : hidden">l</span><noscript><img src="https://evil.example/n.png"></noscript><!--><img src=x onerror="window.ran=1">--><template><img src=x onerror="window.ran=1"></template><p/style="x" title='a>"'>m</p>3 < 4 & <5`,
		reply: `<p>a</p><div>b c d e f</div><div>i</div><div>--&gt;</div><p>m</p><div>3 &lt; 4 &amp; &lt;5</div>`,
	},
	{
		name:  "Word with tracked changes",
		html:  `<html xmlns:w="urn:schemas-microsoft-com:office:word"><p class=MsoNormal>It costs <del cite="mailto:Ann" datetime="2026-01-02T03:04">50</del><ins cite="mailto:Ann" datetime="2026-01-02T03:04">60</ins> euros <s>now</s></p>`,
		reply: `It costs 60 euros now`, article: "It costs 60 euros ~~now~~",
	},
	{name: "a part of a line", html: `<meta charset='utf-8'><span style="color: rgb(0, 0, 0); font-weight: 400; display: inline !important; float: none;">just </span><b>some</b><span> words</span>`, reply: `just <b>some</b> words`, article: "just **some** words"},
	{name: "lines that a style breaks", html: "<div style=\"white-space: pre-wrap\">one\ntwo</div>", reply: `one<br>two`, article: "one  \ntwo"},
	{name: "empty lines", html: `<p>a<br><br>b<br>c</p>`, reply: `a<br><br>b<br>c`, article: "a\n\nb  \nc"},
	{name: "nothing but space", html: `<p>&nbsp;</p>`, text: "plain", reply: `plain`, article: "plain"},
	{name: "plain text", text: "a <b>\r\n\r\n  c *d*\r\n", reply: `<div>a &lt;b&gt;</div><div><br></div><div>&nbsp; c *d*</div>`, article: "a <b>\n\n  c *d*\n"},
	{name: "plain words", text: "a <b> & c", reply: `a &lt;b&gt; &amp; c`, article: "a <b> & c"},
	{name: "a picture between words", pictures: 1, html: `<html xmlns:v="urn:schemas-microsoft-com:vml"><p class=MsoNormal>before <img width=10 src="file:///C:/Temp/clip_image001.png" alt="a nut"> after<img width=1 height=1 src="https://evil.example/t.gif"></p>`, reply: `before <img src="…" alt="a nut"> after`, article: "before ![a nut](…) after"},
	{name: "pictures in the HTML", html: `<p>one <img src="data:image/png;base64,` + onePixel + `"></p><p>two</p>`, reply: `<p>one <img src="…" alt=""></p><p>two</p>`, article: "one ![](…)\n\ntwo"},
	{name: "a picture of a page", pictures: 1, html: `<meta charset='utf-8'><img src="https://web.example/cat.png" alt="cat"/>`, text: "", reply: `<img src="…" alt="cat">`, article: "![cat](…)"},
	{name: "a screenshot", pictures: 1, reply: `<img src="…" alt="">`, article: "![image](…)"},
	{name: "words and a picture", pictures: 2, html: `<p>words</p>`, text: "words", reply: `<p>words</p><div><img src="…" alt=""></div><div><img src="…" alt=""></div>`, article: "words\n\n![](…)\n\n![](…)"},
	{name: "a picture of a table", pictures: 1, html: `<table><tr><td>A1</td><td>B1</td></tr></table>`, text: "A1\tB1", reply: `A1 | B1`, article: "| A1 | B1 |\n| --- | --- |"},
}

// TestDeskPaste pastes what other programs put on the clipboard, into replies and articles.
func TestDeskPaste(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.run("Reply", (*agents).pasteIntoReplies)
	a.run("Article", (*agents).pasteIntoArticles)
	a.run("Places", (*agents).pastePlaces)
	a.run("ArticlePlaces", (*agents).pasteArticlePlaces)
	a.run("Pictures", (*agents).pastePictures)
	a.run("Large", (*agents).pasteLarge)
}

const (
	editorHTML   = `document.querySelector(".editor").innerHTML`
	articleValue = `document.querySelector("[name=text]").value`
)

// composer opens the composer of a new conversation.
func (a *agents) composer() *browser.Tab {
	a.t.Helper()
	tab := a.member(browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, a.fresh("The clipboard")))
	tab.Wait(".editor")
	browser.Eval[any](tab, pasteScript)
	return tab
}

// newArticle opens the editor of a new article.
func (a *agents) newArticle() *browser.Tab {
	a.t.Helper()
	tab := a.member(browser.View{})
	tab.Open(a.at + "/help/1/new")
	tab.Wait("textarea[name=text]")
	browser.Eval[any](tab, pasteScript)
	return tab
}

var addressOfPicture = regexp.MustCompile(`src="[^"]*"|!\[([^\]]*)\]\([^)]*\)`)

// unaddressed is a text with the addresses of its pictures left out.
func unaddressed(text string) string {
	return addressOfPicture.ReplaceAllStringFunc(text, func(s string) string {
		if strings.HasPrefix(s, "src") {
			return `src="…"`
		}
		return s[:strings.LastIndex(s, "(")] + "(…)"
	})
}

func (a *agents) pasteIntoReplies() {
	tab := a.composer()
	for _, p := range pastes {
		browser.Eval[any](tab, `document.querySelector(".editor").replaceChildren()`)
		p.into(tab, ".editor")
		if diff := cmp.Diff(p.reply, unaddressed(browser.Eval[string](tab, editorHTML))); diff != "" {
			a.t.Errorf("%s:\n%s", p.name, diff)
		}
		testenv.Eventually(a.t, p.name+" has its pictures", func() bool { return browser.Eval[bool](tab, `!document.querySelector(".editor img[src^='blob:']")`) })
		tab.Control('z')
		if got := browser.Eval[string](tab, editorHTML); got != "" {
			a.t.Errorf("%s is undone to %q", p.name, got)
		}
	}
	calm(a.t, tab)
}

func (a *agents) pasteIntoArticles() {
	tab := a.newArticle()
	for _, p := range pastes {
		if p.article == "" {
			continue
		}
		browser.Eval[any](tab, articleValue+` = ""`)
		p.into(tab, "[name=text]")
		var got string
		testenv.Eventually(a.t, p.name+" is in the article", func() bool { got = browser.Eval[string](tab, articleValue); return got != "" })
		if diff := cmp.Diff(p.article, unaddressed(got)); diff != "" {
			a.t.Errorf("%s:\n%s", p.name, diff)
		}
		tab.Control('z')
		if got := browser.Eval[string](tab, articleValue); got != "" {
			a.t.Errorf("%s is undone to %q", p.name, got)
		}
	}
	calm(a.t, tab)
}

// pastePlaces pastes beside, into and over what was written: nothing else changes, and it is undone in one step.
func (a *agents) pastePlaces() {
	const (
		inline = `X <b>B</b>`
		blocks = `<p>P1 <b>b</b></p><p>P2</p>`
		list   = `<ul><li>one</li><li>two</li></ul>`
	)
	tab := a.composer()
	for _, c := range []struct{ before, html, after, typed string }{ // "|" is the caret, "[" and "]" begin and end what is chosen
		{`<div>hel|lo</div><div>next</div>`, inline, `<div>helX <b>B</b>lo</div><div>next</div>`, `<div>helX <b>B!</b>lo</div><div>next</div>`},
		{`<div>hello|</div><div>next</div>`, inline, `<div>helloX <b>B</b></div><div>next</div>`, `<div>helloX <b>B!</b></div><div>next</div>`},
		{`<div>|hello</div>`, inline, `<div>X <b>B</b>hello</div>`, `<div>X <b>B!</b>hello</div>`},
		{`<div>a <b>hel|lo</b></div>`, inline, `<div>a <b>hel</b>X <b>B</b><b>lo</b></div>`, `<div>a <b>hel</b>X <b>B!</b><b>lo</b></div>`},
		{`<div><a href="https://a.example/">he|re</a></div>`, `<a href="https://b.example/">X</a>.`, `<div><a href="https://a.example/">he</a><a href="https://b.example/">X</a>.<a href="https://a.example/">re</a></div>`, ``},
		{`hel|lo`, blocks, `hel<p>P1 <b>b</b></p><p>P2</p>lo`, `hel<p>P1 <b>b</b></p><p>P2!</p>lo`},
		{`<div>hel|lo</div><div>next</div>`, blocks, `<div>hel</div><p>P1 <b>b</b></p><p>P2</p><div>lo</div><div>next</div>`, `<div>hel</div><p>P1 <b>b</b></p><p>P2!</p><div>lo</div><div>next</div>`},
		{`<div>a</div><div>|<br></div><div>z</div>`, blocks, `<div>a</div><p>P1 <b>b</b></p><p>P2</p><div>z</div>`, `<div>a</div><p>P1 <b>b</b></p><p>P2!</p><div>z</div>`},
		{`<blockquote><p>hel|lo</p></blockquote>`, blocks, `<blockquote><p>hel</p><p>P1 <b>b</b></p><p>P2</p><p>lo</p></blockquote>`, ``},
		{`<ul><li>hel|lo</li><li>z</li></ul>`, list, `<ul><li>hel</li><li>one</li><li>two</li><li>lo</li><li>z</li></ul>`, `<ul><li>hel</li><li>one</li><li>two!</li><li>lo</li><li>z</li></ul>`},
		{`<ul><li>hello|</li></ul><div>z</div>`, blocks, `<ul><li>hello<p>P1 <b>b</b></p><p>P2</p></li></ul><div>z</div>`, ``},
		{`<div>a [hello</div><div>wor]ld</div>`, inline, `<div>a X <b>B</b>ld</div>`, ``},
		{`<div>a [hello</div><div>wor]ld</div>`, blocks, `<div>a </div><p>P1 <b>b</b></p><p>P2</p><div>ld</div>`, ``},
		{`<pre>a|b</pre><div>z</div>`, `<p>x</p><p>*y*</p>`, "<pre>ax\n*y*b</pre><div>z</div>", ``},
		{`<ul><li>[a</li><li>b]</li></ul><div>z</div>`, inline, `<ul><li>X <b>B</b></li></ul><div>z</div>`, ``},
	} {
		before := strings.NewReplacer("|", "", "[", "", "]", "").Replace(c.before)
		browser.Eval[any](tab, fmt.Sprintf(`placed(%q)`, c.before))
		pasted{html: c.html, text: "x\n*y*"}.into(tab, ".editor")
		if diff := cmp.Diff(c.after, browser.Eval[string](tab, editorHTML)); diff != "" {
			a.t.Errorf("%s, %s:\n%s", c.before, c.html, diff)
		}
		if c.typed != "" {
			tab.Press("!")
			if diff := cmp.Diff(c.typed, browser.Eval[string](tab, editorHTML)); diff != "" {
				a.t.Errorf("%s, %s, and a sign behind it:\n%s", c.before, c.html, diff)
			}
			tab.Control('z')
		}
		tab.Control('z')
		if diff := cmp.Diff(before, browser.Eval[string](tab, editorHTML)); diff != "" {
			a.t.Errorf("%s, %s, undone:\n%s", c.before, c.html, diff)
		}
		if at := browser.Eval[string](tab, `marked()`); at != c.before && !strings.Contains(c.before, "|<br>") {
			a.t.Errorf("%s, %s: after it is undone the caret is at %s", c.before, c.html, at)
		}
		tab.Control('Z')
		if diff := cmp.Diff(c.after, browser.Eval[string](tab, editorHTML)); diff != "" {
			a.t.Errorf("%s, %s, done again:\n%s", c.before, c.html, diff)
		}
	}
	calm(a.t, tab)
	browser.Eval[any](tab, `document.querySelector(".editor").replaceChildren()`)
	tab.Click(".editor")
	tab.Press("hello ")
	pasted{html: blocks}.into(tab, ".editor")
	tab.Control('z')
	a.expect("what was typed before", browser.Eval[string](tab, editorHTML), "hello")
	tab.Control('z')
	if got := browser.Eval[string](tab, editorHTML); got != "" {
		a.t.Errorf("what was typed before is undone to %q", got)
	}
	calm(a.t, tab)
}

// pasteArticlePlaces pastes into an article: blocks stand apart, code stays as it is, and what is written meanwhile stays, too.
func (a *agents) pasteArticlePlaces() {
	tab := a.newArticle()
	rich := pasted{html: `<h2>T</h2><p>x <b>*</b></p>`, text: "T\nx *"}
	for _, c := range []struct {
		name, before, after string // "|" is the caret
		what                pasted
	}{
		{"between words", "one |two", "one \n\n## T\n\nx **\\***\n\ntwo", rich},
		{"between lines", "one\n|\ntwo", "one\n\n## T\n\nx **\\***\n\ntwo", rich},
		{"in code", "```\na|\n```\n", "```\naT\nx *\n```\n", rich},
		{"behind code", "```\na\n```\n|", "```\na\n```\n\n## T\n\nx **\\***", rich},
		{"words", "a | b", "a **w** b", pasted{html: "<b>w</b>", text: "w"}},
	} {
		at := strings.Index(c.before, "|")
		before := strings.Replace(c.before, "|", "", 1)
		browser.Eval[any](tab, fmt.Sprintf(`(() => { const e = document.querySelector("[name=text]"); e.value = %q; e.focus(); e.setSelectionRange(%d, %[2]d); })()`, before, at))
		c.what.into(tab, "[name=text]")
		var got string
		testenv.Eventually(a.t, c.name+": it is pasted", func() bool { got = browser.Eval[string](tab, articleValue); return got != before })
		if diff := cmp.Diff(c.after, got); diff != "" {
			a.t.Errorf("%s:\n%s", c.name, diff)
		}
		tab.Control('z')
		if got := browser.Eval[string](tab, articleValue); got != before {
			a.t.Errorf("%s: undone to %q", c.name, got)
		}
	}
	// The server takes its time, and the member goes on writing.
	browser.Eval[any](tab, `(() => { const e = document.querySelector("[name=text]"); e.value = ""; e.focus(); })()`)
	release := a.holdBack(tab, `String(u).endsWith("/markdown")`)
	pasted{html: "<b>w</b>", text: "w"}.into(tab, "[name=text]")
	testenv.Eventually(a.t, "it is on its way", func() bool { return browser.Eval[int](tab, "held.length") > 0 })
	tab.Press(" and more")
	release()
	testenv.Eventually(a.t, "it is pasted", func() bool { return browser.Eval[string](tab, articleValue) == "**w** and more" })
	tab.Press("!")
	a.expect("the text", browser.Eval[string](tab, articleValue), "**w** and more!")
	// Without the server the text comes as it is.
	browser.Eval[any](tab, articleValue+` = ""; document.body.dataset.upload = ""; window.fetch = () => Promise.reject(new TypeError("cut"))`)
	rich.into(tab, "[name=text]")
	testenv.Eventually(a.t, "the text is pasted", func() bool { return browser.Eval[string](tab, articleValue) == "T\nx *" })
	calm(a.t, tab)
}

// pastePictures pastes again while a picture is on its way, and undoes that: the picture stays, and the draft has it. Where
// texts take no pictures they are attached.
func (a *agents) pastePictures() {
	id := a.fresh("The picture")
	tab := a.member(browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	tab.Wait(".editor")
	browser.Eval[any](tab, pasteScript)
	release := a.holdBack(tab, `u.includes("/files")`)
	pasted{html: `<p>see <img src="file:///x.png">`, pictures: 1}.into(tab, ".editor")
	pasted{html: `<b>more</b>`}.into(tab, ".editor")
	testenv.Eventually(a.t, "the picture is on its way", func() bool { return browser.Eval[int](tab, "held.length") > 0 })
	if said := a.bodies(id); len(said) == 2 && strings.Contains(said[1], "blob:") {
		a.t.Errorf("the draft is %q", said[1])
	}
	release()
	testenv.Eventually(a.t, "the picture is there", func() bool { return browser.Eval[bool](tab, `!document.querySelector(".editor img[src^='blob:']")`) })
	tab.Control('z')
	if got := browser.Eval[string](tab, editorHTML); unaddressed(got) != `see <img src="…" alt="">` || strings.Contains(got, "blob:") {
		a.t.Errorf("undone to %q", got)
	}
	testenv.Eventually(a.t, "the draft has the picture", func() bool {
		said := a.bodies(id)
		return len(said) == 2 && strings.Contains(said[1], "see <img") && !strings.Contains(said[1], "more")
	})
	calm(a.t, tab)
	tab.Open(a.at + "/new")
	tab.Wait(".editor")
	browser.Eval[any](tab, pasteScript)
	pasted{html: `<p>see <img src="file:///x.png">here`, pictures: 1}.into(tab, ".editor")
	a.expect("the text", browser.Eval[string](tab, editorHTML), "see here")
	a.expect("the files", tab.Text("[data-list]"), "image.png")
	calm(a.t, tab)
}

// pasteLarge pastes much, of which none takes longer than its size.
func (a *agents) pasteLarge() {
	tab := a.composer()
	line := strings.Repeat("word ", 10)
	pasted{text: strings.Repeat(line+"\n", 4000)}.into(tab, ".editor")
	if got := browser.Eval[int](tab, `document.querySelectorAll(".editor > div").length`); got != 4000 {
		a.t.Errorf("%d lines of 4000", got)
	}
	tab.Control('z')
	if got := browser.Eval[string](tab, editorHTML); got != "" {
		a.t.Errorf("undone to %.100q", got)
	}
	pasted{html: strings.Repeat(`<p class="MsoNormal" style="margin:0;color:red">`+line+`<b>bold</b><o:p></o:p></p>`, 9000)}.into(tab, ".editor")
	if got := browser.Eval[int](tab, `document.querySelectorAll(".editor > p > b").length`); got != 9000 {
		a.t.Errorf("%d paragraphs of 9000", got)
	}
	browser.Eval[any](tab, `document.querySelector(".editor").replaceChildren()`)
	for _, piece := range []string{"<", "<!", "<a b=", `<a b="`, "<a b='", "<div>", "<ul><li>", "<b>x", "<br>", "x<br>", "<style>", "<p title=' ", " ", "<table><tr><td>", "<tr><td>x<td>y", "<i>x</i>", `<p style="white-space:pre">   `, "&#32;", "<pre>\n", "<style>.a{color:red;font-weight:700}</style><p class=a>x", wordItem("l0", 1, "1.", "x")} {
		if got := browser.Eval[[2]float64](tab, fmt.Sprintf(`growth(%q)`, piece)); got[1] > 12*got[0]+500 {
			a.t.Errorf("%.40q: 50 kB take %.0f ms, 200 kB %.0f", piece, got[0], got[1])
		}
	}
	calm(a.t, tab)
	tab = a.newArticle()
	text := strings.Repeat(line+"\n", 4000)
	pasted{text: text}.into(tab, "[name=text]")
	if got := browser.Eval[string](tab, articleValue); got != text {
		a.t.Errorf("%d bytes of %d", len(got), len(text))
	}
	tab.Control('z')
	if got := browser.Eval[string](tab, articleValue); got != "" {
		a.t.Errorf("undone to %.100q", got)
	}
}

// pasteScript notes what the policy of the page refuses, and helps to place the caret.
const pasteScript = `
window.refused = [];
document.addEventListener("securitypolicyviolation", (e) => refused.push(e.violatedDirective + " " + e.blockedURI));
window.placed = (html) => {
	const e = document.querySelector(".editor"), ends = [];
	e.focus();
	e.innerHTML = html.replace(/[|[\]]/g, "\u0001");
	for (const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT); walk.nextNode();) {
		const n = walk.currentNode;
		for (let at = n.data.indexOf("\u0001"); at >= 0; at = n.data.indexOf("\u0001")) { n.deleteData(at, 1); ends.push([n, at]); }
	}
	getSelection().setBaseAndExtent(...ends[0], ...ends.at(-1));
};
window.marked = () => {
	const s = getSelection(), r = s.getRangeAt(0), e = document.querySelector(".editor"), ends = [[r.endContainer, r.endOffset, r.collapsed ? "|" : "]"]];
	if (!r.collapsed) ends.push([r.startContainer, r.startOffset, "["]);
	const undo = ends.map(([n, at, sign]) => { const t = new Text(sign), p = document.createRange(); p.setStart(n, at); p.insertNode(t); return t; });
	const html = e.innerHTML;
	for (const t of undo) t.remove();
	e.normalize();
	getSelection().setBaseAndExtent(e, 0, e, 0);
	return html;
};
window.growth = async (piece) => {
	const { read } = await import(document.body.dataset.paste), times = [];
	for (const size of [50000, 200000]) {
		const html = piece.repeat(size / piece.length), begin = performance.now();
		read(html, [], false);
		times.push(performance.now() - begin);
	}
	return times;
};
0`

// calm checks that the policy of the page has refused nothing, and that nothing foreign ran.
func calm(t *testing.T, tab *browser.Tab) {
	t.Helper()
	if refused := browser.Eval[[]string](tab, `new Promise((done) => setTimeout(() => done(refused), 50))`); len(refused) > 0 {
		t.Errorf("the policy refused %d times: %v", len(refused), slices.Compact(refused))
	}
	if browser.Eval[bool](tab, `"ran" in window`) {
		t.Error("what was pasted ran a script")
	}
}

// into pastes into a field.
func (p pasted) into(tab *browser.Tab, selector string) {
	given, _ := json.Marshal(map[string]any{"selector": selector, "html": p.html, "text": p.text, "pictures": p.pictures, "png": onePixel})
	browser.Eval[any](tab, strings.Replace(`(({ selector, html, text, pictures, png }) => {
		const e = document.querySelector(selector), data = new DataTransfer();
		if (!e.contains(document.activeElement)) e.focus();
		if (html) data.setData("text/html", html);
		if (text) data.setData("text/plain", text);
		for (let i = 0; i < pictures; i++) data.items.add(new File([Uint8Array.from(atob(png), (c) => c.charCodeAt(0))], "image.png", { type: "image/png" }));
		e.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
	})(GIVEN)`, "GIVEN", string(given), 1))
}
