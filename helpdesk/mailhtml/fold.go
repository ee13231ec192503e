package mailhtml

import (
	"sort"
	"strings"

	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/helpdesk/internal/quote"
	"github.com/helpwright/helpwright/storage/openelements"
)

// Markup that Fold adds around a quoted tail. The summary is the same in every language.
const (
	foldStart = `<details class="quote"><summary>…</summary>`
	foldEnd   = `</details>`
)

// Fold puts the mail quoted at the end of a message into a closed <details class="quote">. It recognises the marks of common
// mailers (blockquotes, gmail_quote, moz-cite-prefix, yahoo_quoted, Outlook's header block) and the lines with which they
// introduce a quote, and removes nothing: without the two added tags the result is s. New text stays visible, between quotes
// and below them. reply means that the message answers another one: in others "From:" and "Date:" may be a form that
// somebody filled in, and are a quote only with an address.
//
// It returns s unchanged if there is no such tail, if nothing else would remain, or if s is not balanced as [Clean] leaves
// it.
func Fold(s string, reply bool) string {
	d := readLines(s)
	if d == nil {
		return s
	}
	from, to, ok := d.region(quote.Find(d.texts(), quote.Message{Reply: reply}))
	if !ok {
		return s
	}
	return s[:from] + foldStart + s[from:to] + foldEnd + s[to:]
}

// Unquoted returns s without the mail quoted at its end, which [Fold] would put into the <details>. reply is as in Fold.
func Unquoted(s string, reply bool) string {
	d := readLines(s)
	if d == nil {
		return s
	}
	from, to, ok := d.region(quote.Find(d.texts(), quote.Message{Reply: reply}))
	if !ok {
		return s
	}
	return s[:from] + s[to:]
}

// Preview returns the first n runes (140 if n is 0 or less) of the message's text, on one line, without quotes unless there
// is nothing else. reply is as in [Fold].
func Preview(s string, n int, reply bool) string {
	if n <= 0 {
		n = 140
	}
	line := ""
	if d := readLines(s); d != nil {
		var words []string
		size := 0
		for i, kind := range quote.Find(d.texts(), quote.Message{Reply: reply}).Kinds {
			if kind == quote.New && size < 4*n {
				text := strings.Fields(strings.ReplaceAll(string(d.lines[i].text), image, " "))
				words, size = append(words, text...), size+len(text)+len(d.lines[i].text)
			}
		}
		line = cutRunes(strings.Join(words, " "), n)
	}
	if line == "" {
		line = oneLine(s, n)
	}
	return line
}

func oneLine(s string, n int) string {
	w := &textWriter{limit: n*4 + 4096, flat: true}
	w.run(s)
	return cutRunes(strings.Join(strings.Fields(w.result()), " "), n)
}

// image represents an image in the text of a line, so that the line is not empty.
const image = "\uFFFC"

// cutRunes returns the first n runes of a line.
func cutRunes(line string, n int) string {
	runes := 0
	for i := range line {
		if runes == n {
			return strings.TrimRight(line[:i], " ")
		}
		runes++
	}
	return line
}

// boxes contain a quote, intros the line that introduces it, and openers the header of the mail that follows.
var (
	boxes  = []string{"gmail_quote", "yahoo_quoted", "protonmail_quote", "tutanota_quote", "zmail_extra"}
	intros = []string{"moz-cite-prefix", "gmail_attr", "reply-intro"}
	// Outlook inserts an empty "appendonsend" where it appends a mail; it opens nothing.
	openers = []string{"divrplyfwdmsg", "outlookmessageheader", "moz-forward-container", "isforwardcontent",
		"isreplycontent", "ms-outlook-mobile-reference-message", "mail-editor-reference-message-container"}
)

// document is a message as lines, with their positions in its source.
type document struct {
	src   string
	els   []element // els[0] is the document
	lines []docLine
	seen  []int // offsets of visible texts and images, in order
}

type element struct {
	tag                          string
	parent                       int
	start, inner, innerEnd, stop int
	quoted                       quote.Quoted
	box, intro                   bool
	opens, hidden, pre           bool
	answered                     bool // for a box: a quoting element has ended in it
}

