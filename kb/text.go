package kb

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func runes(s string) int { return utf8.RuneCountInString(s) }

// clean makes a text fit for storage: valid UTF-8 without NUL.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// cleanLine makes a text a single line without control characters, trimmed.
func cleanLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return ' '
		}
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, clean(s))
	return strings.TrimSpace(s)
}
