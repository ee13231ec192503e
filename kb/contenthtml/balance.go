package contenthtml

import (
	"strings"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/openelements"
	"golang.org/x/net/html"
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// balancer collects tokens so that every element is closed inside its parent.
type balancer struct {
	openelements.Stack

	out   []token
	limit int  // of size
	size  int  // bytes of out
	raw   bool // inside an iframe, whose content is not text
	full  bool
}

func newBalancer(limit int) *balancer {
	b := &balancer{limit: limit}
	b.Stack.End = func(tag string) { b.add(token{kind: html.EndTagToken, data: tag}, openelements.EndLen(tag)) }
	return b
}

// anchorRoom is reserved for the id that a heading may get.
const anchorRoom = len(` id=""`) + utf8.UTFMax*maxAnchor

// room reports whether n more bytes and all end tags still fit.
func (b *balancer) room(n int) bool {
	if b.size+b.EndLen()+n > b.limit {
		b.full = true
	}
	return !b.full
}

func (b *balancer) add(t token, size int) {
	b.out = append(b.out, t)
	b.size += size
}

func (b *balancer) text(s string) {
	if b.raw {
		return
	}
	t := token{kind: html.TextToken, data: s}
	size := t.size()
	if left := max(b.limit-b.size-b.EndLen(), 0); size > left {
		t.data = cutText(s, left)
		size = t.size()
		b.full = true
	}
	if t.data != "" {
		b.add(t, size)
	}
}

// cutText truncates s so that its escaped form has at most n bytes.
func cutText(s string, n int) string {
	for i, r := range s {
		size := utf8.RuneLen(r)
		switch r {
		case '&':
			size = 5
		case '<', '>':
			size = 4
		}
		if n -= size; n < 0 {
			return s[:i]
		}
	}
	return s
}

func (b *balancer) start(tag string, attrs []html.Attribute) {
	if b.raw = tag == "iframe"; !known[tag] {
		return
	}
	b.Before(tag)
	if b.Depth() >= MaxDepth && !openelements.IsVoid(tag) {
		return
	}
	attrs, ok := cleanAttrs(tag, attrs)
	if !ok {
		return
	}
	t := token{kind: html.StartTagToken, data: tag, attrs: attrs}
	size := t.size()
	if openelements.IsHeading(tag) { // the same whether or not it has its anchor already
		size = token{kind: t.kind, data: tag, attrs: without(attrs, "id")}.size() + anchorRoom
	}
	if !b.room(size + openelements.EndLen(tag)) {
		return
	}
	b.add(t, size)
	b.Push(tag)
}

func (b *balancer) end(tag string) {
	b.raw = false
	b.Close(tag)
}

func (b *balancer) finish() []token {
	b.CloseAll()
	return b.out
}
