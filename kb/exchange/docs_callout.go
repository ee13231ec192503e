package exchange

import (
	"regexp"
	"strings"
)

// callouts maps the admonitions of Docusaurus, VitePress and MkDocs to the kinds of alerts of [contenthtml.FromMarkdown]. A
// kind that says more than its alert keeps its own name as the title. "": a plain quote.
var callouts = map[string]struct {
	alert string
	named bool
}{
	"note": {"NOTE", false}, "info": {"NOTE", false}, "seealso": {"NOTE", true}, "todo": {"NOTE", true}, "secondary": {"NOTE", false},
	"abstract": {"NOTE", true}, "summary": {"NOTE", true}, "tldr": {"NOTE", true}, "example": {"NOTE", true}, "question": {"NOTE", true},
	"help": {"NOTE", true}, "faq": {"NOTE", true}, "details": {"NOTE", true}, "tip": {"TIP", false}, "hint": {"TIP", false}, "success": {"TIP", true},
	"check": {"TIP", true}, "done": {"TIP", true}, "important": {"IMPORTANT", false}, "warning": {"WARNING", false}, "warn": {"WARNING", false},
	"attention": {"WARNING", false}, "caution": {"CAUTION", false}, "danger": {"CAUTION", false}, "error": {"CAUTION", true},
	"failure": {"CAUTION", true}, "fail": {"CAUTION", true}, "missing": {"CAUTION", true}, "bug": {"CAUTION", true}, "admonition": {"NOTE", false},
	"quote": {}, "cite": {},
}

// wrappers are containers around ordinary content, which stays.
var wrappers = map[string]bool{"code-group": true, "raw": true, "v-pre": true, "tabs": true, "tab": true, "tab-set": true, "tab-item": true}

var (
	colonOpener  = regexp.MustCompile(`^(:{3,})[ \t]*\{?\.?([A-Za-z][A-Za-z0-9_-]*)\}?(.*)$`)
	colonCloser  = regexp.MustCompile(`^:{3,}[ \t]*$`)
	bracketTitle = regexp.MustCompile(`^\[(.*)\][ \t]*(?:\{[^{}]*\})?[ \t]*$`)
	braceTitle   = regexp.MustCompile(`^\{(?:[^{}]*\btitle="([^"]*)")?[^{}]*\}[ \t]*`)
	indentOpener = regexp.MustCompile(`^(?:!!!|\?\?\?\+?)[ \t]+([A-Za-z][A-Za-z0-9_-]*)((?:[ \t]+[A-Za-z][A-Za-z0-9_-]*)*)[ \t]*(?:"(.*)")?[ \t]*$`)
	listItem     = regexp.MustCompile(`^(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$)`)
)

// container is an open admonition.
type container struct {
	indent int    // of its first line, in spaces
	colons int    // 0: its content is indented, instead of closed by a line of colons
	prefix string // of its lines in the result, after the indentation
	list   int    // calloutWriter.list around it
}

// maxContainers limits the depth of admonitions: every line begins with the prefixes of all that it is in.
const maxContainers = 16

// calloutWriter rewrites admonitions as alerts, line by line.
type calloutWriter struct {
	out      strings.Builder
	open     []container
	blanks   int // lines that are written once it is clear where they belong
	last     bool
	list     int       // where the text of the list item begins that the last lines belong to; -1: none
	fence    codeFence // open code
	fencedIn int       // containers around the code
}

// withAlerts rewrites the admonitions of Docusaurus and VitePress (":::note Title") and of MkDocs (`!!! note "Title"`) as
// quotes that begin with "[!NOTE]". Code stays.
func withAlerts(s string) string {
	if !strings.Contains(s, ":::") && !strings.Contains(s, "!!!") && !strings.Contains(s, "???") {
		return s
	}
	w := calloutWriter{list: -1}
	for line := range strings.SplitSeq(s, "\n") {
		w.line(line)
	}
	w.open = nil
	w.flush()
	return strings.TrimSuffix(w.out.String(), "\n")
}

func (w *calloutWriter) line(line string) {
	if strings.TrimSpace(line) == "" {
		w.blanks++
		return
	}
	depth, rest := w.enter(line)
	if depth < len(w.open) {
		w.close(depth)
	}
	if w.fence.open() && len(w.open) < w.fencedIn {
		w.fence = codeFence{}
	}
	indent := indentation(rest)
	text := rest[indent:]
	switch {
	case w.fence.read(rest):
		if w.fence.open() && w.fencedIn == 0 {
			w.fencedIn = len(w.open)
		}
	case w.isCode(indent):
	case colonCloser.MatchString(text) && w.closeColons(len(strings.TrimSpace(text))):
		return
	case w.opened(indent, text):
		return
	}
	if !w.fence.open() {
		w.fencedIn = 0
		w.seeList(indent, text)
	}
	w.flush()
	w.write(rest)
}

