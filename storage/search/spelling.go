package search

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// MinSpelling is the minimum length in characters of a word that may be misspelled: too many shorter words differ by one
// character.
const MinSpelling = 4

// Lengths in characters.
const (
	longSpelling  = 8 // of words that may differ from the intended one twice
	spelledAlike  = 7 // of what the variants of a word are made from: later differences are in none of them
	minTwoOmitted = 7 // of words whose variants omit two characters
)

// Variants returns what is left of the beginning of a term without one of its characters, or two of a long term, and the
// beginning itself, sorted; nil for a term that is too short, and for scripts without spaces. Two terms of which one is
// misspelled, see [Edits], share a variant, so that an index of variants finds the intended words.
func Variants(term string) []string {
	runes := []rune(cut(term, MaxTerm))
	if len(runes) < MinSpelling || spacelessText(term) {
		return nil
	}
	twice := len(runes) >= minTwoOmitted
	runes = runes[:min(len(runes), spelledAlike)]
	all := []string{string(runes)} // see Beginning
	for i := range runes {
		rest := slices.Concat(runes[:i], runes[i+1:])
		all = append(all, string(rest))
		for j := i; twice && j < len(rest); j++ {
			all = append(all, string(rest[:j])+string(rest[j+1:]))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Beginning returns the variant of a term that all terms with the same beginning have.
func Beginning(term string) string {
	runes := []rune(term)
	return string(runes[:min(len(runes), spelledAlike)])
}

// Edits returns how many characters are wrong, missing, additional or swapped in a misspelled term for another one, and
// whether that is few enough: one, or two in a term of at least eight characters.
func Edits(term, intended string) (n int, few bool) {
	a, b := []rune(term), []rune(intended)
	most := 1
	if len(a) >= longSpelling {
		most = 2
	}
	if len(a) < MinSpelling || len(b) < MinSpelling || len(a) > MaxTerm || len(b) > MaxTerm || len(a)-len(b) > most || len(b)-len(a) > most {
		return 0, false
	}
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i, r := range a {
		row[0] = i + 1
		for j, o := range b {
			wrong := above[j]
			if r != o {
				wrong++
			}
			row[j+1] = min(wrong, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && r == b[j-1] && a[i-1] == o {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	n = above[len(b)]
	return n, n <= most
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

// alphabets are the letters of scripts that write with spaces, as folded texts have them.
var alphabets = [...]struct {
	script  *unicode.RangeTable
	letters string
}{
	{unicode.Latin, "abcdefghijklmnopqrstuvwxyz"}, {unicode.Cyrillic, "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєёў"},
	{unicode.Greek, "αβγδεζηθικλμνξοπρστυφχψω"}, {unicode.Hebrew, "אבגדהוזחטיכלמנסעפצקרשת"},
	{unicode.Arabic, "ابتثجحخدذرزسشصضطظعغفقكلمنهويءآأؤإئپچژگ"}, {unicode.Armenian, "աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ"},
	{unicode.Georgian, "აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ"},
}

// MaxMisspelled is the length in characters of the longest word that [Neighbours] corrects.
const MaxMisspelled = 24

// Neighbours returns the terms that differ from a term by one wrong, missing, additional or swapped character, see [Misspelled],
// sorted; nil for a term that is too short or too long to be a misspelled word, that has digits, or whose script has no spaces
// or an alphabet that is not known.
func Neighbours(term string) []string {
	runes := []rune(term)
	if len(runes) < MinSpelling || len(runes) > MaxMisspelled || slices.ContainsFunc(runes, unicode.IsDigit) {
		return nil
	}
	letters := ""
	for _, a := range alphabets {
		if unicode.Is(a.script, runes[0]) {
			letters = a.letters
		}
	}
	if letters == "" {
		return nil
	}
	var all []string
	for i := range len(runes) + 1 {
		before, after := string(runes[:i]), string(runes[i:])
		for _, l := range letters {
			all = append(all, before+string(l)+after)
		}
		if i == len(runes) {
			break
		}
		rest := string(runes[i+1:])
		if len(runes) > MinSpelling {
			all = append(all, before+rest)
		}
		for _, l := range letters {
			all = append(all, before+string(l)+rest)
		}
		if i+1 < len(runes) {
			all = append(all, before+string(runes[i+1])+string(runes[i])+string(runes[i+2:]))
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(t string) bool { return t == term })
}