// docLine is a line with its start and end.
type docLine struct {
	text            []byte
	rule, opens     bool
	intro, starts   bool
	quoted          quote.Quoted
	box             int
	start, end      int // offsets; the start of an empty line is its position
	parent, endedIn int // elements
}

// texts returns the lines for package quote.
func (d *document) texts() []quote.Line {
	out := make([]quote.Line, len(d.lines))
	for i := range d.lines {
		l := &d.lines[i]
		out[i] = quote.Line{Text: string(l.text), Quoted: l.quoted, Box: l.box, Intro: l.intro, Opens: l.opens, Rule: l.rule, Starts: l.starts}
		if l.quoted == quote.No {
			if signed := quote.LineOf(out[i].Text); signed.Quoted != quote.No {
				out[i].Text, out[i].Quoted = signed.Text, signed.Quoted
			}
		}
	}
	return out
}

// lineReader parses the tags of a document once.
type lineReader struct {
	document
	open    []int
	line    *docLine // the current line; nil between lines
	broken  bool     // the tags are not balanced
	boxes   []int
	quotes  int // open quoting elements
	indents int
	intros  int
	hidden  int
	pre     int
	opens   bool // the next line is the first of an opener
	starts  bool // the next line is the first of a block
}

const maxLineText = 1000 // maximum bytes kept of a line

// readLines returns nil for a document that is too large, not balanced, or folded already.
func readLines(s string) *document {
	if len(s) > MaxInput || strings.Contains(s, foldStart) {
		return nil
	}
	r := &lineReader{document: document{src: s, els: []element{{parent: -1, innerEnd: len(s), stop: len(s)}}}, open: []int{0}}
	z := html.NewTokenizer(strings.NewReader(s))
	pos := 0
	for !r.broken {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		at := pos
		pos += len(z.Raw())
		switch kind {
		case html.TextToken:
			r.read(string(z.Text()), at, pos)
		case html.StartTagToken, html.SelfClosingTagToken:
			r.start(z.Token(), at, pos)
		case html.EndTagToken:
			name, _ := z.TagName()
			r.end(string(name), at, pos)
		}
	}
	r.finishLine()
	if r.broken || len(r.open) != 1 || pos != len(s) {
		return nil
	}
	return &r.document
}

func (r *lineReader) read(text string, at, end int) {
	if r.hidden > 0 {
		return
	}
	if r.pre == 0 {
		r.write(text, at, end)
		return
	}
	// Offsets inside preformatted text are offsets in its source, where a reference is longer than its character: lines are
	// split where both agree.
	raw := r.src[at:end]
	if strings.Count(raw, "\n") != strings.Count(text, "\n") {
		r.write(text, at, end)
		return
	}
	for {
		line, rest, more := strings.Cut(text, "\n")
		rawLine, rawRest, _ := strings.Cut(raw, "\n")
		r.write(line, at, at+len(rawLine))
		if !more {
			return
		}
		r.lineBreak(at + len(rawLine))
		at += len(rawLine) + 1
		text, raw = rest, rawRest
	}
}

// write adds a text to the line.
func (r *lineReader) write(text string, at, end int) {
	at += leadingSpace(r.src[at:end])
	if strings.TrimSpace(strings.ReplaceAll(text, "\u00A0", " ")) == "" {
		if r.line != nil && len(r.line.text) < maxLineText {
			r.line.text = append(r.line.text, ' ')
		}
		return
	}
	l := r.startLine(at)
	if len(l.text) < maxLineText {
		l.text = append(l.text, strings.Map(flatSpace, text[:min(len(text), 2*maxLineText)])...)
	}
	r.see(at, end)
}

func flatSpace(c rune) rune {
	if c == '\n' || c == '\r' || c == '\t' || c == '\f' {
		return ' '
	}
	return c
}

func (r *lineReader) see(at, end int) {
	r.seen = append(r.seen, at)
	r.line.end, r.line.endedIn = end, r.open[len(r.open)-1]
}

