package exchange_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb/exchange"
	"github.com/helpwright/helpwright/storage/testenv"
)

// readPage returns what a page becomes, and the remarks on it.
func readPage(t *testing.T, name, text string) (content, remarks string) {
	t.Helper()
	site, found, err := exchange.ReadDocs(fstest.MapFS{"zz.md": {Data: []byte("# Zz\n")}, name: {Data: []byte(text)}}, exchange.DocsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range site.Collections[0].Articles {
		if a.Key != "zz" {
			content = a.Live.Texts["en"].Content
		}
	}
	return content, found.Error()
}

// Admonitions of documentation tools become alerts.
func TestDocsAdmonitions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, page, want string }{
		{"Docusaurus", ":::danger Careful\n\nHot.\n\n:::\nAfter\n", "> [!CAUTION]\n> **Careful**\n>\n>\n> Hot.\n\nAfter\n"},
		{"a title in brackets", ":::note[Your *own*]{.x}\nA\n:::", "> [!NOTE]\n> Your *own*\n>\n> A\n"},
		{"no title", "Before\n:::tip\nA\n:::\n:::info\nB\n:::\n", "Before\n\n> [!TIP]\n> A\n\n> [!NOTE]\n> B\n\n"},
		{"VitePress", "::: warning WATCH OUT\nA\n:::\n", "> [!WARNING]\n> **WATCH OUT**\n>\n> A\n\n"},
		{"MyST", ":::{important} T\nA\n:::\n", "> [!IMPORTANT]\n> **T**\n>\n> A\n\n"},
		{"a kind of its own", ":::recipe\nA\n:::", "> [!NOTE]\n> **Recipe**\n>\n> A\n"},
		{"nested with more colons", "::::tip Outer\nA\n:::warning\nB\n:::\nC\n::::\nD", "> [!TIP]\n> **Outer**\n>\n> A\n>\n> > [!WARNING]\n> > B\n>\n> C\n\nD"},
		{"in a list", "- a\n\n  :::note\n  B\n  :::\n", "- a\n\n  > [!NOTE]\n  > B\n\n"},
		{"a wrapper", "::: code-group\n```js\n1\n```\n:::\n", "```js\n1\n```\n\n"},
		{"MkDocs", "!!! note \"Hint\"\n    Body\n\n    More\nAfter\n", "> [!NOTE]\n> **Hint**\n>\n> Body\n>\n> More\n\nAfter\n"},
		{"MkDocs, folded and nested", "???+ tip\n    A\n\n    !!! bug \"\"\n        B\n\nC", "> [!TIP]\n> A\n>\n> > [!CAUTION]\n> > B\n\nC"},
		{"MkDocs with tabs", "??? question\n\tA\n", "> [!NOTE]\n> **Question**\n>\n> A\n"},
		{"a quote", "!!! quote\n    A\n", "> A\n"},
		{"in fenced code", "```\n:::note\n:::\n!!! tip\n    x\n```\n\n~~~md\n:::tip\n```\n:::\n~~~\n", "```\n:::note\n:::\n!!! tip\n    x\n```\n\n~~~md\n:::tip\n```\n:::\n~~~\n"},
		{"in indented code", "x\n\n    :::note\n    :::\n", "x\n\n    :::note\n    :::\n"},
		{"code in an admonition", ":::note\n```\n:::\n```\n:::\nx", "> [!NOTE]\n> ```\n> :::\n> ```\n\nx"},
		{"no admonition", "a ::: b\n:::\n!!! wow that is great\n??\n", "a ::: b\n:::\n!!! wow that is great\n??\n"},
	} {
		got, _ := readPage(t, "a.md", test.page)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// Pages in MDX lose what only a program can show, or are left out by name.
func TestDocsMDX(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, page, want, remark string }{
		{"Markdown", "# B\n\nText `{x}` <a@b.example>\n", "# B\n\nText `{x}` <a@b.example>\n", ""},
		{"imports", "import A from 'a'\nimport {\n  B\n} from 'b'\n\nexport const x = {a: 1}\n\n# T {#t}\n\nimport duties\n", "\n\n# T {#t}\n\nimport duties\n", ""},
		{"components", "<Tabs>\n<TabItem value=\"a\" on={() => {x('}')}}>\n\nA\n\n</TabItem>\n</Tabs>\n<>b</>", "\n\n\nA\n\n\n\nb", "only the content stays: TabItem, Tabs"},
		{"elements", "<div className=\"x\" style={{a: 1}}>y</div><br/>\n", "<div class=\"x\">y</div><br/>\n", ""},
		{"comments and texts", "a{/* no\n\nno */}{' '}b{\"c\"} 1 < 2\n", "a bc 1 < 2\n", ""},
		{"code", "```jsx\nimport x from 'y'\n<A b={c}/>\n```\n", "```jsx\nimport x from 'y'\n<A b={c}/>\n```\n", ""},
		{"computed", "Hello {props.name}\n", "", "a.mdx: it is left out: what it shows is computed: {props.name}"},
		{"a tag without end", "<Foo a=\n", "", "a.mdx: it is left out"},
	} {
		got, remarks := readPage(t, "a.mdx", test.page)
		if diff := cmp.Diff(test.want, got); diff != "" || !strings.Contains(remarks, test.remark) || test.want == "" && !strings.Contains(remarks, "*.mdx: 1 left out: a.mdx") {
			t.Errorf("%s: %s %s", test.name, remarks, diff)
		}
	}
}

