package contenthtml

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

var void = set("br col hr img input source track wbr")

// implied lists, for a start tag, which open elements it closes, and at which elements it stops looking. Browsers do the
// same.
var implied = map[string]struct{ ends, stop map[string]bool }{
	"li":    {set("li"), set("ul ol table td th blockquote")},
	"dt":    {set("dt dd"), set("dl table td th")},
	"dd":    {set("dt dd"), set("dl table td th")},
	"td":    {set("td th"), set("tr table")},
	"th":    {set("td th"), set("tr table")},
	"tr":    {set("tr"), set("tbody thead tfoot table")},
	"tbody": {set("tbody thead tfoot colgroup"), set("table")},
	"thead": {set("tbody thead tfoot colgroup"), set("table")},
	"tfoot": {set("tbody thead tfoot colgroup"), set("table")},
}

var (
	// blocks close an open paragraph.
	blocks = set(`address article aside blockquote details div dl figcaption figure footer h1 h2 h3 h4 h5 h6 header hr
		ol p pre section table ul`)
	paragraphStop = set("table td th blockquote li div figure details")
	headings      = set("h1 h2 h3 h4 h5 h6")
	paragraph     = set("p")
	cells         = set("table tr tbody thead tfoot td th")
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// balancer collects tokens so that every element is closed inside its parent. It builds no tree: the algorithm of browsers
// multiplies unclosed formatting elements by the paragraphs that follow them.
type balancer struct {
	out     []token
	limit   int // of size
	size    int // bytes of out
	open    []string
	openLen int // bytes of the end tags of the open elements
	count   map[string]int
	raw     bool // inside an iframe, whose content is not text
	full    bool
}

// anchorRoom is reserved for the id that a heading may get.
const anchorRoom = len(` id=""`) + utf8.UTFMax*maxAnchor

// room reports whether n more bytes and all end tags still fit.
func (b *balancer) room(n int) bool {
	if b.size+b.openLen+n > b.limit {
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
	if left := max(b.limit-b.size-b.openLen, 0); size > left {
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
	if blocks[tag] {
		b.closeImplied(paragraph, paragraphStop)
	}
	if headings[tag] {
		b.closeImplied(headings, paragraphStop)
	}
	if im, ok := implied[tag]; ok {
		b.closeImplied(im.ends, im.stop)
	}
	if len(b.open) >= MaxDepth && !void[tag] {
		return
	}
	attrs, ok := cleanAttrs(tag, attrs)
	if !ok {
		return
	}
	t := token{kind: html.StartTagToken, data: tag, attrs: attrs}
	size, end := t.size(), 0
	if !void[tag] {
		end = len(tag) + 3
	}
	if headings[tag] { // the same whether or not it has its anchor already
		size = token{kind: t.kind, data: tag, attrs: without(attrs, "id")}.size() + anchorRoom
	}
	if !b.room(size + end) {
		return
	}
	b.add(t, size)
	if !void[tag] {
		b.push(tag)
	}
}

func (b *balancer) push(tag string) {
	if b.count == nil {
		b.count = map[string]int{}
	}
	b.open = append(b.open, tag)
	b.count[tag]++
	b.openLen += len(tag) + 3
}

func (b *balancer) pop() {
	tag := b.open[len(b.open)-1]
	b.open = b.open[:len(b.open)-1]
	b.count[tag]--
	b.openLen -= len(tag) + 3
	b.add(token{kind: html.EndTagToken, data: tag}, len(tag)+3)
}

// closeImplied closes the innermost open element in ends with everything inside it, unless an element in stop comes first.
func (b *balancer) closeImplied(ends, stop map[string]bool) {
	for i := len(b.open) - 1; i >= 0; i-- {
		if ends[b.open[i]] {
			for len(b.open) > i {
				b.pop()
			}
			return
		}
		if stop[b.open[i]] {
			return
		}
	}
}

func (b *balancer) end(tag string) {
	b.raw = false
	if b.count[tag] == 0 {
		return
	}
	for i := len(b.open) - 1; i >= 0; i-- {
		switch b.open[i] {
		case tag:
			for len(b.open) > i {
				b.pop()
			}
			return
		case "td", "th", "table":
			if !cells[tag] {
				return // an end tag inside a cell does not close what contains the table
			}
		}
	}
}

func (b *balancer) finish() []token {
	for len(b.open) > 0 {
		b.pop()
	}
	return b.out
}
