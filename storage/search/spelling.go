package search

import (
	"slices"
	"unicode/utf8"
)

// MinSpelling is the minimum length in characters of a word that may be misspelled: too many shorter words differ by one
// character.
const MinSpelling = 4

// Variants returns the term and all strings that omit one of its characters, sorted; nil for a term that is too short, and
// for scripts without spaces. Two terms that differ by one wrong, missing, additional or swapped character share a variant,
// so that an index of variants finds the intended words.
func Variants(term string) []string {
	runes := []rune(term)
	if len(runes) < MinSpelling || spacelessText(term) {
		return nil
	}
	all := []string{term}
	for i := range runes {
		all = append(all, string(runes[:i])+string(runes[i+1:]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Misspelled reports whether two different terms differ by only one wrong, missing, additional or swapped character.
func Misspelled(a, b string) bool {
	if a == b || utf8.RuneCountInString(a) < MinSpelling || utf8.RuneCountInString(b) < MinSpelling {
		return false
	}
	x, y := []rune(a), []rune(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > 1 {
		return false
	}
	i := 0
	for i < len(x) && x[i] == y[i] {
		i++
	}
	rest := func(r []rune, from int) string { return string(r[min(from, len(r)):]) }
	if len(x) < len(y) {
		return rest(x, i) == rest(y, i+1)
	}
	swapped := i+1 < len(x) && x[i] == y[i+1] && x[i+1] == y[i]
	return rest(x, i+1) == rest(y, i+1) || swapped && rest(x, i+2) == rest(y, i+2)
}
