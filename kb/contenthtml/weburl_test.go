package contenthtml_test

import (
	"html"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb/contenthtml"
)

// Addresses are read as browsers read them. An empty result means that the link is dropped.
func TestAddressesAsInBrowsers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://example.org/My File.pdf":         "https://example.org/My%20File.pdf",
		"https://example.org/a?q=x y#z w":         "https://example.org/a?q=x%20y#z%20w",
		"tel:+49 89 123":                          "tel:+49%2089%20123",
		"mailto:a@b.example?subject=Hello there":  "mailto:a@b.example?subject=Hello%20there",
		"https://example.org/50%off":              "https://example.org/50%off",
		"https://example.org/50%":                 "https://example.org/50%",
		"https://example.org/%zz%41?q=%&r=%2":     "https://example.org/%zz%41?q=%&r=%2",
		"my pic.png":                              "my%20pic.png",
		"\x01 \n https://example.org/a\n\tb \x1f": "https://example.org/ab",
		"https:\\\\example.org\\a\\b?c\\d":        "",
		"https:\\\\example.org\\a\\b":             "https://example.org/a/b",
		"https://example.org/a\\b?c":              "https://example.org/a/b?c",
		"HTTPS://Example.org/":                    "https://Example.org/",
		"https://example.org/wiki/Österreich":     "https://example.org/wiki/%C3%96sterreich",
		"https://example.org/\u00a0x":             "https://example.org/%C2%A0x",
		"http://[2001:db8::1]/x":                  "http://[2001:db8::1]/x",
		"http://localhost:8080/x":                 "http://localhost:8080/x",
		"/a b%":                                   "/a%20b%",
		"#a b":                                    "#a%20b",
		"java\tscript:alert(1)":                   "",
		"java\nscript:alert(1)":                   "",
		" \x01javascript:alert(1)":                "",
		"java\x01script:alert(1)":                 "",
		"java script:alert(1)":                    "",
		"java\u200bscript:alert(1)":               "",
		"JaVaScRiPt:alert(1)":                     "",
		"javascript\uE0FF:alert(1)":               "",
		"java\uE0FFscript:alert(1)":               "",
		"javascript%3aalert(1)":                   "javascript%3aalert(1)", // a file of this name
		"java%script:alert(1)":                    "",
		"vbscript:x":                              "",
		"vb\r\nscript:x":                          "",
		"data:text/html,x":                        "",
		"da\tta:text/html,x":                      "",
		"blob:https://example.org/x":              "",
		"view-source:https://example.org/":        "",
		"https://exa mple.org/":                   "",
		"https:///example.org":                    "",
		"\\\\example.org\\x":                      "%5C%5Cexample.org%5Cx",
		"/\t/example.org":                         "https://example.org",
		":":                                       "",
		"":                                        "",
	} {
		got := contenthtml.Clean(`<a href="` + html.EscapeString(in) + `">x</a>`)
		if want != "" {
			want = ` href="` + html.EscapeString(want) + `"`
		}
		if diff := cmp.Diff(`<a`+want+`>x</a>`, got); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
		checkClean(t, got)
	}
}

// Bare addresses in Markdown become links up to their end, in any script.
func TestBareAddresses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{ // the text, and that of its link
		"See https://de.example.org/wiki/Österreich now": "https://de.example.org/wiki/Österreich",
		"See https://example.org/ru/Привет.":             "https://example.org/ru/Привет",
		"See https://example.org/日本/ now":                "https://example.org/日本/",
		"See https://example.org/日本。次の文":                 "https://example.org/日本",
		"（ https://example.org/日本）":                      "https://example.org/日本",
		"「 https://example.org/x」":                       "https://example.org/x",
		"See https://müller.example/seite":               "https://müller.example/seite",
		"See https://例え.テスト/パス":                          "https://例え.テスト/パス",
		"See https://example.org/x?q=ä&b=1 now":          "https://example.org/x?q=ä&b=1",
		"See http://localhost:8080/x now":                "http://localhost:8080/x",
		"See http://localhost now":                       "http://localhost",
		"See http://[2001:db8::1]/x now":                 "http://[2001:db8::1]/x",
		"See http://[2001:db8::1]:8080/x now":            "http://[2001:db8::1]:8080/x",
		"See https://example.org/wiki/レオナルド・ダ・ヴィンチ now":  "https://example.org/wiki/レオナルド・ダ・ヴィンチ",
		"See https://example.org/wiki/L’Équipe, now":     "https://example.org/wiki/L’Équipe",
		"“https://example.org/x”":                        "",
		"See (https://example.org/x_(y)).":               "https://example.org/x_(y)",
		"See https://example.org/x!?":                    "https://example.org/x",
		"See https://example.org/x</b>":                  "https://example.org/x",
		"See www.müller.example/ä.":                      "www.müller.example/ä",
		"See HTTPS://EXAMPLE.ORG/ä now":                  "HTTPS://EXAMPLE.ORG/ä",
		"See https://example.org:8443/a%C3%BC now":       "https://example.org:8443/a%C3%BC",
		"See https://example.org/می\u200cخواهم now":      "https://example.org/می\u200cخواهم",
		"See me@example.org.":                            "me@example.org",
		"See https:// now":                               "",
		"See https://。 now":                              "",
		"No `https://example.org/x`":                     "",
		"See ftp://example.org/ä":                        "",
	} {
		got, err := contenthtml.FromMarkdown(in)
		if err != nil {
			t.Fatal(err)
		}
		link := ""
		if _, after, ok := strings.Cut(got, "<a href="); ok {
			_, link, _ = strings.Cut(after, ">")
			link, _, _ = strings.Cut(link, "</a>")
		}
		if diff := cmp.Diff(want, html.UnescapeString(link)); diff != "" {
			t.Errorf("%s: %s in %s", in, diff, got)
		}
		checkClean(t, got)
	}
}
