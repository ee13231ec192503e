package contenthtml

import (
	"strings"

	"github.com/helpwright/helpwright/storage/openelements"
	"golang.org/x/net/html"
)

// ToMarkdown converts HTML, which it cleans, to Markdown that [FromMarkdown] converts back to the same cleaned HTML, apart
// from white space that browsers do not show. What Markdown cannot say is HTML in the Markdown, of the smallest block. Only
// Markdown that would be longer than MaxMarkdown is not converted back.
func ToMarkdown(content string) string {
	return settled(treeOf(cleaned(content)))
}

// ToReadableMarkdown converts HTML, which it cleans, to Markdown for reading and as the start of a new text: like
// [ToMarkdown], but without classes, styles and elements that only group others, and with paragraphs around loose text.
func ToReadableMarkdown(content string) string {
	return settled(readable(treeOf(cleaned(content))))
}

// form is how a block is written: if it does not come back from Markdown as it was, in the next form.
type form int

const (
	formMarkdown form = iota // emphasis wherever it may work
	formCareful              // emphasis of whole words, otherwise tags
	formTags                 // tags in place of emphasis, links, images and code
	formHTML                 // HTML
	formLine                 // HTML in one line, which Markdown leaves alone whatever it is
)

// unit is a part of a document that is written as a block of Markdown: an element, loose text, or a tag of an element that
// groups blocks.
type unit struct {
	nodes    []*node // an element, or loose text
	tag      string  // HTML of the tag
	form     form
	markdown string
}

// settled returns Markdown that converts back to the tree.
func settled(root *node) string {
	units := unitsOf(nil, root)
	for i := range units {
		units[i].write(formMarkdown)
	}
	if holds(units) {
		return joined(units)
	}
	for part := range chunks(units) {
		chooseForms(part)
	}
	if !holds(units) {
		for i := range units {
			units[i].write(formLine)
		}
	}
	return joined(units)
}

// maxChunk is how much Markdown is converted at once to find a block that does not come back, in bytes.
const maxChunk = 4 << 10

// chunks splits the units into parts of about maxChunk bytes.
func chunks(units []unit) func(yield func([]unit) bool) {
	return func(yield func([]unit) bool) {
		begin, size := 0, 0
		for i, u := range units {
			if size += len(u.markdown); size >= maxChunk || i == len(units)-1 {
				if !yield(units[begin : i+1]) {
					return
				}
				begin, size = i+1, 0
			}
		}
	}
}

// chooseForms chooses the first form in which each unit comes back, also beside its neighbours.
func chooseForms(units []unit) {
	if holds(units) {
		return
	}
	if len(units) == 1 {
		for next := units[0].form + 1; next <= formLine; next++ {
			if units[0].write(next); holds(units) {
				return
			}
		}
		return
	}
	left, right := units[:len(units)/2], units[len(units)/2:]
	chooseForms(left)
	chooseForms(right)
	if holds(units) {
		return
	}
	left[len(left)-1].write(formLine)
	right[0].write(formLine)
	if !holds(units) {
		for i := range units {
			units[i].write(formLine)
		}
	}
}

// holds reports whether the Markdown of units comes back as they are.
func holds(units []unit) bool {
	back, err := fromMarkdown(joined(units))
	if err != nil {
		return false
	}
	var want strings.Builder
	for _, u := range units {
		want.WriteString(u.tag)
		for _, n := range u.nodes {
			writeNode(&want, n)
		}
	}
	return normal(back) == normal(cleaned(want.String()))
}

// writeNode writes a node as Clean does.
func writeNode(out *strings.Builder, n *node) {
	n.write(out)
	for _, c := range n.children {
		writeNode(out, c)
	}
	if n.kind == html.StartTagToken && !openelements.IsVoid(n.data) {
		token{kind: html.EndTagToken, data: n.data}.write(out)
	}
}

