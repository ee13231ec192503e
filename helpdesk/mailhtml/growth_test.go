package mailhtml_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage/testenv"
)

// TestGrowth checks that the cost of hostile messages is linear in their size.
func TestGrowth(t *testing.T) { //nolint:paralleltest // it measures
	pieces := map[string]string{
		"headers":         "From: a@b.example<br>Sent: now<br>",
		"whole headers":   "From: a<br>Sent: b<br>To: c<br>Subject: d<br><br>",
		"header as cells": "<p><b>From:</b> x</p>",
		"one header line": "From: x To: y ",
		"introductions":   "On 2 Jan 2024 at 10:15 Ann &lt;a@b.example&gt; wrote:<br>",
		"half of them":    "On 2 Jan 2024 at 10:15 Ann &lt;a@b.example&gt;<br>wrote:<br>",
		"wrapped":         "On Tuesday, January 2, 2024 at 10:15 AM, Customer Care of Example<br>",
		"dated lines":     "On 2 Jan 2024 10:15:00 +0100,<br>Ann &lt;a@b.example&gt; wrote:<blockquote>x</blockquote>",
		"quotes":          "On 2 Jan 2024 Ann wrote:<blockquote>x</blockquote>y",
		"quotes alone":    "<blockquote>x</blockquote>",
		"boxes":           `<div class="gmail_quote">x<blockquote>y</blockquote>z</div>`,
		"open boxes":      `<div class="gmail_quote">`,
		"separators":      "-----Original Message-----<br>",
		"dashes":          "-------- a --------<br>",
		"signs":           "&gt; x<br>",
		"rules":           "<hr>",
		"breaks":          "<br>",
		"elements":        "<div><p>",
		"ends":            "<b></i>",
		"links":           `<a href="https://e.example/x">y</a>`,
		"cids":            `<img src="cid:x"><img src="https://e.example/x">`,
		"words":           "a@b.example https://e.example/) ",
		"brackets":        "<",
		"references":      "&amp;&#x41;",
		"styles":          `<p style="color:red;background:blue">x`,
		"lists":           "<ul><li>x",
		"cells":           "<table><tr><td>",
		"preformatted":    "<pre>x\ny",
	}
	works := map[string]func(s string){
		"Clean":     func(s string) { mailhtml.Clean(s) },
		"Fold":      func(s string) { mailhtml.Fold(s, true) },
		"Preview":   func(s string) { mailhtml.Preview(s, 0, true) },
		"Text":      func(s string) { mailhtml.Text(s) },
		"FromText":  func(s string) { mailhtml.FromText(s) },
		"FromInput": func(s string) { mailhtml.FromInput(s) },
		"Direct":    func(s string) { mailhtml.Direct(s + "\u05d0") },
		"images": func(s string) {
			mailhtml.CIDs(s)
			mailhtml.VisibleImages(s)
			mailhtml.RestoreImages(mailhtml.HoldImages(s, mailhtml.Remote))
		},
	}
	for name, piece := range pieces {
		for what, work := range works {
			t.Run(what+", "+name, func(t *testing.T) {
				testenv.Growth(t, 16<<10, func(n int) func() {
					s := strings.Repeat(piece, n/len(piece))
					if what == "Fold" || what == "Preview" {
						s = mailhtml.Clean("<p>new</p>" + s)
					}
					return func() { work(s) }
				})
			})
		}
	}
}
