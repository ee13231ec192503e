package contenthtml

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// ToMarkdown converts cleaned HTML to Markdown. Elements without an equivalent in Markdown become their text.
func ToMarkdown(content string) string {
	root, err := html.Parse(strings.NewReader(content))
	if err != nil {
		return Text(content)
	}
	w := &markdowner{}
	w.block(root, 0)
	return strings.TrimSpace(w.out.String()) + "\n"
}

type markdowner struct {
	out    strings.Builder
	indent string // of each line
	gap    bool   // an empty line is due
	fresh  bool   // the line has its indent already
}

// maxDepth bounds the recursion.
const maxDepth = 200

func (w *markdowner) line(text string) {
	if w.gap && w.out.Len() > 0 && !w.fresh {
		w.out.WriteString(strings.TrimRight(w.indent, " ") + "\n")
	}
	w.gap = false
	for i, l := range strings.Split(text, "\n") {
		if i > 0 || !w.fresh {
			w.out.WriteString(w.indent)
		}
		w.fresh = false
		w.out.WriteString(l + "\n")
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// lineElements are the elements that start a new line.
var lineElements = func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq("address article aside blockquote body dd details div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 head header hr html li ol p pre section summary table ul") {
		all[name] = true
	}
	return all
}()

// block writes the children of a node; text between blocks becomes a paragraph.
func (w *markdowner) block(n *html.Node, depth int) {
	if depth > maxDepth {
		return
	}
	var words strings.Builder
	flush := func() {
		if text := strings.TrimSpace(words.String()); text != "" {
			w.line(plainParagraph(text))
			w.gap = true
		}
		words.Reset()
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || !lineElements[c.Data] {
			inline(&words, c, depth)
			continue
		}
		flush()
		w.element(c, depth)
		w.gap = true
	}
	flush()
}

func (w *markdowner) element(c *html.Node, depth int) {
	text := func() string {
		var b strings.Builder
		for k := c.FirstChild; k != nil; k = k.NextSibling {
			inline(&b, k, depth)
		}
		return strings.TrimSpace(b.String())
	}
	switch c.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.line(strings.Repeat("#", int(c.Data[1]-'0')) + " " + strings.NewReplacer("\n", " ", "{", `\{`).Replace(text()))
	case "pre":
		fence := "```"
		code := strings.TrimRight(plainText(c, depth), "\n")
		for strings.Contains(code, fence) {
			fence += "`"
		}
		w.line(fence + codeLanguage(c) + "\n" + code + "\n" + fence)
	case "hr":
		w.line("---")
	case "blockquote":
		before := w.indent
		w.indent += "> "
		w.block(c, depth+1)
		w.indent = before
	case "ul", "ol":
		w.list(c, depth)
	case "table":
		w.table(c, depth)
	case "dt":
		w.line("**" + text() + "**")
	default:
		w.block(c, depth+1)
	}
}

