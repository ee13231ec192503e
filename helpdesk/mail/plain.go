package mail

import (
	"strings"

	"golang.org/x/net/html"
)

// plainOf returns the text of an HTML piece between pieces of plain text. It only strips tags; readers who want layout have
// the HTML form.
func plainOf(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	var out strings.Builder
	skip := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return cleanText(strings.TrimSpace(out.String()) + "\n")
		case html.TextToken:
			if skip == "" {
				out.WriteString(strings.Join(strings.FieldsFunc(string(z.Text()), func(r rune) bool { return r == '\n' || r == '\t' }), " "))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			switch name, _ := z.TagName(); string(name) {
			case "script", "style", "title":
				skip = string(name)
			case "br", "p", "div", "tr", "li", "h1", "h2", "h3", "blockquote", "table":
				if out.Len() > 0 {
					out.WriteByte('\n')
				}
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == skip {
				skip = ""
			}
		}
	}
}