// unitsOf appends the units of the content of an element.
func unitsOf(units []unit, parent *node) []unit {
	for run := range runs(parent.children) {
		n := run[0]
		switch {
		case !isBlock(n):
			units = append(units, unit{nodes: run})
		case groups(n):
			tag := strings.Builder{}
			n.write(&tag)
			units = append(units, unit{tag: tag.String()})
			units = append(unitsOf(units, n), unit{tag: "</" + n.data + ">"})
		default:
			units = append(units, unit{nodes: run})
		}
	}
	return units
}

// runs splits nodes into blocks and runs of others, without runs of white space.
func runs(nodes []*node) func(yield func([]*node) bool) {
	return func(yield func([]*node) bool) {
		for i := 0; i < len(nodes); {
			end := i + 1
			for !isBlock(nodes[i]) && end < len(nodes) && !isBlock(nodes[end]) {
				end++
			}
			if run := nodes[i:end]; !isSpace(run) && !yield(run) {
				return
			}
			i = end
		}
	}
}

func isSpace(nodes []*node) bool {
	return len(nodes) == 1 && nodes[0].kind == html.TextToken && strings.Trim(nodes[0].data, " \t\n") == ""
}

func isBlock(n *node) bool { return n.kind == html.StartTagToken && n.data != "br" && edges[n.data] }

// grouping are the elements whose tags may stand between blocks of Markdown.
var grouping = set("address article aside blockquote details div figure footer header section")

// groups reports whether an element is written as its tags around Markdown: it has blocks that Markdown can say.
func groups(n *node) bool {
	if !grouping[n.data] || keepsSpaces(n.token) || n.plain("blockquote") && onlyBlocks(n) || alertKind(n) != "" {
		return false
	}
	for _, c := range n.children {
		if isBlock(c) && (groups(c) || sayable(c)) {
			return true
		}
	}
	return false
}

// sayable reports whether Markdown may have a form for a block.
func sayable(n *node) bool {
	switch n.data {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		return true
	case "p", "ul", "blockquote", "hr", "pre", "table", "dl":
		return len(n.attrs) == 0
	case "ol":
		return len(n.attrs) == 0 || len(n.attrs) == 1 && n.attrs[0].Key == "start"
	}
	return alertKind(n) != ""
}

// onlyBlocks reports whether an element contains blocks and nothing else.
func onlyBlocks(n *node) bool {
	any := false
	for run := range runs(n.children) {
		if any = true; !isBlock(run[0]) {
			return false
		}
	}
	return any
}

func (u *unit) write(as form) {
	u.form = as
	switch {
	case u.tag != "":
		u.markdown = rawTag(u.tag)
	case as == formLine:
		u.markdown = rawLine(u.nodes)
	case as == formHTML || !isBlock(u.nodes[0]):
		u.markdown = raw(u.nodes)
	default:
		u.markdown = blockWriter{as}.block(u.nodes[0], 0)
	}
}

// joined joins the Markdown of units. HTML next to HTML needs no empty line.
func joined(units []unit) string {
	var b strings.Builder
	for i, u := range units {
		if i > 0 {
			b.WriteString(between(units[i-1].markdown, u.markdown))
		}
		b.WriteString(u.markdown)
	}
	b.WriteByte('\n')
	return strings.TrimLeft(b.String(), "\n")
}

// between returns what separates two blocks of Markdown.
func between(before, after string) string {
	list := func(s string) bool {
		return beginsItem(s) || strings.Contains(s, "\n: ")
	}
	switch {
	case strings.HasPrefix(before, "<") && strings.HasPrefix(after, "<") && !strings.HasPrefix(before, "<http"):
		return "\n"
	case list(before) && (list(after) || strings.HasPrefix(after, " ")):
		return "\n\n<!-- -->\n\n" // otherwise they would be one list
	}
	return "\n\n"
}

func beginsItem(s string) bool {
	digits := strings.TrimLeft(s, "0123456789")
	return strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "---") || len(digits) < len(s) && strings.HasPrefix(digits, ".")
}
