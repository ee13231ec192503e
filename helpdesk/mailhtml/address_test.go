package mailhtml_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/mailhtml"
)

// Addresses in mails are read as browsers read them: a link with a blank or a percent sign works, and no disguise makes a
// script of one.
func TestAddressesAsInBrowsers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://example.org/My File.pdf":          "https://example.org/My%20File.pdf",
		"tel:+49 89 123":                           "tel:+49%2089%20123",
		"mailto:a@b.example?subject=Hello there":   "mailto:a@b.example?subject=Hello%20there",
		"https://example.org/50%off":               "https://example.org/50%off",
		" \n https://example.org/a\n\tb ":          "https://example.org/ab",
		"ht\ntps://example.org/x":                  "https://example.org/x",
		"https://example.org/Straße?q=ä b":         "https://example.org/Straße?q=ä%20b",
		"//example.org/x y":                        "https://example.org/x%20y",
		"java\tscript:alert(1)":                    "",
		" javascript:alert(1)":                     "",
		"java&#10;script:alert(1)":                 "",
		"\x01javascript:alert(1)":                  "",
		"vbscript:x":                               "",
		"data:text/html,<script>alert(1)</script>": "",
		"javascript%3Aalert(1)":                    "",
		"/relative path":                           "",
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			got := mailhtml.Clean(`<p><a href="` + in + `">x</a></p>`)
			switch {
			case want == "" && strings.Contains(got, "href"):
				t.Errorf("%q became %s", in, got)
			case want != "" && !strings.Contains(got, `href="`+want+`"`):
				t.Errorf("%q became %s, want %s", in, got, want)
			}
		})
	}
}
