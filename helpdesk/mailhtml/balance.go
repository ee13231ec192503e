package mailhtml

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

var void = map[string]bool{"br": true, "col": true, "hr": true, "img": true, "wbr": true}

// implied lists, for a start tag, the open elements that it ends, and the elements at which the search for them stops, as in
// browsers.
var implied = map[string]struct{ ends, stop string }{
	"li":    {" li ", " ul ol dir table td th blockquote "},
	"dt":    {" dt dd ", " dl table td th "},
	"dd":    {" dt dd ", " dl table td th "},
	"td":    {" td th ", " tr table "},
	"th":    {" td th ", " tr table "},
	"tr":    {" tr ", " tbody thead tfoot table "},
	"tbody": {" tbody thead tfoot colgroup ", " table "},
	"thead": {" tbody thead tfoot colgroup ", " table "},
	"tfoot": {" tbody thead tfoot colgroup ", " table "},
}

// blocks end an open paragraph.
const blocks = " address article aside blockquote center details dir div dl figcaption figure footer h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table ul "

// balancer writes tags so that every element is closed inside its parent. It does not build a tree: the algorithm of
// browsers repeats unclosed formatting elements in each of the paragraphs that follow them.
type balancer struct {
	out     strings.Builder
	open    []string
	openLen int // total length of the end tags of the open elements
	count   map[string]int
	full    bool
}

// room reports whether n more bytes and all end tags still fit.
func (b *balancer) room(n int) bool {
	if b.out.Len()+b.openLen+n > MaxOutput {
		b.full = true
	}
	return !b.full
}

func (b *balancer) text(s string) {
	s = escapeText(s)
	if left := MaxOutput - b.out.Len() - b.openLen; len(s) > left {
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
	if strings.Contains(blocks, " "+tag+" ") {
		b.closeImplied(" p ", " table td th blockquote li div button ")
	}
	if im, ok := implied[tag]; ok {
		b.closeImplied(im.ends, im.stop)
	}
	if len(b.open) >= MaxDepth && !void[tag] {
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
	end := len(tag) + 3
	if void[tag] {
		end = 0
	}
	if !b.room(t.Len() + end) {
		return
	}
	b.out.WriteString(t.String())
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
	b.out.WriteString("</" + tag + ">")
}

// closeImplied closes the innermost open element that is in ends, with all elements inside it, unless one in stop comes
// first.
func (b *balancer) closeImplied(ends, stop string) {
	for i := len(b.open) - 1; i >= 0; i-- {
		tag := " " + b.open[i] + " "
		if strings.Contains(ends, tag) {
			for len(b.open) > i {
				b.pop()
			}
			return
		}
		if strings.Contains(stop, tag) {
			return
		}
	}
}

func (b *balancer) end(tag string) {
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
			if tag != "table" && tag != "tr" && tag != "tbody" && tag != "thead" && tag != "tfoot" && tag != "td" && tag != "th" {
				return // an end tag inside a cell does not end elements around the table
			}
		}
	}
}

func (b *balancer) finish() string {
	for len(b.open) > 0 {
		b.pop()
	}
	return b.out.String()
}

var (
	textEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r\n", "\n", "\r", "\n", "\x00", "")
	attrEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\r\n", "\n", "\r", "\n", "\x00", "")
)

// escapeText escapes no more than necessary, so that plain text stays unchanged.
func escapeText(s string) string { return textEscaper.Replace(s) }

func escapeAttr(s string) string { return attrEscaper.Replace(s) }
