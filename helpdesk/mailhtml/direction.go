package mailhtml

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// Markup that Direct adds around a text. Lines ended by <br> have a direction of their own.
const (
	directStart = `<div dir="auto" style="unicode-bidi: plaintext">`
	directEnd   = `</div>`
)

// directed are the elements that get a direction of their own.
var directed = map[string]bool{
	"p": true, "div": true, "li": true, "td": true, "th": true, "h1": true, "h2": true, "h3": true, "h4": true, "h5": true, "h6": true,
	"blockquote": true, "pre": true, "dt": true, "dd": true, "ul": true, "ol": true, "caption": true,
}

// Direct adds dir="auto" to the blocks of a message with right-to-left letters, so that each block gets its own direction.
// Blocks with a direction keep it. It is for displaying cleaned HTML; other messages, and its own results, are returned
// unchanged.
func Direct(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x590 && rightToLeft(r) }) || strings.HasPrefix(s, directStart) {
		return s
	}
	z := html.NewTokenizer(strings.NewReader(s))
	var b strings.Builder
	b.WriteString(directStart)
	for {
		kind := z.Next()
		raw := string(z.Raw())
		if kind == html.ErrorToken {
			b.WriteString(raw)
			b.WriteString(directEnd)
			return b.String()
		}
		if kind == html.StartTagToken {
			if t := z.Token(); directed[t.Data] && place(&t, "dir") < 0 && strings.HasSuffix(raw, ">") {
				raw = raw[:len(t.Data)+1] + ` dir="auto"` + raw[len(t.Data)+1:]
			}
		}
		b.WriteString(raw)
	}
}

func rightToLeft(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam)
}