func (w *markdowner) list(n *html.Node, depth int) {
	number := 1
	if start, err := strconv.Atoi(attr(n, "start")); err == nil {
		number = start
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode && strings.TrimSpace(c.Data) == "" {
			continue
		}
		mark := "- "
		if n.Data == "ol" {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		before := w.indent
		if w.gap && w.out.Len() > 0 {
			w.out.WriteString(strings.TrimRight(before, " ") + "\n")
		}
		w.gap = false
		if !w.fresh { // a list at the start of an item shares its line
			w.out.WriteString(before)
		}
		w.out.WriteString(mark)
		w.indent, w.fresh = before+strings.Repeat(" ", len(mark)), true
		if c.Type == html.ElementNode && c.Data == "li" {
			w.block(c, depth+1)
		} else { // a child of a list that is not an item
			w.block(&html.Node{Type: html.ElementNode, Data: "li", FirstChild: lone(c)}, depth+1)
		}
		if w.fresh { // it is empty
			w.out.WriteString("\n")
		}
		w.indent, w.fresh, w.gap = before, false, false
	}
}

// table writes the rows of a table. Cells in Markdown contain no blocks.
func (w *markdowner) table(n *html.Node, depth int) {
	var rows [][]string
	var walk func(*html.Node, int)
	walk = func(n *html.Node, depth int) {
		if depth > maxDepth {
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Data != "tr" {
				walk(c, depth+1)
				continue
			}
			var cells []string
			for d := c.FirstChild; d != nil; d = d.NextSibling {
				if d.Data == "td" || d.Data == "th" {
					var b strings.Builder
					inline(&b, d, depth)
					cells = append(cells, strings.ReplaceAll(strings.Join(strings.Fields(b.String()), " "), "|", "\\|"))
				}
			}
			rows = append(rows, cells)
		}
	}
	walk(n, depth)
	for i, cells := range rows {
		w.line("| " + strings.Join(cells, " | ") + " |")
		if i == 0 {
			w.line("|" + strings.Repeat(" --- |", max(1, len(cells))))
		}
	}
}

// inline writes text and inline elements.
func inline(b *strings.Builder, n *html.Node, depth int) {
	if depth > maxDepth {
		return
	}
	if n.Type == html.TextNode {
		b.WriteString(escaped(spaces(n.Data)))
		return
	}
	if n.Type != html.ElementNode {
		return
	}
	inside := func() string {
		var in strings.Builder
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			inline(&in, c, depth+1)
		}
		return in.String()
	}
	around := func(mark string) {
		text := inside()
		if trimmed := strings.TrimSpace(text); trimmed != "" {
			b.WriteString(strings.Replace(text, trimmed, mark+trimmed+mark, 1))
		}
	}
	switch n.Data {
	case "strong", "b":
		around("**")
	case "em", "i":
		around("*")
	case "del", "s", "strike":
		around("~~")
	case "code", "samp", "kbd":
		b.WriteString("`" + strings.NewReplacer("`", "'", "\n", " ").Replace(plainText(n, depth)) + "`")
	case "br":
		b.WriteString("  \n")
	case "img":
		b.WriteString("![" + escaped(attr(n, "alt")) + "](" + address(attr(n, "src")) + ")")
	case "a":
		if to := attr(n, "href"); to != "" {
			if text := strings.Join(strings.Fields(inside()), " "); text != "" {
				b.WriteString("[" + text + "](" + address(to) + ")")
			}
			return
		}
		b.WriteString(inside())
	case "input":
		box := "[ ] "
		for _, a := range n.Attr {
			if a.Key == "checked" {
				box = "[x] "
			}
		}
		b.WriteString(box)
	case "iframe", "video", "audio":
		if src := attr(n, "src"); src != "" {
			b.WriteString("<" + src + ">")
		}
	case "script", "style":
	default:
		b.WriteString(inside())
		if lineElements[n.Data] {
			b.WriteByte(' ')
		}
	}
}

// lone returns a node without its siblings.
func lone(n *html.Node) *html.Node {
	own := *n
	own.NextSibling = nil
	return &own
}

var escaper = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`, "~~", `\~\~`)

// entity matches text that Markdown would read as a character reference.
var entity = regexp.MustCompile(`&(#?[A-Za-z0-9]+;)`)

// escaped escapes text so that Markdown shows it unchanged.
func escaped(text string) string {
	return entity.ReplaceAllString(escaper.Replace(text), `\&$1`)
}

// opening matches the start of a line that Markdown would read as a block.
var opening = regexp.MustCompile(`(?m)^[ \t]*(?:[-+>=:|~]|#{1,6}(?:\s|$)|[0-9]{1,9}[.)])`)

// plainParagraph escapes text so that no line begins a heading, a list or another block.
func plainParagraph(text string) string {
	return opening.ReplaceAllStringFunc(text, func(begin string) string {
		at := strings.IndexAny(begin, "-+>=:|~#.)")
		return begin[:at] + `\` + begin[at:]
	})
}

// spaces replaces all white space by single spaces.
func spaces(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		if r == ' ' || r == '\n' || r == '\t' || r == '\r' {
			gap = true
			continue
		}
		if gap {
			b.WriteByte(' ')
		}
		gap = false
		b.WriteRune(r)
	}
	if gap {
		b.WriteByte(' ')
	}
	return b.String()
}

func address(s string) string {
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E").Replace(s)
}

func plainText(n *html.Node, depth int) string {
	if depth > maxDepth {
		return ""
	}
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(plainText(c, depth+1))
	}
	return b.String()
}

// codeLanguage returns the language of a code block.
func codeLanguage(n *html.Node) string {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		for class := range strings.FieldsSeq(attr(c, "class")) {
			if name, ok := strings.CutPrefix(class, "language-"); ok {
				return name
			}
		}
	}
	return ""
}
