package contenthtml

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/storage/openelements"
)

// blockWriter writes blocks as Markdown. What it has no form for is HTML.
type blockWriter struct{ form form }

// maxNested is the depth of lists and quotes up to which they are written as Markdown.
const maxNested = 12

func (w blockWriter) block(n *node, depth int) string {
	if depth <= maxNested {
		if text := w.said(n, depth); text != "" {
			return text
		}
	}
	return raw([]*node{n})
}

// said returns a block as Markdown, or "" if there is no form for it.
func (w blockWriter) said(n *node, depth int) string {
	if kind := alertKind(n); kind != "" {
		return quoted("[!" + strings.ToUpper(kind) + "]\n" + w.blocks(n.children[alertTitle(n)+1:], depth+1))
	}
	if openelements.IsHeading(n.data) {
		return w.heading(n)
	}
	if !sayable(n) {
		return ""
	}
	switch n.data {
	case "p":
		return w.paragraph(n)
	case "hr":
		return "---"
	case "pre":
		return fenced(n)
	case "blockquote":
		if onlyBlocks(n) {
			return quoted(w.blocks(n.children, depth+1))
		}
	case "ul", "ol":
		return w.list(n, depth)
	case "table":
		return w.table(n)
	case "dl":
		return w.definitions(n)
	}
	return ""
}

// blocks returns the Markdown of the blocks and loose text among nodes.
func (w blockWriter) blocks(nodes []*node, depth int) string {
	var units []unit
	for run := range runs(nodes) {
		text := ""
		if isBlock(run[0]) {
			text = w.block(run[0], depth)
		} else {
			text = raw(run)
		}
		units = append(units, unit{markdown: text})
	}
	return strings.TrimSuffix(joined(units), "\n")
}

// indented puts a prefix before each line but the first.
func indented(text, prefix string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n", "\n"+prefix), "\n"+prefix+"\n", "\n\n")
}

func quoted(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }

// paragraph returns text, which must not contain blocks.
func (w blockWriter) paragraph(n *node) string {
	if !phrasing(n.children) {
		return ""
	}
	return w.line(n.children, false)
}

// line returns text of a block; flat means that it must be one line.
func (w blockWriter) line(nodes []*node, flat bool) string {
	in := inlineWriter{form: w.form, flat: flat}
	in.nodes(nodes, true)
	return strings.Trim(string(in.out), " \n")
}

// phrasing reports whether nodes contain no blocks and nothing preformatted.
func phrasing(nodes []*node) bool {
	for _, n := range nodes {
		if isBlock(n) || keepsSpaces(n.token) || !phrasing(n.children) {
			return false
		}
	}
	return true
}

func (w blockWriter) heading(n *node) string {
	id, _ := attrOf(n.attrs, "id")
	if len(n.attrs) != 1 || id == "" || !phrasing(n.children) {
		return ""
	}
	text := strings.ReplaceAll(w.line(n.children, true), "{", `\{`)
	if bare := strings.TrimRight(text, "#"); bare != text {
		text = text[:len(text)-1] + `\#`
	}
	text = strings.Repeat("#", int(n.data[1]-'0')) + " " + text
	if slugOf(headingText(n.tokens(), maxSlug)) != id {
		text += " {#" + id + "}"
	}
	return strings.TrimRight(text, " ")
}

// tokens returns the tokens of an element.
func (n *node) tokens() []token {
	out := []token{n.token}
	for _, c := range n.children {
		out = append(out, c.tokens()...)
	}
	if n.data != "" && n.kind == startTag && !openelements.IsVoid(n.data) {
		out = append(out, token{kind: endTag, data: n.data})
	}
	return out
}

// fenced returns <pre><code> with a language or without as a fenced block.
func fenced(n *node) string {
	if len(n.children) != 1 || !n.children[0].is("code") {
		return ""
	}
	code, language := n.children[0], ""
	if len(code.attrs) > 0 {
		class, _ := strings.CutPrefix(code.attrs[0].Val, "language-")
		if language = class; len(code.attrs) > 1 || code.attrs[0].Key != "class" || class == code.attrs[0].Val || class == "" {
			return ""
		}
	}
	for _, c := range code.children {
		if c.kind != textToken {
			return ""
		}
	}
	fence := "```"
	text := code.text()
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fence + language + "\n" + text + fence
}

