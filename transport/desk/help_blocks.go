package desk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/kb/contenthtml"
)

// blocksOf splits Markdown into units of translation: paragraphs, headings, whole lists and whole blocks of code.
func blocksOf(source string) []string {
	var out []string
	var now []string
	fence, list := "", false
	flush := func() {
		if text := strings.TrimRight(strings.Join(now, "\n"), " \t\n"); strings.TrimSpace(text) != "" {
			out = append(out, strings.TrimLeft(text, "\n"))
		}
		now, list = nil, false
	}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source), "\n")
	for i, line := range lines {
		bare := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(bare, fence) && strings.Trim(bare, fence[:1]) == "" {
				fence = ""
			}
		case strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~"):
			fence = bare[:len(bare)-len(strings.TrimLeft(bare, bare[:1]))]
		case bare == "":
			if next := following(lines[i+1:]); list && (item(next) || indented(next)) || len(now) > 0 && indented(next) {
				now = append(now, line) // the list or the indented part continues
				continue
			}
			flush()
			continue
		case heading(bare) > 0 && !indented(line):
			flush()
			now = append(now, line)
			flush()
			continue
		case item(line):
			list = true
		}
		now = append(now, line)
	}
	flush()
	return out
}

// following returns the next line that is not empty.
func following(lines []string) string {
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			return line
		}
	}
	return ""
}

func indented(line string) bool {
	return strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
}

// item reports whether a line begins an item of a list.
func item(line string) bool {
	line = strings.TrimLeft(line, " ")
	if len(line) > 1 && strings.ContainsRune("-*+", rune(line[0])) {
		return line[1] == ' ' || line[1] == '\t'
	}
	digits := strings.TrimLeft(line, "0123456789")
	return len(digits) < len(line) && len(line)-len(digits) < 10 && len(digits) > 1 && (digits[0] == '.' || digits[0] == ')') && digits[1] == ' '
}

// heading returns the level of a heading, 0 for other lines.
func heading(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n > 6 || n == 0 || len(line) > n && line[n] != ' ' {
		return 0
	}
	return n
}

// kindOf returns the kind of a block, by which blocks in two languages are matched.
func kindOf(block string) string {
	first, _, _ := strings.Cut(strings.TrimLeft(block, " "), "\n")
	switch n := heading(first); {
	case n > 0:
		return "h" + strings.Repeat("#", n)
	case item(first) && first[0] >= '0' && first[0] <= '9':
		return "ol"
	case item(first):
		return "ul"
	case strings.HasPrefix(first, "```"), strings.HasPrefix(first, "~~~"):
		return "code"
	case strings.HasPrefix(first, "|"):
		return "table"
	case calloutOf(first) != "":
		return "callout-" + calloutOf(first)
	case strings.HasPrefix(first, ">"):
		return "quote"
	case pictures.MatchString(block):
		return "image"
	case strings.HasPrefix(first, "<"):
		return "html"
	}
	return "p"
}

// maxAligned limits the work of aligning two texts: longer ones are paired by position.
const maxAligned = 400

// align pairs the blocks of two texts in order; like returns how much two blocks have in common, and 0 means no pair. Blocks
// without a partner are paired with -1.
func align(a, b []string, like func(a, b string) int) [][2]int {
	if len(a) > maxAligned || len(b) > maxAligned {
		return inTurn(len(a), len(b))
	}
	best := make([][]int, len(a)+1)
	for i := range best {
		best[i] = make([]int, len(b)+1)
	}
	score := make([]int, len(a)*len(b))
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			s := like(a[i], b[j])
			score[i*len(b)+j] = s
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if s > 0 {
				best[i][j] = max(best[i][j], s+best[i+1][j+1])
			}
		}
	}
	var pairs [][2]int
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch s := score[i*len(b)+j]; {
		case s > 0 && best[i][j] == s+best[i+1][j+1]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			pairs = append(pairs, [2]int{i, -1})
			i++
		default:
			pairs = append(pairs, [2]int{-1, j})
			j++
		}
	}
	for ; i < len(a); i++ {
		pairs = append(pairs, [2]int{i, -1})
	}
	for ; j < len(b); j++ {
		pairs = append(pairs, [2]int{-1, j})
	}
	return pairs
}