// startLine starts a line if there is none.
func (r *lineReader) startLine(at int) *docLine {
	if r.line != nil {
		return r.line
	}
	parent := r.open[len(r.open)-1]
	r.lines = append(r.lines, docLine{start: at, end: at, parent: parent, endedIn: parent, opens: r.opens, intro: r.intros > 0, starts: r.starts})
	r.line, r.opens, r.starts = &r.lines[len(r.lines)-1], false, false
	switch {
	case r.quotes > 0:
		r.line.quoted = quote.Yes
	case r.indents > 0:
		r.line.quoted = quote.Indented
	}
	if n := len(r.boxes); n > 0 && !r.els[r.boxes[n-1]].answered {
		r.line.box = r.boxes[0]
	}
	return r.line
}

func (r *lineReader) finishLine() { r.line = nil }

// lineBreak ends a line, or adds an empty one.
func (r *lineReader) lineBreak(at int) {
	if r.line == nil {
		r.startLine(at)
	}
	r.finishLine()
}

func leadingSpace(s string) int { return len(s) - len(strings.TrimLeft(s, " \t\r\n")) }

var inline = map[string]bool{"a": true, "b": true, "i": true, "u": true, "span": true, "font": true, "strong": true, "em": true, "img": true,
	"small": true, "big": true, "code": true, "sub": true, "sup": true, "abbr": true, "wbr": true, "bdi": true, "bdo": true, "s": true, "mark": true,
	"strike": true, "del": true, "ins": true, "tt": true, "kbd": true, "samp": true, "var": true, "cite": true, "q": true, "time": true, "dfn": true}

func (r *lineReader) start(t html.Token, at, inner int) {
	switch t.Data {
	case "br":
		r.lineBreak(at)
		return
	case "hr":
		r.finishLine()
		r.startLine(at).rule = true
		r.line.end = inner
		r.finishLine()
		return
	case "img":
		if r.hidden == 0 {
			l := r.startLine(at)
			l.text = append(l.text, image...)
			r.see(at, inner)
		}
		return
	case "td", "th": // cells of a row are read as one line
		if r.line != nil {
			r.line.text = append(r.line.text, ' ')
		}
	default:
		if !inline[t.Data] {
			r.finishLine()
			r.starts = true
		}
	}
	if openelements.IsVoid(t.Data) {
		return
	}
	e := element{tag: t.Data, parent: r.open[len(r.open)-1], start: at, inner: inner, innerEnd: -1}
	style := strings.ReplaceAll(strings.ToLower(attr(t, "style")), " ", "")
	e.hidden = strings.Contains(style, "display:none")
	e.pre = t.Data == "pre" || strings.Contains(style, "white-space:pre")
	if marks := strings.ToLower(attr(t, "class") + " " + attr(t, "id")); marks != " " {
		e.box, e.intro, e.opens = marked(marks, boxes), marked(marks, intros), marked(marks, openers)
	}
	if t.Data == "blockquote" {
		e.quoted = quotes(t, e.box, style)
		e.box = false
	}
	if e.quoted != quote.No && len(r.boxes) > 0 {
		r.els[r.boxes[len(r.boxes)-1]].answered = false
	}
	r.opens = r.opens || e.opens
	if e.box {
		r.boxes = append(r.boxes, len(r.els))
	}
	r.count(e, 1)
	r.open = append(r.open, len(r.els))
	r.els = append(r.els, e)
}

// quotes rates how certainly a blockquote is a quote: some authors use it for indenting.
func quotes(t html.Token, box bool, style string) quote.Quoted {
	switch {
	case box, strings.EqualFold(attr(t, "type"), "cite"), attr(t, "cite") != "", strings.Contains(style, "border-left:") && !strings.Contains(style, "border-left:none"):
		return quote.Yes
	case strings.Contains(style, "border:none"), strings.Contains(style, "border:0"), strings.Contains(style, "border-width:0"):
		return quote.No
	}
	return quote.Indented
}

