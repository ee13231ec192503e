package contenthtml_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage/testenv"
)

// Only well-formed references are kept, and only files can be embedded.
func TestReferences(t *testing.T) {
	t.Parallel()
	const key = "abcdefgh23456789"
	for in, want := range map[string]string{
		`<a href="kb:articles/12">x</a>`:                       `<a href="kb:articles/12">x</a>`,
		`<a href="kb:articles/12?a=b&amp;c#d">x</a>`:           `<a href="kb:articles/12?a=b&amp;c#d">x</a>`,
		`<a href="kb:categories/3">x</a>`:                      `<a href="kb:categories/3">x</a>`,
		`<a href="kb:files/7/` + key + `/a%20b.pdf">x</a>`:     `<a href="kb:files/7/` + key + `/a%20b.pdf">x</a>`,
		`<img src="kb:files/7/` + key + `/a.png" alt="kb: a">`: `<img src="kb:files/7/` + key + `/a.png" alt="kb: a">`,
		`<img src="kb:articles/12" alt="x">`:                   `<img alt="x">`,
		`<a href="kb:articles/0">x</a>`:                        `<a>x</a>`,
		`<a href="kb:articles/12/..">x</a>`:                    `<a>x</a>`,
		`<a href="kb:users/1">x</a>`:                           `<a>x</a>`,
		`<a href="kb:">x</a>`:                                  `<a>x</a>`,
		`<a href="kb://evil.example/articles/1">x</a>`:         `<a>x</a>`,
		`<iframe src="kb:articles/1"></iframe>`:                ``,
	} {
		got := contenthtml.Clean(in)
		if got != want || contenthtml.Clean(got) != got {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestMapAddresses(t *testing.T) {
	t.Parallel()
	to := func(address string) string { return strings.Replace(address, "old&", `new"<&`, 1) }
	for in, want := range map[string]string{
		`<p>href="old&amp;1"</p>`: `<p>href="old&amp;1"</p>`,
		`<p><a title="x" href="old&amp;1">src="old&amp;2"</a> &gt; <img src="old&amp;3" alt="old&amp;4"></p>`: `<p><a title="x" href="new&quot;&lt;&amp;1">src="old&amp;2"</a> &gt; <img src="new&quot;&lt;&amp;3" alt="old&amp;4"></p>`,
		`<video src="old&amp;1" poster="old&amp;2" controls></video>`:                                         `<video src="new&quot;&lt;&amp;1" poster="new&quot;&lt;&amp;2" controls></video>`,
		`<blockquote cite="old&amp;1">a</blockquote>`:                                                         `<blockquote cite="new&quot;&lt;&amp;1">a</blockquote>`,
		`no tag`: `no tag`,
		``:       ``,
	} {
		if got := contenthtml.MapAddresses(in, to); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestMapMarkdownAddresses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"[a](old.md#x) and ![b](<old c.png> \"old\")\n":        "[a](NEW) and ![b](<NEW> \"old\")\n",
		"[a]( old.md 'old' )":                                  "[a]( NEW 'old' )",
		"[![i](old.png)](old.md)":                              "[![i](NEW)](NEW)",
		"[a](old(1).md) [b](old\\).md)":                        "[a](NEW) [b](NEW)",
		"[ref]: old.md \"old\"\n[ref2]: <old b.md>\n":          "[ref]: NEW \"old\"\n[ref2]: <NEW>\n",
		"> [ref]: old.md\n> [x](old.md)\n":                     "> [ref]: NEW\n> [x](NEW)\n",
		"- item\n\n    [x](old.md)\n":                          "- item\n\n    [x](NEW)\n",
		"`[a](old.md)` [b](old.md)":                            "`[a](old.md)` [b](NEW)",
		"``a ` [a](old.md)`` [b](old.md)":                      "``a ` [a](old.md)`` [b](NEW)",
		"a ` tick [b](old.md)":                                 "a ` tick [b](NEW)",
		"```md\n[a](old.md)\n```\n[b](old.md)":                 "```md\n[a](old.md)\n```\n[b](NEW)",
		"- x\n  ~~~\n  [a](old.md)\n  ```\n  ~~~\n[b](old.md)": "- x\n  ~~~\n  [a](old.md)\n  ```\n  ~~~\n[b](NEW)",
		"```\n[a](old.md)\n":                                   "```\n[a](old.md)\n",
		`<a class="x" href="old.md">a</a> <img src='old.png'>`: `<a class="x" href="NEW">a</a> <img src='NEW'>`,
		"<img\n  src=\"old.png\"\n  alt=\"old\">":              "<img\n  src=\"NEW\"\n  alt=\"old\">",
		"href=\"old.md\" is text":                              "href=\"old.md\" is text",
		"\\[a](old.md)":                                        "\\[a](NEW)", // not a link, but harmless
		"<https://old.example/> https://old.example":           "<https://old.example/> https://old.example",
		"[a](https://example.org)":                             "[a](https://example.org)",
		"| [a](old.md) | `|` |":                                "| [a](NEW) | `|` |",
		"[a](old.md":                                           "[a](NEW",
		"[a](<old.md [b](old.md)":                              "[a](<old.md [b](NEW)",
		"[`code`](old.md) [a](old.md){target=x}":               "[`code`](NEW) [a](NEW){target=x}",
		"[a](old&amp;b.md)":                                    "[a](NEW)",
		"text\r\n[a](old.md)\r\n\r\n[b]: old.md\r\n":           "text\r\n[a](NEW)\r\n\r\n[b]: NEW\r\n",
		"1. ```\n   [a](old.md)\n   ```\n2. [a](old.md)":       "1. ```\n   [a](old.md)\n   ```\n2. [a](NEW)",
		"[footnote][^1]\n\n[^1]: See [x](old.md).":             "[footnote][^1]\n\n[^1]: See [x](NEW).",
		"[x]:\nold.md 'old'\n[y]:\n   <old b.md>\nold":         "[x]:\nNEW 'old'\n[y]:\n   <NEW>\nold",
		"> [x]:\n> old.md\n":                                   "> [x]:\n> NEW\n",
		"[a](\n  old.md 'old') [b](\n<old.md>)\n":              "[a](\n  NEW 'old') [b](\n<NEW>)\n",
		"<a href=old.md>a</a> <img src=old.png alt=b>":         "<a href=\"NEW\">a</a> <img src=\"NEW\" alt=b>",
		"- [x]: old.md\n1. [y]: old.md\n":                      "- [x]: NEW\n1. [y]: NEW\n",
		"[x]:\n\nold text":                                     "[x]:\n\nold text",
		"A note\n[sic]: old text\n":                            "A note\n[sic]: old text\n", // not a definition within a paragraph
		"# A\n[x]: old.md\n---\n[y]: old.md":                   "# A\n[x]: NEW\n---\n[y]: NEW",
		"[^1]: old text\n\n[^2]:\n    old [x](old.md)":         "[^1]: old text\n\n[^2]:\n    old [x](NEW)",
		"![a][img]\n\n[img]: old.png 'old'":                    "![a][img]\n\n[img]: NEW 'old'",
	} {
		got := contenthtml.MapMarkdownAddresses(in, func(address string) string {
			if strings.HasPrefix(address, "old") {
				return "NEW"
			}
			return address
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
		if same := contenthtml.MapMarkdownAddresses(in, func(address string) string { return address }); same != in {
			t.Errorf("%q became %q though nothing was to be replaced", in, same)
		}
	}
	none := contenthtml.MapMarkdownAddresses("[a](x) ![b](<x>) [c]\n\n[c]: x\n", func(string) string { return "" })
	if got, err := contenthtml.FromMarkdown(none); err != nil || got != "<p><a>a</a> <img alt=\"b\"> <a>c</a></p>\n" {
		t.Errorf("without addresses: %s %v", got, err)
	}
	escaped := contenthtml.MapMarkdownAddresses("[a](x) ![b](<x>)", func(string) string { return "a b(c)>" })
	if want := "[a](a%20b%28c%29>) ![b](<a b(c)%3E>)"; escaped != want {
		t.Errorf("%s, want %s", escaped, want)
	}
}

func TestMapAddressesGrows(t *testing.T) {
	t.Parallel()
	same := func(address string) string { return address }
	for _, piece := range []string{
		"](", "[a](b", "](<", "](<a> ", "](\n", "[a]:\n", "`", "`a", "``a`", "<a ", "<a href=", `<a href="x`, "[a]: ", "[", "\\", "```\n", "> ", "~~~\n[a](b)", "]((((",
	} {
		t.Run(piece, func(t *testing.T) {
			testenv.Growth(t, 20_000, func(n int) func() {
				text := strings.Repeat(piece, n)
				return func() { contenthtml.MapMarkdownAddresses(text, same) }
			})
			testenv.Growth(t, 5000, func(n int) func() {
				text := contenthtml.Clean(strings.Repeat(`<a href="x">`+piece, n))
				return func() { contenthtml.MapAddresses(text, same) }
			})
		})
	}
}

func FuzzMapAddresses(f *testing.F) {
	f.Add("[a](b) `c` <a href=\"d\">", "<a href=\"kb:articles/1\">x</a>")
	f.Add("```\n[a](b)\n```\n[a]: <b>", `<img src="a&amp;b" alt="&quot;">`)
	f.Fuzz(func(t *testing.T, markdown, html string) {
		same := func(address string) string { return address }
		if got := contenthtml.MapMarkdownAddresses(markdown, same); got != markdown {
			t.Errorf("%q became %q", markdown, got)
		}
		clean := contenthtml.Clean(html)
		if got := contenthtml.MapAddresses(clean, same); got != clean {
			t.Errorf("%q became %q", clean, got)
		}
	})
}
