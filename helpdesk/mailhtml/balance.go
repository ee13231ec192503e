package mailhtml

import (
	"strings"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/openelements"
	"golang.org/x/net/html"
)

// balancer writes tags so that every element is closed inside its parent.
type balancer struct {
	openelements.Stack

	out  strings.Builder
	full bool
}

func newBalancer() *balancer {
	b := &balancer{}
	b.Stack.End = func(tag string) { b.out.WriteString("</" + tag + ">") }
	return b
}

// room reports whether n more bytes and all end tags still fit.
func (b *balancer) room(n int) bool {
	if b.out.Len()+b.EndLen()+n > MaxOutput {
		b.full = true
	}
	return !b.full
}

func (b *balancer) text(s string) {
	s = escapeText(s)
	if left := MaxOutput - b.out.Len() - b.EndLen(); len(s) > left {
		s = cutText(s, max(left, 0))
		b.full = true
	}
	b.out.WriteString(s)
}

// cutText cuts escaped text to n bytes, between characters.
func cutText(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	s = s[:n]
	if i := strings.LastIndexByte(s, '&'); i >= 0 && !strings.Contains(s[i:], ";") {
		s = s[:i]
	}
	return s
}

func (b *balancer) start(tag string, attrs []html.Attribute) {
	if !known[tag] {
		return
	}
	b.Before(tag)
	if b.Depth() >= MaxDepth && !openelements.IsVoid(tag) {
		return
	}
	var t strings.Builder
	t.WriteByte('<')
	t.WriteString(tag)
	attrs = cleanAttrs(tag, attrs)
	if tag == "img" && !hasAttr(attrs, "src") && !hasAttr(attrs, "alt") {
		return
	}
	for _, a := range attrs {
		t.WriteByte(' ')
		t.WriteString(a.Key)
		t.WriteString(`="`)
		t.WriteString(escapeAttr(a.Val))
		t.WriteByte('"')
	}
	t.WriteByte('>')
	if !b.room(t.Len() + openelements.EndLen(tag)) {
		return
	}
	b.out.WriteString(t.String())
	b.Push(tag)
}

func (b *balancer) finish() string {
	b.CloseAll()
	return b.out.String()
}

var (
	textEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r\n", "\n", "\r", "\n", "\x00", "")
	attrEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\r\n", "\n", "\r", "\n", "\x00", "")
)

// escapeText escapes no more than necessary, so that plain text stays unchanged.
func escapeText(s string) string { return textEscaper.Replace(s) }

func escapeAttr(s string) string { return attrEscaper.Replace(s) }
