package contenthtml_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage/testenv"
)

func TestKeep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ before, now, want string }{
		{"<ul><li>a</li></ul><p>b</p>", "<ul>\n<li>a</li>\n</ul>\n<p>c</p>\n", "<ul><li>a</li></ul><p>c</p>"},
		{"<p>a\n b</p><p>b</p>\n\n<p>c</p>", "<p>a b</p>\n<p>c</p>\n", "<p>a\n b</p>\n\n<p>c</p>"},
		{"<div><p>a </p><p>b</p></div>", "<div>\n<p>a</p>\n<p>x</p>\n<p>b</p>\n</div>\n", "<div><p>a </p><p>x</p><p>b</p></div>"},
		{"", "<p>a</p>\n", "<p>a</p>\n"},
		{"<p>a</p>", "", ""},
		{"a <b>b</b>\n<hr>c", "a <b>b</b><hr>\nd", "a <b>b</b>\n<hr>d"},
	} {
		if diff := cmp.Diff(tt.want, contenthtml.Keep(tt.now, tt.before)); diff != "" {
			t.Errorf("%q after %q: %s", tt.now, tt.before, diff)
		}
	}
}

// When one paragraph of a generated document is changed as Markdown, the rest stays byte for byte.
func TestEditChangesOneParagraph(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1500) {
		g := documents{rand.New(rand.NewPCG(seed, 4))}
		before := contenthtml.Clean(g.blocks(3) + g.one("", "\n") + "<p>Changeme</p>" + g.one("", "\n\n") + g.blocks(3))
		markdown := contenthtml.ToMarkdown(before)
		for range 2 { // the second edit begins with the Markdown of the first
			changed := strings.Replace(strings.Replace(markdown, "Edited", "Again", 1), "Changeme", "Edited", 1)
			made, err := contenthtml.FromMarkdown(changed)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(strings.Replace(before, "Edited", "Again", 1), "Changeme", "Edited", 1)
			if diff := cmp.Diff(want, contenthtml.Keep(made, before)); diff != "" {
				t.Fatalf("seed %d: %q as %q: %s", seed, before, changed, diff)
			}
			markdown, before = changed, want
		}
	}
}

func TestKeepGrows(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"<p>a</p>", "<hr>", "<div>", "a<br>", "<ul><li>a</li></ul>\n"} {
		testenv.Growth(t, 4<<10, func(n int) func() {
			before := contenthtml.Clean(strings.Repeat(unit, n/len(unit)))
			now := contenthtml.Clean("<p>x</p>" + strings.Repeat(unit, n/len(unit)/2) + "<p>y</p>" + strings.Repeat(unit, n/len(unit)/2))
			return func() { contenthtml.Keep(now, before) }
		})
	}
}

// TestToMarkdownGrows doubles HTML whose blocks do not come back from their first form.
func TestToMarkdownGrows(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"<p>a</p>", "<p><b>a:</b>b</p>", "<p><strong>a:</strong>b</p>", "<p><strong> a</strong>b</p>", "<ul><li><p>a</p></li></ul>", "<blockquote>", "<ul><li>a", "<div><p>a</p>", "<table><tr><td>a", "<pre>a\n\n</pre>", "<h2>a #</h2>",
		"*a_", "<em>a</em>", "<p>a<br><br></p>", "<details><summary>a</summary><p>b</p></details>",
	} {
		testenv.Growth(t, 4<<10, func(n int) func() {
			text := strings.Repeat(unit, n/len(unit))
			return func() { contenthtml.ToMarkdown(text) }
		})
		if t.Failed() {
			t.Fatalf("%q", unit)
		}
	}
}
