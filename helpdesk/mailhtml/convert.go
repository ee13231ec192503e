package mailhtml

import (
	"strings"

	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
	"github.com/helpwright/helpwright/storage/openelements"
)

var (
	// link matches what FromText turns into a link: a web address or an email address.
	link = lazyregexp.New(`(?i)\bhttps?://[^\s<>"'\x60]+|[a-z0-9][a-z0-9._%+-]{0,63}@[a-z0-9][a-z0-9-]{0,62}(\.[a-z0-9][a-z0-9-]{0,62}){1,8}`)
	// reference matches a character reference that only a person who writes HTML types.
	reference = lazyregexp.New(`&(amp|lt|gt|quot|nbsp|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});`)
	tagLike   = lazyregexp.New(`(?i)</?([a-z][a-z0-9]{0,20})(\s[^<>]*)?/?>|<!--|<!doctype`)
)

const maxQuoteDepth = 20 // levels of ">" that become nested quotes

// FromText converts plain text to HTML: escaped, newlines as <br>, web and email addresses as links, lines of ">" as nested
// blockquotes, runs of spaces kept. The result is a fixed point of [Clean].
func FromText(text string) string {
	var b strings.Builder
	depth, first := 0, true
	for line := range strings.Lines(normalText(text)) {
		line = strings.TrimSuffix(line, "\n")
		want, rest := quoteDepth(line)
		if want != depth {
			for ; depth < want; depth++ {
				b.WriteString(`<blockquote type="cite">`)
			}
			for ; depth > want; depth-- {
				b.WriteString("</blockquote>")
			}
		} else if !first {
			b.WriteString("<br>\n")
		}
		first = false
		writeLinked(&b, rest)
	}
	if strings.HasSuffix(text, "\n") && depth == 0 && !first {
		b.WriteString("<br>\n")
	}
	for ; depth > 0; depth-- {
		b.WriteString("</blockquote>")
	}
	return b.String()
}

func normalText(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
}

// quoteDepth counts the ">" at the beginning of a line, and returns the line without them.
func quoteDepth(line string) (depth int, rest string) {
	rest = line
	for depth < maxQuoteDepth && strings.HasPrefix(rest, ">") {
		rest = rest[1:]
		depth++
		if after := strings.TrimPrefix(rest, " "); strings.HasPrefix(after, ">") {
			rest = after
		}
	}
	if depth > 0 {
		rest = strings.TrimPrefix(rest, " ")
	}
	return depth, rest
}

func writeLinked(b *strings.Builder, s string) {
	at := 0
	var links [][]int
	if strings.Contains(s, "@") || strings.Contains(s, "://") { // the search is expensive, and most lines have no link
		links = link().FindAllStringIndex(s, -1)
	}
	for _, m := range links {
		word := s[m[0]:m[1]]
		if strings.Contains(word, "://") {
			word = trimLink(word)
		}
		href := word
		if !strings.Contains(word, "://") {
			href = "mailto:" + word
		}
		if m[0] > 0 && s[m[0]-1] == '@' && href != word {
			continue // a mention, or a name such as @ada@social.example, which is not a mail address
		}
		if _, ok := cleanURL(href, "http", "https", "mailto"); !ok {
			continue
		}
		b.WriteString(spaced(escapeText(s[at:m[0]]), m[0] == 0))
		b.WriteString(`<a href="` + escapeAttr(href) + `" rel="noopener noreferrer nofollow" target="_blank">` + escapeText(word) + "</a>")
		at = m[0] + len(word)
	}
	b.WriteString(spaced(escapeText(s[at:]), at == 0))
}

// trimLink removes the punctuation that ends the sentence rather than the address.
func trimLink(s string) string {
	for {
		t := strings.TrimRight(s, ".,;:!?*_")
		if strings.HasSuffix(t, ")") && strings.Count(t, "(") < strings.Count(t, ")") ||
			strings.HasSuffix(t, "]") && !strings.Contains(t, "[") {
			t = t[:len(t)-1]
		}
		if t == s || len(s)-len(t) > 20 {
			return t
		}
		s = t
	}
}

// spaced keeps runs of spaces and leading ones visible.
func spaced(s string, lineStart bool) string {
	s = strings.ReplaceAll(s, "\t", "    ")
	if lineStart && strings.HasPrefix(s, " ") {
		s = "\u00A0" + s[1:]
	}
	return strings.ReplaceAll(s, "  ", "\u00A0 ")
}

