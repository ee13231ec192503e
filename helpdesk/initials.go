package helpdesk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// initials returns the first letters of the first and the last word.
func initials(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) })
	var b strings.Builder
	for i, w := range words {
		if i == 0 || i == len(words)-1 {
			r, _ := utf8.DecodeRuneInString(w)
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}
