package search

import (
	"html"
	"strings"
	"unicode/utf8"
)

// Lengths of a snippet in bytes: before the first marked word, and in total.
const (
	snippetBefore = 60
	snippetLength = 240
)

// Snippet returns a passage around the first mark of a text, as [Highlight] does.
func Snippet(text string, marks []Range) string {
	begin, end := 0, len(text)
	if len(marks) > 0 {
		begin = wordBegin(text, marks[0].Begin-snippetBefore)
	}
	if begin+snippetLength < end {
		end = wordBegin(text, begin+snippetLength)
	}
	if len(marks) > 0 {
		end = max(end, marks[0].End)
	}
	var inside []Range
	for _, m := range marks {
		if m.End <= end {
			inside = append(inside, Range{Begin: m.Begin - begin, End: m.End - begin})
		}
	}
	out := Highlight(text[begin:end], inside)
	if begin > 0 {
		out = "… " + out
	}
	if end < len(text) {
		out = strings.TrimRight(out, " \n") + " …"
	}
	return strings.ReplaceAll(out, "\n", " ")
}

// wordBegin returns the start of the word at an offset, or of the character when there is no space nearby.
func wordBegin(text string, at int) int {
	if at <= 0 {
		return 0
	}
	if space := strings.LastIndexAny(text[max(0, at-30):at], " \n"); space >= 0 {
		return max(0, at-30) + space + 1
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// Highlight returns a text as HTML: escaped, with mark elements around parts of it.
func Highlight(text string, marks []Range) string {
	var b strings.Builder
	at := 0
	for _, m := range marks {
		b.WriteString(html.EscapeString(text[at:m.Begin]))
		b.WriteString("<mark>" + html.EscapeString(text[m.Begin:m.End]) + "</mark>")
		at = m.End
	}
	b.WriteString(html.EscapeString(text[at:]))
	return b.String()
}
