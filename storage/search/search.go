// Package search splits text into search terms. Texts and queries go through the same rules, so that all stores find the
// same: they only compare terms, and need not know languages.
//
// A term is a lower-case word without accents. Scripts without spaces between words are split into bigrams, emoji into
// single characters. All other characters separate terms.
package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
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
func Terms(text string) []string {
	seen := map[string]bool{}
	walk(text, func(run []rune, spaceless bool) {
		if !spaceless {
			seen[term(run)] = true
			return
		}
		for i := range run { // the last character alone, so that every character begins a term
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

// Query returns the terms of a query, all of which must match. The last word is a prefix from its second character on, as it
// may be incomplete.
func Query(query string) []Term {
	var all []Term
	var last int // index of the last word
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

// Match reports whether sorted terms match a query.
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

// walk calls yield with every run of characters that belong together. yield must not keep the run.
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

// Characters within words that are not part of terms.
const (
	zwnj       = '\u200c'
	zwj        = '\u200d'
	softHyphen = '\u00ad'
	tatweel    = '\u0640'
)

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

// accented are the scripts whose marks are accents or vowel points, which people leave out. In others, such as Thai and
// Devanagari, marks are letters.
var accented = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew}

// letters replaces letters that have no decomposition in Unicode by those that people write for them.
var letters = strings.NewReplacer("ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "æ", "ae", "œ", "oe", "ı", "i")

func spacelessText(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isSpaceless(r)
}

// fold maps texts that people consider equal to the same text: compatibility forms, case and accents.
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
