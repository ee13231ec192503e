// Package search splits text into search terms. Texts and queries go through the same rules, so that all stores find the
// same: they only compare terms, and need not know languages.
//
// A term is a lower-case word without accents. Scripts without spaces between words are split into bigrams, emoji into
// single characters. All other characters separate terms. Words that are joined, as by a hyphen, are terms each, with their
// neighbour and all together; a query has several terms for a word that people write in several ways.
package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits. Text beyond them is ignored without an error.
const (
	MaxTerm  = 64   // characters of a term
	MaxQuery = 1000 // characters of a query
	MaxTerms = 16   // terms of a query
)

// Term is a term to search for, or the prefix of one.
type Term struct {
	Text   string
	Prefix bool
}

// Terms returns the distinct terms of a text, sorted.
func Terms(text string) []string { return count(text).sorted() }

// Counts returns how often each term is in a text.
func Counts(text string) map[string]int { return count(text) }

func count(text string) terms {
	t, folded := terms{}, fold(text)
	var before string // the last word, if only blanks may follow
	chains(folded, func(chain []piece) {
		if chain[0].spaceless {
			t.putSpaceless(chain[0].text)
			before = ""
			return
		}
		t.putChain(chain)
		if chain[0].link == near && before != "" && alike(before, chain[0].text) {
			t.put(before + chain[0].text)
		}
		before = chain[len(chain)-1].text
	})
	phones(folded, func(p phone) {
		if p.likely() {
			for _, term := range p.stored() {
				t[term]++
			}
		}
	})
	return t
}

// Query returns the words of a query, all of which must match, each by any of its terms; the first is the word itself. The last
// word is a prefix from its second character on, as it may be incomplete.
func Query(query string) [][]Term { return words(query, MaxTerms) }

// Question is [Query] for a question of up to limit words.
func Question(text string, limit int) [][]Term { return words(text, limit) }

func words(query string, limit int) [][]Term {
	text := fold(cut(query, MaxQuery))
	var all []piece
	pieces(text, func(p piece) { all = append(all, p) })
	var numbers []phone
	phones(text, func(p phone) { numbers = append(numbers, p) })
	var found [][]Term
	for i, p := range all {
		if p.spaceless {
			found = append(found, spacelessTerms(p.text)...)
			continue
		}
		found = append(found, wordTerms(all, i, numbers))
	}
	var different [][]Term
	for _, w := range found {
		if len(different) < limit && !slices.ContainsFunc(different, func(o []Term) bool { return slices.Equal(o, w) }) {
			different = append(different, w)
		}
	}
	return different
}

// spacelessTerms returns the terms for a run of a script without spaces.
func spacelessTerms(run string) (words [][]Term) {
	runes := []rune(run)
	if len(runes) == 1 {
		return [][]Term{{{Text: run, Prefix: !isSymbol(runes[0])}}}
	}
	for i := range runes[1:] {
		words = append(words, []Term{{Text: string(runes[i : i+2])}})
	}
	return words
}

// wordTerms returns the terms for a word of a query: its forms, those of it together with the words around it, and those of a
// phone number that it is a part of.
func wordTerms(all []piece, i int, numbers []phone) (word []Term) {
	add := func(text string, open bool) {
		for _, f := range forms(cut(text, MaxTerm), bare) {
			f = cut(f, MaxTerm)
			t := Term{Text: f, Prefix: open && utf8.RuneCountInString(f) > 1}
			if f != "" && !slices.Contains(word, t) {
				word = append(word, t)
			}
		}
	}
	last := len(all) - 1
	add(all[i].text, i == last)
	for _, end := range []int{i, i + 1} {
		if end > 0 && end <= last && together(all[end-1], all[end]) {
			// With only a blank in between, the word is unlikely, and looking for all that begins with it takes long.
			add(whole(all[end-1:end+1]), end == last && all[end].link == joined)
		}
	}
	begin, end := chainAround(all, i)
	if end-begin > 2 {
		add(whole(all[begin:end]), end > last)
	}
	if number, found := strings.CutPrefix(all[i].text, "v"); found && end-begin > 1 && number != "" && isDigit(rune(number[0])) {
		add(number, false) // of a version
	}
	for _, p := range numbers {
		if p.at <= all[i].at && all[i].at < p.end {
			for _, form := range p.wanted() {
				add(form, all[last].at < p.end)
			}
		}
	}
	return word
}

// shortWord is the length in characters of words that may be part of the word next to them: "e mail", "log in".
const shortWord = 4

// together reports whether two neighbouring words of a query may be one in a text.
func together(a, b piece) bool {
	if a.spaceless || b.spaceless || b.link == apart {
		return false
	}
	return b.link == joined || utf8.RuneCountInString(a.text) <= shortWord || utf8.RuneCountInString(b.text) <= shortWord
}

// chainAround returns the range of the joined words around a word.
func chainAround(all []piece, i int) (begin, end int) {
	for begin = i; begin > 0 && all[begin].link == joined; begin-- {
	}
	for end = i + 1; end < len(all) && all[end].link == joined; end++ {
	}
	return begin, end
}

// Match reports whether sorted terms match a query.
func Match(terms []string, query [][]Term) bool {
	for _, word := range query {
		if !slices.ContainsFunc(word, func(t Term) bool { return t.in(terms) }) {
			return false
		}
	}
	return true
}

// in reports whether one of sorted terms matches.
func (t Term) in(terms []string) bool {
	i, found := slices.BinarySearch(terms, t.Text)
	return found || t.Prefix && i < len(terms) && strings.HasPrefix(terms[i], t.Text)
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// spacelessScripts are written without spaces between words, or attach particles to them (Hangul).
var spacelessScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer,
	unicode.Myanmar, unicode.Tibetan, unicode.Bopomofo, unicode.Yi, kanaMarks,
}

// isSpaceless reports a character of spacelessScripts. Table lookups are slow, and most texts need none: Thai, at U+0E00, is
// the first of these scripts.
func isSpaceless(r rune) bool { return r >= 0x0e00 && unicode.In(r, spacelessScripts...) }

// isSymbol reports an emoji or another symbol that is a term by itself.
func isSymbol(r rune) bool { return r >= utf8.RuneSelf && unicode.Is(unicode.So, r) }

// kanaMarks is the prolonged sound mark, which belongs to both kana.
var kanaMarks = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x30fc, Hi: 0x30fc, Stride: 1}}}

func spacelessText(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isSpaceless(r)
}
