package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// piece is a run of characters of a folded text that belong together.
type piece struct {
	text      string
	at        int  // in bytes, in the text
	link      link // to the piece before
	spaceless bool
}

// link says what is between two pieces.
type link int

const (
	apart  link = iota
	near        // only blanks
	joined      // one character such as a hyphen, without blanks
)

// pieces splits a folded text into words, runs of scripts without spaces, and symbols.
func pieces(text string, yield func(piece)) {
	begin, spaceless, before := -1, false, apart
	end := func(at int) {
		if begin >= 0 {
			yield(piece{text[begin:at], begin, before, spaceless})
			begin, before = -1, near
		}
	}
	for i, r := range text {
		switch {
		case begin >= 0 && !spaceless && isASCIITermRune(r):
		case begin >= 0 && !spaceless && joins(r, text[begin:i], text[i+utf8.RuneLen(r):]):
			end(i)
			before = joined
		case isSymbol(r):
			end(i)
			yield(piece{text[i : i+utf8.RuneLen(r)], i, apart, true})
			before = apart
		case isTermRune(r):
			if own := isSpaceless(r); begin < 0 {
				begin, spaceless = i, own
			} else if own != spaceless {
				end(i)
				begin, spaceless, before = i, own, apart
			}
		case begin >= 0 && unicode.IsMark(r):
		case unicode.IsSpace(r):
			end(i)
		default:
			end(i)
			before = apart
		}
	}
	end(len(text))
}

func isASCIITermRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z'
}

func isTermRune(r rune) bool {
	return isASCIITermRune(r) || r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsNumber(r)) && !isApostrophe(r)
}

// isApostrophe reports an apostrophe that Unicode counts as a letter.
func isApostrophe(r rune) bool { return r >= 0x02b9 && r <= 0x02bf }

// joiners are characters in the middle of words that some people leave out, or replace by a blank: hyphens, apostrophes and
// what stands in names, versions and numbers.
const joiners = "-‐‑‒–−־·‧-'’‘‛′`׳״.·/_&"

// joins reports whether a character joins the word before it and the one after it.
func joins(r rune, before, after string) bool {
	if r == ' ' || r == '\n' || isTermRune(r) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(after)
	last, _ := utf8.DecodeLastRuneInString(before)
	if !isTermRune(next) || isSpaceless(next) {
		return false
	}
	switch r {
	case ',':
		return isDigit(last) && isDigit(next)
	case '"':
		return unicode.Is(unicode.Hebrew, last) && unicode.Is(unicode.Hebrew, next)
	case zwnj, zwsp:
		return true
	}
	return isApostrophe(r) || strings.ContainsRune(joiners, r)
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// chains groups pieces: words that are joined come together.
func chains(text string, yield func(chain []piece)) {
	var chain []piece
	pieces(text, func(p piece) {
		if p.link != joined && len(chain) > 0 {
			yield(chain)
			chain = chain[:0]
		}
		chain = append(chain, p)
	})
	if len(chain) > 0 {
		yield(chain)
	}
}

// whole returns the words of a chain as one, or "" if it would be too long for a term.
func whole(chain []piece) string {
	size := 0
	for _, p := range chain {
		if size += len(p.text); size > utf8.UTFMax*MaxTerm {
			return ""
		}
	}
	var b strings.Builder
	for _, p := range chain {
		b.WriteString(p.text)
	}
	if all := b.String(); utf8.RuneCountInString(all) <= MaxTerm {
		return all
	}
	return ""
}

// maxParts is how many parts of letters and of digits a word may have to be found by them. One with more is a code.
const maxParts = 3

// parts splits a word such as "v2" or "ab1234" between letters and digits; nil if there is nothing to split, or too much.
func parts(word string) []string {
	var all []string
	begin, digits := 0, false
	for i, r := range word {
		if own := isDigit(r); i == 0 {
			digits = own
		} else if own != digits && !unicode.IsMark(r) {
			all, begin, digits = append(all, word[begin:i]), i, own
			if len(all) == maxParts {
				return nil
			}
		}
	}
	if begin == 0 {
		return nil
	}
	return append(all, word[begin:])
}

// letterWords are letters that are words, too, and stand before all others.
const letterWords = "aioy"

// alike reports whether a text with two words next to each other is also found by both as one, such as "wi fi" and
// "windows 11".
func alike(before, word string) bool {
	if isDigit(rune(word[0])) {
		return !strings.ContainsFunc(before, isDigit) && !strings.ContainsFunc(word, func(r rune) bool { return !isDigit(r) })
	}
	return len(before) == 1 && !strings.Contains(letterWords, before) || len(before) == 2 && len(word) <= 2
}

// terms counts the terms of a text.
type terms map[string]int

// put adds a word with its forms.
func (t terms) put(word string) {
	word = cut(word, MaxTerm)
	if n := t[word]; n > 0 && ascii(word) {
		t[word] = n + 1
		return
	}
	for _, f := range forms(word, stems) {
		t[strings.Clone(cut(f, MaxTerm))]++ // a part of the text would keep all of it in memory
	}
}

// putChain adds words, neighbouring ones as one, and all as one.
func (t terms) putChain(chain []piece) {
	var last []string // parts of the word before
	for i, p := range chain {
		t.put(p.text)
		own := parts(p.text)
		for _, part := range own {
			t.put(part)
		}
		if i > 0 {
			if both := whole(chain[i-1 : i+1]); both != "" {
				t.put(both)
			}
			if len(last)+len(own) > 0 {
				t.put(lastOf(last, chain[i-1].text) + firstOf(own, p.text))
			}
		}
		last = own
	}
	if len(chain) > 2 {
		if all := whole(chain); all != "" {
			t.put(all)
		}
	}
}

func firstOf(parts []string, word string) string {
	if len(parts) == 0 {
		return word
	}
	return parts[0]
}

func lastOf(parts []string, word string) string {
	if len(parts) == 0 {
		return word
	}
	return parts[len(parts)-1]
}

// putSpaceless adds the bigrams of a run, and its last character alone, so that every character begins a term.
func (t terms) putSpaceless(run string) {
	before := 0
	for i := range run {
		if i > 0 {
			_, size := utf8.DecodeRuneInString(run[i:])
			t[run[before:i+size]]++
			before = i
		}
	}
	t[run[before:]]++
}

func (t terms) sorted() []string {
	all := make([]string, 0, len(t))
	for term := range t {
		all = append(all, term)
	}
	slices.Sort(all)
	return all
}
