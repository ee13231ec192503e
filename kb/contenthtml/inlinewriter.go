package contenthtml

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/openelements"
	"golang.org/x/net/html"
)

const (
	startTag  = html.StartTagToken
	endTag    = html.EndTagToken
	textToken = html.TextToken
)

// inlineWriter writes the text of a block as Markdown. What it has no form for is a tag of HTML.
type inlineWriter struct {
	form form
	flat bool // the block is one line, as headings and cells are
	out  []byte
}

// marks are the elements that Markdown marks.
var marks = map[string]string{"strong": "**", "em": "*", "del": "~~"}

// nodes writes nodes in turn; last means that nothing of the block follows.
func (w *inlineWriter) nodes(nodes []*node, last bool) {
	for i, n := range nodes {
		var next *node
		if i+1 < len(nodes) {
			next = nodes[i+1]
		}
		w.node(n, next, last && next == nil)
	}
}

func (w *inlineWriter) node(n, next *node, last bool) {
	if n.kind == textToken {
		w.text(n.data)
		return
	}
	if len(n.attrs) == 0 && w.plainElement(n, next, last) || w.task(n, next) || w.form < formTags && (w.link(n) || w.image(n)) {
		return
	}
	var tag strings.Builder
	n.write(&tag)
	w.out = append(w.out, rawTag(tag.String())...)
	if openelements.IsVoid(n.data) {
		return
	}
	w.nodes(n.children, false)
	w.out = append(w.out, "</"+n.data+">"...)
}

// plainElement writes an element without attributes as Markdown, if there is a form for it.
func (w *inlineWriter) plainElement(n, next *node, last bool) bool {
	if mark := marks[n.data]; mark != "" && w.form < formTags && w.emphasis(n, next, last, mark) {
		return true
	}
	if n.data == "br" && !w.flat && w.form == formMarkdown && len(w.out) > 0 && !last && (next == nil || !next.is("br")) {
		w.out = append(w.out, "  \n"...)
		return true
	}
	return n.data == "code" && w.form < formTags && w.code(n)
}

// task writes the box of a task at the beginning of a list item.
func (w *inlineWriter) task(n, next *node) bool {
	if n.data != "input" || w.flat || len(w.out) > 0 || next == nil || next.kind != textToken || !strings.HasPrefix(next.data, " ") {
		return false
	}
	box := "[ ]"
	if _, checked := attrOf(n.attrs, "checked"); checked {
		box = "[x]"
	}
	w.out = append(w.out, box...)
	return true
}

// inside returns the Markdown of the content of an element.
func (w *inlineWriter) inside(n *node) string {
	in := inlineWriter{form: w.form, flat: w.flat, out: []byte("x")} // not at the start of a line
	in.nodes(n.children, false)
	return string(in.out[1:])
}

// emphasis writes an element between marks, if they are read as such.
func (w *inlineWriter) emphasis(n, next *node, last bool, mark string) bool {
	text := w.inside(n)
	if text == "" || strings.Trim(text, " \n") != text {
		return false
	}
	if w.form == formCareful && !w.separate(text, next, last) {
		return false
	}
	if mark == "*" && (text[0] == '*' || text[len(text)-1] == '*' || len(w.out) > 0 && w.out[len(w.out)-1] == '*') {
		mark = "_"
	}
	if mark == "**" && (text[0] == '*' || text[len(text)-1] == '*') {
		text = swapped(text)
	}
	w.out = append(w.out, mark+text+mark...)
	return true
}

// swapped returns emphasis with the other mark: _a_ for *a*.
func swapped(text string) string {
	inner, ok := strings.CutPrefix(text, "*")
	if inner, ok2 := strings.CutSuffix(inner, "*"); ok && ok2 && !strings.Contains(inner, "*") {
		return "_" + inner + "_"
	}
	return text
}

// separate reports whether an emphasised text is words between blanks or punctuation.
func (w *inlineWriter) separate(text string, next *node, last bool) bool {
	first, _ := utf8.DecodeRuneInString(text)
	end, _ := utf8.DecodeLastRuneInString(text)
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	if !word(first) || !word(end) {
		return false
	}
	if len(w.out) > 0 && !strings.ContainsRune(" \n", rune(w.out[len(w.out)-1])) {
		return false
	}
	return last || next != nil && next.kind == textToken && strings.ContainsRune(" \n\t.,;:!?", rune(next.data[0]))
}

