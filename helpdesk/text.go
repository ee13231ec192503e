package helpdesk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func runes(s string) int { return utf8.RuneCountInString(s) }

// clean makes a text storable: valid UTF-8 without NUL.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "")
}

// cleanLine makes a text a single line without control characters, trimmed.
func cleanLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return ' '
		}
		if unicode.IsControl(r) || turns(r) {
			return -1
		}
		return r
	}, clean(s))
	return strings.TrimSpace(s)
}

// cleanText makes text of several lines storable: lines end with a line feed, and have no control characters.
func cleanText(s string) string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(cleanLine("." + line)[1:], " ")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// turns: a character that turns the direction of all that follows it, beyond the text
// that it stands in: a name with one could make the rest of a line say something else.
// The marks that turn nothing (U+200E, U+200F, U+061C) are of use in Hebrew and Arabic.
func turns(r rune) bool { return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 }

// cut shortens a text to n characters.
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
