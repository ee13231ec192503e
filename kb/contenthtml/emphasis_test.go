package contenthtml_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage/testenv"
)

// Chinese, Japanese and Korean have no blanks between words, so emphasis begins and ends between letters and punctuation.
func TestEastAsianEmphasis(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"**「刻舟求剑」**这是成语":     "<strong>「刻舟求剑」</strong>这是成语",
		"这是**「刻舟求剑」**":       "这是<strong>「刻舟求剑」</strong>",
		"**重要：**お読みください":     "<strong>重要：</strong>お読みください",
		"~~旧（版）~~新":          "<del>旧（版）</del>新",
		"*注意。*本文":            "<em>注意。</em>本文",
		"**テスト**です":          "<strong>テスト</strong>です",
		"前**“引号”**后":         "前<strong>“引号”</strong>后",
		"これは**[リンク](/x)**です": "これは<strong><a href=\"/x\">リンク</a></strong>です",
		"**Git(ギット)**は":      "<strong>Git(ギット)</strong>は",
		"**`code`**を使う":      "<strong><code>code</code></strong>を使う",
		"**이것(주의)**은":        "<strong>이것(주의)</strong>은",
		"**中文，**English":     "<strong>中文，</strong>English",
		"***注意：***本文":        "<em><strong>注意：</strong></em>本文",
		"**ｶﾀｶﾅ。**ﾃｽﾄ":       "<strong>ｶﾀｶﾅ。</strong>ﾃｽﾄ",
		"**𠮟る。**𠮟":           "<strong>𠮟る。</strong>𠮟",
		"a**(b)**c":          "a**(b)**c",
		"**Note:**Do":        "**Note:**Do",
		"😀**!**a":            "😀**!**a",
		"2 * 3 * 4 和 * 中":    "2 * 3 * 4 和 * 中",
		"文_字_列":              "文_字_列",
		"_注意。_ 本文":           "<em>注意。</em> 本文",
	} {
		got, err := contenthtml.FromMarkdown(in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("<p>"+want+"</p>\n", got); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
	}
}

// Without such characters, emphasis is CommonMark's.
func TestEmphasisIsCommonMark(t *testing.T) {
	t.Parallel()
	reference := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	pieces := []string{"*", "*", "**", "***", "_", "_", "__", "~", "~~", "~~~", "a", "b", " ", "\n", ".", "(", ")", "[", "]", "](/x)", "`", "\\", "ä", "“", "😀", "!"}
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 3))
		var in strings.Builder
		in.WriteString("x")
		for range 2 + r.IntN(18) {
			in.WriteString(pieces[r.IntN(len(pieces))])
		}
		var want bytes.Buffer
		if err := reference.Convert([]byte(in.String()), &want); err != nil {
			t.Fatal(err)
		}
		got, err := contenthtml.FromMarkdown(in.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(contenthtml.Clean(want.String()), got); diff != "" {
			t.Fatalf("%q: %s", in.String(), diff)
		}
	}
}

// TestEmphasisGrows doubles texts of all pairs and triples of signs, with and without letters and blanks. Text that would
// take more than proportional time is refused.
func TestEmphasisGrows(t *testing.T) {
	t.Parallel()
	signs := []string{"*", "_", "~", "**", "~~", "[", "]", "`", "!["} // the work for links has a limit of its own
	var units []string
	for i, a := range signs {
		for j, b := range signs {
			forms := []string{"%ax%b", "%ax %b", "%a。文%b"}
			if i < 5 && j < 5 {
				forms = append(forms, "%a%b", "%ax%b ", " %ax%by", "x%a.%b")
				units = append(units, a+"x"+b+signs[(i+j)%5], a+"x "+b+"y"+signs[(i+2*j+1)%5]+" ")
			}
			for _, form := range forms {
				units = append(units, strings.NewReplacer("%a", a, "%b", b).Replace(form))
			}
		}
	}
	starts := []string{"", "_b ", "*b ~c __d "}
	for i, unit := range units {
		start := starts[i%len(starts)]
		testenv.Growth(t, 2<<10, func(n int) func() {
			text := start + strings.Repeat(unit, n/len(unit))
			return func() {
				if _, err := contenthtml.FromMarkdown(text); err != nil && !errors.Is(err, contenthtml.ErrMarkdownMarks) && !errors.Is(err, contenthtml.ErrMarkdownLinks) {
					t.Fatal(err)
				}
			}
		})
		if t.Failed() {
			t.Fatalf("%q and %q", start, unit)
		}
	}
}

// Texts of many signs are accepted where their work is proportional.
func TestManySigns(t *testing.T) {
	t.Parallel()
	for unit, size := range map[string]int{
		"*a* ": 1 << 20, "*a ": 1 << 20, "a_ *b ": 1 << 20, "*a_": 1 << 20, "~_a": 1 << 20, "a~*": 1 << 20, "**a** [b](/c) ": 16 << 10, "*see [b](/c) now* ": 8 << 10, "**[b](/c)**\n": 8 << 10, "snake_case_name ": 1 << 20, "2 * 3 ": 1 << 20, "**a *b* c** ": 1 << 20,
	} {
		if _, err := contenthtml.FromMarkdown(strings.Repeat(unit, size/len(unit))); err != nil {
			t.Errorf("%q: %v", unit, err)
		}
	}
}
