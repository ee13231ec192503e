// Package search cuts text into the terms by which it is found. Texts and queries
// go through the same rules, so that every store finds the same: it compares terms,
// and knows nothing of languages.
//
// A term is a word in lower case without accents. Scripts that put no spaces
// between words are cut into bigrams, emoji into single characters. Whatever else
// there is separates terms.
package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Limits. What is beyond them is not an error: it is not looked at.
const (
	MaxTerm  = 64   // characters of a term
	MaxQuery = 1000 // characters of a query
	MaxTerms = 16   // terms of a query
)

// Term is what a query looks for: a whole term, or the beginning of one.
type Term struct {
	Text   string
	Prefix bool
}

// Terms returns the different terms of a text, sorted.
func Terms(text string) []string {
	seen := map[string]bool{}
	walk(text, func(run []rune, spaceless bool) {
		if !spaceless {
			seen[term(run)] = true
			return
		}
		for i := range run { // the last one alone, so that every character begins a term
			seen[string(run[i:min(i+2, len(run))])] = true
		}
	})
	all := make([]string, 0, len(seen))
	for t := range seen {
		all = append(all, t)
	}
	slices.Sort(all)
	return all
}

// Query returns what a query looks for, all of which must be found. The last word
// is a prefix from its second character on, as it may not be written to its end.
func Query(query string) []Term {
	var all []Term
	var last int // of the terms; after it came none
	walk(cut(query, MaxQuery), func(run []rune, spaceless bool) {
		switch {
		case !spaceless:
			last = len(all)
			all = append(all, Term{Text: term(run)})
		case len(run) == 1:
			all = append(all, Term{Text: string(run), Prefix: !unicode.Is(unicode.So, run[0])})
		default:
			for i := range run[1:] {
				all = append(all, Term{Text: string(run[i : i+2])})
			}
		}
	})
	if n := len(all); n > 0 && last == n-1 && !all[last].Prefix {
		all[last].Prefix = utf8.RuneCountInString(all[last].Text) > 1 && !spacelessText(all[last].Text)
	}
	var different []Term
	for _, t := range all {
		if len(different) < MaxTerms && !slices.Contains(different, t) {
			different = append(different, t)
		}
	}
	return different
}

// Match reports whether sorted terms have what a query looks for.
func Match(terms []string, query []Term) bool {
	for _, q := range query {
		i, found := slices.BinarySearch(terms, q.Text)
		if !found && (!q.Prefix || i == len(terms) || !strings.HasPrefix(terms[i], q.Text)) {
			return false
		}
	}
	return true
}

func term(run []rune) string { return string(run[:min(len(run), MaxTerm)]) }

func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// walk calls yield with every run of characters that belong together. The run is
// yield's for the time of the call.
func walk(text string, yield func(run []rune, spaceless bool)) {
	var run []rune
	var spaceless bool
	end := func() {
		if len(run) > 0 {
			yield(run, spaceless)
		}
		run = run[:0]
	}
	for _, r := range fold(text) {
		switch {
		case isSymbol(r):
			end()
			run, spaceless = append(run, r), true
			end()
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r) && len(run) > 0:
			if own := isSpaceless(r); own != spaceless && !unicode.IsMark(r) {
				end()
				spaceless = own
			}
			run = append(run, r)
		case r == zwj || r == zwnj || r == softHyphen:
		default:
			end()
		}
	}
	end()
}

// What stands within words and is no part of them.
const (
	zwnj       = '\u200c'
	zwj        = '\u200d'
	softHyphen = '\u00ad'
	tatweel    = '\u0640'
)

// spacelessScripts put no spaces between words, or glue particles to them (Hangul).
var spacelessScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer,
	unicode.Myanmar, unicode.Tibetan, unicode.Bopomofo, unicode.Yi, kanaMarks,
}

// isSpaceless reports a character of spacelessScripts. Tables are slow, and most
// texts need none of them: Thai, at U+0E00, is the first of these scripts.
func isSpaceless(r rune) bool { return r >= 0x0e00 && unicode.In(r, spacelessScripts...) }

// isSymbol reports an emoji or another symbol that is searched for by itself.
func isSymbol(r rune) bool { return r >= utf8.RuneSelf && unicode.Is(unicode.So, r) }

// kanaMarks is the prolonged sound mark, which belongs to both kana.
var kanaMarks = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x30fc, Hi: 0x30fc, Stride: 1}}}

// accented are the scripts whose marks are accents or vowel points, which people
// leave out. In others, such as Thai and Devanagari, they are letters like others.
var accented = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew}

// letters have no decomposition in Unicode, but people write them as these.
var letters = strings.NewReplacer("ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "æ", "ae", "œ", "oe", "ı", "i")

func spacelessText(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isSpaceless(r)
}

// fold makes texts that people take for the same the same: compatibility forms,
// case and accents.
func fold(text string) string {
	if ascii(text) {
		return strings.ToLower(text)
	}
	text = norm.NFKD.String(strings.ToValidUTF8(text, " "))
	text = norm.NFKD.String(cases.Fold().String(text))
	strip := false
	text = strings.Map(func(r rune) rune {
		if !unicode.IsMark(r) {
			strip = unicode.In(r, accented...)
		}
		if r == tatweel || strip && unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return r
	}, text)
	return norm.NFC.String(letters.Replace(text))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