// What is left out is told by kind; labels of folders and equal titles stay.
func TestDocsLeftOut(t *testing.T) {
	t.Parallel()
	folder := fstest.MapFS{}
	for name, text := range map[string]string{
		"guide/a.md": "# A\n\n![[pic.png]] [[B page]] `[[x]]` [[1]](b.mdx)\n", "guide/b.mdx": "# B page\n", "guide/c.rst": "C\n=\n",
		"guide/dup1.md": "# Same\n\n## One\n", "guide/dup2.md": "# Same\n\n## Two\n", "guide/_category_.json": `{"label": "The Guide", "position": 2}`,
		"api/x.md": "# X\n", "first/_category_.yml": "label: Start\nposition: 1\n", "first/deep/x.md": "# Deep\n", "first/deep/_category_.json": `{"label":"Below","link":{"description":"What"}}`,
		"s/1.rst": "", "s/2.rst": "", "s/3.rst": "", "s/4.rst": "", "s/5.rst": "",
	} {
		folder[name] = &fstest.MapFile{Data: []byte(text)}
	}
	site, remarks, err := exchange.ReadDocs(folder, exchange.DocsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"![[...]]: 1 stay as text: ![[pic.png]] in guide/a.md", "*.rst: 6 left out: guide/c.rst, s/1.rst, s/2.rst, s/3.rst, s/4.rst and 1 more",
		"[[...]]: 1 stay as text: [[B page]] in guide/a.md",
	}
	if diff := cmp.Diff(want, strings.Split(remarks.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, c := range site.Collections {
		got = append(got, string(c.SortOrder)+" "+c.Texts["en"].Name)
		for _, g := range c.Categories {
			got = append(got, "- "+g.Texts["en"].Name+": "+g.Texts["en"].Summary)
		}
		for _, a := range c.Articles {
			got = append(got, a.Live.Texts["en"].Title)
		}
	}
	if diff := cmp.Diff([]string{"3 Api", "X", "1 Start", "- Below: What", "Deep", "2 The Guide", "A", "B page", "Same", "Same"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestDocsGrow doubles pages of hostile kinds.
func TestDocsGrow(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]func(n int) string{
		"openers":    func(n int) string { return strings.Repeat(":::a\n", n/5) },
		"indented":   func(n int) string { return strings.Repeat("!!! note\n", n/9) },
		"closers":    func(n int) string { return ":::note\n" + strings.Repeat("::::::\n", n/7) },
		"blanks":     func(n int) string { return ":::note\n" + strings.Repeat("\n", n) },
		"wiki links": func(n int) string { return strings.Repeat("[[", n/2) },
		"code":       func(n int) string { return strings.Repeat("`x``y", n/5) },
	} {
		for _, file := range []string{"a.md", "a.mdx"} {
			testenv.Growth(t, 8<<10, func(n int) func() {
				folder := fstest.MapFS{"b.md": {Data: []byte("# B\n")}, file: {Data: []byte(page(n))}}
				return func() { _, _, _ = exchange.ReadDocs(folder, exchange.DocsOptions{}) }
			})
			if t.Failed() {
				t.Fatal(name, file)
			}
		}
	}
}
