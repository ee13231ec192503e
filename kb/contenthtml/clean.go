package contenthtml

import (
	"strings"

	"golang.org/x/net/html"
)

// Limits of Clean. Bytes beyond them are cut off; elements nested too deeply lose their tags.
const (
	MaxInput  = 4 << 20 // bytes that Clean reads
	MaxOutput = 4 << 20 // bytes that Clean returns
	MaxDepth  = 100     // nesting depth of elements
)

// Clean returns HTML that is safe to embed in a page: text, lists, tables, code, figures, images, audio, video, and frames
// of known players. Links may be relative or use http, https, mailto and tel; images also data (png, jpeg, gif, webp). Clean
// removes scripts, event handlers, forms, style sheets and styles that could leave the article's box. It closes every
// element.
//
// Every heading has an id as its anchor: its own, or one made from its words in any script. Ids are unique within the
// document. Ids that begin with "hw-" are reserved for the surrounding page and dropped.
//
// Clean(Clean(s)) == Clean(s).
func Clean(s string) string { return write(cleaned(s)) }

// cleaned returns the tokens of cleaned HTML.
func cleaned(s string) []token {
	tokens, _ := cleanedWithin(s[:min(len(s), MaxInput)], MaxOutput)
	return tokens
}

// cleanedWithin returns the tokens of cleaned HTML of at most limit bytes, and whether that is all of it.
func cleanedWithin(s string, limit int) (tokens []token, all bool) {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
	b := newBalancer(limit)
	z := html.NewTokenizer(strings.NewReader(policy().Sanitize(s)))
	for !b.full {
		switch z.Next() {
		case html.ErrorToken:
			return anchored(b.finish()), true
		case html.TextToken:
			b.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			b.start(t.Data, t.Attr)
		case html.EndTagToken:
			name, _ := z.TagName()
			b.end(string(name))
		}
	}
	return anchored(b.finish()), false
}

// anchored returns the tokens after the headings got their anchors.
func anchored(tokens []token) []token {
	setAnchors(tokens)
	return tokens
}

func write(tokens []token) string {
	var out strings.Builder
	for _, t := range tokens {
		t.write(&out)
	}
	return out.String()
}

// token is a piece of cleaned HTML.
type token struct {
	kind  html.TokenType // TextToken, StartTagToken or EndTagToken
	data  string         // the tag, or the unescaped text
	attrs []html.Attribute
}

func (t token) write(out *strings.Builder) {
	switch t.kind {
	case html.TextToken:
		out.WriteString(escapeText(t.data))
	case html.EndTagToken:
		out.WriteString("</" + t.data + ">")
	case html.StartTagToken:
		out.WriteString("<" + t.data)
		for _, a := range t.attrs {
			out.WriteString(" " + a.Key)
			if !boolean[a.Key] {
				out.WriteString(`="` + escapeAttr(a.Val) + `"`)
			}
		}
		out.WriteByte('>')
	}
}

// size returns the minimum number of bytes that write needs.
func (t token) size() int {
	if t.kind == html.TextToken {
		return len(escapeText(t.data))
	}
	n := len(t.data) + 3
	for _, a := range t.attrs {
		n += len(a.Key) + len(escapeAttr(a.Val)) + 4
	}
	return n
}

var (
	textEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r\n", "\n", "\r", "\n", "\x00", "")
	attrEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\r\n", "\n", "\r", "\n", "\x00", "")
)

// escapeText escapes as little as possible, so that plain text stays unchanged.
func escapeText(s string) string { return textEscaper.Replace(s) }

func escapeAttr(s string) string { return attrEscaper.Replace(s) }

func attrOf(attrs []html.Attribute, key string) (string, bool) {
	for _, a := range attrs {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}
