package contenthtml

import (
	"html"
	"regexp"
	"strings"
)

// RefScheme is the scheme of references within a site: "kb:articles/12#install". The program that serves the content
// replaces them, see [MapAddresses].
const RefScheme = "kb:"

// reference matches what may follow RefScheme. Only files can be embedded.
var (
	pageReference = regexp.MustCompile(`^(articles|collections|categories)/[1-9][0-9]{0,18}(\?[^#]*)?(#.*)?$`)
	fileReference = regexp.MustCompile(`^files/[1-9][0-9]{0,18}/[A-Za-z0-9]{8,64}/[^/?#]{1,1000}(#.*)?$`)
)

// validReference reports whether an address is a valid reference for an attribute.
func validReference(attr, address string) bool {
	rest, ok := strings.CutPrefix(address, RefScheme)
	return ok && (fileReference.MatchString(rest) || attr == "href" && pageReference.MatchString(rest))
}

// MapAddresses returns cleaned HTML with every address of a link, an image or another file replaced by the result of f,
// which is not checked.
func MapAddresses(cleaned string, f func(address string) string) string {
	var out strings.Builder
	for {
		// In cleaned HTML, "<" and ">" occur only around tags.
		begin := strings.IndexByte(cleaned, '<')
		if begin < 0 {
			break
		}
		end := strings.IndexByte(cleaned[begin:], '>')
		if end < 0 {
			break
		}
		end += begin + 1
		out.WriteString(cleaned[:begin])
		mapTag(&out, cleaned[begin:end], f)
		cleaned = cleaned[end:]
	}
	out.WriteString(cleaned)
	return out.String()
}

var addressed = []string{` href="`, ` src="`, ` poster="`, ` cite="`}

func mapTag(out *strings.Builder, tag string, f func(string) string) {
	for {
		at, name := len(tag), ""
		for _, attr := range addressed {
			if i := strings.Index(tag[:at], attr); i >= 0 {
				at, name = i, attr
			}
		}
		if name == "" {
			break
		}
		begin := at + len(name)
		length := strings.IndexByte(tag[begin:], '"')
		if length < 0 {
			break
		}
		out.WriteString(tag[:begin])
		out.WriteString(escapeAttr(f(html.UnescapeString(tag[begin : begin+length]))))
		tag = tag[begin+length:]
	}
	out.WriteString(tag)
}

// MapMarkdownAddresses returns Markdown with every destination of a link, an image or a link definition, and every address
// in an HTML tag, replaced by the result of f. It leaves code and autolinks (<https://...>) unchanged. A link whose address
// becomes "" is replaced by its text.
func MapMarkdownAddresses(source string, f func(address string) string) string {
	m := markdownMapper{f: f}
	for line := range strings.Lines(source) {
		m.line(line)
	}
	return m.out.String()
}

type markdownMapper struct {
	f     func(string) string
	out   strings.Builder
	fence string // what ends the code block that the line is in
	tag   bool   // the line begins inside an HTML tag
	due   bool   // the line begins with the destination of a definition begun on the line before
	open  bool   // the line continues a paragraph, which cannot contain definitions
}

var (
	fenceLine      = regexp.MustCompile("^[ \t>*+0-9.)-]*?(`{3,}|~{3,})([^\n]*)")
	definitionLine = regexp.MustCompile(`^([ >]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?\[(?:[^\^\]\\]|\\.)(?:[^\]\\]|\\.)*\]:[ \t]*)(\S.*)?`)
	htmlAddress    = regexp.MustCompile(`(?i)^(?:href|src|poster|cite)[ \t]*=[ \t]*("[^"\n]*"|'[^'\n]*'|[^\s"'=<>` + "`" + `]+)`)
)

func (m *markdownMapper) line(line string) {
	text := strings.TrimSpace(strings.TrimLeft(line, "> \t"))
	if m.fence != "" {
		if strings.HasPrefix(text, m.fence) && strings.Trim(text, m.fence[:1]) == "" {
			m.fence = ""
		}
		m.out.WriteString(line)
		return
	}
	if found := fenceLine.FindStringSubmatch(line); found != nil && (found[1][0] == '~' || !strings.Contains(found[2], "`")) {
		m.fence = found[1]
		m.out.WriteString(line)
		return
	}
	if text == "" {
		m.tag, m.due, m.open = false, false, false
	}
	m.inline(m.defined(line, text))
}