// FromInput converts input typed by an agent or posted by a program to HTML. Text without tags and character references is
// escaped, and its newlines become <br>; a simple line is unchanged byte for byte. Anything else is HTML and is cleaned.
// FromInput is idempotent.
func FromInput(body string) string {
	if looksHTML(body) {
		body = Clean(body)
		if !looksHTML(body) { // only text is left, which must not be treated as typed lines
			body = strings.ReplaceAll(body, "\n", " ")
		}
		return body
	}
	return strings.ReplaceAll(escapeText(normalText(body)), "\n", "<br>\n")
}

func looksHTML(s string) bool {
	if reference().MatchString(s) {
		return true
	}
	if !strings.Contains(s, "<") {
		return false
	}
	for _, m := range tagLike().FindAllStringSubmatch(s, -1) {
		if m[1] == "" {
			return true
		}
		switch name := strings.ToLower(m[1]); name {
		case "html", "head", "body", "script", "style", "meta", "link", "title", "form", "input", "button", "select", "option",
			"textarea", "iframe", "object", "embed", "svg", "math", "video", "audio", "noscript", "template", "base", "label":
			return true
		default:
			if known[name] {
				return true
			}
		}
	}
	return false
}

// MaxText is the number of bytes at which Text stops.
const MaxText = 1 << 20

// Text converts HTML to readable plain text: paragraphs, lists with "- " or numbers, quotes with "> ", links as "text
// <address>" unless the text contains the address. It omits scripts and styles.
func Text(s string) string {
	w := &textWriter{limit: MaxText}
	w.run(s)
	return w.result()
}

// textWriter converts the tokens of an HTML document to text.
type textWriter struct {
	out    strings.Builder
	limit  int
	flat   bool // for previews: words only, no link targets, nothing hidden
	open   []textElement
	quote  int
	pre    int
	hidden int
	breaks int  // newlines to write before the next text
	space  bool // a space to write before the next text
	prefix bool // the current line has its quote signs
}

type textElement struct {
	tag, href string
	ordered   bool
	items     int
	linkAt    int
	quote     bool
	pre       bool
	hidden    bool
}

const maxTextDepth = 300

func (w *textWriter) run(s string) {
	z := html.NewTokenizer(strings.NewReader(s))
	skip := ""
	for w.out.Len() < w.limit {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			if skip == "" && w.hidden == 0 {
				w.text(string(z.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if skip == "" && skipped(t.Data) && t.Type == html.StartTagToken {
				skip = t.Data
			}
			if skip == "" {
				w.start(t)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if tag := string(name); skip != "" {
				if tag == skip {
					skip = ""
				}
			} else {
				w.end(tag)
			}
		}
	}
}

func skipped(tag string) bool {
	switch tag {
	case "script", "style", "title", "template", "iframe", "noembed", "noframes", "object":
		return true
	}
	return false
}

func (w *textWriter) result() string {
	s := strings.ToValidUTF8(w.out.String(), "\uFFFD")
	if len(s) > w.limit {
		s = strings.ToValidUTF8(s[:w.limit], "")
	}
	return strings.TrimRight(s, " \n")
}

func (w *textWriter) text(s string) {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "\u00A0", " ")
	if w.pre > 0 {
		for i, line := range strings.Split(s, "\n") {
			if i > 0 {
				w.br()
			}
			w.write(strings.TrimRight(line, "\r"))
		}
		return
	}
	fields := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == '\f' })
	if len(fields) == 0 {
		w.space = w.space || s != ""
		return
	}
	if strings.ContainsAny(s[:1], " \t\r\n\f") {
		w.space = true
	}
	w.write(strings.Join(fields, " "))
	w.space = strings.ContainsAny(s[len(s)-1:], " \t\r\n\f")
}

// write writes s to the current line, after the pending breaks and space.
func (w *textWriter) write(s string) {
	if s == "" {
		return
	}
	if w.out.Len() == 0 {
		w.breaks = 0
	}
	if w.breaks > 0 {
		for i := range min(w.breaks, 3) {
			if i > 0 && w.quote > 0 {
				w.out.WriteString(strings.TrimRight(w.signs(), " "))
			}
			w.out.WriteByte('\n')
		}
		w.breaks, w.space, w.prefix = 0, false, false
	}
	if !w.prefix {
		w.out.WriteString(w.signs())
		w.prefix, w.space = true, false
	}
	if w.space {
		w.out.WriteByte(' ')
		w.space = false
	}
	w.out.WriteString(s)
}

