package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/storagetest/testenv"
	"github.com/helpwright/helpwright/storage/storagetest/testenv/browser"
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
}

// TestDeskPaste pastes what other programs put on the clipboard, into replies and articles.
func TestDeskPaste(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	tab := a.member(browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, a.fresh("The clipboard")))
	tab.Wait(".editor")
	listen(tab)
	for _, p := range pastes {
		if p.reply != "" {
			browser.Eval[any](tab, `document.querySelector(".editor").replaceChildren()`)
			p.into(tab, ".editor")
			if diff := cmp.Diff(p.reply, browser.Eval[string](tab, `document.querySelector(".editor").innerHTML`)); diff != "" {
				t.Errorf("%s, in a reply:\n%s", p.name, diff)
			}
		}
	}
	calm(t, tab)
	tab.Open(a.at + "/help/1/new")
	tab.Wait("textarea[name=text]")
	listen(tab)
	for _, p := range pastes {
		if p.article != "" {
			browser.Eval[any](tab, `document.querySelector("[name=text]").value = ""`)
			p.into(tab, "[name=text]")
			var got string
			testenv.Eventually(t, p.name+" is in the article", func() bool {
				got = browser.Eval[string](tab, `document.querySelector("[name=text]").value`)
				return got != ""
			})
			if diff := cmp.Diff(p.article, got); diff != "" {
				t.Errorf("%s, in an article:\n%s", p.name, diff)
			}
		}
	}
	calm(t, tab)
}

// listen notes what the policy of the page refuses.
func listen(tab *browser.Tab) {
	browser.Eval[any](tab, `window.refused = []; document.addEventListener("securitypolicyviolation", (e) => refused.push(e.violatedDirective + " " + e.blockedURI))`)
}

// calm checks that the policy of the page has refused nothing.
func calm(t *testing.T, tab *browser.Tab) {
	t.Helper()
	if refused := browser.Eval[[]string](tab, `new Promise((done) => setTimeout(() => done(refused), 50))`); len(refused) > 0 {
		t.Errorf("the policy refused %d times: %v", len(refused), slices.Compact(refused))
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
