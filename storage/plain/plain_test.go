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

func TestVisible(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", " ", "\u200b", "\u2060\u2060", "\u00ad", "\u202e", "\u2066\u2069", "\u3164", "\u115f", "\uffa0", "\u2800", "\U000e0041\U000e007f", "\ufe0f", "\U000e0100",
		"\u0301", "\u180e", "\ufeff", "\u034f", "\u00a0\u3000", "\u061c", "\u17b4", "\x07",
	} {
		if plain.Visible(s) {
			t.Errorf("%q is visible", s)
		}
	}
	for _, s := range []string{"a", "\u200ba", "1", "-", "\u5b57", "\U0001f600", "e\u0301", "\u0e01"} {
		if !plain.Visible(s) {
			t.Errorf("%q is not visible", s)
		}
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"Caf\u00e9", "CAFE\u0301"}, {"fire", "fi\u200bre"}, {"Stra\u00dfe", "STRASSE"}, {"\u0399\u0301", "\u03af"}, {"vip", "vi\ufe0fp"},
	} {
		if plain.Key(pair[0]) != plain.Key(pair[1]) {
			t.Errorf("%q and %q differ", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{{"cafe", "caf\u00e9"}, {"a b", "ab"}} {
		if plain.Key(pair[0]) == plain.Key(pair[1]) {
			t.Errorf("%q and %q are equal", pair[0], pair[1])
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
