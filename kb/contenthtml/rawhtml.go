package contenthtml

import (
	"strings"

	"github.com/helpwright/helpwright/storage/openelements"
	"golang.org/x/net/html"
)

// rawWriter writes HTML that Markdown leaves alone: without empty lines, and without signs that would begin code, links or
// link definitions where the Markdown is only scanned, as [MapMarkdownAddresses] does.
type rawWriter struct {
	out  strings.Builder
	line bool // all in one line
}

// raw returns a block as HTML.
func raw(nodes []*node) string {
	if !isBlock(nodes[0]) && !(len(nodes) == 1 && nodes[0].is("iframe")) {
		return rawLine(nodes)
	}
	w := rawWriter{}
	w.nodes(nodes, false)
	return strings.Trim(w.out.String(), " ")
}

// rawLine returns HTML in one line. It begins with a comment, so that all of the line is HTML.
func rawLine(nodes []*node) string {
	w := rawWriter{line: true}
	w.out.WriteString("<!-- -->")
	w.nodes(nodes, false)
	return w.out.String()
}

// rawTag returns the tag of a block as HTML.
func rawTag(tag string) string { return rawAttr.Replace(tag) }

var (
	rawAttr = strings.NewReplacer("\n", "&#10;", "`", "&#96;")
	rawText = strings.NewReplacer("`", "&#96;", "](", "&#93;(")
)

func (w *rawWriter) nodes(nodes []*node, kept bool) {
	for _, n := range nodes {
		w.node(n, kept)
	}
}

func (w *rawWriter) node(n *node, kept bool) {
	if n.kind == html.TextToken {
		w.text(n.data, kept)
		return
	}
	var tag strings.Builder
	n.write(&tag)
	w.out.WriteString(rawTag(tag.String()))
	if openelements.IsVoid(n.data) {
		return
	}
	kept = kept || keepsSpaces(n.token)
	spread := !w.line && !kept && onlyBlocks(n)
	for i, c := range n.children {
		if spread && !isBlock(c) {
			continue // white space
		}
		if spread {
			w.out.WriteByte('\n')
		}
		if i == 0 && n.data == "pre" && strings.HasPrefix(c.data, "\n") && c.kind == html.TextToken {
			w.out.WriteString("&#10;")
			w.text(c.data[1:], true)
			continue
		}
		w.node(c, kept)
	}
	if spread {
		w.out.WriteByte('\n')
	}
	w.out.WriteString("</" + n.data + ">")
}

func (w *rawWriter) text(text string, kept bool) {
	if !kept {
		w.out.WriteString(rawText.Replace(escapeText(spaces(text))))
		return
	}
	for i, line := range strings.Split(text, "\n") {
		if i > 0 && (w.line || strings.TrimSpace(line) == "" || strings.HasSuffix(w.out.String(), "\n")) {
			w.out.WriteString("&#10;")
		} else if i > 0 {
			w.out.WriteByte('\n')
		}
		line = rawText.Replace(escapeText(line))
		if bare := strings.TrimLeft(line, " \t"); i > 0 && bare != "" {
			switch bare[0] { // what begins a fence or a definition, and an indent
			case '~':
				line = line[:len(line)-len(bare)] + "&#126;" + bare[1:]
			case '[':
				line = line[:len(line)-len(bare)] + "&#91;" + bare[1:]
			}
		}
		w.out.WriteString(line)
	}
}
