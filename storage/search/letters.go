package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Characters within words that are not part of terms.
const (
	zwsp       = '\u200b'
	zwnj       = '\u200c'
	softHyphen = '\u00ad'
	tatweel    = '\u0640'
	diaeresis  = '\u0308'
	ring       = '\u030a'
)

// accented are the scripts whose marks are accents or vowel points, which people leave out. In others, such as Thai and
// Devanagari, marks are letters.
var accented = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew}

// fold maps texts that people consider equal to the same text: compatibility forms, case, digits, accents and letters that
// look or are typed alike. Only ä, ö, ü and å stay, as there are two ways to write each without its accent, see [spellings].
func fold(text string) string {
	if ascii(text) {
		return strings.ToLower(text)
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, " "), "\u00b4", "'") // the accent alone, whose compatibility form is a blank
	text = norm.NFKD.String(text)
	text = norm.NFKD.String(cases.Fold().String(text))
	var b strings.Builder
	b.Grow(len(text))
	var base rune   // of the marks that follow
	var umlaut bool // whether it has its diaeresis or ring
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			base, umlaut = r, false
			b.WriteByte(byte(r))
		case unicode.IsMark(r):
			if !umlaut && hasSpellings(base, r) {
				umlaut = true
				b.WriteRune(r)
			} else if unicode.Is(unicode.Mc, r) || !leftOut(base, r) {
				b.WriteRune(r)
			}
		case r == tatweel || isInvisible(r) && r != zwsp && (r != zwnj || !unicode.Is(unicode.Arabic, base)):
		default:
			base, umlaut = r, false
			b.WriteString(letter(r))
		}
	}
	return norm.NFC.String(b.String())
}

// isInvisible reports a character that tells how others are shown, such as a soft hyphen or a mark of direction.
func isInvisible(r rune) bool {
	return r == softHyphen || r == '\u061c' || r >= '\u200b' && r <= '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u2060' && r <= '\u206f' || r == '\ufeff'
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hasSpellings reports whether a letter with a mark is one of ä, ö, ü and å.
func hasSpellings(base, mark rune) bool {
	return mark == diaeresis && (base == 'a' || base == 'o' || base == 'u') || mark == ring && base == 'a'
}

// leftOut reports whether people leave out a mark on a letter.
func leftOut(base, mark rune) bool {
	return unicode.Is(unicode.Me, mark) || unicode.Is(unicode.Variation_Selector, mark) || unicode.In(base, accented...)
}

// letter returns what people write for a letter that has no decomposition in Unicode: on another keyboard, in another position
// in the word, or in ASCII.
func letter(r rune) string {
	switch r {
	case 'ø':
		return "ö"
	case 'ł':
		return "l"
	case 'đ', 'ð', 'ɖ':
		return "d"
	case 'þ':
		return "th"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'ı':
		return "i"
	case 'ħ':
		return "h"
	case 'ŧ':
		return "t"
	case 'ŋ':
		return "n"
	case 'ə', 'ǝ':
		return "e"
	case 'ґ':
		return "г"
	}
	if unicode.Is(unicode.Nd, r) {
		return string('0' + digitValue(r))
	}
	return rightToLeft(r)
}

// rightToLeft is letter for Arabic and Hebrew.
func rightToLeft(r rune) string {
	switch r {
	case 'ٱ', 'ٲ', 'ٳ', 'ٵ':
		return "ا"
	case 'ى', 'ی', 'ې', 'ے', 'ۍ':
		return "ي"
	case 'ک', 'ڪ', 'ڭ':
		return "ك"
	case 'ة', 'ہ', 'ھ', 'ە', 'ۃ':
		return "ه"
	case 'ך':
		return "כ"
	case 'ם':
		return "מ"
	case 'ן':
		return "נ"
	case 'ף':
		return "פ"
	case 'ץ':
		return "צ"
	case 'װ':
		return "וו"
	case 'ױ':
		return "וי"
	case 'ײ':
		return "יי"
	}
	return string(r)
}

// digitValue returns the value of a decimal digit. Unicode has the digits of each script in a row, from zero to nine.
func digitValue(r rune) rune {
	zero := r
	for r-zero < 9 && unicode.Is(unicode.Nd, zero-1) {
		zero--
	}
	return r - zero
}

// spellings are the two ways in which people write these letters without their accents.
var spellings = [2]*strings.Replacer{
	strings.NewReplacer("ä", "a", "ö", "o", "ü", "u", "å", "a"),
	strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "å", "aa"),
}

// forms returns the spellings of a folded word, the shorter one first, and the word without the words that its script writes
// together with it.
func forms(word string, without func(word string) []string) []string {
	if ascii(word) {
		return []string{word}
	}
	all := []string{spellings[0].Replace(word)}
	if other := spellings[1].Replace(word); other != all[0] {
		return append(all, other)
	}
	return append(all, without(word)...)
}

// The words that Arabic and Hebrew write together with the next one: the article, also after a preposition, and others of one
// letter. A word may begin with their letters by itself, so that what is left needs a length.
var (
	arabicArticles = []string{"وال", "فال", "بال", "كال", "لل", "ال"}
	arabicLetters  = []string{"و", "ف", "ب", "ل"}
	hebrewArticle  = "ה"
	hebrewLetters  = []string{"ה", "ו", "ב", "ל", "כ", "מ", "ש"}
)

// stems returns what a word may be that is written together with up to two such words.
func stems(word string) (all []string) {
	first, _ := utf8.DecodeRuneInString(word)
	letters := arabicLetters
	switch {
	case unicode.Is(unicode.Hebrew, first):
		letters = hebrewLetters
		all = appendRest(all, word, hebrewArticle, 2)
	case !unicode.Is(unicode.Arabic, first):
		return nil
	}
	for range 2 {
		for _, w := range slices.Concat(all, []string{word}) {
			all = appendRests(all, w, letters, 3)
			if letters[0] != hebrewArticle {
				all = appendRests(all, w, arabicArticles, 2)
			}
		}
	}
	return all
}

// bare returns a word without its article. A query keeps other letters: what would be left may be another word.
func bare(word string) (all []string) {
	first, _ := utf8.DecodeRuneInString(word)
	switch {
	case unicode.Is(unicode.Hebrew, first):
		all = appendRest(all, word, hebrewArticle, 3)
		all = appendRest(all, word, "ו"+hebrewArticle, 3)
	case unicode.Is(unicode.Arabic, first):
		all = appendRests(all, word, arabicArticles, 3)
	}
	return all
}

func appendRests(all []string, word string, prefixes []string, least int) []string {
	for _, p := range prefixes {
		all = appendRest(all, word, p, least)
	}
	return all
}

// appendRest appends what follows a prefix, if it has at least some characters.
func appendRest(all []string, word, prefix string, least int) []string {
	rest, found := strings.CutPrefix(word, prefix)
	if !found || utf8.RuneCountInString(rest) < least || slices.Contains(all, rest) {
		return all
	}
	return append(all, rest)
}
