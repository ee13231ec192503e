package contenthtml_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb/contenthtml"
)

func TestPassages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		html string
		want []string
	}{
		"paragraphs":        {"<p>One.</p><p>Two <b>bold</b>.</p>", []string{"One.", "Two bold."}},
		"headings":          {`<p>Zero</p><h2 id="a">A</h2><p>In A</p><h3 id="b">B</h3><p>In B</p><h2 id="c">C</h2><p>In C</p>`, []string{"Zero", "A: In A", "A, B: In B", "C: In C"}},
		"an empty heading":  {`<h2 id="a"></h2><p>Text</p>`, []string{"Text"}},
		"lists":             {"<ul><li>One</li><li>Two<ul><li>Three</li></ul></li></ul>", []string{"One", "Two", "Three"}},
		"an introduction":   {"<p>Not covered:</p><ul><li>Lime</li><li>Rust</li></ul><p>Else</p><ul><li>Free</li></ul>", []string{"Not covered:", "Not covered: Lime", "Not covered: Rust", "Else", "Free"}},
		"tables":            {"<table><tr><td>A</td><td>1</td></tr><tr><td>B</td><td>2</td></tr></table>", []string{"A 1", "B 2"}},
		"line breaks":       {"<p>One<br>two</p>", []string{"One two"}},
		"code is left out":  {"<p>Run</p><pre><code>rm -rf</code></pre><p>then</p>", []string{"Run", "then"}},
		"so are scripts":    {"<p>a</p><script>b</script>c", []string{"a", "c"}},
		"entities, no tags": {"a &lt;b&gt; &amp; c", []string{"a <b> & c"}},
		"not closed":        {"<h2>Head<p>text", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := []string{}
			for _, p := range contenthtml.Passages(test.html) {
				var above []string
				for _, h := range p.Headings {
					above = append(above, h.Text)
				}
				text := strings.TrimSpace(p.Lead + " " + p.Text)
				if above != nil {
					text = strings.Join(above, ", ") + ": " + text
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