func (r *lineReader) count(e element, n int) {
	switch e.quoted {
	case quote.Yes:
		r.quotes += n
	case quote.Indented:
		r.indents += n
	case quote.No:
	}
	if e.intro {
		r.intros += n
	}
	if e.hidden {
		r.hidden += n
	}
	if e.pre {
		r.pre += n
	}
}

func marked(marks string, names []string) bool {
	for _, w := range strings.Fields(marks) {
		w = strings.TrimPrefix(w, "x_")
		for _, n := range names {
			if w == n {
				return true
			}
		}
	}
	return false
}

func (r *lineReader) end(tag string, at, stop int) {
	if !inline[tag] && tag != "td" && tag != "th" {
		r.finishLine()
		r.starts = true
	}
	id := r.open[len(r.open)-1]
	e := &r.els[id]
	if id == 0 || e.tag != tag {
		r.broken = true
		return
	}
	r.open = r.open[:len(r.open)-1]
	e.innerEnd, e.stop = at, stop
	r.count(*e, -1)
	if e.box {
		r.boxes = r.boxes[:len(r.boxes)-1]
	}
	if e.quoted != quote.No && len(r.boxes) > 0 && r.quotes == 0 {
		r.els[r.boxes[len(r.boxes)-1]].answered = true
	}
}

// region returns the part to be wrapped for the lines found. Elements must not be split: if the first lines share one with
// new text, later lines are tried.
func (d *document) region(found quote.Result) (from, to int, ok bool) {
	for i, tries := found.From, 0; i < found.To && tries < 50; i++ {
		if from, to, ok := d.wrap(i, found.To); ok {
			return from, to, d.visible(0, from) > 0
		}
		if len(d.lines[i].text) > 0 {
			tries++
		}
	}
	return 0, 0, false
}

// wrap returns the smallest range of whole elements and texts that begins with line i and ends before line end.
func (d *document) wrap(i, end int) (from, to int, ok bool) {
	first := &d.lines[i]
	last := first
	for n := end - 1; n > i && last == first; n-- { // the last visible one
		if d.lines[n].end > d.lines[n].start && !d.lines[n].rule {
			last = &d.lines[n]
		}
	}
	after := len(d.src) // the next visible one stays outside
	if next := sort.SearchInts(d.seen, last.end); next < len(d.seen) {
		after = d.seen[next]
	}
	from, parent := first.start, first.parent
	for range 500 {
		p := &d.els[parent]
		if last.end <= p.innerEnd && !noFlow[p.tag] {
			to = d.endIn(parent, last)
			if after >= p.innerEnd {
				to = p.innerEnd
			}
			if to >= from && to <= after {
				from, to = d.outermost(parent, from, to)
				return from, to, true
			}
		}
		if parent == 0 || d.visible(p.inner, from) > 0 {
			return 0, 0, false
		}
		from, parent = p.start, p.parent
	}
	return 0, 0, false
}

// outermost extends a range to the outermost element that mailers put around quotes and that contains nothing else.
func (d *document) outermost(parent, from, to int) (int, int) {
	bestFrom, bestTo := from, to
	for e := parent; e > 0; e = d.els[e].parent {
		p := &d.els[e]
		if d.visible(p.inner, from) > 0 || d.visible(to, p.innerEnd) > 0 || noFlow[p.tag] {
			break
		}
		from, to = p.start, p.stop
		if (p.quoted != quote.No || p.box || p.opens || p.intro) && !noFlow[d.els[p.parent].tag] {
			bestFrom, bestTo = from, to
		}
	}
	return bestFrom, bestTo
}

// endIn returns the end of the child of an element in which a line ends.
func (d *document) endIn(parent int, l *docLine) int {
	end := l.end
	for e := l.endedIn; e > 0 && e != parent; e = d.els[e].parent {
		end = d.els[e].stop
	}
	return end
}

var noFlow = map[string]bool{"table": true, "tbody": true, "thead": true, "tfoot": true, "tr": true, "ul": true, "ol": true, "dl": true, "colgroup": true}

// visible counts visible items between two offsets.
func (d *document) visible(from, to int) int {
	if to <= from {
		return 0
	}
	return sort.SearchInts(d.seen, to) - sort.SearchInts(d.seen, from)
}