func (w *textWriter) signs() string {
	if w.flat {
		return ""
	}
	return strings.Repeat("> ", min(w.quote, maxQuoteDepth))
}

// block requests n newlines before the next text.
func (w *textWriter) block(n int) { w.breaks = max(w.breaks, n) }

func (w *textWriter) br() { w.breaks++ }

func (w *textWriter) start(t html.Token) {
	e := textElement{tag: t.Data, linkAt: w.out.Len()}
	style, href, alt := attr(t, "style"), attr(t, "href"), attr(t, "alt")
	w.block(breaks(t.Data))
	switch t.Data {
	case "br":
		w.br()
		return
	case "hr":
		w.block(1)
		if !w.flat {
			w.write("----")
		}
		w.block(1)
		return
	case "img":
		if alt = strings.Join(strings.Fields(alt), " "); alt != "" && !w.flat && w.hidden == 0 {
			w.write("[" + alt[:min(len(alt), 200)] + "]")
		}
		return
	case "td", "th":
		w.space = true
	case "li":
		w.item()
	case "a":
		e.href = href
	}
	e.ordered, e.quote = t.Data == "ol", t.Data == "blockquote"
	e.pre = t.Data == "pre" || strings.Contains(style, "pre-wrap")
	if t.Type == html.SelfClosingTagToken || openelements.IsVoid(t.Data) || len(w.open) >= maxTextDepth {
		return
	}
	e.hidden = w.flat && strings.Contains(strings.ReplaceAll(strings.ToLower(style), " ", ""), "display:none")
	w.count(e, 1)
	w.open = append(w.open, e)
}

func attr(t html.Token, key string) string {
	for _, a := range t.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// breaks returns the newlines around an element.
func breaks(tag string) int {
	switch tag {
	case "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table":
		return 2
	case "div", "tr", "dt", "dd", "section", "article", "header", "footer", "address", "center", "details", "summary",
		"caption", "figure", "blockquote", "pre", "li":
		return 1
	}
	return 0
}

func (w *textWriter) count(e textElement, n int) {
	if e.quote {
		w.quote += n
	}
	if e.pre {
		w.pre += n
	}
	if e.hidden {
		w.hidden += n
	}
}

// item begins a list item below the innermost open list.
func (w *textWriter) item() {
	w.block(1)
	depth, mark := 0, "- "
	for i := len(w.open) - 1; i >= 0; i-- {
		if tag := w.open[i].tag; tag == "ul" || tag == "ol" {
			if depth == 0 && w.open[i].ordered {
				w.open[i].items++
				mark = itoa(w.open[i].items) + ". "
			}
			depth++
		}
	}
	if !w.flat && w.hidden == 0 {
		w.write(strings.Repeat("  ", min(max(depth-1, 0), 10)) + strings.TrimRight(mark, " "))
		w.space = true
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func (w *textWriter) end(tag string) {
	at := -1
	for i := len(w.open) - 1; i >= 0; i-- {
		if w.open[i].tag == tag {
			at = i
			break
		}
	}
	if at < 0 {
		return
	}
	for len(w.open) > at {
		e := w.open[len(w.open)-1]
		w.open = w.open[:len(w.open)-1]
		w.close(e)
		w.count(e, -1)
	}
}

func (w *textWriter) close(e textElement) {
	w.block(breaks(e.tag))
	switch e.tag {
	case "td", "th":
		w.space = true
	case "a":
		w.closeLink(e)
	}
}

func (w *textWriter) closeLink(e textElement) {
	if w.flat || e.href == "" || len(e.href) > 2000 || w.out.Len() == e.linkAt {
		return
	}
	said := strings.TrimSpace(w.out.String()[e.linkAt:])
	bare := strings.TrimPrefix(strings.TrimPrefix(e.href, "mailto:"), "tel:")
	same := func(a string) string {
		a = strings.ToLower(strings.TrimSuffix(a, "/"))
		return strings.TrimPrefix(strings.TrimPrefix(a, "https://"), "http://")
	}
	if said == "" || len(said) < 4096 && same(said) == same(bare) || strings.HasPrefix(e.href, "#") || strings.ContainsAny(e.href, "\n\r\t <>") {
		return
	}
	w.space = true
	w.write("<" + bare + ">")
}
