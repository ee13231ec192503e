package mailhtml_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/mailhtml"
)

// Images that a reader cannot see are not visible, whatever hides them.
func TestVisibleImages(t *testing.T) {
	t.Parallel()
	const image = `<img src="cid:a">`
	for html, want := range map[string]bool{
		"":                          false,
		"<p>cid:a</p>":              false,
		image:                       true,
		`<img alt="x">`:             false,
		"<!-- " + image + " -->":    false,
		`<a href="cid:a">x</a>`:     false,
		"<image src=\"cid:a\">":     false,
		"<table><tr><td>" + image:   true,
		"<details>" + image:         true,
		`<img src="cid:a" width=1>`: false,
		`<img src="cid:a" width="1px" height="1px">`:                   false,
		`<img src="cid:a" height=0>`:                                   false,
		`<img src="cid:a" width="0%">`:                                 false,
		`<img src="cid:a" width="1%">`:                                 true,
		`<img src="cid:a" width=2 height=2>`:                           true,
		`<img src="cid:a" width=auto>`:                                 true,
		`<img src="cid:a" style="width:1em">`:                          true,
		`<img src="cid:a" style="WIDTH: 0.5pt">`:                       false,
		`<img src="cid:a" style="max-height:0 !important">`:            false,
		`<img src="cid:a" style="color:red;display:none">`:             false,
		`<img src="cid:a" style="display:block">`:                      true,
		`<img src="cid:a" style="opacity:.01">`:                        false,
		`<img src="cid:a" style="opacity:.9">`:                         true,
		`<div style="display:none"><div>` + image + `</div></div>`:     false,
		`<div style="display:none">x</div>` + image:                    true,
		`<div style="display:none">x<br><hr><img alt=x></div>` + image: true,
		`<span style="max-width:0">` + image + `</span>`:               false,
		`<div style="height:0">` + image + `</div>`:                    true,
		`<table width=1><tr><td>` + image + `</table>`:                 false,
		`<div width=1>` + image + `</div>`:                             true,
	} {
		if got := strings.Join(mailhtml.VisibleImages(mailhtml.Clean(html)), " ") == "cid:a"; got != want {
			t.Errorf("%s: visible: %t", html, got)
		}
	}
}