// enter returns how many open containers a line is in, and what it has in the innermost of these.
func (w *calloutWriter) enter(line string) (depth int, rest string) {
	rest = line
	for _, c := range w.open {
		indent := indentation(rest)
		if c.colons == 0 {
			body, inside := cutIndent(rest[min(indent, c.indent):])
			if indent < c.indent || !inside {
				break
			}
			rest = body
		} else {
			rest = rest[min(indent, c.indent):]
		}
		depth++
	}
	return depth, rest
}

// cutIndent removes four spaces or a tab.
func cutIndent(line string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(line, "    "); !ok {
		rest, ok = strings.CutPrefix(line, "\t")
	}
	return rest, ok
}

// indentation returns how many spaces a line begins with. A tab ends it: the parser knows what that means.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// isCode reports whether a line with this indentation is code rather than text.
func (w *calloutWriter) isCode(indent int) bool { return indent-max(w.list, 0) >= 4 }

func (w *calloutWriter) seeList(indent int, text string) {
	switch m := listItem.FindString(text); {
	case m != "" && !w.isCode(indent):
		w.list = indent + len(m)
	case indent < w.list && indent == 0:
		w.list = -1
	}
}

// opened opens a container if the line begins one.
func (w *calloutWriter) opened(indent int, text string) bool {
	kind, title, colons, ok := opener(text)
	if !ok || len(w.open) == maxContainers {
		return false
	}
	w.flush()
	w.separate()
	c := container{indent: indent, colons: colons, prefix: "> ", list: w.list}
	w.list = -1
	if wrappers[kind] {
		c.prefix = ""
		w.open = append(w.open, c)
		return true
	}
	of, known := callouts[kind]
	if !known {
		of.alert, of.named = "NOTE", true
	}
	if title == nil && of.named {
		own := humanized(kind)
		title = &own
	}
	w.open = append(w.open, c)
	if of.alert != "" {
		w.write("[!" + of.alert + "]")
	}
	if title != nil && *title != "" {
		if !strings.Contains(*title, "*") {
			*title = "**" + *title + "**"
		}
		w.write(*title)
		w.write("")
	}
	return true
}

// opener parses the first line of a container. title is nil if it gives none.
func opener(text string) (kind string, title *string, colons int, ok bool) {
	if m := indentOpener.FindStringSubmatchIndex(text); m != nil {
		kind = strings.ToLower(text[m[2]:m[3]])
		if m[6] >= 0 {
			given := strings.TrimSpace(text[m[6]:m[7]])
			title = &given
		}
		_, known := callouts[kind]
		return kind, title, 0, known || title != nil || m[4] == m[5] // else it may be a sentence
	}
	m := colonOpener.FindStringSubmatch(text)
	if m == nil || m[3] != "" && !strings.ContainsAny(m[3][:1], " \t[{") {
		return "", nil, 0, false
	}
	given := strings.TrimSpace(m[3])
	if b := bracketTitle.FindStringSubmatch(given); b != nil {
		given = b[1]
	} else if b := braceTitle.FindStringSubmatch(given); b != nil {
		given = strings.TrimSpace(b[1] + " " + given[len(b[0]):])
	}
	if given = strings.TrimSpace(strings.TrimRight(given, ": \t")); given != "" {
		title = &given
	}
	return strings.ToLower(m[2]), title, len(m[1]), true
}

// closeColons closes the container that a line of colons ends, with those in it: the innermost of as many colons, otherwise
// the innermost of fewer.
func (w *calloutWriter) closeColons(colons int) bool {
	for _, fits := range []func(int) bool{func(n int) bool { return n == colons }, func(n int) bool { return n > 0 && n < colons }} {
		for i := len(w.open) - 1; i >= 0; i-- {
			if fits(w.open[i].colons) {
				w.close(i)
				return true
			}
		}
	}
	return false
}

// close closes all but the outer containers.
func (w *calloutWriter) close(depth int) {
	w.list = w.open[depth].list
	w.open = w.open[:depth]
	w.blanks = max(w.blanks, 1)
}

// separate writes an empty line between a text and what follows.
func (w *calloutWriter) separate() {
	if w.last {
		w.write("")
	}
}

func (w *calloutWriter) flush() {
	for ; w.blanks > 0; w.blanks-- {
		w.write("")
	}
}

// write writes a line into the open containers.
func (w *calloutWriter) write(text string) {
	prefix := ""
	for _, c := range w.open {
		prefix += strings.Repeat(" ", c.indent) + c.prefix
	}
	w.out.WriteString(strings.TrimRight(prefix+text, " "))
	if text != "" { // blanks at its end can be a line break
		w.out.WriteString(text[len(strings.TrimRight(text, " ")):])
	}
	w.out.WriteByte('\n')
	w.last = text != ""
}
