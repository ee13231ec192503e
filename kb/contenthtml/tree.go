package contenthtml

import (
	"strings"

	"github.com/helpwright/helpwright/storage/openelements"
	"golang.org/x/net/html"
)

// node is an element of cleaned HTML with its content, or a text.
type node struct {
	token
	children []*node
}

// treeOf returns the root of the tree of tokens, which are balanced.
func treeOf(tokens []token) *node {
	root := &node{}
	open := []*node{root}
	for _, t := range tokens {
		parent := open[len(open)-1]
		last := len(parent.children) - 1
		switch {
		case t.kind == html.EndTagToken:
			open = open[:len(open)-1]
		case t.kind == html.TextToken && last >= 0 && parent.children[last].kind == html.TextToken:
			parent.children[last].data += t.data
		default:
			n := &node{token: t}
			parent.children = append(parent.children, n)
			if t.kind == html.StartTagToken && !openelements.IsVoid(t.data) {
				open = append(open, n)
			}
		}
	}
	return root
}

// is reports whether the node is an element of a name.
func (n *node) is(name string) bool { return n.kind == html.StartTagToken && n.data == name }

// plain reports whether the node is an element of a name without attributes.
func (n *node) plain(name string) bool { return n.is(name) && len(n.attrs) == 0 }

// text returns the text of the node, without a separator between elements.
func (n *node) text() string {
	if n.kind == html.TextToken {
		return n.data
	}
	var b strings.Builder
	n.addText(&b)
	return b.String()
}

func (n *node) addText(b *strings.Builder) {
	if n.kind == html.TextToken {
		b.WriteString(n.data)
	}
	for _, c := range n.children {
		c.addText(b)
	}
}

// keepsSpaces reports whether white space counts in an element.
func keepsSpaces(t token) bool {
	if t.data == "pre" {
		return true
	}
	style, _ := attrOf(t.attrs, "style")
	return strings.Contains(style, "white-space")
}

// edges are the elements at whose tags a line begins and ends, so that white space beside the tags is not shown.
var edges = set(`address article aside blockquote br caption col colgroup dd details div dl dt figcaption figure footer h1 h2 h3 h4
	h5 h6 header hr li ol p pre section summary table tbody td tfoot th thead tr ul`)

// normal returns cleaned HTML without the white space that browsers do not show: runs of blanks and new lines are one blank,
// and beside the tags of blocks and line breaks there is none, nor a new line after <pre> and before </pre>. Preformatted
// text is otherwise unchanged, and so are elements with a white-space style.
func normal(tokens []token) string {
	var out strings.Builder
	for _, t := range normalTokens(tokens) {
		t.write(&out)
	}
	return out.String()
}

func normalTokens(tokens []token) []token {
	n := normaliser{out: make([]token, 0, len(tokens)), edge: true}
	for i, t := range tokens {
		switch {
		case t.kind != html.TextToken:
			n.tag(t)
		case n.kept > 0:
			n.preformatted(t, i > 0 && tokens[i-1].kind == html.StartTagToken && tokens[i-1].data == "pre")
		default:
			n.text(t)
		}
	}
	n.trim()
	return n.out
}

// normaliser collects the tokens of [normal].
type normaliser struct {
	out   []token
	depth int  // of open elements
	kept  int  // the depth at which kept white space began; 0: it is not kept
	edge  bool // a line begins here
}

// trim removes the blank before an edge.
func (n *normaliser) trim() {
	if last := len(n.out) - 1; last >= 0 && n.out[last].kind == html.TextToken && strings.HasSuffix(n.out[last].data, " ") {
		if n.out[last].data = strings.TrimSuffix(n.out[last].data, " "); n.out[last].data == "" {
			n.out = n.out[:last]
		}
	}
}

func (n *normaliser) preformatted(t token, first bool) {
	if first {
		t.data = strings.TrimPrefix(t.data, "\n")
	}
	if t.data != "" {
		n.out = append(n.out, t)
	}
}

func (n *normaliser) text(t token) {
	t.data = spaces(t.data)
	if n.edge {
		t.data = strings.TrimPrefix(t.data, " ")
	}
	if t.data == "" {
		return
	}
	if last := len(n.out) - 1; last >= 0 && n.out[last].kind == html.TextToken {
		n.out[last].data = spaces(n.out[last].data + t.data)
	} else {
		n.out = append(n.out, t)
	}
	n.edge = false
}

func (n *normaliser) tag(t token) {
	if edges[t.data] && n.kept == 0 {
		n.trim()
	}
	if edges[t.data] || n.kept == 0 {
		n.edge = edges[t.data]
	}
	if t.kind == html.EndTagToken {
		if n.kept == n.depth && n.kept > 0 {
			if n.kept = 0; t.data == "pre" {
				n.out = withoutLastLine(n.out)
			}
		}
		n.depth--
	} else if !openelements.IsVoid(t.data) {
		if n.depth++; n.kept == 0 && keepsSpaces(t) {
			n.kept = n.depth
		}
	}
	n.out = append(n.out, t)
}

// withoutLastLine removes the new line at the end of preformatted text.
func withoutLastLine(out []token) []token {
	last := len(out) - 1
	for last >= 0 && out[last].kind == html.EndTagToken {
		last--
	}
	if last < 0 || out[last].kind != html.TextToken || !strings.HasSuffix(out[last].data, "\n") {
		return out
	}
	if out[last].data = strings.TrimSuffix(out[last].data, "\n"); out[last].data == "" {
		out = append(out[:last], out[last+1:]...)
	}
	return out
}

// spaces replaces runs of blanks and new lines by single blanks.
func spaces(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		if r == ' ' || r == '\n' || r == '\t' {
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