func inTurn(a, b int) [][2]int {
	var pairs [][2]int
	for i := range max(a, b) {
		pair := [2]int{i, i}
		if i >= a {
			pair[0] = -1
		}
		if i >= b {
			pair[1] = -1
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

// alike returns how much two versions of a text in one language have in common.
func alike(a, b string) int {
	if a == b {
		return 1000
	}
	if kindOf(a) != kindOf(b) {
		return 0
	}
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) > 2000 || len(y) > 2000 {
		return 100
	}
	seen := map[string]int{}
	for _, word := range x {
		seen[word]++
	}
	common := 0
	for _, word := range y {
		if seen[word] > 0 {
			seen[word]--
			common++
		}
	}
	if share := 900 * 2 * common / (len(x) + len(y)); share >= 300 || isHeading(kindOf(a)) {
		return max(share, 100)
	}
	return 0
}

// alikeKind reports whether blocks in two languages may correspond.
func alikeKind(a, b string) int {
	switch x, y := kindOf(a), kindOf(b); {
	case x == y && x != "p":
		return 12
	case x == y:
		return 10
	case isHeading(x) == isHeading(y):
		return 3
	}
	return 0
}

// pair is a block of the source next to its translation.
type pair struct {
	source, base string // base: the source from which the translation was made; "" if the block is new
	text         string // the translation
	gone         bool   // the block was removed from the source; base is its former text
	extra        bool   // there is no source block
	key          string // identifies the change
}

// open reports whether the source has changed since.
func (r pair) open() bool { return !r.extra && (r.gone || r.base != r.source) }

// rowsOf puts a translation next to its source. base is the source from which it was made.
func rowsOf(source, base, text []string) []pair {
	ofBase := make([]string, len(base)) // the translation of each block of base
	before := map[int][]string{}        // blocks of the translation before a block of base, without a counterpart in base
	at := 0
	for _, p := range align(base, text, alikeKind) {
		switch {
		case p[0] < 0:
			before[at] = append(before[at], text[p[1]])
		case p[1] >= 0:
			ofBase[p[0]], at = text[p[1]], p[0]+1
		default:
			at = p[0] + 1
		}
	}
	var rows []pair
	add := func(r pair) {
		if sum := sha256.Sum256([]byte(r.source + "\x00" + r.base)); r.open() {
			r.key = hex.EncodeToString(sum[:8])
		}
		rows = append(rows, r)
	}
	extras := func(at int) {
		for _, text := range before[at] {
			add(pair{text: text, extra: true})
		}
	}
	next := 0 // block of base
	for _, p := range align(source, base, alike) {
		if p[1] >= 0 {
			extras(p[1])
			next = p[1] + 1
		}
		switch {
		case p[0] < 0:
			add(pair{base: base[p[1]], text: ofBase[p[1]], gone: true})
		case p[1] < 0:
			add(pair{source: source[p[0]]})
		default:
			add(pair{source: source[p[0]], base: base[p[1]], text: ofBase[p[1]]})
		}
	}
	extras(max(next, len(base)))
	return rows
}

// ---- Differences ----

// edit is a run of words: kept, inserted or deleted.
type edit struct {
	Text string
	Kind string // "", "ins" or "del"
}

// wordsIn splits a text into words, the text between them, and line breaks.
func wordsIn(text string) []string {
	var out []string
	kind := func(r rune) int {
		switch {
		case r == '\n':
			return 0
		case unicode.IsSpace(r):
			return 1
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == '\'', r == '’':
			return 2
		}
		return 3
	}
	begin, last := 0, -1
	for i, r := range text {
		k := kind(r)
		if i > begin && (k != last || k == 0 || k == 3) {
			out = append(out, text[begin:i])
			begin = i
		}
		last = k
	}
	if begin < len(text) {
		out = append(out, text[begin:])
	}
	return out
}

// maxDiff limits the work of a comparison; beyond it, one text replaces the other.
const maxDiff = 4 << 20

// differ compares lists of words or lines.
func differ(a, b []string) []edit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out []edit
	add := func(kind string, parts ...string) {
		for _, text := range parts {
			if n := len(out); n > 0 && out[n-1].Kind == kind {
				out[n-1].Text += text
			} else if text != "" {
				out = append(out, edit{text, kind})
			}
		}
	}
	add("", strings.Join(a[:head], ""))
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(x)*len(y) > maxDiff {
		add("del", strings.Join(x, ""))
		add("ins", strings.Join(y, ""))
	} else {
		middle(x, y, add)
	}
	add("", strings.Join(a[len(a)-tail:], ""))
	return out
}

// middle finds the longest runs of words that two lists have in common, in order.
func middle(x, y []string, add func(kind string, parts ...string)) {
	width := len(y) + 1
	best := make([]int32, (len(x)+1)*width)
	weight := func(s string) int32 { // words count more than the text between them
		if strings.TrimSpace(s) == "" {
			return 1
		}
		return 4
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				best[i*width+j] = weight(x[i]) + best[(i+1)*width+j+1]
			} else {
				best[i*width+j] = max(best[(i+1)*width+j], best[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(x) && j < len(y) {
		switch {
		case x[i] == y[j]:
			add("", x[i])
			i, j = i+1, j+1
		case best[(i+1)*width+j] >= best[i*width+j+1]:
			add("del", x[i])
			i++
		default:
			add("ins", y[j])
			j++
		}
	}
	add("del", x[i:]...)
	add("ins", y[j:]...)
}

// wordEdits returns the edits that turn one text into another. Single spaces between changed words belong to the change.
func wordEdits(from, to string) []edit {
	edits := differ(wordsIn(from), wordsIn(to))
	var out []edit
	for i := 0; i < len(edits); i++ {
		e := edits[i]
		// del, " ", del or with ins: joined, so that phrases are not shown word by word
		if e.Kind == "" && strings.TrimSpace(e.Text) == "" && !strings.Contains(e.Text, "\n") && i > 0 && i+1 < len(edits) && len(out) > 0 {
			if last := &out[len(out)-1]; last.Kind != "" && edits[i+1].Kind == last.Kind {
				last.Text += e.Text + edits[i+1].Text
				i++
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

// Control characters that represent marks while Markdown is rendered; they must not occur in the text.
const (
	signIns, signInsEnd = "\uE0F0", "\uE0F1"
	signDel, signDelEnd = "\uE0F2", "\uE0F3"
)

var signs = strings.NewReplacer(signIns, "", signInsEnd, "", signDel, "", signDelEnd, "")

// rendered renders Markdown as the help centre does, for a page of the desk.
func rendered(markdown string, address func(string) string) template.HTML {
	return renderedWith(signs.Replace(markdown), address)
}

// renderedChange renders the new text with insertions and deletions marked.
func renderedChange(from, to string, address func(string) string) template.HTML {
	var b strings.Builder
	for _, e := range wordEdits(signs.Replace(from), signs.Replace(to)) {
		switch e.Kind {
		case "":
			b.WriteString(e.Text)
		case "ins":
			b.WriteString(signed(e.Text, signIns, signInsEnd, true, begins(b.String())))
		case "del":
			b.WriteString(signed(e.Text, signDel, signDelEnd, false, false))
		}
	}
	return renderedWith(b.String(), address)
}

// begins reports whether the next edit begins a line.
func begins(text string) bool { return text == "" || strings.HasSuffix(text, "\n") }

// signed puts marks around the words of a change, and leaves the Markdown syntax between them alone. Of deleted text, only
// words are shown.
func signed(text, begin, end string, keep, first bool) string {
	var b strings.Builder
	if bare := strings.TrimLeft(text, " "); bare != text { // the leading space is not part of it
		b.WriteString(text[:len(text)-len(bare)])
		text = bare
	}
	open := false
	for _, part := range wordsIn(text) {
		r, _ := utf8.DecodeRuneInString(part)
		plain := r != '\n' && !strings.ContainsRune("#*_`[]()<>|~\\!&+-=:{}", r)
		if first && (strings.Trim(part, "0123456789") == "" || strings.TrimSpace(part) == "" || part == ".") { // the number of an item
			plain = false
		} else {
			first = false
		}
		first = first || keep && r == '\n'
		if plain != open {
			if plain {
				b.WriteString(begin)
			} else {
				b.WriteString(end)
			}
			open = plain
		}
		if plain || keep {
			b.WriteString(part)
		} else {
			b.WriteByte(' ')
		}
	}
	if open {
		b.WriteString(end)
	}
	return b.String()
}

func renderedWith(markdown string, address func(string) string) template.HTML {
	made, err := contenthtml.FromMarkdown(markdown)
	if err != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(signs.Replace(markdown)) + "</pre>") // it is escaped
	}
	return shownContent(made, address)
}

// shownContent prepares an article's content, as cleaned by contenthtml, for a page of the desk: without ids, classes and
// styles, which would clash with the page's, and without frames.
func shownContent(content string, address func(string) string) template.HTML {
	var out bytes.Buffer
	z := html.NewTokenizer(strings.NewReader(content))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return template.HTML(out.String()) // it was cleaned, and attributes go through a list
		}
		switch kind {
		case html.TextToken:
			text := string(z.Raw())
			out.WriteString(strings.NewReplacer(signIns, "<ins>", signInsEnd, "</ins>", signDel, "<del>", signDelEnd, "</del>").Replace(text))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if slices.Contains([]string{"iframe", "object", "embed", "video", "audio", "form", "input", "button", "script", "style"}, t.Data) {
				if t.Data == "input" { // a task
					out.WriteString("☐ ")
				}
				continue
			}
			var kept []html.Attribute
			for _, a := range t.Attr {
				a.Val = unsigned(a.Val)
				switch a.Key {
				case "href":
					if strings.HasPrefix(a.Val, "#") {
						continue
					}
					a.Val = address(a.Val)
					kept = append(kept, a, html.Attribute{Key: "target", Val: "_blank"}, html.Attribute{Key: "rel", Val: "noopener noreferrer"}, html.Attribute{Key: "data-plain"})
				case "src":
					if a.Val = address(a.Val); strings.HasPrefix(a.Val, "/") { // the page's policy allows images of its own origin only
						kept = append(kept, a)
					}
				case "alt", "title", "width", "height", "colspan", "rowspan", "start", "dir", "lang", "open":
					kept = append(kept, a)
				}
			}
			if look := calloutClass(t.Attr); look != "" {
				kept = append(kept, html.Attribute{Key: "class", Val: look})
			}
			t.Attr = kept
			out.WriteString(t.String())
		case html.EndTagToken:
			t := z.Token()
			if !slices.Contains([]string{"iframe", "object", "embed", "video", "audio", "form", "button", "script", "style"}, t.Data) {
				out.WriteString(t.String())
			}
		}
	}
}

// unsigned removes the marks from an address, where they are encoded.
func unsigned(address string) string {
	address = signs.Replace(address)
	if !strings.Contains(address, "%EE%83%B") {
		return address
	}
	return strings.NewReplacer("%EE%83%B0", "", "%EE%83%B1", "", "%EE%83%B2", "", "%EE%83%B3", "").Replace(address)
}
