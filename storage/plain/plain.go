// Package plain cleans plain text for storage. Both domains use it for names, subjects, notes and other text that is not
// HTML.
package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Length returns the number of characters in s.
func Length(s string) int { return utf8.RuneCountInString(s) }

// Text makes a text valid for storage: UTF-8 without NUL.
func Text(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "")
}

// Line converts a text to a single line without control characters and without characters that change the text direction of
// what follows, trimmed.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return ' '
		}
		if unicode.IsControl(r) || turns(r) {
			return -1
		}
		return r
	}, Text(s))
	return strings.TrimSpace(s)
}

// Lines makes a multi-line text valid for storage, with line feeds and without control characters.
func Lines(s string) string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(Line("." + line)[1:], " ") // the dot keeps leading spaces
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// turns reports whether a character changes the text direction of what follows, even beyond its own text: in a name, it
// could change the meaning of the rest of a line. Marks without that effect (U+200E, U+200F, U+061C) are allowed, since
// Hebrew and Arabic use them.
func turns(r rune) bool { return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 }

// Visible reports whether a text has a character that people can see: not only spaces, ignorable characters, control
// characters, blanks that count as letters or symbols, and combining marks without a letter.
func Visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.IsControl(r) && !Ignorable(r) && !unicode.IsMark(r) && r != brailleBlank
	})
}

// brailleBlank is a Braille pattern without dots.
const brailleBlank = '\u2800'

// Key returns the key of a name, by which names that look the same are equal: in normal form (NFC), case-folded, without
// ignorable characters.
func Key(name string) string {
	name = strings.Map(func(r rune) rune {
		if Ignorable(r) {
			return -1
		}
		return r
	}, name)
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(name)))
}

// Ignorable reports a character that Unicode lets nobody see (Default_Ignorable_Code_Point), such as a zero-width space or a
// variation selector.
func Ignorable(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case unicode.Is(unicode.Cf, r):
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && (r < 0xFFF9 || r > 0xFFFB) && (r < 0x13430 || r > 0x13440)
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Cut truncates a text to n characters.
func Cut(s string, n int) string {
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

// CutLast cuts s around the last sep, as strings.Cut does around the first.
func CutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
