package search

import (
	"slices"
	"unicode"
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