// code writes a code span (CommonMark 0.31 section 6.1).
func (w *inlineWriter) code(n *node) bool {
	for _, c := range n.children {
		if c.kind != textToken {
			return false
		}
	}
	text := strings.ReplaceAll(n.text(), "\n", " ")
	if strings.Trim(text, " ") == "" || w.flat && strings.Contains(text, `\|`) {
		return false
	}
	fence := "`"
	for runs := backticks.FindAllString(text, -1); contains(runs, fence); {
		fence += "`"
	}
	if text[0] == '`' || text[len(text)-1] == '`' || text[0] == ' ' && text[len(text)-1] == ' ' {
		text = " " + text + " "
	}
	if len(w.out) > 0 && w.out[len(w.out)-1] == '`' {
		return false
	}
	w.out = append(w.out, fence+text+fence...)
	return true
}

var backticks = regexp.MustCompile("`+")

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

// target returns the address and the title of an element as in a link, if it has no other attributes.
func target(n *node, names ...string) (string, bool) {
	address, title := "", ""
	for i, a := range n.attrs {
		switch {
		case i < len(names) && a.Key == names[i]:
			if i == 0 {
				address = a.Val
			}
		case i == len(names) && a.Key == "title" && a.Val != "" && !strings.Contains(a.Val, "\n"):
			title = ` "` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "`", "\\`", "&", "&amp;").Replace(a.Val) + `"`
		default:
			return "", false
		}
	}
	if address == "" || len(n.attrs) < len(names) {
		return "", false
	}
	return "(" + address2markdown.Replace(address) + title + ")", true
}

// address2markdown escapes what would end an address in Markdown, or is a character reference.
var address2markdown = strings.NewReplacer(" ", "%20", "(", `\(`, ")", `\)`, "<", `\<`, ">", `\>`, `\`, `\\`, "&", "&amp;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`)

func (w *inlineWriter) link(n *node) bool {
	if !n.is("a") {
		return false
	}
	to, ok := target(n, "href")
	if !ok || len(n.children) == 0 {
		return false
	}
	href := n.attrs[0].Val
	if len(n.attrs) == 1 && n.text() == href && len(n.children) == 1 && (strings.HasPrefix(href, "http://") || strings.HasPrefix(href, "https://")) &&
		!strings.ContainsAny(href, "<> `") {
		w.out = append(w.out, "<"+href+">"...)
		return true
	}
	text := w.inside(n)
	if strings.Trim(text, " ") != text || text == "" {
		return false
	}
	w.bang()
	w.out = append(w.out, "["+text+"]"+to...)
	return true
}

// bang escapes an exclamation mark before a link, which would make it an image.
func (w *inlineWriter) bang() {
	if n := len(w.out); n > 0 && w.out[n-1] == '!' {
		w.out = append(w.out[:n-1], `\!`...)
	}
}

func (w *inlineWriter) image(n *node) bool {
	if !n.is("img") {
		return false
	}
	alt, hasAlt := attrOf(n.attrs, "alt")
	to, ok := target(n, "src", "alt")
	if !ok || !hasAlt || strings.Contains(alt, "\n") {
		return false
	}
	w.out = append(w.out, "!["+escaped(alt)+"]"+to...)
	return true
}

func (w *inlineWriter) text(text string) {
	text = spaces(text)
	if len(w.out) == 0 || w.out[len(w.out)-1] == '\n' {
		begin := opening.FindString(text)
		if at := strings.IndexAny(begin, "-+>=:|~#.)"); at >= 0 && begin[at] != '~' {
			w.out = append(w.out, begin[:at]+`\`+begin[at:at+1]...)
			text = text[at+1:]
		}
	}
	w.out = append(w.out, escaped(text)...)
}

var escaper = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`, "~", `\~`)

var (
	// entity matches text that Markdown would read as a character reference.
	entity = regexp.MustCompile(`&(#?[A-Za-z0-9]+;)`)
	// bare matches text that Markdown would read as the start of an address.
	bare = regexp.MustCompile(`(?i)\b(https?|ftp)(://)|\b(www)(\.)|([a-z0-9])(@[a-z0-9])`)
)

// escaped escapes text so that Markdown shows it unchanged.
func escaped(text string) string {
	text = entity.ReplaceAllString(escaper.Replace(text), `\&$1`)
	return bare.ReplaceAllString(text, `$1$3$5\$2$4$6`)
}
