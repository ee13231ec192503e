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
// prefix was searched for, and so are joined words that match together; in scripts without spaces only the matching characters
// are marked.
func Marks(text string, query [][]Term) []Range { return StemMarks(text, query, nil) }

// StemMarks is Marks which also marks words whose stem is a term of the query, and the compounds that end with one.
func StemMarks(text string, query [][]Term, stem func(word string) string) []Range {
	terms := wantedTerms{slices.Concat(query...), stem, map[string]bool{}}
	if len(terms.terms) == 0 {
		return nil
	}
	var marks []Range
	for begin := 0; begin < len(text); {
		r, size := utf8.DecodeRuneInString(text[begin:])
		switch {
		case isSpaceless(r):
			end := begin + stretch(text[begin:], true)
			marks = append(marks, markCharacters(text[begin:end], begin, terms)...)
			begin = end
		case inWord(r):
			words := stretches(text, begin)
			marks = append(marks, markWords(text, words, terms)...)
			begin = words[len(words)-1].End
		case isSymbol(r) && wanted(text[begin:begin+size], terms):
			marks = append(marks, Range{begin, begin + size})
			begin += size
		default:
			begin += size
		}
	}
	return marks
}

func inWord(r rune) bool {
	return isTermRune(r) || unicode.IsMark(r) || isInvisible(r) && r != zwsp
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

// stretches returns the words from an offset on that are joined.
func stretches(text string, begin int) []Range {
	var all []Range
	for {
		end := begin + stretch(text[begin:], false)
		all = append(all, Range{begin, end})
		r, size := utf8.DecodeRuneInString(text[end:])
		if !joins(lowest(r), text[begin:end], text[end+size:]) {
			return all
		}
		begin = end + size
	}
}

// lowest returns the simple form of a character between words.
func lowest(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	plain, _ := utf8.DecodeRuneInString(fold(string(r)))
	return plain
}

// markWords marks joined words: each that matches, two that match together, or all. Neighbours are marked as one.
func markWords(text string, words []Range, query wantedTerms) []Range {
	if len(words) > 2 && wantedAsOne(text, words, query) {
		return []Range{{words[0].Begin, words[len(words)-1].End}}
	}
	var marks []Range
	for i, w := range words {
		both := i > 0 && wantedAsOne(text, words[i-1:i+1], query)
		n := len(marks)
		switch {
		case !both && !wanted(text[w.Begin:w.End], query):
		case n > 0 && marks[n-1].End == words[i-1].End:
			marks[n-1].End = w.End
		case both:
			marks = append(marks, Range{words[i-1].Begin, w.End})
		default:
			marks = append(marks, w)
		}
	}
	return marks
}

// wanted reports whether the query matches a word.
func wanted(word string, query wantedTerms) bool {
	if word = fold(word); len(word) <= MaxTerm && ascii(word) && parts(word) == nil { // it is a single term
		return matches(word, query)
	}
	return slices.ContainsFunc(Terms(word), func(t string) bool { return matches(t, query) })
}

// wantedAsOne reports whether the query matches words as one, and not only the first of them.
func wantedAsOne(text string, words []Range, query wantedTerms) bool {
	var chain []piece
	for _, w := range words {
		chain = append(chain, piece{text: fold(text[w.Begin:w.End])})
	}
	longer := slices.DeleteFunc(slices.Clone(query.terms), func(q Term) bool { return len(q.Text) <= len(chain[0].text) })
	all := whole(chain)
	return all != "" && slices.ContainsFunc(forms(all, stems), func(f string) bool { return matches(f, wantedTerms{terms: longer}) })
}

// wantedTerms are the terms of a query.
type wantedTerms struct {
	terms []Term
	stem  func(word string) string // nil: stems are not compared
	seen  map[string]bool          // whether words match
}

func matches(term string, query wantedTerms) bool {
	in := func(term string) bool {
		return term != "" && slices.ContainsFunc(query.terms, func(q Term) bool {
			return term == q.Text || q.Prefix && strings.HasPrefix(term, q.Text)
		})
	}
	if query.stem == nil {
		return in(term)
	}
	found, known := query.seen[term]
	if !known {
		found = in(term) || in(query.stem(term)) || in(Tail(term))
		query.seen[term] = found
	}
	return found
}

// markCharacters marks the bigrams of a run that match the query; adjacent marks are merged. The run begins at offset.
func markCharacters(run string, offset int, query wantedTerms) []Range {
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
		} else if slices.ContainsFunc(query.terms, func(q Term) bool { return q.Text == folded[i] }) {
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
