package plain_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/plain"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, text, line, lines string }{
		{"plain", "Ann", "Ann", "Ann", "Ann"},
		{"spaces around", " Ann\t", " Ann\t", "Ann", "Ann"},
		{"NUL and invalid UTF-8", "A\x00n\xffn", "An\uFFFDn", "An\uFFFDn", "An\uFFFDn"},
		{"line ends", "a\r\nb\rc", "a\r\nb\rc", "a  b c", "a\nb\nc"},
		{"leading spaces of a line", "a\n  b ", "a\n  b ", "a   b", "a\n  b"},
		{"control characters", "a\x07\u0085b", "a\x07\u0085b", "ab", "ab"},
		{"a right-to-left override", "Ann \u202Efdp.exe", "Ann \u202Efdp.exe", "Ann fdp.exe", "Ann fdp.exe"},
		{"isolates and embeddings", "\u2066a\u2069\u202Ab\u202C", "\u2066a\u2069\u202Ab\u202C", "ab", "ab"},
		{"direction marks of Hebrew", "\u200Fשלום\u200E", "\u200Fשלום\u200E", "\u200Fשלום\u200E", "\u200Fשלום\u200E"},
	} {
		got := []string{plain.Text(tt.in), plain.Line(tt.in), plain.Lines(tt.in)}
		if diff := cmp.Diff([]string{tt.text, tt.line, tt.lines}, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"äöü", 2, "äö"}, {"äöü", 3, "äöü"}, {"", 0, ""}, {"a", 0, ""}} {
		if got := plain.Cut(tt.in, tt.n); got != tt.want || plain.Length(got) > tt.n {
			t.Errorf("Cut(%q, %d) is %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func ExampleLine() {
	fmt.Printf("%q\n", plain.Line(" Ann\tSmith \x07\u202E\r\n"))
	// Output: "Ann Smith"
}
