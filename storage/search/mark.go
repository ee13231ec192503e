package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Range is a part of a text, in bytes.
type Range struct{ Begin, End int }

// Marks returns the ranges of a text that match a query, sorted and disjoint. A word is marked whole, even when only its
// prefix was searched for; in scripts without spaces only the matching characters are marked.
func Marks(text string, query []Term) []Range {
	if len(query) == 0 {
		return nil
	}
	var marks []Range
	for begin := 0; begin < len(text); {
		r, size := utf8.DecodeRuneInString(text[begin:])
		switch {
		case isSpaceless(r):
			end := begin + stretch(text[begin:], true)
			marks = append(marks, markCharacters(text[begin:end], begin, query)...)
			begin = end
		case inWord(r):
			end := begin + stretch(text[begin:], false)
			if wanted(text[begin:end], query) {
				marks = append(marks, Range{begin, end})
			}
			begin = end
		case isSymbol(r) && wanted(text[begin:begin+size], query):
			marks = append(marks, Range{begin, begin + size})
			begin += size
		default:
			begin += size
		}
	}
	return marks
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == zwj || r == zwnj || r == softHyphen
}

// stretch returns the length of the word, or of the run of a script without spaces, at the start of a text.
func stretch(text string, spaceless bool) int {
	for i, r := range text {
		if !inWord(r) || isSpaceless(r) != spaceless && !unicode.IsMark(r) {
			return max(i, 1)
		}
	}
	return len(text)
}

// wanted reports whether the query matches a word.
func wanted(word string, query []Term) bool {
	if ascii(word) && len(word) <= MaxTerm { // it is a single term
		return matches(strings.ToLower(word), query)
	}
	for _, t := range Terms(word) {
		if matches(t, query) {
			return true
		}
	}
	return false
}

func matches(term string, query []Term) bool {
	return slices.ContainsFunc(query, func(q Term) bool {
		return term == q.Text || q.Prefix && strings.HasPrefix(term, q.Text)
	})
}

// markCharacters marks the bigrams of a run that match the query; adjacent marks are merged. The run begins at offset.
func markCharacters(run string, offset int, query []Term) []Range {
	var begins []int
	var folded []string
	for i, r := range run {
		begins, folded = append(begins, i), append(folded, fold(string(r)))
	}
	begins = append(begins, len(run))
	var marks []Range
	for i := range folded {
		last := -1
		if i+1 < len(folded) && matches(folded[i]+folded[i+1], query) {
			last = i + 1
		} else if slices.ContainsFunc(query, func(q Term) bool { return q.Text == folded[i] }) {
			last = i
		}
		if last < 0 {
			continue
		}
		found := Range{offset + begins[i], offset + begins[last+1]}
		if n := len(marks); n > 0 && marks[n-1].End >= found.Begin {
			marks[n-1].End = max(marks[n-1].End, found.End)
		} else {
			marks = append(marks, found)
		}
	}
	return marks
}
