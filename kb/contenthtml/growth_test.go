package contenthtml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage/testenv"
)

// TestMarkdownGrows doubles input that a parser may scan repeatedly.
func TestMarkdownGrows(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"*a* ", "*a **b** c* ", "**", "a_", "~~a~~ ", "[", "[]", "![", "[a]", "[a][", "[^a", "[a]\n\n[a]: /x\n\n", "- a\n", "- a\n\n", "> a\n\n", "| a | b |\n",
		"<!--", "<a b=", "<?", "<!A", "</a ", "<a b=\"", "<div>\n", "a <b\n", "`a``b", "```\n", "http://a ", "www.a.", "a@", "a@b.", "&#x1;&", "\\", "a  \n",
		"\n", " ", "\ta\n", "- [ ] a\n", "# a\n", "a\n=\n", "{#", "a ", "1. a\n",
		"[^1]", "[^1]: a\n\n", "[^1]:", "a[^1]\n\n[^1]: a\n\n", "a\n: b\n\n", ": ", "a\n: ", "> [!NOTE]\n", "> [!NOTE]\n\n", "[!NOTE]",
	} {
		testenv.Growth(t, 4<<10, func(n int) func() {
			text := "x " + strings.Repeat(unit, n/len(unit))
			return func() {
				if _, err := contenthtml.FromMarkdown(text); err != nil {
					t.Fatal(err)
				}
			}
		})
		if t.Failed() {
			t.Fatalf("%q", unit)
		}
	}
}

// TestMarkdownWorkIsBounded checks that input with quadratic cost is refused at the size where the cost becomes noticeable,
// and accepted below.
func TestMarkdownWorkIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text func(n int) string
		want error
	}{
		"emphasis, opened and not ended":             {func(n int) string { return "_x_ [a] " + strings.Repeat("*a ", n/6) + strings.Repeat("a_ ", n/6) }, contenthtml.ErrMarkdownMarks},
		"emphasis, ended by signs that may begin it": {func(n int) string { return strings.Repeat(" *a", n/6) + strings.Repeat("a~b [", n/10) }, contenthtml.ErrMarkdownMarks},
		"a table of missing cells": {func(n int) string {
			return strings.Repeat("|a", n/8) + "|\n" + strings.Repeat("|-", n/8) + "|\n" + strings.Repeat("|a|\n", n/8)
		}, contenthtml.ErrMarkdownTable},
		"such a table in a quote": {func(n int) string {
			return "> " + strings.Repeat("|a", n/8) + "|\n> " + strings.Repeat("|-", n/8) + "|\n" + strings.Repeat("> |a|\n", n/8)
		}, contenthtml.ErrMarkdownTable},
		"a definition used often": {func(n int) string { return "[a]: /" + strings.Repeat("x", n/2) + "\n\n" + strings.Repeat("[a]\n", n/8) }, contenthtml.ErrMarkdownNotes},
		"a title used often": {func(n int) string {
			return "[a]: /x\n'" + strings.Repeat("x\n", n/4) + "'\n\n" + strings.Repeat("[a]\n", n/8)
		}, contenthtml.ErrMarkdownNotes},
		"links that are not ended": {func(n int) string { return strings.Repeat("[a](<b", n/6) }, contenthtml.ErrMarkdownLinks},
		"quotes":                   {func(n int) string { return strings.Repeat("> ", n/2) }, contenthtml.ErrMarkdownDepth},
	} {
		if _, err := contenthtml.FromMarkdown(c.text(contenthtml.MaxMarkdown / 2)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "quotes" {
			continue
		}
		if _, err := contenthtml.FromMarkdown(c.text(2000)); err != nil {
			t.Errorf("%s, a little of it: %v", name, err)
		}
	}
}

// TestLargePages checks that realistic large pages are accepted.
func TestLargePages(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	for i := 0; page.Len() < 20<<10; i++ {
		fmt.Fprintf(&page, "## Step %d {#step-%d}\n\nOpen *Settings*, then **Mail** and `set_%d_a*b`. See [the guide](/guide/%d \"Guide\") or [this][r%d], "+
			"snake_case_name, 2 * 3 * 4, a < b && c > d, <kbd>Ctrl</kbd> ~~not this~~ https://example.com/x_%d\n\n"+
			"1. first\n   - inner _one_\n   - inner two\n2. second\n\n> A note: *keep* it.\n\n| Name | Value | |\n|------|:-----:|--|\n| a_%d | *b* |\n| c | d | e |\n\n"+
			"```go\nfunc f%d(a *int, b **int) { _ = a }\n```\n\n[r%d]: https://example.com/%d 'Title'\n\n", i, i, i, i, i, i, i, i, i, i)
	}
	for _, times := range []int{1, 5, 100} {
		source := strings.Repeat(page.String(), times)
		source = source[:min(len(source), contenthtml.MaxMarkdown)]
		out, err := contenthtml.FromMarkdown(source)
		if err != nil || len(out) < len(source)/2 && len(out) < contenthtml.MaxOutput/2 {
			t.Errorf("%d bytes: %v, %d bytes of HTML", len(source), err, len(out))
		}
	}
}

// TestCleanGrows is TestMarkdownGrows for the cleaning of HTML.
func TestCleanGrows(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"<p>", "<b>", "</b>", "<b><p></b>", "<a href='x'>", "<!--", "<", "&", "&amp", "<h2>a</h2>", "<h2 id=a>a</h2>", "<p style='a:b;c:d'>", "<table><tr><td>", "<li>",
		"<img src='data:image/png;base64,AAAA'>", "<svg>", "<script>", "<style>", "<textarea>", "<iframe src='https://www.youtube.com/embed/x'>", "<p a='", "<p a=", "]]>", "<?",
	} {
		testenv.Growth(t, 8<<10, func(n int) func() {
			text := strings.Repeat(unit, n/len(unit))
			return func() { contenthtml.Clean(text); contenthtml.Text(text) }
		})
		if t.Failed() {
			t.Fatalf("%q", unit)
		}
	}
}