// defined writes the part of a line that belongs to a link definition, up to the end of its
// destination, and returns the rest.
func (m *markdownMapper) defined(line, text string) string {
	at := -1 // of a destination
	switch found := definitionLine.FindStringSubmatchIndex(line); {
	case m.due:
		m.due = false
		at = len(line) - len(strings.TrimLeft(line, "> \t"))
	case found == nil || m.open:
		m.open = text != "" && text[0] != '#' && strings.Trim(text, "-=*_ ") != ""
	case found[4] >= 0:
		at = found[4]
	default:
		m.due = true
	}
	if at < 0 {
		return line
	}
	m.out.WriteString(line[:at])
	return m.destination(line[at:], " \t\r\n")
}

// inline processes the text of a line.
func (m *markdownMapper) inline(line string) {
	last, ticks := lastTicks(line), 0 // ticks end the code that i is in
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == '`':
			n := run(line[i:])
			switch {
			case ticks == n:
				ticks = 0
			case ticks == 0 && last[n] < len(line)-i: // code over several lines is rare, and treated as text
				ticks = n
			}
			m.out.WriteString(line[i : i+n])
			i += n
		case ticks > 0:
			m.out.WriteByte(c)
			i++
		case c == '\\' && i+1 < len(line):
			m.out.WriteString(line[i : i+2])
			i += 2
		case c == ']' && strings.HasPrefix(line[i:], "]("):
			space := len(line[i+2:]) - len(strings.TrimLeft(line[i+2:], " \t"))
			m.out.WriteString(line[i : i+2+space])
			line, i = line[i+2+space:], 0
			if m.due = strings.Trim(line, "\r\n") == ""; !m.due {
				line = m.destination(line, " \t\r\n")
			}
		case m.tag && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			i += m.attribute(line[i:])
		default:
			m.tag = m.tag && c != '>' || c == '<'
			m.out.WriteByte(c)
			i++
		}
	}
}

// attribute writes the next attribute of an HTML tag if it holds an address, otherwise one character, and returns how much
// it has read.
func (m *markdownMapper) attribute(text string) int {
	found := htmlAddress.FindStringSubmatchIndex(text)
	if found == nil {
		m.out.WriteByte(text[0])
		return 1
	}
	quote, written := `"`, text[found[2]:found[3]]
	bare := !strings.ContainsAny(written[:1], `"'`)
	if !bare {
		quote, written = written[:1], written[1:len(written)-1]
	}
	address := html.UnescapeString(written)
	to := m.f(address)
	if bare && to == address { // it needs no quotes
		m.out.WriteString(text[:found[3]])
		return found[3]
	}
	m.out.WriteString(text[:found[2]] + quote + escapeAttr(to) + quote)
	return found[3]
}

// run returns how many backticks a text begins with.
func run(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }

// lastTicks returns, for each length of a run of backticks, how far from the end of the line the
// last such run begins.
func lastTicks(line string) map[int]int {
	last := map[int]int{}
	for i := 0; i < len(line); i++ {
		if line[i] == '`' {
			n := run(line[i:])
			last[n] = len(line) - i
			i += n - 1
		}
	}
	return last
}

// destination writes the result of f for the link destination at the start of text (CommonMark 0.31 section 6.3), and
// returns the rest.
func (m *markdownMapper) destination(text, ends string) string {
	if rest, ok := strings.CutPrefix(text, "<"); ok {
		end := strings.IndexAny(rest, "<>\n")
		if end >= 0 && rest[end] == '>' {
			m.out.WriteString("<" + m.mapped(rest[:end], ">") + ">")
			return rest[end+1:]
		}
		return text
	}
	depth, end := 0, 0
	for ; end < len(text) && !strings.ContainsRune(ends, rune(text[end])); end++ {
		if text[end] == '\\' && end+1 < len(text) {
			end++
			continue
		}
		if text[end] == '(' {
			depth++
		}
		if text[end] == ')' {
			if depth--; depth < 0 {
				break
			}
		}
	}
	end = min(end, len(text))
	m.out.WriteString(m.mapped(text[:end], " ()"))
	return text[end:]
}

var unescaper = regexp.MustCompile(`\\([!-/:-@\[-` + "`" + `{-~])`)

// mapped returns the result of f for a destination as written, with special characters escaped.
func (m *markdownMapper) mapped(written, special string) string {
	address := html.UnescapeString(unescaper.ReplaceAllString(written, "$1"))
	to := m.f(address)
	switch {
	case to == address:
		return written
	case to == "" && special != ">": // an empty destination, which a definition must not have
		return "<>"
	}
	for _, c := range special {
		to = strings.ReplaceAll(to, string(c), map[rune]string{' ': "%20", '(': "%28", ')': "%29", '>': "%3E"}[c])
	}
	return to
}
