package search_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/search"
	"github.com/helpwright/helpwright/storage/testenv"
)

// TestSearchGrows doubles the text that is split into words.
func TestSearchGrows(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"a", "a ", "東", "東 a", "e\u0301", "\u0301", "don't ", "a.b@", "\u00df", "\xff", "ﷺ", "1,", "-", "a-", "a1",
		"ü", "ü-", "u\u0308", "\u0308", "ø", "و", "وب ", "ال", "ل\u200c", "ה", "ה ", "ה\"", "١", "+", "+1", "1 ", "(", "(0)", "0 ", "1)(", "1a ", "v1.", "e m ", "a 1 ",
		"\u200c", "\u00ad", "´", "x'"} {
		query := search.Query("a b c")
		testenv.Growth(t, 8<<10, func(n int) func() {
			text := strings.Repeat(unit, n/len(unit))
			return func() {
				search.Terms(text)
				search.Query(text)
				search.Phone(text)
				search.Marks(text, query)
			}
		})
		if t.Failed() {
			t.Fatalf("%q", unit)
		}
	}
}
