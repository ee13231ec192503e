package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// stemmers are Snowball's, by language.
var stemmers = map[string]func(*snowballstem.Env) bool{
	"ar": arabic.Stem, "da": danish.Stem, "de": german.Stem, "en": english.Stem, "es": spanish.Stem, "fi": finnish.Stem,
	"fr": french.Stem, "ga": irish.Stem, "hu": hungarian.Stem, "it": italian.Stem, "nb": norwegian.Stem, "nl": dutch.Stem,
	"nn": norwegian.Stem, "no": norwegian.Stem, "pt": portuguese.Stem, "ro": romanian.Stem, "ru": russian.Stem, "sv": swedish.Stem,
	"ta": tamil.Stem, "tr": turkish.Stem,
}

// restored are the endings of folded words that a stemmer knows only with their accents.
var restored = map[string][][2]string{
	"es": {{"cion", "ción"}, {"sion", "sión"}},
	"pt": {{"cao", "ção"}, {"coes", "ções"}, {"sao", "são"}},
	"it": {{"ita", "ità"}},
	"ru": {{"ыи", "ый"}, {"ои", "ой"}, {"еи", "ей"}, {"аи", "ай"}},
}

// maxStemmed is the length in bytes of the longest word that has a stem. Longer ones are not words.
const maxStemmed = 64

// Stem returns what the forms of a word have in common in a language, such as "reset" of "resetting": words with the same
// stem mean the same. The word is a term, see [Terms]. In a language without a stemmer a word is its own stem.
func Stem(language, word string) string {
	stem := stemmers[language]
	if stem == nil || len(word) > maxStemmed || utf8.RuneCountInString(word) < 3 || !letters(word) {
		return word
	}
	for _, r := range restored[language] {
		if rest, found := strings.CutSuffix(word, r[0]); found {
			word = rest + r[1]
			break
		}
	}
	env := snowballstem.NewEnv(word)
	stem(env)
	if s := strings.Join(forms(fold(env.Current()), noStems), ""); s != "" {
		return s
	}
	return word
}

func noStems(string) []string { return nil }

// letters reports whether a term is a word of letters, in a script with spaces.
func letters(term string) bool {
	for _, r := range term {
		if r < 'a' || r > 'z' {
			if isSpaceless(r) || !unicode.IsLetter(r) && !unicode.IsMark(r) {
				return false
			}
		}
	}
	return term != ""
}

// Compound languages write several words as one.
var compounding = map[string]bool{"da": true, "de": true, "nb": true, "nl": true, "nn": true, "no": true, "sv": true}

// Compounds reports whether a language writes several words as one, such as "Passwortänderung".
func Compounds(language string) bool { return compounding[language] }

// Lengths in characters of compounds and of their parts.
const (
	minCompound = 8
	MinPart     = 4
)

// tailMark begins a term that is a word spelled backwards: the words that end with another one are those that begin with it.
const tailMark = "_r"

// Tail returns the term by which a compound is found by its last word; "" for a word that is too short.
func Tail(word string) string {
	if utf8.RuneCountInString(word) < minCompound || !letters(word) {
		return ""
	}
	return tailMark + reversed(lightly(word))
}

// InCompounds returns the terms for the compounds that a word begins or ends.
func InCompounds(word string) []Term {
	light := lightly(word)
	if utf8.RuneCountInString(light) < MinPart || !letters(word) {
		return nil
	}
	return []Term{{Text: light, Prefix: true}, {Text: tailMark + reversed(light), Prefix: true}}
}

// lightly cuts the ending of a plural or a case, of which the parts of compounds have more forms than stemmers know.
func lightly(word string) string {
	for _, end := range []string{"en", "er", "es", "n", "e", "s"} {
		if rest, found := strings.CutSuffix(word, end); found && utf8.RuneCountInString(rest) >= MinPart {
			return rest
		}
	}
	return word
}

func reversed(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		r, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
		b.WriteRune(r)
	}
	return b.String()
}

// links are the letters between the parts of a compound.
var links = []string{"", "s", "es", "n", "en"}

// Split returns how a compound may be divided in two, the first part also without the letters that link it to the second.
func Split(word string) (all [][2]string) {
	runes := []rune(word)
	if len(runes) < minCompound || len(runes) > MaxTerm || !letters(word) {
		return nil
	}
	for i := MinPart; i+MinPart <= len(runes); i++ {
		head, tail := string(runes[:i]), string(runes[i:])
		for _, l := range links {
			if rest, found := strings.CutSuffix(head, l); found && utf8.RuneCountInString(rest) >= MinPart {
				all = append(all, [2]string{rest, tail})
			}
		}
	}
	return all
}