func (w blockWriter) list(n *node, depth int) string {
	number := 1
	if start, ok := attrOf(n.attrs, "start"); ok {
		var err error
		if number, err = strconv.Atoi(start); err != nil || number < 0 || number == 1 {
			return ""
		}
	}
	var items []*node
	for run := range runs(n.children) {
		if len(run) != 1 || !run[0].plain("li") {
			return ""
		}
		items = append(items, run[0])
	}
	loose := false
	for _, item := range items {
		for _, c := range item.children {
			loose = loose || c.is("p")
		}
	}
	var b strings.Builder
	for i, item := range items {
		mark := "- "
		if n.data == "ol" {
			mark = strconv.Itoa(number+i) + ". "
		}
		text, ok := w.item(item, loose, depth)
		if !ok {
			return ""
		}
		if i > 0 && loose {
			b.WriteByte('\n')
		}
		b.WriteString(strings.TrimRight(mark+indented(text, strings.Repeat(" ", len(mark))), " ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// item returns the content of an item of a list; in a tight one, its text is no paragraph.
func (w blockWriter) item(n *node, loose bool, depth int) (text string, ok bool) {
	var parts []string
	for run := range runs(n.children) {
		switch {
		case isBlock(run[0]):
			parts = append(parts, w.block(run[0], depth+1))
		case loose || len(parts) > 0 || !phrasing(run):
			return "", false
		default:
			parts = append(parts, w.line(run, false))
		}
	}
	if loose {
		return w.blocks(n.children, depth+1), true
	}
	return strings.Join(parts, "\n"), true
}

func (w blockWriter) table(n *node) string {
	var rows []*node
	for run := range runs(n.children) {
		part := run[0]
		if len(run) != 1 || !part.plain("thead") && !part.plain("tbody") || part.is("thead") != (len(rows) == 0) {
			return ""
		}
		before := len(rows)
		for row := range runs(part.children) {
			if len(row) != 1 || !row[0].plain("tr") {
				return ""
			}
			rows = append(rows, row[0])
		}
		if part.is("thead") && len(rows) != before+1 {
			return ""
		}
	}
	var b strings.Builder
	var columns []string
	for i, row := range rows {
		cells, bars, ok := w.row(row, i == 0)
		if i == 0 {
			columns = bars
		}
		if !ok || len(cells) != len(columns) || len(cells) == 0 || strings.Join(bars, "|") != strings.Join(columns, "|") {
			return ""
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if i == 0 {
			b.WriteString("| " + strings.Join(bars, " | ") + " |\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// row returns the cells of a row, and what says their alignment.
func (w blockWriter) row(n *node, head bool) (cells, bars []string, ok bool) {
	for run := range runs(n.children) {
		cell, bar := run[0], "---"
		if len(run) != 1 || head && !cell.is("th") || !head && !cell.is("td") || !phrasing(cell.children) {
			return nil, nil, false
		}
		if len(cell.attrs) > 0 {
			if bar = alignments[cell.attrs[0].Val]; len(cell.attrs) > 1 || cell.attrs[0].Key != "style" || bar == "" {
				return nil, nil, false
			}
		}
		cells, bars = append(cells, strings.ReplaceAll(w.line(cell.children, true), "|", `\|`)), append(bars, bar)
	}
	return cells, bars, true
}

var alignments = map[string]string{"text-align: left": ":--", "text-align: right": "--:", "text-align: center": ":-:"}

func (w blockWriter) definitions(n *node) string {
	var b strings.Builder
	last := ""
	for run := range runs(n.children) {
		part := run[0]
		if len(run) != 1 || !part.plain("dt") && !part.plain("dd") || !phrasing(part.children) || last == "" && part.is("dd") {
			return ""
		}
		text := w.line(part.children, true)
		if text == "" {
			return ""
		}
		switch {
		case part.is("dd"):
			b.WriteString(": ")
		case last == "dd":
			b.WriteByte('\n')
		}
		b.WriteString(text + "\n")
		last = part.data
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// alertKind returns the kind of an alert as Markdown's are converted, "" for other elements.
func alertKind(n *node) string {
	if !n.is("div") || len(n.attrs) != 1 {
		return ""
	}
	kind, ok := strings.CutPrefix(n.attrs[0].Val, "markdown-alert markdown-alert-")
	at := alertTitle(n)
	if !ok || n.attrs[0].Key != "class" || alerts[kind] == "" || at < 0 {
		return ""
	}
	title := n.children[at]
	class, _ := attrOf(title.attrs, "class")
	rest := &node{children: n.children[at+1:]}
	if title.is("p") && len(title.attrs) == 1 && class == "markdown-alert-title" && title.text() == alerts[kind] && onlyBlocks(rest) {
		return kind
	}
	return ""
}

// alertTitle returns the position of the first child that is not white space, or -1.
func alertTitle(n *node) int {
	for i, c := range n.children {
		if !isSpace([]*node{c}) {
			return i
		}
	}
	return -1
}

// opening matches the start of a line that Markdown would read as a block.
var opening = regexp.MustCompile(`^ *(?:[-+>=:|~]|#{1,6}(?:\s|$)|[0-9]{1,9}[.)])`)
